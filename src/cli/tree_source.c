/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tree_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/guard.h"
#include "drain/find.h"
#include "snapshot/remains.h"
#include "symbol/maps.h"
#include "symbol/origin.h"
#include "util/cleanup.h"

#define IMAGE_BYTES 65536u /* of a mapped file, in which its build id is looked for */
#define FILE_MAPPINGS 64   /* of one file, one after the other */

DEFINE_FREEP(struct core, core_free)

static int add_module(void *data, const struct symbol_module *module)
{
	return symbols_add_module(data, module);
}

/* What a program that is no more had kept of its mappings, copied out. */
static int add_kept_modules(struct symbols *symbols, const struct attachment *attachment)
{
	uint32_t bytes = attachment->control->mapped_bytes;
	char *lines;
	int r;

	if (!bytes || bytes > ARENA_MAPPED_BYTES)
		return 0;
	lines = malloc(bytes);
	if (!lines)
		return -ENOMEM;
	memcpy(lines, arena_mapped(attachment->control), bytes);
	r = maps_each_in(lines, bytes, 0, add_module, symbols);
	free(lines);
	return r;
}

/* The build id of the file that a mapping is of, by its first bytes in the core. */
static size_t build_id_of(struct core *core, const struct core_mapping *mapping,
			  uint8_t id[BUILD_ID_MOST])
{
	const struct core_mapping *first = mapping;
	uint64_t bytes;
	char *image;
	size_t found = 0;

	while (first > core->mappings && mapping - first < FILE_MAPPINGS && first->offset != 0 &&
	       strcmp(first[-1].path, mapping->path) == 0)
		first--;
	for (bytes = IMAGE_BYTES; bytes && !core_has(core, first->start, bytes);)
		bytes /= 2;
	image = first->offset == 0 && bytes ? malloc(bytes) : NULL;
	if (image && core_read(core, first->start, image, bytes))
		found = origin_build_id_in(image, bytes, id);
	free(image);
	return found;
}

/* Whether a mapping is of the program itself, whose name the kernel cuts to 15 characters. */
static bool is_program(const struct core *core, const struct core_mapping *mapping)
{
	const char *name = strrchr(mapping->path, '/');

	return name && core->program[0] &&
	       strncmp(name + 1, core->program, strlen(core->program)) == 0;
}

/* By the files that were mapped: a debugger leaves code out, and does not say that it was there. */
static int add_core_modules(struct symbols *symbols, struct core *core, const char *program)
{
	uint8_t id[BUILD_ID_MOST];
	int r = 0;

	for (uint32_t i = 0; i < core->mapping_count && r == 0; i++) {
		const struct core_mapping *mapping = &core->mappings[i];
		struct symbol_module module = {
			.start = mapping->start,
			.end = mapping->end,
			.offset = mapping->offset,
			.path = program && is_program(core, mapping) ? program : mapping->path,
		};

		if (core_is_data(core, mapping->start) || mapping->start >= mapping->end)
			continue;
		module.build_id_bytes = build_id_of(core, mapping, id);
		module.build_id = module.build_id_bytes ? id : NULL;
		r = symbols_add_module(symbols, &module);
	}
	return r;
}

/* Of a process: what it cannot show, and why. */
static void say_missing(struct tree_source *source, const struct attachment *attachment)
{
	const struct snapshot *snapshot = &source->snapshot;
	size_t room = sizeof(source->missing);
	char *text = source->missing;

	if (attachment->cut)
		snprintf(text, room, "the arena of process %u was cut off: tasks may be missing",
			 source->pid);
	else if (attachment->copied)
		snprintf(text, room,
			 "process %u is another program by now: what the last one left has no "
			 "chains",
			 source->pid);
	else if (snapshot->ended)
		snprintf(text, room, "process %u is no more: what it left has no chains",
			 source->pid);
	else if (!attach_is_alive(attachment))
		snprintf(text, room,
			 "process %u ended while it was looked at: chains may be missing",
			 source->pid);
	else if (snapshot->unread)
		snprintf(text, room, "the chains of process %u could not be read: %s", source->pid,
			 strerror(snapshot->unread));
	if (snapshot->unread == EPERM)
		snprintf(source->missing_hint, sizeof(source->missing_hint),
			 "run unweave as root, or as the user who may trace that process");
}

/* Without its mappings there are addresses, and no names. */
static int name_code(struct tree_source *source, const struct attachment *attachment)
{
	struct symbols_options options = {.pid = source->snapshot.ended ? 0 : source->pid};
	int r = symbols_new(&source->symbols, &options);

	if (r < 0)
		return r;
	r = source->snapshot.ended ? add_kept_modules(source->symbols, attachment)
				   : maps_each(source->pid, add_module, source->symbols);
	return r == -ENOMEM ? r : 0;
}

int tree_source_pid(struct tree_source *ret, uint32_t pid, struct diag *diag)
{
	struct attachment attachment;
	int r = find_pid(&attachment, pid, diag);

	if (r < 0)
		return r;
	*ret = (struct tree_source){.pid = pid};
	guard_begin(&attachment);
	attachment.copied = !find_is_mapped(&attachment) && attach_is_alive(&attachment);
	r = snapshot_take(&ret->snapshot, &attachment);
	attach_program(&attachment, ret->program);
	ret->program[sizeof(ret->program) - 1] = '\0';
	if (r == 0)
		r = name_code(ret, &attachment);
	guard_end();
	say_missing(ret, &attachment);
	attach_fini(&attachment);
	if (r < 0)
		tree_source_fini(ret);
	return r;
}

static void say_missing_of_core(struct tree_source *source, const struct core *core,
				const struct attachment *attachment)
{
	if (remains_are_whole(attachment, core) && !core->cut)
		return;
	snprintf(source->missing, sizeof(source->missing),
		 "the file is %s: tasks or chains may be missing",
		 core->cut ? "cut short" : "without a part of the arena");
	if (core->cut)
		snprintf(source->missing_hint, sizeof(source->missing_hint),
			 "`ulimit -c unlimited`, and room on the disk, have the next one whole");
}

static int take_core(struct tree_source *ret, struct core *core, const char *program,
		     struct diag *diag)
{
	struct symbols_options options = {0};
	struct attachment attachment;
	int r = remains_attach(&attachment, core, diag);

	if (r < 0)
		return r;
	ret->pid = core->pid ? core->pid : attachment.pid;
	ret->signal = core->signal;
	ret->signal_thread = core->thread;
	guard_begin(&attachment);
	memcpy(ret->program, attachment.control->program, sizeof(ret->program));
	ret->program[sizeof(ret->program) - 1] = '\0';
	r = snapshot_take(&ret->snapshot, &attachment);
	if (r == 0)
		r = symbols_new(&ret->symbols, &options);
	if (r == 0)
		r = add_core_modules(ret->symbols, core, program);
	say_missing_of_core(ret, core, &attachment);
	guard_end();
	attach_fini(&attachment);
	if (r < 0)
		tree_source_fini(ret);
	return r;
}

int tree_source_core(struct tree_source *ret, const char *path, const char *program,
		     struct diag *diag)
{
	cleanup(core_freep) struct core *core = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r = fd < 0 ? diag_set(diag, -errno, "%m") : core_open(&core, fd, diag);

	*ret = (struct tree_source){.core = path};
	return r < 0 ? r : take_core(ret, core, program, diag);
}

void tree_source_fini(struct tree_source *source)
{
	snapshot_fini(&source->snapshot);
	source->symbols = symbols_free(source->symbols);
}
