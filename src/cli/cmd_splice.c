/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/say.h"
#include "cli/splicing.h"

#define DEFAULT_OUTPUT "spliced.unw"

static uint64_t in_tasks(const struct splicing_result *result)
{
	return result->samples - result->outcomes[SPLICE_NO_TASK];
}

static uint64_t exact(const struct splicing_result *result)
{
	return result->outcomes[SPLICE_EXACT] + result->outcomes[SPLICE_MISMATCH];
}

/* A share in tenths of a percent, rounded down: 100.0 is all. */
static void say_share(uint64_t part, uint64_t all)
{
	uint64_t tenths = all ? part * 1000 / all : 0;

	fprintf(stderr, "%" PRIu64 ".%" PRIu64 " %%", tenths / 10, tenths % 10);
}

/* One more kind of samples, if there are any; `before` is what comes before the next. */
static void say_some(const char **before, uint64_t count, const char *what)
{
	if (!count)
		return;
	fprintf(stderr, "%s%s %s", *before, say_count(count).text, what);
	*before = ", ";
}

/* Those that are not among the samples of the output. */
static void say_others(const struct splicing_result *result)
{
	const char *before = "unweave: besides these there are ";

	say_some(&before, result->others, "of other processes");
	say_some(&before, result->outside, "from before or after the trace");
	say_some(&before, result->damaged, "damaged");
	say_some(&before, result->lost, "lost by perf");
	if (before[0] == ',')
		fputc('\n', stderr);
}

static void say_hints(const struct splicing_result *result)
{
	uint64_t tasks = in_tasks(result);

	if (result->without_stacks && result->outcomes[SPLICE_NO_CHAIN])
		say_hint("the trace has no chains: record with --detail full");
	else if (result->without_anchors)
		say_hint("the trace does not say where the anchors are: record it again");
	else if (result->walk == FOREIGN_NO_STACKS)
		say_hint("perf recorded no stacks: use --call-graph dwarf, or -g for code that has "
			 "frame pointers");
	else if (result->walk == FOREIGN_FRAME_POINTERS && exact(result) * 100 < tasks * 95)
		say_hint("some code has no frame pointers: perf record --call-graph dwarf sees "
			 "through it");
	if (!result->samples && result->others)
		say_hint("perf must record the program of the trace, while that is recorded");
}

static void summarise(const char *output, const struct splicing_result *result)
{
	uint64_t tasks = in_tasks(result);

	fprintf(stderr, "unweave: %s: %s samples, %s of tasks", output,
		say_count(result->samples).text, say_count(tasks).text);
	if (tasks) {
		fputs(" (", stderr);
		say_share(exact(result), tasks);
		fputs(" spliced exactly)", stderr);
	}
	fprintf(stderr, ", %s outside of any",
		say_count(result->samples - tasks - result->in_losses).text);
	if (result->in_losses)
		fprintf(stderr, ", %s where events are missing", say_count(result->in_losses).text);
	fputc('\n', stderr);
	say_others(result);
	if (result->torn)
		fputs("unweave: the perf.data ends early: perf was killed, or its disk was full\n",
		      stderr);
	if (result->replaced)
		fputs("unweave: the samples that the trace had are not in it\n", stderr);
	say_hints(result);
}

struct request {
	struct splicing_plan plan;
	bool quiet;
};

static int run(struct options *options)
{
	struct request request = {.plan.output = DEFAULT_OUTPUT};
	struct splicing_plan *plan = &request.plan;
	struct splicing_result result;
	struct diag diag = {0};

	if (!options_read(options, &request))
		return options->status;
	if (options->operand_count != 2) {
		say_error(NULL, "splice: which trace, and which perf.data?");
		say_hint("unweave splice TRACE perf.data -o FILE");
		return EXIT_USAGE;
	}
	plan->trace = options->operands[0];
	plan->perf = options->operands[1];
	if (splicing_run(plan, &result, &diag) < 0) {
		say_diag(result.file, &diag);
		return EXIT_FAILED;
	}
	if (!request.quiet)
		summarise(plan->output, &result);
	return EXIT_OK;
}

static const struct option_entry entries[] = {
	{'o', "output", "FILE", "the trace to write; " DEFAULT_OUTPUT " if not given",
	 OPTION_TEXT(struct request, plan.output)},
	{'q', "quiet", NULL, "no words about what became of the samples",
	 OPTION_FLAG(struct request, quiet)},
	{0},
};

const struct cmd cmd_splice = {
	.name = "splice",
	.arguments = "TRACE PERF.DATA",
	.summary = "Add the samples that perf took to a trace",
	.details = "Both must be of the same program at the same time:\n"
		   "  unweave record --detail full -o TRACE -p PID &\n"
		   "  perf record -k CLOCK_MONOTONIC_RAW --call-graph dwarf -o PERF.DATA -p PID\n",
	.options = entries,
	.run = run,
};
