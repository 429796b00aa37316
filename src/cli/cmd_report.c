/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/filter.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/say.h"
#include "util/cleanup.h"
#include "view/naming.h"

#define TOP_DEFAULT 20u
#define LIST_MOST 100000u /* single runs or tasks, with --top 0 */

DEFINE_FREEP(struct reader, reader_free)
DEFINE_FREEP(struct symbols, symbols_free)
DEFINE_FREEP(struct survey, survey_free)

struct plan {
	enum report_table table;
	const char *sort;   /* NULL: as the table likes it */
	const char *filter; /* or NULL */
	uint64_t top;
	bool top_set;
	uint64_t from, to; /* ns after the beginning */
	bool tasks, incomplete, wait, source, no_files, json, csv;
	struct lint_limits limits;
};

static const struct {
	const char *name;
	enum report_table table;
} words[] = {
	{"summary", REPORT_SUMMARY}, {"activities", REPORT_ACTIVITIES}, {"sites", REPORT_SITES},
	{"stacks", REPORT_STACKS},   {"functions", REPORT_FUNCTIONS},   {"threads", REPORT_THREADS},
	{"runs", REPORT_RUNS},       {"loops", REPORT_LOOPS},
};
#define WORDS (sizeof(words) / sizeof(words[0]))

static void show_progress(void *data, uint64_t done, uint64_t all)
{
	struct progress *progress = data;

	(void)all;
	if (progress->due)
		progress_show(progress, progress->first + done);
}

static bool is_list(enum report_table table)
{
	return table == REPORT_RUNS || table == REPORT_TASKS || table == REPORT_INCOMPLETE;
}

/* Rows that the reading keeps, for the tables whose rows are too many to keep all. */
static uint32_t list_most(const struct plan *plan)
{
	uint64_t most = plan->top_set ? plan->top : TOP_DEFAULT;

	return !most || most > LIST_MOST ? LIST_MOST : (uint32_t)most;
}

/* The order in which single tasks are kept: by what they will be sorted. */
static enum survey_order order_of(const struct plan *plan)
{
	static const struct {
		const char *names[2];
		enum survey_order order;
	} orders[] = {
		{{"cpu_ns", "cpu"}, SURVEY_BY_CPU},
		{{"running_ns", "running"}, SURVEY_BY_RUNNING},
		{{"waiting_ns", "waiting"}, SURVEY_BY_WAITING},
		{{"queued_ns", "queued"}, SURVEY_BY_QUEUED},
		{{"runs", "runs"}, SURVEY_BY_RUNS},
		{{"start_ns", "start"}, SURVEY_BY_START},
	};

	for (unsigned i = 0; plan->sort && i < sizeof(orders) / sizeof(orders[0]); i++)
		if (strcasecmp(plan->sort, orders[i].names[0]) == 0 ||
		    strcasecmp(plan->sort, orders[i].names[1]) == 0)
			return orders[i].order;
	return SURVEY_BY_DURATION;
}

/* What --from and --to are after: the first event, or sample if there are only those. */
static uint64_t find_first(struct reader *reader)
{
	const struct reader_summary *summary = reader_summary(reader);
	struct sample sample;
	uint64_t first = summary->first;

	if (summary->event_blocks)
		return first;
	reader_rewind_samples(reader);
	if (reader_next_sample(reader, &sample, NULL) == 0)
		first = sample.time;
	reader_rewind_samples(reader);
	return first;
}

static int read_trace(struct report *report, const struct plan *plan, struct diag *diag)
{
	uint64_t first = find_first(report->reader);
	struct progress progress;
	struct survey_options options = {
		.reader = report->reader,
		.symbols = report->symbols,
		.progress = show_progress,
		.progress_data = &progress,
		.filter = is_list(plan->table) ? plan->filter : NULL,
		.runs_most = plan->table == REPORT_RUNS ? list_most(plan) : TOP_DEFAULT,
		.tasks_most = is_list(plan->table) ? list_most(plan) : 0,
		.order = order_of(plan),
		.incomplete = plan->table == REPORT_INCOMPLETE,
		.limits = plan->table == REPORT_SUMMARY ? &plan->limits : NULL,
	};
	int r;

	report->first = first;
	if (report->windowed) {
		options.from = plan->from < UINT64_MAX - first ? first + plan->from : UINT64_MAX;
		options.to = plan->to < UINT64_MAX - first ? first + plan->to : UINT64_MAX;
	}
	progress_start(&progress, "reading", report->reader);
	r = survey_new(&report->survey, &options, diag);
	progress_end(&progress);
	return r;
}

