/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "trace/reader.h"
#include "util/cleanup.h"
#include "view/flame.h"
#include "view/naming.h"

DEFINE_FREEP(struct reader, reader_free)
DEFINE_FREEP(struct symbols, symbols_free)
DEFINE_FREEP(struct profile, profile_free)

struct plan {
	const char *traces[FLAME_SIDES]; /* the other's may be NULL */
	const char *output;              /* NULL: after the trace */
	const char *title;               /* NULL: the trace and its program */
	enum flame_metric metric;
	bool metric_chosen;
	bool svg;
	bool by_task;
	bool no_files;
};

/* What is kept of a trace after its profile is in the graph. */
struct told {
	struct model_totals totals;
	char *program; /* "" if unknown */
	bool faults;
};

struct work {
	struct flame *flame;
	struct told told[FLAME_SIDES];
	char *output;
	char *title;
};

static void work_fini(struct work *work)
{
	flame_free(work->flame);
	for (uint32_t side = 0; side < FLAME_SIDES; side++)
		free(work->told[side].program);
	free(work->output);
	free(work->title);
}

static int no_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, "out of memory");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), wanted = strlen(end);

	return length >= wanted && strcasecmp(text + length - wanted, end) == 0;
}

static void show_progress(void *data, uint64_t done, uint64_t all)
{
	struct progress *progress = data;

	(void)all;
	if (progress->due)
		progress_show(progress, progress->first + done);
}

/* Adds the profile of a trace to the graph. */
static int load(struct work *work, const struct plan *plan, enum flame_side side, struct diag *diag)
{
	cleanup(reader_freep) struct reader *reader = NULL;
	cleanup(symbols_freep) struct symbols *symbols = NULL;
	cleanup(profile_freep) struct profile *profile = NULL;
	struct told *told = &work->told[side];
	const struct reader_summary *summary;
	struct profile_options options;
	struct progress progress;
	int r;

	r = reader_open(&reader, plan->traces[side], NULL, NULL, diag);
	if (r < 0)
		return r;
	summary = reader_summary(reader);
	r = naming_new(&symbols, reader, plan->no_files, diag);
	if (r < 0)
		return r;
	options = (struct profile_options){
		.reader = reader,
		.symbols = symbols,
		.progress = show_progress,
		.progress_data = &progress,
		.by_task = plan->by_task,
	};
	progress_start(&progress, "reading", reader);
	r = profile_new(&profile, &options, diag);
	progress_end(&progress);
	if (r < 0)
		return r;

	flame_add_profile(work->flame, profile, side);
	told->totals = *profile_totals(profile);
	told->faults = summary->faults > 0;
	told->program =
		strdup(summary->session.program.length ? summary->session.program.bytes : "");
	return told->program ? 0 : no_memory(diag);
}

/* The trace's name, with another ending; but a name that has none gets one. */
static char *name_after(const char *trace, const char *ending)
{
	size_t length = strlen(trace);
	char *name;

	if (ends_with(base_name(trace), ".unw"))
		length -= strlen(".unw");
	if (asprintf(&name, "%.*s%s", (int)length, trace, ending) < 0)
		return NULL;
	return name;
}

static char *make_title(const struct plan *plan, const struct told *told)
{
	char *title;

	if (plan->title)
		return strdup(plan->title);
	if (!*told->program)
		return strdup(base_name(plan->traces[FLAME_THIS]));
	if (asprintf(&title, "%s: %s", base_name(plan->traces[FLAME_THIS]),
		     base_name(told->program)) < 0)
		return NULL;
	return title;
}

/* CPU, but for a trace that has none and something else. */
static enum flame_metric choose_metric(const struct plan *plan, const struct told *told)
{
	if (plan->metric_chosen || told->totals.samples)
		return plan->metric;
	return told->totals.busy || told->totals.pending || told->totals.queued ? FLAME_WALL
										: FLAME_CPU;
}

static int draw(const struct work *work, const struct flame_caption *caption, bool svg, FILE *to)
{
	return svg ? flame_svg(work->flame, caption, to) : flame_html(work->flame, caption, to);
}

static int write_output(const struct work *work, const struct flame_caption *caption, bool svg,
			struct diag *diag)
{
	bool to_stdout = strcmp(work->output, "-") == 0;
	FILE *to = to_stdout ? stdout : output_open(work->output);
	int r;

	if (!to)
		return diag_set(diag, -errno, "%m");
	r = draw(work, caption, svg, to);
	/* That it could not be written is known better by who closes it. */
	if (!to_stdout)
		r = output_close(to, work->output, r == -EIO ? 0 : r);
	if (r == -ENOMEM)
		return no_memory(diag);
	if (to_stdout || r == 0)
		return 0; /* what stdout met is said at the end, as for all commands */
	return diag_set(diag, r, "could not be written: %s", strerror(-r));
}

