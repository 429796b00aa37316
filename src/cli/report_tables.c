/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/names.h"
#include "cli/report_cells.h"
#include "view/export.h"
#include "view/naming.h"

/* In the order of `struct activities_sums` columns, below. */
static void fill_sums(const struct report *report, const struct activities_sums *sums,
		      struct table_cell *cells)
{
	cells[0] = cell_number(sums->tasks);
	cells[1] = cell_number(sums->incomplete);
	cells[2] = cell_number(sums->errors);
	cells[3] = cell_number(sums->cancelled);
	if (sums->tasks) {
		cells[4] = cell_time_of(report, sums->first);
		cells[5] = cell_time_of(report, sums->last);
		cells[6] = cell_number(sums->duration / sums->tasks);
		cells[7] = cell_number(sums->longest);
	}
	if (sums->open)
		cells[5].instead = "Open";
	if (sums->incomplete)
		cells[5].instead = "Incomplete";
	cells[8] = cell_number(sums->cpu);
	cells[9] = cell_number(sums->busy);
	cells[10] = cell_number(sums->pending);
	cells[11] = cell_number(sums->queued);
	cells[12] = cell_number(sums->runs);
}

#define SUMS_COLUMNS                                                                               \
	{"tasks", "tasks", TABLE_COUNT}, {"incomplete", "live", TABLE_COUNT},                      \
		{"errors", NULL, TABLE_COUNT}, {"cancelled", NULL, TABLE_COUNT},                   \
		{"start_ns", "start", TABLE_TIME}, {"end_ns", "end", TABLE_TIME},                  \
		{"duration_mean_ns", "duration", TABLE_SPAN},                                      \
		{"duration_max_ns", "longest", TABLE_SPAN}, {"cpu_ns", "cpu", TABLE_SPAN},         \
		{"running_ns", "running", TABLE_SPAN}, {"waiting_ns", "waiting", TABLE_SPAN},      \
		{"queued_ns", "queued", TABLE_SPAN},                                               \
	{                                                                                          \
		"runs", "runs", TABLE_COUNT                                                        \
	}
#define SUMS 13u

/* Non-zero for activities that have tasks, or that others with tasks are below; NULL: no memory. */
static uint32_t *find_inhabited(const struct activities *activities)
{
	uint32_t *found = calloc((size_t)activities->count + 1, sizeof(*found));

	for (uint32_t i = activities->count; found && i--;) {
		const struct activity *activity = &activities->at[i];

		found[i] |= activity->sums.tasks != 0;
		if (activity->parent)
			found[activity->parent - 1] |= found[i];
	}
	return found;
}

static int fill_activities(const struct report *report, struct table *table)
{
	static const struct table_column columns[] = {
		{"activity", "activity", TABLE_TEXT}, {"row", NULL, TABLE_ID},
		{"parent", NULL, TABLE_ID},           {"kind", "kind", TABLE_WORD},
		{"role", "role", TABLE_WORD},         SUMS_COLUMNS,
	};
	const struct activities *activities = &report->survey->activities;
	uint32_t *rows = find_inhabited(activities);

	table_init(table, columns, COUNT(columns));
	for (uint32_t i = 0; rows && i < activities->count; i++) {
		const struct activity *activity = &activities->at[i];
		uint32_t parent = activity->parent ? rows[activity->parent - 1] : 0;
		struct table_cell *row;

		if (!rows[i])
			continue;
		row = table_row(table, parent);
		if (!row) {
			free(rows);
			return -ENOMEM;
		}
		rows[i] = table->row_count;
		row[0] = cell_text(texts_get(activities->texts, activity->label));
		row[1] = cell_number(table->row_count);
		row[2] = cell_number_if(parent);
		row[3] = cell_text_if(activity->kind);
		row[4] = cell_text_if(naming_role_word(activity->role));
		fill_sums(report, &activity->sums, row + 5);
	}
	free(rows);
	return rows ? 0 : -ENOMEM;
}