static const char *table_name(enum report_table table)
{
	if (table == REPORT_TASKS)
		return "tasks";
	if (table == REPORT_INCOMPLETE)
		return "incomplete";
	if (table == REPORT_WAITS)
		return "waits";
	for (unsigned i = 0; i < WORDS; i++)
		if (words[i].table == table)
			return words[i].name;
	return "";
}

static int no_column(const struct table *table, const char *name, struct diag *diag)
{
	char names[200] = "";
	size_t length = 0;

	for (uint32_t i = 0; i < table->column_count && length < sizeof(names); i++)
		if (table->columns[i].title && table->columns[i].kind != TABLE_STACK)
			length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
						   length ? ", " : "", table->columns[i].title);
	diag_set(diag, -EINVAL, "there is no column '%s' to sort by", name);
	return diag_hint(diag, -EINVAL, "one of %s", names);
}

/* The table as it is to be shown; whoever calls this ends it in any case. */
static int make_table(const struct report *report, const struct plan *plan, struct table *table,
		      struct diag *diag)
{
	const char *sort = NULL, *filter = is_list(plan->table) ? NULL : plan->filter;
	bool all = plan->table == REPORT_ACTIVITIES || plan->table == REPORT_SITES ||
		   plan->table == REPORT_THREADS || plan->table == REPORT_LOOPS;
	uint64_t top = plan->top_set ? plan->top : all ? 0 : TOP_DEFAULT;
	int column, r = report_fill(report, plan->table, table, &sort);

	if (r < 0)
		return r;
	column = table_find(table, plan->sort ? plan->sort : sort);
	if (column < 0)
		return no_column(table, plan->sort, diag);
	return table_arrange(table, column, filter, top > UINT32_MAX ? 0 : (uint32_t)top);
}

static void show_table(const struct report *report, const struct plan *plan,
		       const struct table *table)
{
	struct json json = {.to = stdout};

	if (plan->csv) {
		table_csv(table, stdout);
		return;
	}
	if (!plan->json) {
		if (plan->table == REPORT_RUNS)
			report_print_histogram(report->survey, stdout);
		table_print(table, stdout);
		return;
	}
	json_open(&json, NULL, '{');
	json_text(&json, "file", report->path);
	json_text(&json, "table", table_name(plan->table));
	if (plan->table == REPORT_RUNS)
		report_json_histogram(report->survey, &json);
	table_json(table, "rows", &json);
	json_number(&json, "left_out", table->left_out);
	json_close(&json, '}');
	json_line(&json);
}

static int show_summary(const struct report *report, const struct plan *plan)
{
	struct json json = {.to = stdout};
	int r;

	if (!plan->json)
		return report_print_summary(report, stdout);
	json_open(&json, NULL, '{');
	json_text(&json, "file", report->path);
	json_text(&json, "table", "summary");
	r = report_json_summary(report, &json);
	json_close(&json, '}');
	json_line(&json);
	return r;
}

static int show(const struct report *report, const struct plan *plan, struct diag *diag)
{
	struct table table = {0};
	int r;

	if (plan->table == REPORT_SUMMARY)
		return show_summary(report, plan);
	r = make_table(report, plan, &table, diag);
	if (r == 0)
		show_table(report, plan, &table);
	table_fini(&table);
	return r;
}

static int report(const char *path, const struct plan *plan, struct diag *diag)
{
	cleanup(reader_freep) struct reader *reader = NULL;
	cleanup(symbols_freep) struct symbols *symbols = NULL;
	cleanup(survey_freep) struct survey *survey = NULL;
	struct report report = {
		.path = path,
		.source = plan->source,
		.windowed = plan->from || plan->to != UINT64_MAX,
	};
	int r = reader_open(&reader, path, NULL, NULL, diag);

	if (r == 0)
		r = naming_new(&symbols, reader, plan->no_files, diag);
	report.reader = reader;
	report.symbols = symbols;
	if (r == 0)
		r = read_trace(&report, plan, diag);
	survey = report.survey;
	return r < 0 ? r : show(&report, plan, diag);
}

static int set_top(const struct options *options, void *to)
{
	struct plan *plan = to;

	plan->top_set = true;
	return option_number(options, &plan->top);
}