static int show(struct work *work, const struct plan *plan, struct diag *diag)
{
	bool compared = plan->traces[FLAME_OTHER] != NULL;
	struct flame_caption caption = {
		.title = work->title,
		.traces = {base_name(plan->traces[FLAME_THIS]),
			   compared ? base_name(plan->traces[FLAME_OTHER]) : ""},
		.totals = {&work->told[FLAME_THIS].totals, &work->told[FLAME_OTHER].totals},
		.metric = choose_metric(plan, &work->told[FLAME_THIS]),
	};

	if (flame_finish(work->flame, caption.metric, 0) < 0)
		return no_memory(diag);
	return write_output(work, &caption, plan->svg, diag);
}

/* What the user should know besides; on stderr, since the page may be on stdout. */
static void say_what_is_missing(const struct plan *plan, const struct work *work)
{
	for (uint32_t side = 0; side < FLAME_SIDES && plan->traces[side]; side++) {
		const struct told *told = &work->told[side];

		if (told->faults) {
			say_error(plan->traces[side],
				  "the trace has faults; what is readable was shown");
			say_hint("'unweave verify' lists them");
		}
		if (!told->totals.samples && (!plan->metric_chosen || plan->metric == FLAME_CPU)) {
			say_error(plan->traces[side], "no CPU samples in this trace");
			say_hint("'unweave record' takes them; --wait and --wall need none");
		}
	}
}

/* Returns how to exit. */
static int make(const struct plan *plan)
{
	cleanup(work_fini) struct work work = {0};
	struct diag diag = {0};

	if (flame_new(&work.flame) < 0) {
		say_error(NULL, "out of memory");
		return EXIT_FAILED;
	}
	for (uint32_t side = 0; side < FLAME_SIDES && plan->traces[side]; side++) {
		if (load(&work, plan, side, &diag) < 0) {
			say_diag(plan->traces[side], &diag);
			return EXIT_FAILED;
		}
	}
	work.output = plan->output
			      ? strdup(plan->output)
			      : name_after(plan->traces[FLAME_THIS], plan->svg ? ".svg" : ".html");
	work.title = make_title(plan, &work.told[FLAME_THIS]);
	if (!work.output || !work.title) {
		say_error(NULL, "out of memory");
		return EXIT_FAILED;
	}
	if (output_is_same(work.output, plan->traces[FLAME_THIS]) ||
	    output_is_same(work.output, plan->traces[FLAME_OTHER])) {
		say_error(work.output, "is the trace itself, and is not overwritten");
		say_hint("-o chooses another name");
		return EXIT_FAILED;
	}
	if (show(&work, plan, &diag) < 0) {
		say_diag(work.output, &diag);
		return EXIT_FAILED;
	}
	say_what_is_missing(plan, &work);
	if (!plan->output)
		printf("%s\n", work.output);
	return EXIT_OK;
}

/* --cpu and the like; the last one counts. */
static int set_metric(const struct options *options, void *to)
{
	static const char *const names[] = {
		[FLAME_CPU] = "cpu", [FLAME_WAIT] = "wait", [FLAME_WALL] = "wall"};
	struct plan *plan = to;

	plan->metric = 0;
	while (strcmp(options->name, names[plan->metric]) != 0)
		plan->metric++;
	plan->metric_chosen = true;
	return EXIT_OK;
}

static int run(struct options *options)
{
	struct plan plan = {.metric = FLAME_CPU};

	if (!options_read(options, &plan))
		return options->status;
	if (!options_name_a_trace(options, options->operand_count
						   ? "unweave flame FILE --diff OTHER compares two"
						   : "unweave flame FILE"))
		return EXIT_USAGE;
	plan.traces[FLAME_THIS] = options->operands[0];
	if (plan.output && ends_with(plan.output, ".svg"))
		plan.svg = true;
	return make(&plan);
}

static const struct option_entry entries[] = {
	{'o', "output", "FILE", "write to FILE, .html or .svg; '-': to stdout",
	 OPTION_TEXT(struct plan, output)},
	{0, "svg", NULL, "a picture instead of a page", OPTION_FLAG(struct plan, svg)},
	{0, "cpu", NULL, "show time on a CPU first: the default", set_metric, 0},
	{0, "wait", NULL, "show waiting first, pending and queued", set_metric, 0},
	{0, "wall", NULL, "show all the time of tasks first", set_metric, 0},
	{0, "diff", "OTHER", "compare with another trace",
	 OPTION_TEXT(struct plan, traces[FLAME_OTHER])},
	{0, "by-task", NULL, "the label of the task is the outermost frame",
	 OPTION_FLAG(struct plan, by_task)},
	{0, "title", "TEXT", "what stands above the graph", OPTION_TEXT(struct plan, title)},
	{0, "no-files", NULL, "only names that the trace carries itself",
	 OPTION_FLAG(struct plan, no_files)},
	{0},
};

const struct cmd cmd_flame = {
	.name = "flame",
	.arguments = "FILE",
	.summary = "Show where time went, as a flame graph of logical stacks",
	.details = "Writes one HTML file that needs nothing else, named after the trace.\n",
	.options = entries,
	.run = run,
};
