/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/guard.h"
#include "cli/names.h"
#include "cli/say.h"
#include "cli/tree_folded.h"
#include "drain/find.h"
#include "snapshot/snapshot.h"
#include "symbol/maps.h"
#include "symbol/symbol.h"
#include "util/cleanup.h"
#include "view/json.h"
#include "view/naming.h"

#define LABEL_ROOM 320u
#define FRAMES_SHOWN 24u /* of a chain, half of them at each end */
#define DEPTH_SHOWN 32   /* indents */

enum { OPTION_JSON = 1, OPTION_FOLDED, OPTION_CHAINS, OPTION_LIMIT };

/* The forms that it is shown in. */
enum form { FORM_TEXT, FORM_JSON, FORM_FOLDED };

struct show {
	const struct snapshot *snapshot;
	struct symbols *symbols;
	bool chains;
	uint64_t limit; /* tasks; 0: all */
	uint64_t shown;
	uint64_t left_out;
};

DEFINE_FREEP(struct symbols, symbols_free)

static void label(const struct show *show, const struct snapshot_task *task, char *to)
{
	const struct reader_site *site = snapshot_site(show->snapshot, task->task.site);

	to[0] = '\0';
	if (task->task.name[0])
		snprintf(to, LABEL_ROOM, "%s", task->task.name);
	else if (site)
		naming_label(show->symbols, site, to, LABEL_ROOM);
	if (!to[0])
		snprintf(to, LABEL_ROOM, "task");
}

static enum naming_role role_of(const struct show *show, const struct snapshot_task *task)
{
	return naming_role(snapshot_site(show->snapshot, task->task.site));
}

static const char *state_of(const struct show *show, const struct snapshot_task *task)
{
	if (task->thread)
		return "running";
	if (role_of(show, task) != NAMING_TASK)
		return naming_role_word(role_of(show, task));
	switch (task->task.state) {
	case ARENA_TASK_NEW:
		/* While nobody records, tasks do not say that they run and wait. */
		return show->snapshot->recorded ? "new" : "not running";
	case ARENA_TASK_QUEUED:
		return "queued";
	default:
		return "waiting";
	}
}

/* What it waits for, in words. */
static void show_waits(const struct show *show, const struct snapshot_task *task)
{
	uint64_t on = task->task.awaits;
	uint32_t other;
	char text[LABEL_ROOM];

	switch (task->task.waits) {
	case UNWEAVE_WAIT_TASK:
		other = snapshot_find(show->snapshot, on);
		printf(" for task %" PRIu64, on);
		if (other) {
			label(show, &show->snapshot->tasks[other - 1], text);
			printf(", ");
			say_text(stdout, text);
		} else {
			printf(", which has ended");
		}
		break;
	case UNWEAVE_WAIT_TIMER:
		printf(" for a timer");
		break;
	case UNWEAVE_WAIT_IO:
		printf(" for file %" PRIu64, on);
		break;
	case UNWEAVE_WAIT_LOCK:
		printf(" for lock %#" PRIx64, on);
		break;
	case UNWEAVE_WAIT_CHANNEL:
		printf(" for channel %#" PRIx64, on);
		break;
	default:
		break;
	}
}

/* Since when it is in its state, in ticks; 0: unknown. */
static uint64_t since(const struct snapshot_task *task)
{
	return task->thread ? task->resumed : task->task.changed;
}

static void show_state(const struct show *show, const struct snapshot_task *task)
{
	printf("%s", state_of(show, task));
	if (task->thread)
		printf(" on thread %u", task->thread);
	else if (role_of(show, task) == NAMING_TASK)
		show_waits(show, task);
	if (since(task))
		printf(", for %s",
		       say_duration(snapshot_ns_since(show->snapshot, since(task))).text);
	if (task->task.runs)
		printf("; %s run%s, %s busy", say_count(task->task.runs).text,
		       task->task.runs == 1 ? "" : "s",
		       say_duration(snapshot_ns_since(show->snapshot,
						      show->snapshot->ticks - task->task.busy))
			       .text);
}

static void show_frame(const struct show *show, const struct snapshot_frame *frame, int indent)
{
	const struct symbol *symbol;
	char text[LABEL_ROOM];

	printf("%*s", indent, "");
	if (frame->omitted) {
		printf("... more frames ...\n");
		return;
	}
	symbol = symbols_find(show->symbols, frame->address);
	naming_function(show->symbols, frame->address, text, sizeof(text));
	say_text(stdout, text);
	if (symbol->frames[symbol->count - 1].file) {
		printf("  ");
		say_text(stdout, symbol->frames[symbol->count - 1].file);
		printf(":%" PRIu32, symbol->frames[symbol->count - 1].line);
	}
	if (frame->state)
		printf("  state %" PRId32, frame->state);
	printf("\n");
}

