/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of event loops. */
#include <errno.h>

#include "cli/report_cells.h"
#include "cli/say.h"

#define LOOPS_SHOWN 8u

static void fill_spread(const struct loops_spread *spread, struct table_cell *cells)
{
	if (!spread->count)
		return;
	cells[0] = cell_number(spread->median);
	cells[1] = cell_number(spread->p99);
	cells[2] = cell_number(spread->longest);
}

static void fill_worst(const struct report *report, const struct loops_worst *worst,
		       struct table_cell *cells)
{
	if (!worst->iteration.run_ns)
		return;
	cells[0] = cell_number(worst->iteration.run_ns);
	cells[1] = cell_text_if(worst->label);
	cells[2] = cell_time_of(report, worst->iteration.start);
	cells[3] = cell_number(worst->iteration.ready);
}

/* Idle, iterations, how late callbacks are called; below, what took longest in the longest one. */
int report_fill_loops(const struct report *report, struct table *table)
{
	static const struct table_column columns[] = {
		{"loop", "loop", TABLE_TEXT},
		{"kind", NULL, TABLE_TEXT},
		{"task", NULL, TABLE_ID},
		{"thread", NULL, TABLE_ID},
		{"thread_name", "thread", TABLE_TEXT},
		{"threads", NULL, TABLE_COUNT},
		{"iterations", "iterations", TABLE_COUNT},
		{"idle_percent", "idle", TABLE_SHARE},
		{"idle_ns", NULL, TABLE_SPAN},
		{"busy_ns", "busy", TABLE_SPAN},
		{"iteration_median_ns", "median", TABLE_SPAN},
		{"iteration_p99_ns", "p99", TABLE_SPAN},
		{"iteration_max_ns", "longest", TABLE_SPAN},
		{"lag_median_ns", "lag", TABLE_SPAN},
		{"lag_p99_ns", "lag p99", TABLE_SPAN},
		{"lag_max_ns", "worst lag", TABLE_SPAN},
		{"runs", "calls", TABLE_COUNT},
		{"running_ns", NULL, TABLE_SPAN},
		{"kept_ns", "kept for", TABLE_SPAN},
		{"kept_by", "by", TABLE_TEXT},
		{"kept_start_ns", NULL, TABLE_TIME},
		{"kept_ready", NULL, TABLE_COUNT},
		{"place", NULL, TABLE_PLACE},
	};
	const struct loops *loops = &report->survey->loops;

	table_init(table, columns, COUNT(columns));
	for (uint32_t i = 0; i < loops->count; i++) {
		const struct loops_loop *loop = &loops->at[i];
		const struct reader_thread *thread = reader_thread(report->reader, loop->thread);
		struct table_cell *row = table_row(table, 0), function;

		if (!row)
			return -ENOMEM;
		row[0] = cell_text(or_unnamed(loop->label));
		row[1] = cell_text_if(loop->site ? loop->site->kind : NULL);
		row[2] = cell_number(loop->task);
		row[3] = cell_number_if(loop->thread);
		row[4] = cell_text_if(thread ? thread->name : NULL);
		row[5] = cell_number(loop->thread_count);
		row[6] = cell_number(loop->iterations);
		row[7] = cell_share(loop->idle, loop->idle + loop->busy);
		row[8] = cell_number(loop->idle);
		row[9] = cell_number(loop->busy);
		fill_spread(&loop->iteration, row + 10);
		fill_spread(&loop->lag, row + 13);
		row[16] = cell_number(loop->runs);
		row[17] = cell_number(loop->running);
		fill_worst(report, &loop->worst, row + 18);
		cells_of_origin(report, loop->site, &function, &row[22]);
	}
	return 0;
}

/* One loop of the summary: how busy, and how late. */
static void print_loop(const struct report *report, const struct loops_loop *loop, FILE *to)
{
	const struct reader_thread *thread = reader_thread(report->reader, loop->thread);

	say_text(to, or_unnamed(loop->label));
	if (thread && thread->name[0]) {
		fprintf(to, " on ");
		say_text(to, thread->name);
	}
	fprintf(to, ": %s iterations", say_count(loop->iterations).text);
	if (loop->idle + loop->busy)
		fprintf(to, ", %s idle", say_percent(loop->idle, loop->idle + loop->busy).text);
	fputc('\n', to);
	if (!loop->lag.count)
		return;
	fprintf(to, "  %-9s lag: median %s", "", say_span(loop->lag.median).text);
	fprintf(to, ", p99 %s", say_span(loop->lag.p99).text);
	fprintf(to, ", longest %s\n", say_span(loop->lag.longest).text);
}

void report_print_loops(const struct report *report, FILE *to)
{
	const struct loops *loops = &report->survey->loops;

	for (uint32_t i = 0; i < loops->count && i < LOOPS_SHOWN; i++) {
		fprintf(to, "  %-9s ", i ? "" : "loops");
		print_loop(report, &loops->at[i], to);
	}
	if (loops->count > LOOPS_SHOWN)
		fprintf(to, "  %-9s and %s more: 'unweave report FILE loops' shows all\n", "",
			say_count(loops->count - LOOPS_SHOWN).text);
}