static int fill_sites(const struct report *report, struct table *table)
{
	static const struct table_column columns[] = {
		{"site", "site", TABLE_TEXT},
		{"kind", "kind", TABLE_TEXT},
		{"role", "role", TABLE_WORD},
		{"function", NULL, TABLE_TEXT},
		SUMS_COLUMNS,
		{"place", "place", TABLE_PLACE},
	};
	const struct activities *activities = &report->survey->activities;

	table_init(table, columns, COUNT(columns));
	for (uint32_t i = 0; i < activities->site_count; i++) {
		const struct activities_site *at = &activities->sites[i];
		struct table_cell *row = table_row(table, 0);

		if (!row)
			return -ENOMEM;
		row[0] = cell_text(at->label);
		row[1] = cell_text_if(at->site->kind);
		row[2] = cell_text_if(naming_role_word(naming_role(at->site)));
		fill_sums(report, &at->sums, row + 4);
		cells_of_origin(report, at->site, &row[3], &row[4 + SUMS]);
	}
	return 0;
}

/* The first columns of a single task: name, task and parent. */
static void fill_identity(const struct model_task *task, struct table_cell *cells)
{
	cells[0] = cell_text(or_unnamed(task->label));
	cells[1] = cell_number(task->id);
	cells[2] = cell_number_if(task->parent);
}

static struct table_cell cell_creation(const struct report *report, const struct model_task *task)
{
	struct table_cell cell = cell_time_of(report, task->created);

	if (task->before)
		cell.instead = "before";
	return cell;
}

/* Tasks that should have completed, and did not: how long ago they were made, and where. */
static int fill_incomplete(const struct report *report, struct table *table)
{
	static const struct table_column columns[] = {
		{"name", "name", TABLE_TEXT},
		{"task", "task", TABLE_ID},
		{"parent", NULL, TABLE_ID},
		{"kind", "kind", TABLE_WORD},
		{"age_ns", "age", TABLE_SPAN},
		{"start_ns", "start", TABLE_TIME},
		{"running_ns", "running", TABLE_SPAN},
		{"runs", "runs", TABLE_COUNT},
		{"function", "made in", TABLE_TEXT},
		{"place", "place", TABLE_PLACE},
	};

	table_init(table, columns, COUNT(columns));
	for (uint32_t i = 0; i < report->survey->task_count; i++) {
		const struct model_task *task = &report->survey->tasks[i].task;
		struct table_cell *row = table_row(table, 0);

		if (!row)
			return -ENOMEM;
		fill_identity(task, row);
		row[3] = cell_text_if(task->site ? task->site->kind : NULL);
		row[4] = cell_number(task->ended - task->created);
		row[5] = cell_creation(report, task);
		row[6] = cell_number(task->busy);
		row[7] = cell_number(task->runs);
		cells_of_origin(report, task->site, &row[8], &row[9]);
	}
	return 0;
}

static int fill_tasks(const struct report *report, struct table *table)
{
	static const struct table_column columns[] = {
		{"name", "name", TABLE_TEXT},
		{"task", "task", TABLE_ID},
		{"parent", NULL, TABLE_ID},
		{"outcome", NULL, TABLE_TEXT},
		{"kind", "kind", TABLE_WORD},
		{"role", "role", TABLE_WORD},
		{"start_ns", "start", TABLE_TIME},
		{"end_ns", "end", TABLE_TIME},
		{"duration_ns", "duration", TABLE_SPAN},
		{"cpu_ns", "cpu", TABLE_SPAN},
		{"running_ns", "running", TABLE_SPAN},
		{"waiting_ns", "waiting", TABLE_SPAN},
		{"queued_ns", "queued", TABLE_SPAN},
		{"runs", "runs", TABLE_COUNT},
		{"wakes", NULL, TABLE_COUNT},
	};

	table_init(table, columns, COUNT(columns));
	for (uint32_t i = 0; i < report->survey->task_count; i++) {
		const struct model_task *task = &report->survey->tasks[i].task;
		struct table_cell *row = table_row(table, 0);

		if (!row)
			return -ENOMEM;
		fill_identity(task, row);
		row[3] = cell_text(export_end(task));
		row[4] = cell_text_if(task->site ? task->site->kind : NULL);
		row[5] = cell_text_if(naming_role_word(naming_role(task->site)));
		row[6] = cell_creation(report, task);
		row[7] = cell_time_of(report, task->ended);
		if (task->end == MODEL_INCOMPLETE)
			row[7].instead = naming_role(task->site) ? "Open" : "Incomplete";
		row[8] = cell_number(task->ended - task->created);
		row[9] = cell_number(task->cpu);
		row[10] = cell_number(task->busy);
		row[11] = cell_number(task->pending);
		row[12] = cell_number(task->queued);
		row[13] = cell_number(task->runs);
		row[14] = cell_number(task->wakes);
	}
	return 0;
}

