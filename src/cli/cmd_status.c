/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/look.h"
#include "cli/say.h"
#include "view/json.h"

static void field(const char *name)
{
	printf("  %-12s", name);
}

static void show(const struct look *look)
{
	printf("process %u: ", look->pid);
	say_text(stdout, look->program);
	printf("%s\n", look->alive ? "" : " (has ended)");
	field("arena");
	say_text(stdout, look->in_file ? look->path : "in a memfd");
	if (look->note[0]) {
		printf(", because ");
		say_text(stdout, look->note);
	}
	printf("\n");
	field("recorded");
	if (look->recorder) {
		printf("by process %u", look->recorder);
		if (look->output[0]) {
			printf(", into ");
			say_text(stdout, look->output);
		}
		printf("\n");
	} else {
		printf("%s\n", look->recording ? "not yet, but it has begun" : "no");
	}
	field("buffers");
	printf("%" PRIu64 " of %" PRIu64 " KiB in use\n", look->buffers_used >> 10,
	       look->buffers >> 10);
	if (look->adapters[0]) {
		field("adapters");
		say_text(stdout, look->adapters);
		printf("\n");
	}
	field("threads");
	printf("%u\n", look->threads);
	field("tasks");
	printf("%s\n", say_count(look->tasks).text);
	field("lost");
	printf("%s events of threads that found no place\n", say_count(look->orphans).text);
	if (look->tasks_lost) {
		field("");
		printf("%s tasks that found no place in the table\n",
		       say_count(look->tasks_lost).text);
	}
	if (look->sites_lost) {
		field("");
		printf("%s times a site, or a way in which callbacks come about, that found none\n",
		       say_count(look->sites_lost).text);
	}
}

static void show_json(const struct look *look)
{
	struct json json = {.to = stdout};

	json_open(&json, NULL, '{');
	json_number(&json, "pid", look->pid);
	json_bool(&json, "alive", look->alive);
	json_text(&json, "program", look->program);
	json_text(&json, "arena", look->path);
	json_text(&json, "note", look->note);
	json_bool(&json, "recording", look->recording);
	json_text(&json, "detail", look->detail);
	json_number(&json, "recorder", look->recorder);
	json_text(&json, "output", look->output);
	json_number(&json, "buffer_bytes", look->buffers);
	json_number(&json, "buffer_bytes_used", look->buffers_used);
	json_text(&json, "adapters", look->adapters);
	json_number(&json, "threads", look->threads);
	json_number(&json, "tasks", look->tasks);
	json_number(&json, "lost_without_thread", look->orphans);
	json_number(&json, "tasks_without_slot", look->tasks_lost);
	json_number(&json, "sites_untold", look->sites_lost);
	json_close(&json, '}');
	json_line(&json);
}

static int status_of(const char *operand, bool as_json)
{
	struct diag diag = {.text = "out of memory"};
	struct look look;
	char *end;
	unsigned long pid = strtoul(operand, &end, 10);

	if (end == operand || *end || !pid || pid > INT32_MAX) {
		say_error(NULL, "status: '%s' is not a process id", operand);
		return EXIT_USAGE;
	}
	if (look_at(&look, (uint32_t)pid, &diag) < 0) {
		say_diag(NULL, &diag);
		return EXIT_FAILED;
	}
	if (as_json)
		show_json(&look);
	else
		show(&look);
	return EXIT_OK;
}

struct plan {
	bool json;
};

static int run(struct options *options)
{
	int status = EXIT_OK;
	struct plan plan = {0};

	if (!options_read(options, &plan))
		return options->status;
	if (!options->operand_count) {
		say_error(NULL, "status: which process?");
		say_hint("unweave status PID...");
		return EXIT_USAGE;
	}
	for (int i = 0; i < options->operand_count; i++) {
		int r = status_of(options->operands[i], plan.json);

		if (r != EXIT_OK)
			status = r;
	}
	return status;
}

static const struct option_entry entries[] = {
	{'j', "json", NULL, "one JSON object a process", OPTION_FLAG(struct plan, json)},
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
