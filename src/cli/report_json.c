/* SPDX-License-Identifier: Apache-2.0 */
/* The first page of a report, for programs. */
#include <errno.h>

#include "cli/adapted.h"
#include "cli/report.h"
#include "cli/report_findings.h"
#include "cli/report_warnings.h"

#define ROWS 20u

static void put_totals(const struct report *report, struct json *json)
{
	const struct model_totals *totals = report->survey->totals;

	json_open(json, "tasks", '{');
	json_number(json, "seen", totals->tasks);
	json_number(json, "completed", totals->completed);
	json_number(json, "live", totals->tasks - totals->completed);
	json_number(json, "live_most", totals->live_most);
	json_number(json, "uncertain", report->survey->uncertain);
	json_number(json, "standing", report->survey->standing);
	json_number(json, "standing_live", report->survey->open);
	json_close(json, '}');
	json_open(json, "totals", '{');
	json_number(json, "events", totals->events);
	json_number(json, "lost_events", totals->lost);
	json_number(json, "runs", totals->runs);
	json_number(json, "waits", totals->waits);
	json_number(json, "wakes", totals->wakes);
	json_number(json, "running_ns", totals->busy);
	json_number(json, "waiting_ns", totals->pending);
	json_number(json, "queued_ns", totals->queued);
	json_close(json, '}');
}

static void put_samples(const struct report *report, struct json *json)
{
	static const char *const outcomes[SPLICE_OUTCOMES] = {
		[SPLICE_NO_TASK] = "no_task",     [SPLICE_EXACT] = "exact",
		[SPLICE_NO_ANCHOR] = "no_anchor", [SPLICE_CUT] = "cut",
		[SPLICE_NO_CHAIN] = "no_chain",   [SPLICE_MISMATCH] = "mismatch",
	};
	const struct model_totals *totals = report->survey->totals;
	const struct meta_sampler *sampler = reader_sampler(report->reader);

	json_open(json, "samples", '{');
	json_number(json, "taken", totals->samples);
	json_number(json, "asleep", totals->asleep);
	json_number(json, "in_tasks", totals->in_tasks);
	json_number(json, "cpu_ns", totals->cpu);
	json_open(json, "outcomes", '{');
	for (unsigned i = 0; i < SPLICE_OUTCOMES; i++)
		json_number(json, outcomes[i], totals->outcomes[i]);
	json_close(json, '}');
	if (totals->in_tasks)
		json_real(json, "exact_percent",
			  100.0 * (double)totals->outcomes[SPLICE_EXACT] /
				  (double)totals->in_tasks);
	else
		json_null(json, "exact_percent");
	if (sampler) {
		json_text(json, "driver", report_driver(sampler->driver));
		json_number(json, "hz", sampler->hz);
		json_bool(json, "user_only", sampler->user_only);
		json_number(json, "lost", sampler->lost);
	}
	json_close(json, '}');
}

static int put_table(const struct report *report, enum report_table which, const char *key,
		     struct json *json)
{
	const char *sort = NULL;
	struct table table;
	int r = report_fill(report, which, &table, &sort);

	if (r == 0)
		r = table_arrange(&table, table_find(&table, sort), NULL, ROWS);
	if (r == 0)
		table_json(&table, key, json);
	table_fini(&table);
	return r;
}

int report_json_summary(const struct report *report, struct json *json)
{
	const struct reader_summary *summary = reader_summary(report->reader);
	const struct model_totals *totals = report->survey->totals;
	int r;

	json_number(json, "pid", summary->session.pid);
	if (summary->session_known)
		json_text(json, "program", summary->session.program.bytes);
	else
		json_null(json, "program");
	json_number(json, "realtime_ns", summary->realtime);
	json_number(json, "first_ns", totals->first);
	json_number(json, "duration_ns", totals->last - totals->first);
	json_number(json, "faults", reader_faults(summary));
	json_bool(json, "closed", summary->closed);
	adapted_json(report->reader, json);
	put_totals(report, json);
	put_samples(report, json);
	r = warnings_json(report, "warnings", json);
	if (r == 0)
		r = findings_json(report, "findings", json);
	if (r == 0)
		r = put_table(report, REPORT_STACKS, "stacks", json);
	if (r == 0)
		r = put_table(report, REPORT_WAITS, "waits", json);
	if (r == 0)
		r = put_table(report, REPORT_RUNS, "longest_runs", json);
	if (r == 0)
		r = put_table(report, REPORT_THREADS, "threads", json);
	if (r == 0)
		r = put_table(report, REPORT_LOOPS, "loops", json);
	return r;
}
