/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>

#include "cli/cmd.h"
#include "cli/event.h"
#include "cli/filter.h"
#include "cli/labels.h"
#include "cli/names.h"
#include "cli/sample.h"
#include "cli/say.h"
#include "trace/reader.h"
#include "util/cleanup.h"
#include "view/naming.h"

enum {
	OPTION_JSON = 1,
	OPTION_TASK,
	OPTION_THREAD,
	OPTION_KIND,
	OPTION_FROM,
	OPTION_TO,
	OPTION_LIMIT,
	OPTION_STACKS,
	OPTION_SAMPLES,
	OPTION_NO_FILES,
};

struct plan {
	struct filter filter;
	uint64_t limit;
	bool json;
	bool stacks;
	bool samples;  /* those instead of the events */
	bool no_files; /* names only from the trace */
};

/* What is known of the events besides themselves. */
struct context {
	struct reader *reader;
	struct symbols *symbols;
	struct labels labels;
};

static void context_fini(struct context *context)
{
	labels_fini(&context->labels);
	symbols_free(context->symbols);
	reader_free(context->reader);
}

static void plan_fini(struct plan *plan)
{
	filter_fini(&plan->filter);
}

static uint64_t after(uint64_t first, uint64_t ns)
{
	return ns > UINT64_MAX - first ? UINT64_MAX : first + ns;
}

static void show(const struct plan *plan, const struct context *context,
		 const struct unweave_event *event)
{
	struct label label =
		labels_of_task(&context->labels, context->reader, context->symbols, event->task);
	struct event_context about = {
		.reader = context->reader, .symbols = context->symbols, .label = &label};
	struct json json = {.to = stdout};

	if (plan->json)
		event_json(&json, event, &about);
	else
		event_show(stdout, event, &about, plan->stacks);
}

static bool sample_matches(const struct filter *filter, const struct reader *reader,
			   const struct sample *sample)
{
	uint64_t first = reader_summary(reader)->first;

	if (sample->time < after(first, filter->from) || sample->time >= after(first, filter->to) ||
	    !filter_passes(&filter->threads, sample->tid))
		return false;
	for (uint32_t i = 0; i < sample->segment_count; i++)
		if (filter_passes(&filter->tasks, sample->segments[i].task))
			return true;
	return !filter->tasks.count;
}

static int dump_samples(struct reader *reader, const struct plan *plan, struct diag *diag)
{
	struct json json = {.to = stdout};
	struct sample sample;
	uint64_t shown = 0;
	int r = 0;

	while (shown < plan->limit && !ferror_unlocked(stdout)) {
		r = reader_next_sample(reader, &sample, diag);
		if (r)
			break;
		if (!sample_matches(&plan->filter, reader, &sample))
			continue;
		if (plan->json)
			sample_json(&json, reader, &sample);
		else
			sample_show(stdout, reader, &sample, plan->stacks);
		shown++;
	}
	if (r < 0)
		return r;
	return reader_summary(reader)->faults > 0;
}

static int dump_events(struct context *context, const struct plan *plan, struct diag *diag)
{
	struct reader *reader = context->reader;
	uint64_t first = reader_summary(reader)->first, shown = 0;
	struct unweave_event event;
	int r;

	r = reader_seek(reader, plan->filter.from ? after(first, plan->filter.from) : 0,
			after(first, plan->filter.to), diag);
	while (r == 0 && shown < plan->limit && !ferror_unlocked(stdout)) {
		r = reader_next(reader, &event, diag);
		if (r)
			break;
		labels_note(&context->labels, &event);
		if (!filter_match(&plan->filter, reader, &event))
			continue;
		show(plan, context, &event);
		shown++;
	}
	if (r < 0)
		return r;
	return reader_summary(reader)->faults > 0;
}

static int dump(const char *path, const struct plan *plan, struct diag *diag)
{
	cleanup(context_fini) struct context context = {0};
	int r;

	r = reader_open(&context.reader, path, NULL, NULL, diag);
	if (r < 0)
		return r;
	if (plan->samples)
		return dump_samples(context.reader, plan, diag);
	if (labels_init(&context.labels) < 0)
		return diag_set(diag, -ENOMEM, "out of memory");
	r = naming_new(&context.symbols, context.reader, plan->no_files, diag);
	return r < 0 ? r : dump_events(&context, plan, diag);
}