static int fill_stacks(const struct report *report, struct table *table)
{
	static const struct table_column columns[] = {
		{"exclusive_percent", "share", TABLE_SHARE},
		{"exclusive_ns", "exclusive", TABLE_SPAN},
		{"inclusive_ns", "inclusive", TABLE_SPAN},
		{"samples", "samples", TABLE_COUNT},
		{"place", "place", TABLE_PLACE},
		{"stack", "stack", TABLE_STACK},
	};
	const struct profile *profile = report->survey->profile;
	uint64_t all = profile_at(profile, 0)->total[PROFILE_CPU];
	uint32_t count, *top = report_top(profile, PROFILE_CPU, &count);

	table_init(table, columns, COUNT(columns));
	for (uint32_t i = 0; top && i < count; i++) {
		const struct profile_node *node = profile_at(profile, top[i]);
		const struct profile_name *name = profile_name(profile, node->name);
		struct table_cell *row = table_row(table, 0);

		if (!row) {
			free(top);
			return -ENOMEM;
		}
		row[0] = cell_share(node->self[PROFILE_CPU], all);
		row[1] = cell_number(node->self[PROFILE_CPU]);
		row[2] = cell_number(node->total[PROFILE_CPU]);
		row[3] = cell_number(node->count[PROFILE_CPU]);
		row[4] = cell_place(name->file, name->line);
		row[5] = cell_number(top[i]);
	}
	free(top);
	return top ? 0 : -ENOMEM;
}

static int fill_waits(const struct report *report, struct table *table)
{
	static const struct table_column columns[] = {
		{"total_ns", "total", TABLE_SPAN},     {"count", "waits", TABLE_COUNT},
		{"mean_ns", "mean", TABLE_SPAN},       {"max_ns", "longest", TABLE_SPAN},
		{"pending_ns", "waiting", TABLE_SPAN}, {"queued_ns", "queued", TABLE_SPAN},
		{"unended", "unended", TABLE_COUNT},   {"stack", "stack", TABLE_STACK},
	};

	table_init(table, columns, COUNT(columns));
	for (uint32_t i = 0; i < report->survey->wait_count; i++) {
		const struct survey_wait *wait = &report->survey->waits[i];
		struct table_cell *row = table_row(table, 0);

		if (!row)
			return -ENOMEM;
		row[0] = cell_number(wait->pending + wait->queued);
		row[1] = cell_number(wait->count);
		row[2] = cell_number((wait->pending + wait->queued) / wait->count);
		row[3] = cell_number(wait->longest);
		row[4] = cell_number(wait->pending);
		row[5] = cell_number(wait->queued);
		row[6] = cell_number(wait->unended);
		row[7] = cell_number(wait->node);
	}
	return 0;
}