/* The word for a table, and what the options make of it. Returns EXIT_USAGE after saying why. */
static int choose(struct plan *plan, const char *word)
{
	const char *names[WORDS];
	const char *closest;
	unsigned i = 0;

	for (; i < WORDS; i++)
		names[i] = words[i].name;
	for (i = 0; word && i < WORDS && strcmp(word, words[i].name) != 0; i++)
		;
	if (i == WORDS) {
		closest = say_closest(word, names, WORDS);
		say_error(NULL, "report: there is no table '%s'", word);
		say_hint("%s%s%s", closest ? "did you mean '" : "one of ",
			 closest ? closest
				 : "activities, sites, stacks, functions, threads, loops, runs",
			 closest ? "'?" : "");
		return EXIT_USAGE;
	}
	plan->table = word ? words[i].table : REPORT_SUMMARY;
	if (plan->tasks && (plan->table == REPORT_ACTIVITIES || plan->table == REPORT_SUMMARY))
		plan->table = REPORT_TASKS;
	if (plan->incomplete && (plan->table == REPORT_TASKS || plan->table == REPORT_ACTIVITIES ||
				 plan->table == REPORT_SUMMARY))
		plan->table = REPORT_INCOMPLETE;
	if (plan->wait && (plan->table == REPORT_STACKS || plan->table == REPORT_SUMMARY))
		plan->table = REPORT_WAITS;
	if (plan->csv && plan->table == REPORT_SUMMARY) {
		say_error(NULL, "report: the summary is no table; --csv needs one");
		say_hint("unweave report FILE activities --csv");
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

static int run(struct options *options)
{
	struct plan plan = {.to = UINT64_MAX};
	struct diag diag = {0};
	int r;

	lint_limits_init(&plan.limits);
	if (!options_read(options, &plan))
		return options->status;
	if (options->operand_count < 1 || options->operand_count > 2) {
		say_error(NULL, "report: %s",
			  options->operand_count ? "one trace and one table at a time"
						 : "which trace?");
		say_hint("unweave report FILE [TABLE]");
		return EXIT_USAGE;
	}
	r = choose(&plan, options->operands[1]);
	if (r)
		return r;
	r = report(options->operands[0], &plan, &diag);
	if (r == 0)
		return EXIT_OK;
	fflush(stdout);
	if (!diag.text[0])
		diag_set(&diag, r, "%s", strerror(-r));
	say_diag(options->operands[0], &diag);
	return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

static const struct option_entry entries[] = {
	{'s', "sort", "COLUMN", "by this column, the most first", OPTION_TEXT(struct plan, sort)},
	{'f', "filter", "TEXT", "only rows that contain this", OPTION_TEXT(struct plan, filter)},
	{'n', "top", "N", "at most N rows; 0: all", set_top, 0},
	{'t', "tasks", NULL, "single tasks instead of activities", OPTION_FLAG(struct plan, tasks)},
	{'i', "incomplete", NULL, "only single tasks that never completed",
	 OPTION_FLAG(struct plan, incomplete)},
	{'w', "wait", NULL, "stacks that waited instead of those on a CPU",
	 OPTION_FLAG(struct plan, wait)},
	{0, "source", NULL, "with source lines, where the files are there",
	 OPTION_FLAG(struct plan, source)},
	{0, "from", "TIME", "from this time after the first event on",
	 OPTION_TIME(struct plan, from)},
	{0, "to", "TIME", "up to this time", OPTION_TIME(struct plan, to)},
	{0, "no-files", NULL, "names only from the trace, not from files",
	 OPTION_FLAG(struct plan, no_files)},
	{0, "warn", "LIMITS", "when to warn: run=10ms,queue=none; none: never",
	 OPTION_LIMITS(struct plan, limits)},
	{'j', "json", NULL, "as one JSON object", OPTION_FLAG(struct plan, json)},
	{0, "csv", NULL, "the table as CSV; times in ns", OPTION_FLAG(struct plan, csv)},
	{0},
};

const struct cmd cmd_report = {
	.name = "report",
	.arguments = "FILE [TABLE]",
	.summary = "Say what a program's tasks did, and what stands out",
	.details = "Tables: activities, sites, stacks, functions, threads, loops, runs.\n"
		   "Without one, a summary.\n"
		   "Times: 1.5s, 20ms, 300us, 5ns.\n",
	.options = entries,
	.run = run,
};
