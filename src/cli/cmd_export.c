/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "trace/reader.h"
#include "util/cleanup.h"
#include "view/export.h"
#include "view/naming.h"

DEFINE_FREEP(struct reader, reader_free)
DEFINE_FREEP(struct symbols, symbols_free)

struct plan {
	const char *trace;
	const char *output; /* NULL: stdout */
	const struct export_format *format;
	bool cpu, wait, wall;
	unsigned values; /* a bit for each of these */
	bool plain;
	bool no_files;
};

static void show_progress(void *data, uint64_t done, uint64_t all)
{
	struct progress *progress = data;

	(void)all;
	if (progress->due)
		progress_show(progress, progress->first + done);
}

/* What the user should know of what was written. */
static void remark(const struct plan *plan, const struct reader *reader,
		   const struct export *export)
{
	if (reader_summary(reader)->faults) {
		say_error(plan->trace, "the trace has faults; what is readable was exported");
		say_hint("'unweave verify' lists them");
	}
	if (export->empty && !(plan->values & ~(1u << PROFILE_CPU))) {
		say_error(plan->trace, "there are no CPU samples in it");
		say_hint("--wait and --wall show the time that tasks took");
	} else if (export->empty) {
		say_error(plan->trace, "there are no runs and waits of tasks in it");
		say_hint("'unweave record' tells of them at detail 'tasks' and 'full'");
	}
	if (export->left_out) {
		say_error(plan->trace, "%s runs, waits and samples found no room in this format",
			  say_count(export->left_out).text);
		say_hint("--format perfetto has room for all of them");
	}
}

static int write_to(const struct plan *plan, FILE *to, struct diag *diag)
{
	cleanup(reader_freep) struct reader *reader = NULL;
	cleanup(symbols_freep) struct symbols *symbols = NULL;
	struct export export = {.to = to, .values = plan->values, .plain = plan->plain};
	struct progress progress;
	int r;

	r = reader_open(&reader, plan->trace, NULL, NULL, diag);
	if (r < 0)
		return r;
	r = naming_new(&symbols, reader, plan->no_files, diag);
	if (r < 0)
		return r;
	export.reader = reader;
	export.symbols = symbols;
	export.progress = show_progress;
	export.progress_data = &progress;
	progress_start(&progress, "exporting", reader);
	r = plan->format->write(&export, diag);
	progress_end(&progress);
	if (r == 0)
		remark(plan, reader, &export);
	return r;
}

static int write_file(const struct plan *plan)
{
	struct diag diag = {0};
	FILE *to;
	int r, closed;

	if (output_is_same(plan->output, plan->trace)) {
		say_error(plan->output, "this is the trace itself");
		return EXIT_FAILED;
	}
	to = output_open(plan->output);
	if (!to) {
		say_error(plan->output, "%s", strerror(errno));
		return EXIT_FAILED;
	}
	r = write_to(plan, to, &diag);
	closed = output_close(to, plan->output, r);
	if (r < 0)
		say_diag(plan->trace, &diag);
	else if (closed < 0)
		say_error(plan->output, "%s", strerror(-closed));
	if (closed < 0)
		return EXIT_FAILED;
	if (isatty(STDERR_FILENO))
		say_hint("%s shows it", plan->format->opens);
	return EXIT_OK;
}

