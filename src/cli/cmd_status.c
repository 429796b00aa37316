/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/say.h"
#include "drain/find.h"
#include "util/cleanup.h"
#include "view/json.h"

enum { OPTION_JSON = 1 };

/* What an arena says of its program, copied out: the program may write there meanwhile. */
struct status {
	uint32_t pid;
	bool alive;
	char program[256];
	char path[256];
	char note[192];
	uint32_t place; /* enum arena_place */
	uint32_t mode;  /* enum arena_mode */
	uint32_t recorder;
	char output[256];
	uint32_t chunks;
	uint32_t chunks_used;
	uint32_t threads;
	uint64_t orphans;
};

static void copy_text(char *to, const char *from, size_t size)
{
	memcpy(to, from, size);
	to[size - 1] = '\0';
}

static void count_chunks(struct status *status, const struct attachment *attachment)
{
	status->chunks = atomic_load(&attachment->control->config.chunks);
	if (status->chunks > attachment->chunks_max)
		status->chunks = attachment->chunks_max;
	for (uint32_t i = 0; i < status->chunks; i++)
		status->chunks_used += atomic_load(&attachment->pool[i].owner) != 0;
}

static void count_threads(struct status *status, struct arena_control *control)
{
	for (uint32_t i = 0; i < ARENA_LINES; i++)
		status->threads += atomic_load(&arena_lines(control)[i].state) == ARENA_LINE_LIVE;
}

static void read_status(struct status *ret, const struct attachment *attachment)
{
	struct arena_control *control = attachment->control;
	uint64_t gate = __atomic_load_n(&control->config.hot.gate, __ATOMIC_ACQUIRE);

	*ret = (struct status){
		.pid = attachment->pid,
		.alive = attach_is_alive(attachment),
		.place = control->place,
		.mode = gate & UNWEAVE_PRIV_MODE_MASK,
		.recorder = atomic_load(&control->session.pid),
		.orphans = atomic_load(&control->orphans),
	};
	copy_text(ret->program, control->program, sizeof(ret->program));
	copy_text(ret->note, control->note, sizeof(ret->note));
	copy_text(ret->output, control->session.path, sizeof(ret->output));
	copy_text(ret->path, attachment->path, sizeof(ret->path));
	count_chunks(ret, attachment);
	count_threads(ret, control);
}

static void field(const char *name)
{
	printf("  %-12s", name);
}

static void show(const struct status *status)
{
	printf("process %u: ", status->pid);
	say_text(stdout, status->program);
	printf("%s\n", status->alive ? "" : " (has ended)");
	field("arena");
	say_text(stdout, status->place == ARENA_PLACE_FILE ? status->path : "in a memfd");
	if (status->note[0]) {
		printf(", because ");
		say_text(stdout, status->note);
	}
	printf("\n");
	field("recorded");
	if (status->recorder) {
		printf("by process %u", status->recorder);
		if (status->output[0]) {
			printf(", into ");
			say_text(stdout, status->output);
		}
		printf("\n");
	} else {
		printf("%s\n", status->mode == ARENA_MODE_OFF ? "no" : "not yet, but it has begun");
	}
	field("buffers");
	printf("%u of %u KiB in use\n", status->chunks_used * (ARENA_CHUNK_BYTES >> 10),
	       status->chunks * (ARENA_CHUNK_BYTES >> 10));
	field("threads");
	printf("%u\n", status->threads);
	field("lost");
	printf("%s events of threads that found no place\n", say_count(status->orphans).text);
}

static void show_json(const struct status *status)
{
	struct json json = {.to = stdout};

	json_open(&json, NULL, '{');
	json_number(&json, "pid", status->pid);
	json_bool(&json, "alive", status->alive);
	json_text(&json, "program", status->program);
	json_text(&json, "arena", status->path);
	json_text(&json, "note", status->note);
	json_bool(&json, "recording", status->mode != ARENA_MODE_OFF);
	json_number(&json, "recorder", status->recorder);
	json_text(&json, "output", status->output);
	json_number(&json, "buffer_bytes", (uint64_t)status->chunks * ARENA_CHUNK_BYTES);
	json_number(&json, "buffer_bytes_used", (uint64_t)status->chunks_used * ARENA_CHUNK_BYTES);
	json_number(&json, "threads", status->threads);
	json_number(&json, "lost_without_thread", status->orphans);
	json_close(&json, '}');
	json_line(&json);
}

static int status_of(const char *operand, bool as_json)
{
	struct diag diag = {.text = "out of memory"};
	struct attachment attachment;
	struct status status;
	char *end;
	unsigned long pid = strtoul(operand, &end, 10);

	if (end == operand || *end || !pid || pid > INT32_MAX) {
		say_error(NULL, "status: '%s' is not a process id", operand);
		return EXIT_USAGE;
	}
	if (find_pid(&attachment, (uint32_t)pid, &diag) < 0) {
		say_diag(NULL, &diag);
		return EXIT_FAILED;
	}
	read_status(&status, &attachment);
	attach_fini(&attachment);
	if (as_json)
		show_json(&status);
	else
		show(&status);
	return EXIT_OK;
}

static int run(struct options *options)
{
	int status = EXIT_OK, option;
	bool as_json = false;

	while ((option = options_next(options)) > 0)
		as_json = option == OPTION_JSON;
	if (option < 0)
		return options->status;
	if (!options->operand_count) {
		say_error(NULL, "status: which process?");
		say_hint("unweave status PID...");
		return EXIT_USAGE;
	}
	for (int i = 0; i < options->operand_count; i++) {
		int r = status_of(options->operands[i], as_json);

		if (r != EXIT_OK)
			status = r;
	}
	return status;
}

static const struct option_entry entries[] = {
	{OPTION_JSON, 'j', "json", NULL, "one JSON object a process"},
	{0},
};

const struct cmd cmd_status = {
	.name = "status",
	.arguments = "PID...",
	.summary = "Say whether a program can be recorded, and is",
	.details = "A program whose arena is not where it should be says why.\n",
	.options = entries,
	.run = run,
};