static int fill_threads(const struct report *report, struct table *table)
{
	static const struct table_column columns[] = {
		{"name", "thread", TABLE_TEXT},     {"thread", NULL, TABLE_ID},
		{"tid", "tid", TABLE_ID},           {"busy_percent", "busy", TABLE_SHARE},
		{"busy_ns", "running", TABLE_SPAN}, {"idle_ns", "idle", TABLE_SPAN},
		{"cpu_ns", "cpu", TABLE_SPAN},      {"samples", "samples", TABLE_COUNT},
		{"runs", "runs", TABLE_COUNT},      {"tasks", "tasks", TABLE_COUNT},
	};
	const struct survey *survey = report->survey;
	uint64_t span = survey->totals->last - survey->totals->first;

	table_init(table, columns, COUNT(columns));
	for (uint32_t i = 0; i < survey->thread_count; i++) {
		const struct survey_thread *thread = &survey->threads[i];
		struct table_cell *row = table_row(table, 0);

		if (!row)
			return -ENOMEM;
		row[0] = cell_text(thread->name[0] ? thread->name : "(unnamed)");
		row[1] = cell_number_if(thread->thread);
		row[2] = cell_number_if(thread->tid);
		row[3] = cell_share(thread->busy, span);
		row[4] = cell_number(thread->busy);
		row[5] = cell_number(thread->idle);
		row[6] = cell_number(thread->cpu);
		row[7] = cell_number(thread->samples);
		row[8] = cell_number(thread->runs);
		if (thread->tasks != UINT64_MAX)
			row[9] = cell_number(thread->tasks);
	}
	return 0;
}

static int fill_runs(const struct report *report, struct table *table)
{
	static const struct table_column columns[] = {
		{"duration_ns", "duration", TABLE_SPAN},
		{"start_ns", "start", TABLE_TIME},
		{"cpu_ns", "cpu", TABLE_SPAN},
		{"samples", NULL, TABLE_COUNT},
		{"thread", NULL, TABLE_ID},
		{"thread_name", "thread", TABLE_TEXT},
		{"depth", NULL, TABLE_COUNT},
		{"task", "task", TABLE_ID},
		{"name", "name", TABLE_TEXT},
		{"end_known", NULL, TABLE_COUNT},
		{"function", "where", TABLE_TEXT},
		{"place", "place", TABLE_PLACE},
		{"asleep_ns", NULL, TABLE_SPAN},
	};
	const struct survey *survey = report->survey;

	table_init(table, columns, COUNT(columns));
	for (uint32_t i = 0; i < survey->run_count; i++) {
		const struct model_run *run = &survey->runs[i].run;
		const struct reader_thread *thread = reader_thread(report->reader, run->thread);
		struct report_where where = report_where_run(report, run);
		struct table_cell *row = table_row(table, 0);

		if (!row)
			return -ENOMEM;
		row[0] = cell_number(run->end - run->start);
		row[1] = cell_time_of(report, run->start);
		row[2] = cell_number(run->cpu);
		row[3] = cell_number(run->samples);
		row[4] = cell_number(run->thread);
		row[5] = cell_text(thread ? thread->name : "");
		row[6] = cell_number(run->depth);
		row[7] = cell_number(survey->runs[i].task);
		row[8] = cell_text(or_unnamed(survey->runs[i].label));
		row[9] = cell_number(!run->end_unknown);
		if (where.function)
			row[10] = cell_text(where.function);
		row[11] = cell_place(where.file, where.line);
		row[12] = cell_number(run->asleep);
	}
	return 0;
}

int report_fill(const struct report *report, enum report_table which, struct table *table,
		const char **ret_sort)
{
	static const struct {
		int (*fill)(const struct report *report, struct table *table);
		const char *sort;
	} tables[REPORT_TABLES] = {
		[REPORT_ACTIVITIES] = {fill_activities, "running_ns"},
		[REPORT_TASKS] = {fill_tasks, "duration_ns"},
		[REPORT_INCOMPLETE] = {fill_incomplete, "age_ns"},
		[REPORT_SITES] = {fill_sites, "tasks"},
		[REPORT_STACKS] = {fill_stacks, "exclusive_ns"},
		[REPORT_WAITS] = {fill_waits, "total_ns"},
		[REPORT_FUNCTIONS] = {report_fill_functions, "exclusive_ns"},
		[REPORT_THREADS] = {fill_threads, "busy_ns"},
		[REPORT_RUNS] = {fill_runs, "duration_ns"},
		[REPORT_LOOPS] = {report_fill_loops, "busy_ns"},
	};
	int r = tables[which].fill(report, table);

	table->frames = report_frames;
	table->frames_data = (void *)report;
	table->source = report->source;
	*ret_sort = tables[which].sort;
	return r;
}
