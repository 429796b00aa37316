/* SPDX-License-Identifier: Apache-2.0 */
/* The first page of a report. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/adapted.h"
#include "cli/report.h"
#include "cli/report_findings.h"
#include "cli/report_warnings.h"
#include "cli/say.h"
#include "cli/source.h"

#define STACKS_SHOWN 5u
#define WAITS_SHOWN 5u
#define RUNS_SHOWN 5u
#define FRAMES_MOST 8192u
#define NS_PER_S UINT64_C(1000000000)

static void field(FILE *to, const char *name)
{
	fprintf(to, "  %-9s ", name);
}

static uint64_t span_of(const struct report *report)
{
	return report->survey->totals->last - report->survey->totals->first;
}

static void print_program(const struct report *report, FILE *to)
{
	const struct reader_summary *summary = reader_summary(report->reader);
	time_t seconds = (time_t)(summary->realtime / NS_PER_S);
	struct tm tm;
	char when[64];

	say_text(to, report->path);
	fputc('\n', to);
	field(to, "program");
	if (summary->session_known) {
		say_text(to, summary->session.program.length ? summary->session.program.bytes
							     : "unknown");
		fprintf(to, " (pid %" PRIu64 ")\n", summary->session.pid);
	} else {
		fprintf(to, "unknown\n");
	}
	field(to, "recorded");
	if (summary->realtime && localtime_r(&seconds, &tm) &&
	    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm))
		fprintf(to, "%s, ", when);
	if (summary->event_blocks || summary->sample_blocks)
		fprintf(to, "for %s", say_span(span_of(report)).text);
	else
		fprintf(to, "nothing");
	fprintf(to, "%s\n", report->windowed ? ": the part that was asked for" : "");
	if (reader_adapter_at(report->reader, 0)) {
		field(to, "adapters");
		adapted_print(report->reader, to);
	}
}

/* Nothing says when tasks began, ran or ended. */
static bool only_sampled(const struct model_totals *totals)
{
	return totals->samples && !totals->runs && !totals->waits && !totals->completed;
}

static void print_tasks(const struct report *report, FILE *to)
{
	const struct model_totals *totals = report->survey->totals;

	field(to, "tasks");
	if (only_sampled(totals)) {
		fprintf(to, "%s were sampled; their lives were not recorded\n",
			say_count(totals->tasks).text);
		return;
	}
	fprintf(to, "%s seen", say_count(totals->tasks).text);
	fprintf(to, ": %s completed", say_count(totals->completed).text);
	fprintf(to, ", %s still live", say_count(totals->tasks - totals->completed).text);
	if (report->survey->open)
		fprintf(to, ", of which %s only stand%s", say_count(report->survey->open).text,
			report->survey->open == 1 ? "s" : "");
	fprintf(to, "; at most %s at a time\n", say_count(totals->live_most).text);
	if (!totals->runs && !totals->waits)
		return;
	field(to, "");
	fprintf(to, "%s run%s", say_count(totals->runs).text, totals->runs == 1 ? "" : "s");
	fprintf(to, ": %s running", say_span(totals->busy).text);
	fprintf(to, ", %s waiting", say_span(totals->pending).text);
	fprintf(to, ", %s queued\n", say_span(totals->queued).text);
}

static void print_threads(const struct report *report, FILE *to)
{
	const struct survey *survey = report->survey;
	const struct survey_thread *busiest = NULL;
	uint32_t ran = 0;

	for (uint32_t i = 0; i < survey->thread_count; i++) {
		const struct survey_thread *thread = &survey->threads[i];

		ran += thread->runs > 0;
		if (thread->runs && (!busiest || thread->busy > busiest->busy))
			busiest = thread;
	}
	field(to, "threads");
	fprintf(to, "%s", say_count(survey->thread_count).text);
	if (!only_sampled(survey->totals))
		fprintf(to, ", of which %s ran tasks", say_count(ran).text);
	if (busiest) {
		fprintf(to, "; the busiest, ");
		say_text(to, busiest->name[0] ? busiest->name : "unnamed");
		fprintf(to, ", %s of the time", say_percent(busiest->busy, span_of(report)).text);
	}
	fputc('\n', to);
}

static void print_cpu(const struct report *report, FILE *to)
{
	const struct model_totals *totals = report->survey->totals;
	const struct meta_sampler *sampler = reader_sampler(report->reader);

	field(to, "CPU");
	if (!totals->samples) {
		fprintf(to, "%s\n",
			report_has_gaps(report) ? "unknown: no CPU samples in what is readable"
			: !report_was_sampled(report) ? "unknown: no CPU samples in this trace"
			: sampler->note.length
				? "hardly any, of what could be sampled: not one sample"
				: "hardly any: not one sample");
		return;
	}
	fprintf(to, "%s by %s samples", say_span(totals->cpu).text,
		say_count(totals->samples - totals->asleep).text);
	if (sampler)
		fprintf(to, " (%s, %" PRIu64 " Hz%s)", report_driver(sampler->driver), sampler->hz,
			sampler->user_only ? ", without the kernel's part" : "");
	fprintf(to, "\n");
	field(to, "");
	fprintf(to, "%.2f processors on average; %s of the samples in tasks\n",
		span_of(report) ? (double)totals->cpu / (double)span_of(report) : 0,
		say_percent(totals->in_tasks, totals->samples).text);
	field(to, "splice");
	if (totals->in_tasks)
		fprintf(to, "%s of the samples in tasks have an exact logical stack\n",
			say_percent(totals->outcomes[SPLICE_EXACT], totals->in_tasks).text);
	else
		fprintf(to, "no sample was taken in a task\n");
}

