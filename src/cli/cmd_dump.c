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

static int add_kinds(const struct options *options, void *to)
{
	struct filter *filter = to;
	const char *names[NAMES_KINDS - 1], *wrong, *close;
	char word[32];

	wrong = filter_add_kinds(filter, options->value, word, sizeof(word));
	if (!wrong)
		return EXIT_OK;
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

static int add_number(const struct options *options, void *to)
{
	struct filter_list *list = to;
	uint64_t number;

	if (!options_number(options, &number))
		return options_bad_value(options, "a number");
	if (filter_add(list, number) < 0) {
		say_error(NULL, "out of memory");
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

static int run(struct options *options)
{
	cleanup(plan_fini) struct plan plan = {.filter = FILTER_INIT, .limit = UINT64_MAX};
	struct diag diag = {0};
	int r;

	if (!options_read(options, &plan))
		return options->status;
	if (!options_name_a_trace(options, "unweave dump FILE"))
		return EXIT_USAGE;
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
	{'j', "json", NULL, "one JSON object an event, a line each",
	 OPTION_FLAG(struct plan, json)},
	{'t', "task", "ID", "only events of this task; may be repeated", add_number,
	 offsetof(struct plan, filter.tasks)},
	{'T', "thread", "N", "only of this thread, by number or tid; repeatable", add_number,
	 offsetof(struct plan, filter.threads)},
	{'k', "kind", "K[,K]...", "only these kinds of events", add_kinds,
	 offsetof(struct plan, filter)},
	{0, "from", "TIME", "from this time after the first event on",
	 OPTION_TIME(struct plan, filter.from)},
	{0, "to", "TIME", "up to this time", OPTION_TIME(struct plan, filter.to)},
	{'n', "limit", "N", "at most N events", OPTION_NUMBER(struct plan, limit)},
	{'s', "stacks", NULL, "with the addresses of each chain, innermost first",
	 OPTION_FLAG(struct plan, stacks)},
	{0, "samples", NULL, "the samples instead of the events",
	 OPTION_FLAG(struct plan, samples)},
	{0, "no-files", NULL, "names only from the trace, not from files",
	 OPTION_FLAG(struct plan, no_files)},
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
