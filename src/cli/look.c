/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/look.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli/guard.h"
#include "drain/find.h"
#include "drain/sites.h"
#include "unweave/callback.h"
#include "util/cleanup.h"

static void copy_text(char *to, const char *from, size_t size)
{
	memcpy(to, from, size);
	to[size - 1] = '\0';
}

static void count_chunks(struct look *look, const struct attachment *attachment)
{
	uint32_t chunks = atomic_load(&attachment->control->config.chunks);

	if (chunks > attachment->chunks_max)
		chunks = attachment->chunks_max;
	look->buffers = (uint64_t)chunks * ARENA_CHUNK_BYTES;
	for (uint32_t i = 0; i < chunks; i++)
		if (atomic_load(&attachment->pool[i].owner))
			look->buffers_used += ARENA_CHUNK_BYTES;
}

static void count_threads(struct look *look, struct arena_control *control)
{
	for (uint32_t i = 0; i < ARENA_LINES; i++)
		look->threads += atomic_load(&arena_lines(control)[i].state) == ARENA_LINE_LIVE;
}

static void count_tasks(struct look *look, const struct table *table)
{
	struct table_task task;

	for (uint32_t i = 1, end = table_ready(table); i < end; i++)
		look->tasks += table_read(table, i, &task);
}

static int note_adapter(void *data, const struct meta_site *site)
{
	struct look *look = data;
	size_t length = strlen(look->adapters);

	if (site->flags & UNWEAVE_SITE_ADAPTER)
		snprintf(look->adapters + length, sizeof(look->adapters) - length, "%s%s %s",
			 length ? ", " : "", site->name.bytes, site->kind.bytes);
	return 0;
}

static const char *detail_of(const struct arena_config *config, uint64_t mode)
{
	uint64_t keywords = atomic_load(&config->keywords);

	if (mode == ARENA_MODE_OFF)
		return "";
	if (mode == ARENA_MODE_SAMPLES)
		return "samples";
	return keywords == UNWEAVE_KEYWORDS_FULL    ? "full"
	       : keywords == UNWEAVE_KEYWORDS_TASKS ? "tasks"
						    : "some";
}

/* The arguments, with spaces between; of one that has none left, its program. */
static void read_command(struct look *look)
{
	char path[32];
	cleanup(close_fd) int fd = -1;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", look->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, look->command, sizeof(look->command) - 1);
	while (length > 0 && !look->command[length - 1])
		length--;
	for (ssize_t i = 0; i < length; i++)
		if (!look->command[i])
			look->command[i] = ' ';
	if (length > 0)
		look->command[length] = '\0';
	else
		memcpy(look->command, look->program, sizeof(look->command));
}

static void read_arena(struct look *ret, const struct attachment *attachment)
{
	struct arena_control *control = attachment->control;
	uint64_t mode = __atomic_load_n(&control->config.hot.gate, __ATOMIC_ACQUIRE) &
			UNWEAVE_PRIV_MODE_MASK;
	uint32_t seen = 0;

	*ret = (struct look){
		.pid = attachment->pid,
		.inner_pid = attachment->foreign ? control->pid : 0,
		.alive = attach_is_alive(attachment),
		.in_file = control->place == ARENA_PLACE_FILE,
		.recording = mode != ARENA_MODE_OFF,
		.detail = detail_of(&control->config, mode),
		.recorder = atomic_load(&control->session.pid),
		.orphans = atomic_load(&control->orphans),
		.tasks_lost = atomic_load(&control->tasks_lost),
		.sites_lost = atomic_load(&control->names_lost),
	};
	copy_text(ret->program, control->program, sizeof(ret->program));
	copy_text(ret->note, control->note, sizeof(ret->note));
	copy_text(ret->output, control->session.path, sizeof(ret->output));
	copy_text(ret->path, attachment->path, sizeof(ret->path));
	count_chunks(ret, attachment);
	count_threads(ret, control);
	count_tasks(ret, &attachment->table);
	sites_tell(attachment, &seen, note_adapter, ret);
}

int look_at(struct look *ret, uint32_t pid, struct diag *diag)
{
	struct attachment attachment;
	int r = find_pid(&attachment, pid, diag);

	if (r < 0)
		return r;
	guard_begin(&attachment);
	read_arena(ret, &attachment);
	guard_end();
	attach_fini(&attachment);
	read_command(ret);
	return 0;
}