static void print_lost(const struct report *report, FILE *to)
{
	const struct model_totals *totals = report->survey->totals;
	const struct meta_sampler *sampler = reader_sampler(report->reader);
	uint64_t faults = reader_faults(reader_summary(report->reader));

	field(to, "lost");
	if (!totals->lost && !(sampler && sampler->lost))
		fprintf(to, faults ? "nothing that is known" : "nothing");
	else
		fprintf(to, "%s events", say_count(totals->lost).text);
	if (sampler && sampler->lost)
		fprintf(to, ", %s samples", say_count(sampler->lost).text);
	if (faults)
		fprintf(to, "; the file has %s fault%s", say_count(faults).text,
			faults == 1 ? "" : "s");
	fprintf(to, "\n");
}

static void print_stack(const struct report *report, uint32_t node, int indent, FILE *to)
{
	const char *frames[FRAMES_MOST];
	uint32_t count = report_frames((void *)report, node, frames, FRAMES_MOST);

	table_print_frames(to, frames, count < FRAMES_MOST ? count : FRAMES_MOST, indent);
}

static int print_hottest(const struct report *report, FILE *to)
{
	const struct profile *profile = report->survey->profile;
	uint64_t all = profile_at(profile, 0)->total[PROFILE_CPU];
	uint32_t count, *top = report_top(profile, PROFILE_CPU, &count);

	if (!top)
		return -ENOMEM;
	if (count)
		fprintf(to, "\nHottest logical stacks\n");
	for (uint32_t i = 0; i < count && i < STACKS_SHOWN; i++) {
		const struct profile_node *node = profile_at(profile, top[i]);

		fprintf(to, "  %7s  %s\n", say_percent(node->self[PROFILE_CPU], all).text,
			say_span(node->self[PROFILE_CPU]).text);
		print_stack(report, top[i], 6, to);
	}
	free(top);
	return 0;
}

static void print_span(FILE *to, uint64_t ns)
{
	struct say_number span = say_span(ns);

	fprintf(to, "  %*s%s", 10 - say_width(span.text), "", span.text);
}

static void print_waits(const struct report *report, FILE *to)
{
	const struct survey *survey = report->survey;

	if (survey->wait_count)
		fprintf(to,
			"\nWhere tasks wait longest\n"
			"       total        mean     longest     waiting      queued  waits\n");
	for (uint32_t i = 0; i < survey->wait_count && i < WAITS_SHOWN; i++) {
		const struct survey_wait *wait = &survey->waits[i];

		print_span(to, wait->pending + wait->queued);
		print_span(to, (wait->pending + wait->queued) / wait->count);
		print_span(to, wait->longest);
		print_span(to, wait->pending);
		print_span(to, wait->queued);
		fprintf(to, "  %s\n", say_count(wait->count).text);
		print_stack(report, wait->node, 6, to);
	}
}

/* Where a run was, and who called that. */
static void print_where(const struct report *report, const struct model_run *run, FILE *to)
{
	struct report_where where = report_where_run(report, run);
	const char *file = where.caller ? where.caller->file : where.file;
	uint32_t line = where.caller ? where.caller->line : where.line;

	if (!where.function)
		return;
	fprintf(to, "              %s ", where.how);
	say_text(to, where.function);
	if (where.caller) {
		fprintf(to, ", called by ");
		say_text(to, where.caller->function);
	}
	if (file) {
		fprintf(to, ", ");
		say_text(to, file);
		fprintf(to, ":%" PRIu32, line);
	}
	if (run->asleep)
		fprintf(to, "; asleep for %s", say_span(run->asleep).text);
	fprintf(to, "\n");
	if (report->source && file)
		source_print(to, file, line);
}

static void print_runs(const struct report *report, FILE *to)
{
	const struct survey *survey = report->survey;

	if (survey->run_count)
		fprintf(to, "\nLongest runs, each of which kept its thread from others\n");
	for (uint32_t i = 0; i < survey->run_count && i < RUNS_SHOWN; i++) {
		const struct survey_run *run = &survey->runs[i];
		const struct reader_thread *thread = reader_thread(report->reader, run->run.thread);

		print_span(to, run->run.end - run->run.start);
		fprintf(to, "  ");
		say_text(to, run->label[0] ? run->label : "(unnamed)");
		fprintf(to, " (task %" PRIu64 ") on ", run->task);
		say_text(to, thread && thread->name[0] ? thread->name : "a thread");
		fprintf(to, ", at %.6f s\n", (double)report_since(report, run->run.start) / 1e9);
		print_where(report, &run->run, to);
	}
}

int report_print_summary(const struct report *report, FILE *to)
{
	int r;

	print_program(report, to);
	print_tasks(report, to);
	print_threads(report, to);
	report_print_loops(report, to);
	print_cpu(report, to);
	print_lost(report, to);
	r = warnings_print(report, to);
	fprintf(to, "\nFindings\n");
	if (r == 0)
		r = findings_print(report, to);
	if (r == 0)
		r = print_hottest(report, to);
	print_waits(report, to);
	print_runs(report, to);
	return r;
}
