/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_warnings.h"
#include "cli/say.h"
#include "unweave.h"

#define NS_PER_MS UINT64_C(1000000)
#define LONG_RUN (50 * NS_PER_MS) /* users notice */
#define MANY 100u                 /* samples from which shares mean something */
#define LOOPS_TOLD 4u             /* that something kept */

/* Sentences, each with a word for programs. */
struct findings {
	struct {
		const char *key;
		char *text;
	} at[32];
	unsigned count;
	bool no_memory;
};

__attribute__((format(printf, 3, 4))) static void add(struct findings *findings, const char *key,
						      const char *format, ...)
{
	va_list arguments;
	char *text = NULL;
	int r;

	va_start(arguments, format);
	r = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (r < 0 || findings->count == 32) {
		findings->no_memory |= r < 0;
		free(r < 0 ? NULL : text);
		return;
	}
	findings->at[findings->count].key = key;
	findings->at[findings->count++].text = text;
}

static uint64_t span_of(const struct report *report)
{
	return report->survey->totals->last - report->survey->totals->first;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void find_losses(struct findings *findings, const struct report *report)
{
	const struct survey *survey = report->survey;
	const struct meta_sampler *sampler = reader_sampler(report->reader);
	const struct reader_summary *summary = reader_summary(report->reader);

	if (survey->totals->lost)
		add(findings, "lost_events",
		    "%s events were lost: the runs and waits of %s tasks are not all there. "
		    "'unweave info' says why.",
		    say_count(survey->totals->lost).text, say_count(survey->uncertain).text);
	if (sampler && sampler->lost)
		add(findings, "lost_samples", "%s samples were lost: they found no room.",
		    say_count(sampler->lost).text);
	if (summary->faults)
		add(findings, "faults",
		    "The file is damaged; what is readable is reported. 'unweave verify' lists "
		    "the faults.");
	if (!summary->closed)
		add(findings, "not_closed",
		    "The file has no end: it is cut off, or its recorder ended early or still "
		    "runs. What came after is missing, and what went on then may be shown too "
		    "short or too long.");
}

/* Few of the samples that a run as long as this one should have. */
static bool was_off_cpu(const struct report *report, const struct model_run *run)
{
	const struct meta_sampler *sampler = reader_sampler(report->reader);
	uint64_t length = run->end - run->start;

	/* Without the kernel's part, of other tools, or if some may be missing, nobody knows. */
	if (!sampler || sampler->driver == SAMPLER_NONE || sampler->driver == SAMPLER_WALL ||
	    sampler->driver == SAMPLER_OTHER || sampler->user_only || report_has_gaps(report))
		return false;
	return length / NS_PER_MS * sampler->hz >= 4 * 1000 && run->cpu < length / 4;
}

static const char *off_cpu_hint(const struct report *report, const struct model_run *run)
{
	return was_off_cpu(report, run) ? " It was hardly on a CPU: 'unweave record --wall' "
					  "samples threads that sleep, too; calls such as sleep() "
					  "and poll() may then end early, with EINTR."
					: "";
}

/* The run that kept a loop longest, if it is among those that were kept. */
static const struct survey_run *find_run(const struct survey *survey,
					 const struct model_iteration *iteration)
{
	for (uint32_t i = 0; i < survey->run_count; i++) {
		const struct survey_run *run = &survey->runs[i];

		if (run->task == iteration->task && run->run.start >= iteration->start &&
		    run->run.end - run->run.start == iteration->run_ns)
			return run;
	}
	return NULL;
}

static void add_kept_loop(struct findings *findings, const struct report *report,
			  const struct loops_loop *loop)
{
	const struct model_iteration *iteration = &loop->worst.iteration;
	const struct survey_run *run = find_run(report->survey, iteration);
	struct report_where where =
		run ? report_where_run(report, &run->run) : report_where(report, iteration->stack);
	const char *how = where.how ? where.how : "beginning in";
	char ready[128] = "";

	/* Of descriptors that became ready then nobody knows. */
	if (iteration->ready)
		snprintf(ready, sizeof(ready), "; at least %s callback%s ready meanwhile",
			 say_count(iteration->ready).text,
			 iteration->ready == 1 ? " was" : "s were");
	add(findings, "kept_loop", "%s kept %s for %s%s%s%s%s%s%s%s.%s",
	    loop->worst.label[0] ? loop->worst.label : "A callback", loop->label,
	    say_span(iteration->run_ns).text, where.function ? ", " : "", where.function ? how : "",
	    where.function ? " " : "", where.function ? where.function : "",
	    where.caller ? ", called by " : "", where.caller ? where.caller->function : "", ready,
	    run ? off_cpu_hint(report, &run->run) : "");
}

/* Many short callbacks can be as bad as a long one. */
static void add_late_loop(struct findings *findings, const struct loops_loop *loop)
{
	add(findings, "late_loop",
	    "%s is behind, though no callback kept it for long: half of them were called more than "
	    "%s after they could have been, one in a hundred more than %s.",
	    loop->label, say_span(loop->lag.median).text, say_span(loop->lag.p99).text);
}

/* Returns whether there are any. `*ret_longest`: one of them is because of the longest run. */
static bool find_busy_loops(struct findings *findings, const struct report *report,
			    bool *ret_longest)
{
	const struct survey *survey = report->survey;
	unsigned told = 0;

	for (uint32_t i = 0; i < survey->loops.count && told < LOOPS_TOLD; i++) {
		const struct loops_loop *loop = &survey->loops.at[i];
		const struct model_iteration *iteration = &loop->worst.iteration;

		if (iteration->run_ns >= LONG_RUN)
			add_kept_loop(findings, report, loop);
		else if (loop->lag.p99 >= LONG_RUN)
			add_late_loop(findings, loop);
		else
			continue;
		*ret_longest |=
			survey->run_count && find_run(survey, iteration) == &survey->runs[0];
		told++;
	}
	return told > 0;
}

static void find_long_run(struct findings *findings, const struct report *report)
{
	const struct survey *survey = report->survey;
	const struct survey_run *run = survey->run_count ? &survey->runs[0] : NULL;
	const struct reader_thread *thread;
	struct report_where where;

	if (!run || run->run.end - run->run.start < LONG_RUN)
		return;
	thread = reader_thread(report->reader, run->run.thread);
	where = report_where_run(report, &run->run);
	add(findings, "long_run",
	    "A run of %s kept its thread%s%s from other tasks for %s%s%s%s%s%s%s.%s",
	    run->label[0] ? run->label : "an unnamed task", thread && thread->name[0] ? " " : "",
	    thread ? thread->name : "", say_span(run->run.end - run->run.start).text,
	    where.function ? ", " : "", where.function ? where.how : "", where.function ? " " : "",
	    where.function ? where.function : "", where.caller ? ", called by " : "",
	    where.caller ? where.caller->function : "", off_cpu_hint(report, &run->run));
}

static void find_sleep(struct findings *findings, const struct report *report)
{
	const struct survey *survey = report->survey;
	const struct survey_sleep *most = NULL;
	struct report_where where = {0};
	uint64_t all = 0;

	for (uint32_t i = 0; i < survey->sleep_count; i++) {
		all += survey->sleeps[i].ns;
		if (!most || survey->sleeps[i].ns > most->ns)
			most = &survey->sleeps[i];
	}
	if (all < LONG_RUN || all < survey->totals->busy / 100)
		return;
	where = report_where(report, most->stack);
	add(findings, "asleep",
	    "Threads slept for %s inside of runs, where no other task could use them%s%s%s%s%s%s.",
	    say_span(all).text, where.function ? "; " : "",
	    where.function ? say_percent(most->ns, all).text : "",
	    where.function ? " of it in " : "", where.function ? where.function : "",
	    where.caller ? ", called by " : "", where.caller ? where.caller->function : "");
}

/* How long the busiest thread ran tasks. */
static uint64_t busiest_of(const struct survey *survey)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < survey->thread_count; i++)
		if (survey->threads[i].busy > most)
			most = survey->threads[i].busy;
	return most;
}

