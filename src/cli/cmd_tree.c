/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/say.h"
#include "cli/tree.h"

/* What the command line asks for. */
struct request {
	int (*form)(const struct tree *tree, FILE *to);
	struct tree_choice choice;
	bool no_chains;
	uint64_t limit;      /* tasks; 0: all */
	const char *core;    /* NULL: a process */
	const char *program; /* of the core */
	uint32_t pid;
};

static const char *const orders[] = {
	[TREE_BY_PARENT] = "tree", [TREE_BY_TIME] = "time", [TREE_BY_BUSY] = "busy",
	[TREE_BY_RUNS] = "runs",   [TREE_BY_ID] = "id",
};

static const char *const states[] = {"running",   "queued",  "waiting",  "new",
				     "suspended", "unknown", "standing", "loop"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Which of some words it is; -1: none. */
static int find_word(const char *word, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -1;
}

static int show(const struct request *request, const struct tree_source *source)
{
	struct tree tree = {.source = source,
			    .snapshot = &source->snapshot,
			    .symbols = source->symbols,
			    .chains = !request->no_chains};
	int r = tree_init(&tree, &request->choice);

	if (r == 0 && request->limit && request->limit < tree.shown)
		tree.shown = (uint32_t)request->limit;
	if (r == 0)
		r = request->form(&tree, stdout);
	if (r == -ENOENT)
		say_error(NULL, "process %u has no task %" PRIu64 ", or it has ended", source->pid,
			  request->choice.task);
	else if (r < 0)
		say_error(NULL, "out of memory");
	tree_fini(&tree);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int tree_of(const struct request *request)
{
	struct diag diag = {.text = "out of memory"};
	struct tree_source source;
	int r = request->core ? tree_source_core(&source, request->core, request->program, &diag)
			      : tree_source_pid(&source, request->pid, &diag);

	if (r < 0) {
		say_diag(request->core, &diag);
		return EXIT_FAILED;
	}
	r = show(request, &source);
	if (source.missing[0])
		say_error(request->core, "%s", source.missing);
	if (source.missing_hint[0])
		say_hint("%s", source.missing_hint);
	tree_source_fini(&source);
	return r;
}

/* Only digits are a process; all else is a file. */
static bool parse_pid(const char *text, uint32_t *ret)
{
	char *end;
	unsigned long pid = strtoul(text, &end, 10);

	*ret = (uint32_t)pid;
	return end != text && !*end && pid && pid <= INT32_MAX;
}

static int set_form(const struct options *options, void *to)
{
	struct request *request = to;

	request->form = strcmp(options->name, "json") == 0 ? tree_json : tree_folded;
	return EXIT_OK;
}

static int set_state(const struct options *options, void *to)
{
	if (find_word(options->value, states, COUNT(states)) < 0)
		return options_bad_value(options, "running, queued, waiting, new, suspended, "
						  "unknown, standing or loop");
	return option_text(options, to);
}

static int set_order(const struct options *options, void *to)
{
	int word = find_word(options->value, orders, COUNT(orders));

	if (word < 0)
		return options_bad_value(options, "tree, time, busy, runs or id");
	*(enum tree_order *)to = (enum tree_order)word;
	return EXIT_OK;
}

/* What is to be looked at: one process, or one file. */
static int read_operand(struct options *options, struct request *request)
{
	const char *operand = options->operands[0];

	if (options->operand_count != (request->core ? 0 : 1)) {
		say_error(NULL, "tree: which process, or which core file?");
		say_hint("unweave tree PID, or unweave tree CORE; unweave ps lists processes");
		return EXIT_USAGE;
	}
	if (!request->core && !parse_pid(operand, &request->pid)) {
		if (access(operand, F_OK) < 0) {
			say_error(NULL, "tree: '%s' is not a process id, nor a file", operand);
			return EXIT_USAGE;
		}
		request->core = operand;
	}
	if (request->program && !request->core) {
		say_error(NULL, "tree: --program goes with a core file");
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

static int run(struct options *options)
{
	struct request request = {.form = tree_text};
	int status;

	if (!options_read(options, &request))
		return options->status;
	status = read_operand(options, &request);
	return status == EXIT_OK ? say_finish(tree_of(&request)) : status;
}

static const struct option_entry entries[] = {
	{'j', "json", NULL, "a JSON object for the process, then one for each task", set_form, 0},
	{'f', "folded", NULL, "folded stacks of where tasks are, for a flame graph", set_form, 0},
	{'n', "limit", "N", "show no more than N tasks", OPTION_NUMBER(struct request, limit)},
	{0, "no-chains", NULL, "a line for each task, without what it waits in",
	 OPTION_FLAG(struct request, no_chains)},
	{'t', "task", "ID", "this task and those below it",
	 OPTION_TASK(struct request, choice.task)},
	{0, "site", "TEXT", "tasks whose name, or place of creation, has TEXT in it",
	 OPTION_TEXT(struct request, choice.site)},
	{0, "state", "STATE", "tasks in this state: waiting, running, ...", set_state,
	 offsetof(struct request, choice.state)},
	{'s', "sort", "BY", "a list by time (in its state), busy, runs or id", set_order,
	 offsetof(struct request, choice.order)},
	{'c', "core", "FILE", "the core file of a program that crashed",
	 OPTION_TEXT(struct request, core)},
	{0, "program", "FILE", "the program of the core, if it is not where it was",
	 OPTION_TEXT(struct request, program)},
	{0},
};

const struct cmd cmd_tree = {
	.name = "tree",
	.arguments = "PID|CORE",
	.summary = "Show the live tasks of a program, and where each waits",
	.details = "It only reads memory: the program may be stopped, hang, or spin, or have "
		   "crashed.\n",
	.options = entries,
	.run = run,
};