static void show_chain(const struct show *show, const struct snapshot_task *task, int indent)
{
	const struct snapshot_frame *frames = show->snapshot->frames + task->chain;
	const struct snapshot_frame gap = {.omitted = true};

	for (uint32_t i = 0; i < task->chain_count; i++) {
		if (task->chain_count > FRAMES_SHOWN && i == FRAMES_SHOWN / 2) {
			show_frame(show, &gap, indent);
			i = task->chain_count - FRAMES_SHOWN / 2;
		}
		show_frame(show, &frames[i], indent);
	}
}

static void show_task(struct show *show, uint32_t index, int depth)
{
	const struct snapshot_task *task = &show->snapshot->tasks[index];
	int indent = 2 * (depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN);
	char text[LABEL_ROOM];

	if (show->limit && show->shown >= show->limit) {
		show->left_out++;
		return;
	}
	show->shown++;
	label(show, task, text);
	printf("%*s%" PRIu64 "  ", indent, "", task->task.id);
	say_text(stdout, text);
	printf(": ");
	show_state(show, task);
	printf("\n");
	if (show->chains)
		show_chain(show, task, indent + 6);
}

static void json_chain(struct json *json, const struct show *show, const struct snapshot_task *task)
{
	char text[LABEL_ROOM];

	json_open(json, "chain", '[');
	for (uint32_t i = 0; i < task->chain_count; i++) {
		const struct snapshot_frame *frame = &show->snapshot->frames[task->chain + i];

		json_open(json, NULL, '{');
		if (frame->omitted) {
			json_number(json, "omitted", frame->address);
		} else {
			json_address(json, "address", frame->address);
			naming_function(show->symbols, frame->address, text, sizeof(text));
			json_text(json, "function", text);
		}
		if (frame->state)
			json_signed(json, "state", frame->state);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void show_json(struct show *show, uint32_t index)
{
	static const char *const waits[] = {"", "task", "timer", "io", "lock", "channel", "other"};
	const struct snapshot_task *task = &show->snapshot->tasks[index];
	const struct snapshot *snapshot = show->snapshot;
	struct json json = {.to = stdout};
	char text[LABEL_ROOM];

	label(show, task, text);
	json_open(&json, NULL, '{');
	json_number(&json, "task", task->task.id);
	if (task->task.parent)
		json_number(&json, "parent", task->task.parent);
	json_text(&json, "label", text);
	json_text(&json, "state", state_of(show, task));
	if (task->thread)
		json_number(&json, "tid", task->thread);
	if (task->task.waits && task->task.waits < sizeof(waits) / sizeof(waits[0])) {
		json_text(&json, "waits_for", waits[task->task.waits]);
		json_number(&json, "waits_on", task->task.awaits);
	}
	if (since(task))
		json_number(&json, "for_ns", snapshot_ns_since(snapshot, since(task)));
	json_number(&json, "runs", task->task.runs);
	json_number(&json, "busy_ns",
		    snapshot_ns_since(snapshot, snapshot->ticks - task->task.busy));
	if (task->chain_known)
		json_chain(&json, show, task);
	json_close(&json, '}');
	json_line(&json);
}

/* Each task below its parent, without recursion: a chain of parents may be as long as the table. */
static void show_all(struct show *show, bool as_json)
{
	const struct snapshot *snapshot = show->snapshot;
	uint32_t at = snapshot->root;
	int depth = 0;

	while (at) {
		const struct snapshot_task *task = &snapshot->tasks[at - 1];

		if (as_json)
			show_json(show, at - 1);
		else
			show_task(show, at - 1, depth);
		if (task->child) {
			at = task->child;
			depth++;
			continue;
		}
		while (at && !snapshot->tasks[at - 1].sibling) {
			at = snapshot->tasks[at - 1].parent;
			depth--;
		}
		at = at ? snapshot->tasks[at - 1].sibling : 0;
	}
}

static int show_cycle(void *data, const uint32_t *tasks, uint32_t count)
{
	const struct show *show = data;
	char text[LABEL_ROOM];

	printf("deadlock: ");
	for (uint32_t i = 0; i <= count; i++) {
		const struct snapshot_task *task = &show->snapshot->tasks[tasks[i % count]];

		label(show, task, text);
		if (i)
			printf("\n          waits for ");
		say_text(stdout, text);
		printf(" (task %" PRIu64 ")", task->task.id);
	}
	printf("\n");
	return 0;
}

static int add_module(void *data, const struct symbol_module *module)
{
	return symbols_add_module(data, module);
}

static int name_code(struct symbols **ret, uint32_t pid)
{
	cleanup(symbols_freep) struct symbols *symbols = NULL;
	struct symbols_options options = {.pid = pid};
	int r = symbols_new(&symbols, &options);

	if (r == 0)
		r = maps_each(pid, add_module, symbols);
	/* Without its mappings there are addresses, and no names. */
	if (r == -ENOMEM || !symbols)
		return -ENOMEM;
	*ret = take(symbols);
	return 0;
}

static int show_snapshot(struct show *show, uint32_t pid, enum form form)
{
	const struct snapshot *snapshot = show->snapshot;

	if (form == FORM_JSON) {
		show_all(show, true);
		return EXIT_OK;
	}
	if (form == FORM_FOLDED)
		return tree_folded(snapshot, show->symbols, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	if (snapshot_cycles(snapshot, show_cycle, show) < 0) {
		say_error(NULL, "out of memory");
		return EXIT_FAILED;
	}
	show_all(show, false);
	if (show->left_out)
		printf("... %s tasks more\n", say_count(show->left_out).text);
	printf("%s tasks live in process %u, on %u threads\n", say_count(snapshot->count).text, pid,
	       snapshot->threads);
	if (snapshot->unread)
		say_error(NULL, "the chains of process %u could not be read: %s", pid,
			  strerror(snapshot->unread));
	return EXIT_OK;
}

static int tree_of(struct show *show, uint32_t pid, enum form form)
{
	cleanup(symbols_freep) struct symbols *symbols = NULL;
	struct diag diag = {.text = "out of memory"};
	struct attachment attachment;
	struct snapshot snapshot;
	int r = find_pid(&attachment, pid, &diag);

	if (r < 0) {
		say_diag(NULL, &diag);
		return EXIT_FAILED;
	}
	guard_begin(&attachment);
	r = snapshot_take(&snapshot, &attachment);
	guard_end();
	attach_fini(&attachment);
	if (r < 0 || name_code(&symbols, pid) < 0) {
		say_error(NULL, "out of memory");
		if (r == 0)
			snapshot_fini(&snapshot);
		return EXIT_FAILED;
	}
	show->snapshot = &snapshot;
	show->symbols = symbols;
	r = show_snapshot(show, pid, form);
	snapshot_fini(&snapshot);
	return r;
}

static bool parse_pid(const char *text, uint32_t *ret)
{
	char *end;
	unsigned long pid = strtoul(text, &end, 10);

	*ret = (uint32_t)pid;
	return end != text && !*end && pid && pid <= INT32_MAX;
}

static int run(struct options *options)
{
	struct show show = {.chains = true};
	enum form form = FORM_TEXT;
	uint32_t pid;
	int option;

	while ((option = options_next(options)) > 0) {
		if (option == OPTION_JSON)
			form = FORM_JSON;
		if (option == OPTION_FOLDED)
			form = FORM_FOLDED;
		if (option == OPTION_CHAINS)
			show.chains = false;
		if (option == OPTION_LIMIT && !options_number(options, &show.limit))
			return options_bad_value(options, "a number");
	}
	if (option < 0)
		return options->status;
	if (options->operand_count != 1) {
		say_error(NULL, "tree: which process?");
		say_hint("unweave tree PID; unweave ps lists them");
		return EXIT_USAGE;
	}
	if (!parse_pid(options->operands[0], &pid)) {
		say_error(NULL, "tree: '%s' is not a process id", options->operands[0]);
		return EXIT_USAGE;
	}
	return say_finish(tree_of(&show, pid, form));
}

static const struct option_entry entries[] = {
	{OPTION_JSON, 'j', "json", NULL, "one JSON object a task"},
	{OPTION_FOLDED, 'f', "folded", NULL, "folded stacks of where tasks are, for a flame graph"},
	{OPTION_LIMIT, 'n', "limit", "N", "show no more than N tasks"},
	{OPTION_CHAINS, 0, "no-chains", NULL, "a line for each task, without what it waits in"},
	{0},
};

const struct cmd cmd_tree = {
	.name = "tree",
	.arguments = "PID",
	.summary = "Show the live tasks of a program, and where each waits",
	.details = "It only reads memory: the program may be stopped, hang, or spin.\n",
	.options = entries,
	.run = run,
};