static int set_kinds(struct plan *plan, const struct options *options)
{
	const char *names[NAMES_KINDS - 1], *wrong, *close;
	char word[32];

	wrong = filter_add_kinds(&plan->filter, options->value, word, sizeof(word));
	if (!wrong)
		return 0;
	for (unsigned kind = UNWEAVE_EVENT_CREATE; kind < NAMES_KINDS; kind++)
		names[kind - 1] = name_kind(kind);
	close = say_closest(wrong, names, NAMES_KINDS - 1);
	say_error(NULL, "option '--kind': there is no kind '%s'", wrong);
	if (close)
		say_hint("did you mean '%s'?", close);
	else
		say_hint("'unweave help dump' lists the kinds");
	return EXIT_USAGE;
}

static int set_number(struct filter_list *list, const struct options *options)
{
	uint64_t number;

	if (!options_number(options, &number))
		return options_bad_value(options, "a number");
	if (filter_add(list, number) < 0) {
		say_error(NULL, "out of memory");
		return EXIT_FAILED;
	}
	return 0;
}

static int set_time(uint64_t *to, const struct options *options)
{
	if (!figures_time(options->value, to))
		return options_bad_value(options, "a time such as 1.5s, 20ms or 300us");
	return 0;
}

/* Takes one option into the plan. Returns how to exit, or 0. */
static int set(struct plan *plan, const struct options *options, int option)
{
	switch (option) {
	case OPTION_JSON:
		plan->json = true;
		return 0;
	case OPTION_STACKS:
		plan->stacks = true;
		return 0;
	case OPTION_SAMPLES:
		plan->samples = true;
		return 0;
	case OPTION_NO_FILES:
		plan->no_files = true;
		return 0;
	case OPTION_TASK:
		return set_number(&plan->filter.tasks, options);
	case OPTION_THREAD:
		return set_number(&plan->filter.threads, options);
	case OPTION_KIND:
		return set_kinds(plan, options);
	case OPTION_FROM:
		return set_time(&plan->filter.from, options);
	case OPTION_TO:
		return set_time(&plan->filter.to, options);
	default:
		if (!options_number(options, &plan->limit))
			return options_bad_value(options, "a number");
		return 0;
	}
}

static int run(struct options *options)
{
	cleanup(plan_fini) struct plan plan = {.filter = FILTER_INIT, .limit = UINT64_MAX};
	struct diag diag = {0};
	int option, r;

	while ((option = options_next(options)) > 0) {
		r = set(&plan, options, option);
		if (r)
			return r;
	}
	if (option < 0)
		return options->status;
	if (options->operand_count != 1) {
		say_error(NULL, "dump: %s",
			  options->operand_count ? "one trace at a time" : "which trace?");
		say_hint("unweave dump FILE");
		return EXIT_USAGE;
	}
	r = dump(options->operands[0], &plan, &diag);
	if (r < 0) {
		fflush(stdout);
		say_diag(options->operands[0], &diag);
		return EXIT_FAILED;
	}
	if (r) {
		fflush(stdout);
		say_error(options->operands[0], "the trace has faults; what is readable was shown");
		say_hint("'unweave verify' lists them");
	}
	return EXIT_OK;
}

static const struct option_entry entries[] = {
	{OPTION_JSON, 'j', "json", NULL, "one JSON object an event, a line each"},
	{OPTION_TASK, 't', "task", "ID", "only events of this task; may be repeated"},
	{OPTION_THREAD, 'T', "thread", "N", "only of this thread, by number or tid; repeatable"},
	{OPTION_KIND, 'k', "kind", "K[,K]...", "only these kinds of events"},
	{OPTION_FROM, 0, "from", "TIME", "from this time after the first event on"},
	{OPTION_TO, 0, "to", "TIME", "up to this time"},
	{OPTION_LIMIT, 'n', "limit", "N", "at most N events"},
	{OPTION_STACKS, 's', "stacks", NULL, "with the addresses of each chain, innermost first"},
	{OPTION_SAMPLES, 0, "samples", NULL, "the samples instead of the events"},
	{OPTION_NO_FILES, 0, "no-files", NULL, "names only from the trace, not from files"},
	{0},
};

const struct cmd cmd_dump = {
	.name = "dump",
	.arguments = "FILE",
	.summary = "Show the events of a trace, in the order of time",
	.details = "Kinds: create, resume, suspend, complete, wake, frame_resume, frame_complete,\n"
		   "unwind, append, name, idle, anchor_reset, reset, replay, lost, await, task,\n"
		   "woke, due.\n"
		   "Times: 1.5s, 20ms, 300us, 5ns.\n",
	.options = entries,
	.run = run,
};