static void find_queues(struct findings *findings, const struct report *report)
{
	const struct model_totals *totals = report->survey->totals;
	uint64_t busiest = busiest_of(report->survey);
	bool full = busiest > span_of(report) / 10 * 8;

	if (!totals->waits || totals->queued / totals->waits < NS_PER_MS ||
	    totals->queued < totals->busy / 4)
		return;
	add(findings, "queued",
	    "Tasks that could run waited for a thread for %s in all, against %s of running%s%s%s.",
	    say_span(totals->queued).text, say_span(totals->busy).text,
	    full ? ": threads are short" : ", though the busiest thread ran tasks for only ",
	    full ? "" : say_percent(busiest, span_of(report)).text, full ? "" : " of the time");
}

static void find_stuck(struct findings *findings, const struct report *report)
{
	const struct survey *survey = report->survey;
	uint64_t stuck = 0, most = 0;
	const struct survey_wait *worst = NULL;
	const char *frames[1024];
	uint32_t count;

	for (uint32_t i = 0; i < survey->wait_count; i++) {
		stuck += survey->waits[i].stuck;
		if (survey->waits[i].stuck > most) {
			most = survey->waits[i].stuck;
			worst = &survey->waits[i];
		}
	}
	if (!worst || span_of(report) < 1000 * NS_PER_MS)
		return;
	count = report_frames((void *)report, worst->node, frames, 1024);
	add(findings, "stuck",
	    "%s task%s did not go on for at least half of the time, and still waited at the "
	    "end%s%s%s%s.",
	    say_count(stuck).text, plural(stuck), worst->node ? ", " : "",
	    worst->node && most < stuck ? say_count(most).text : "",
	    !worst->node   ? ""
	    : most < stuck ? " of them in "
			   : "in ",
	    worst->node ? frames[count < 1024 ? count - 1 : 1023] : "");
}