/* That stdout failed is said at the end, as for all commands. */
static int write_stdout(const struct plan *plan)
{
	struct diag diag = {0};
	int r;

	if (plan->format->binary && isatty(STDOUT_FILENO)) {
		say_error(NULL, "export: %s is a binary format, and the output is a terminal",
			  plan->format->name);
		say_hint("-o FILE writes it to a file");
		return EXIT_USAGE;
	}
	r = write_to(plan, stdout, &diag);
	if (r < 0) {
		fflush(stdout);
		say_diag(plan->trace, &diag);
	}
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int set_format(const struct options *options, void *to)
{
	const struct export_format *format = export_find(options->value);
	const char *names[16], *close;
	size_t count = 0;

	if (format) {
		*(const struct export_format **)to = format;
		return EXIT_OK;
	}
	while (export_formats[count] && count < sizeof(names) / sizeof(names[0])) {
		names[count] = export_formats[count]->name;
		count++;
	}
	close = say_closest(options->value, names, count);
	say_error(NULL, "option '--format': there is no format '%s'", options->value);
	if (close)
		say_hint("did you mean '%s'?", close);
	else
		say_hint("'unweave help export' lists the formats");
	return EXIT_USAGE;
}

static int set_output(const struct options *options, void *to)
{
	*(const char **)to = strcmp(options->value, "-") == 0 ? NULL : options->value;
	return EXIT_OK;
}

/* Whether what was asked for goes together. Returns how to exit, or 0. */
static int check(struct plan *plan, const struct options *options)
{
	if (!options_name_a_trace(options, "unweave export FILE --format FORMAT -o OUTPUT"))
		return EXIT_USAGE;
	plan->trace = options->operands[0];
	plan->values = (unsigned)plan->cpu << PROFILE_CPU | (unsigned)plan->wait << PROFILE_WAIT |
		       (unsigned)plan->wall << PROFILE_WALL;
	if (!plan->format) {
		say_error(NULL, "export: to which format?");
		say_hint("--format perfetto, chrome, speedscope, pprof, folded or firefox");
		return EXIT_USAGE;
	}
	if (plan->values & ~plan->format->values) {
		say_error(NULL, "export: %s",
			  plan->format->values ? "this format has no such time"
					       : "this format has all times anyway");
		say_hint("'unweave help export' says which format has what");
		return EXIT_USAGE;
	}
	if (plan->format->one_value && plan->values & (plan->values - 1)) {
		say_error(NULL, "export: only one kind of time fits into this format");
		say_hint("give one of --cpu, --wait and --wall");
		return EXIT_USAGE;
	}
	return 0;
}

static int run(struct options *options)
{
	struct plan plan = {0};
	int r;

	if (!options_read(options, &plan))
		return options->status;
	r = check(&plan, options);
	if (r)
		return r;
	return plan.output ? write_file(&plan) : write_stdout(&plan);
}

static const struct option_entry entries[] = {
	{'f', "format", "FORMAT", "which one of those", set_format, offsetof(struct plan, format)},
	{'o', "output", "FILE", "write to FILE; '-', or none: to the output", set_output,
	 offsetof(struct plan, output)},
	{0, "cpu", NULL, "time on a CPU, by samples", OPTION_FLAG(struct plan, cpu)},
	{0, "wait", NULL, "time in which tasks waited to be woken", OPTION_FLAG(struct plan, wait)},
	{0, "wall", NULL, "all the time of tasks: running, waiting, queued",
	 OPTION_FLAG(struct plan, wall)},
	{0, "plain", NULL, "folded: names without _[a] and _[i]", OPTION_FLAG(struct plan, plain)},
	{0, "no-files", NULL, "name functions only by what the trace carries",
	 OPTION_FLAG(struct plan, no_files)},
	{0},
};

const struct cmd cmd_export = {
	.name = "export",
	.arguments = "FILE",
	.summary = "Write a trace in a format that other programs show",
	.details =
		"Formats:\n"
		"  perfetto    timeline and samples, for ui.perfetto.dev\n"
		"  chrome      the same as JSON, for chrome://tracing and others\n"
		"  speedscope  --cpu, --wait, --wall, or all of them: speedscope.app\n"
		"  pprof       sums of all kinds; --cpu, --wait or --wall is shown first\n"
		"  folded      one of --cpu (if none is given), --wait and --wall: flamegraph.pl\n"
		"  firefox     --cpu, --wait, or both: profiler.firefox.com\n",
	.options = entries,
	.run = run,
};