static void find_wait(struct findings *findings, const struct report *report)
{
	const struct survey *survey = report->survey;
	const struct survey_wait *most = NULL;
	const char *frames[1024];
	uint32_t count;

	for (uint32_t i = 0; i < survey->wait_count; i++)
		if (!most || survey->waits[i].pending > most->pending)
			most = &survey->waits[i];
	/* A few long ones are those of tasks that wait for work. */
	if (!most || !most->node || most->waited < 10 ||
	    most->pending <= survey->totals->pending / 2 ||
	    most->pending / most->waited < NS_PER_MS)
		return;
	count = report_frames((void *)report, most->node, frames, 1024);
	add(findings, "wait", "%s of all waiting is in %s: %s wait%s of %s on average.",
	    say_percent(most->pending, survey->totals->pending).text,
	    frames[count < 1024 ? count - 1 : 1023], say_count(most->waited).text,
	    plural(most->waited), say_span(most->pending / most->waited).text);
}

static void find_ends(struct findings *findings, const struct report *report)
{
	const struct activities *activities = &report->survey->activities;
	uint64_t errors = 0, most = 0;
	const char *worst = "";

	for (uint32_t i = 0; i < activities->count; i++) {
		errors += activities->at[i].sums.errors;
		if (activities->at[i].sums.errors > most) {
			most = activities->at[i].sums.errors;
			worst = texts_get(activities->texts, activities->at[i].label);
		}
	}
	if (errors)
		add(findings, "errors", "%s of %s tasks ended with an error; most of them: %s.",
		    say_count(errors).text, say_count(report->survey->totals->tasks).text, worst);
}

static int find_hot(struct findings *findings, const struct report *report)
{
	const struct profile *profile = report->survey->profile;
	uint64_t all = profile_at(profile, 0)->total[PROFILE_CPU];
	uint32_t count, *top = report_top(profile, PROFILE_CPU, &count);

	if (!top)
		return -ENOMEM;
	if (count && report->survey->totals->samples >= MANY) {
		const struct profile_node *node = profile_at(profile, top[0]);

		if (node->self[PROFILE_CPU] > all / 4)
			add(findings, "hot", "%s of the CPU time is one logical stack, in %s.",
			    say_percent(node->self[PROFILE_CPU], all).text,
			    profile_name(profile, node->name)->function);
	}
	free(top);
	return 0;
}

/* Why samples in tasks have no exact stack: those that there are. */
static void find_inexact(struct findings *findings, const struct model_totals *totals)
{
	static const struct {
		enum splice_outcome outcome;
		const char *words;
	} causes[] = {
		{SPLICE_NO_CHAIN, "whose task told no chain to samplers, as with the raw hooks"},
		{SPLICE_NO_ANCHOR, "without an anchor"},
		{SPLICE_CUT, "that were cut off"},
		{SPLICE_MISMATCH, "that contradict their chain"},
	};
	uint64_t inexact = totals->in_tasks - totals->outcomes[SPLICE_EXACT];
	char text[512] = "";
	size_t length = 0;

	for (unsigned i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		uint64_t count = totals->outcomes[causes[i].outcome];

		if (count)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s %s",
						   length ? ", " : "", say_count(count).text,
						   causes[i].words);
	}
	add(findings, "inexact", "%s of the samples in tasks have no exact logical stack: %s.",
	    say_percent(inexact, totals->in_tasks).text, text);
}

/* Why there are none, as far as it follows; a note of the sampler's comes after it. */
static void find_no_samples(struct findings *findings, const struct report *report)
{
	const struct meta_sampler *sampler = reader_sampler(report->reader);
	bool noted = sampler && sampler->note.length;

	if (report_has_gaps(report))
		add(findings, "no_samples",
		    "No CPU samples in what is readable of this trace: where CPU time went is not "
		    "known.");
	else if (report_was_sampled(report))
		add(findings, "no_samples",
		    "Nothing %swas on a CPU when samples were due, %" PRIu64 " a second of each "
		    "thread%s.",
		    noted ? "that could be sampled " : "", sampler->hz,
		    noted ? "" : ": the program waited, or stood still");
	else
		add(findings, "no_samples",
		    "No CPU samples in this trace: it says what tasks did, but not where their "
		    "CPU time went.%s",
		    noted ? "" : " 'unweave record' takes samples unless told not to.");
}

static void find_samples(struct findings *findings, const struct report *report)
{
	const struct model_totals *totals = report->survey->totals;
	const struct meta_sampler *sampler = reader_sampler(report->reader);
	uint64_t exact = totals->outcomes[SPLICE_EXACT];

	if (!totals->samples)
		find_no_samples(findings, report);
	if (totals->in_tasks && exact < totals->in_tasks - totals->in_tasks / 100)
		find_inexact(findings, totals);
	if (totals->samples && totals->samples < MANY)
		add(findings, "few_samples", "Only %s samples: shares of CPU time are rough.",
		    say_count(totals->samples).text);
	if (sampler && sampler->note.length)
		add(findings, "sampler", "%.*s", (int)sampler->note.length, sampler->note.bytes);
}

/* Why nothing is known of any run. */
static void find_no_runs(struct findings *findings, const struct report *report)
{
	const struct model_totals *totals = report->survey->totals;
	const struct reader_summary *summary = reader_summary(report->reader);

	if (summary->session_known && summary->session.detail == UNWEAVE_DETAIL_SAMPLES)
		add(findings, "no_events",
		    "No runs or waits in this trace: it was recorded at detail 'samples'.");
	else if (totals->samples && (totals->lost || report_has_gaps(report)))
		add(findings, "no_events",
		    "No runs in this trace: none began or ended, or what told of them is lost.");
	else if (totals->samples)
		add(findings, "no_events", "No task began or ended a run %s.",
		    report->windowed ? "in this part of the trace" : "while this was recorded");
}

static void find_detail(struct findings *findings, const struct report *report)
{
	const struct survey *survey = report->survey;

	if (!survey->totals->runs)
		find_no_runs(findings, report);
	else if (survey->wait_count == 1 && !survey->waits[0].node)
		add(findings, "no_stacks",
		    "No stacks of tasks in this trace: where they wait is not known. Detail "
		    "'full' records them.");
}

static int find_all(struct findings *findings, const struct report *report)
{
	bool longest_told = false, busy;

	find_losses(findings, report);
	find_stuck(findings, report);
	/* Of loops it is known who had to wait, and for what. */
	busy = find_busy_loops(findings, report, &longest_told);
	if (!longest_told && !warnings_have(report, LINT_RUN) &&
	    !warnings_have(report, LINT_ENDLESS))
		find_long_run(findings, report);
	find_sleep(findings, report);
	if (!busy && !warnings_have(report, LINT_QUEUE))
		find_queues(findings, report);
	find_wait(findings, report);
	find_ends(findings, report);
	if (find_hot(findings, report) < 0)
		return -ENOMEM;
	find_samples(findings, report);
	find_detail(findings, report);
	return findings->no_memory ? -ENOMEM : 0;
}

static void findings_fini(struct findings *findings)
{
	while (findings->count)
		free(findings->at[--findings->count].text);
}

int findings_print(const struct report *report, FILE *to)
{
	struct findings findings = {0};
	int r = find_all(&findings, report);

	for (unsigned i = 0; i < findings.count; i++)
		report_print_sentence(to, findings.at[i].text);
	if (r == 0 && !findings.count)
		fprintf(to, "  - Nothing stands out.\n");
	findings_fini(&findings);
	return r;
}

int findings_json(const struct report *report, const char *key, struct json *json)
{
	struct findings findings = {0};
	int r = find_all(&findings, report);

	json_open(json, key, '[');
	for (unsigned i = 0; i < findings.count; i++) {
		json_open(json, NULL, '{');
		json_text(json, "kind", findings.at[i].key);
		json_text(json, "text", findings.at[i].text);
		json_close(json, '}');
	}
	json_close(json, ']');
	findings_fini(&findings);
	return r;
}
