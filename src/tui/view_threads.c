/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that run tasks, the loops on them, and what runs there now. */
#include <inttypes.h>

#include "tui/list.h"
#include "tui/view.h"

enum {
	THREAD,
	TID,
	NAME,
	BUSY,
	IDLE,
	RUNS,
	LAG,
	LAG_P99,
	LAG_MOST,
	ITERATIONS,
	FOR,
	TASK,
	COLUMN_COUNT
};

static const struct column columns[COLUMN_COUNT] = {
	[THREAD] = {"thread", 6, 6, 6, true, 1},    [TID] = {"tid", 8, 8, 2, true, 1},
	[NAME] = {"name", 15, 23, 1, false, 1},     [BUSY] = {"busy", 6, 6, 1, true, 1},
	[IDLE] = {"idle", 6, 6, 4, true, 1},        [RUNS] = {"runs/s", 7, 7, 2, true, 1},
	[LAG] = {"lag 50%", 7, 7, 6, true, 1},      [LAG_P99] = {"lag 99%", 7, 7, 3, true, 1},
	[LAG_MOST] = {"lag all", 7, 7, 5, true, 1}, [ITERATIONS] = {"turns", 7, 7, 7, true, 1},
	[FOR] = {"for", 7, 7, 1, true, 1},          [TASK] = {"runs now", 14, 60, 1, false, 1},
};

static uint32_t count(struct top *top)
{
	return watch_thread_count(top->watch);
}

static uint64_t id(struct top *top, uint32_t item)
{
	return watch_thread_at(top->watch, item)->thread;
}

static void lag_cell(const struct histogram *lag, uint32_t per_mille, struct cell *ret)
{
	cell_span(ret, lag && lag->count ? histogram_quantile(lag, per_mille) : WATCH_UNKNOWN);
}

static void task_cell(struct top *top, uint64_t task, struct cell *ret)
{
	const struct watch_task *found = watch_task_find(top->watch, task);
	char name[WATCH_TEXT] = "";

	if (!task) {
		cell_text(ret, "-");
		ret->style = STYLE_FAINT;
		return;
	}
	if (found)
		watch_name(top->watch, found, name);
	cell_text(ret, "%s%s%" PRIu64, name, name[0] ? "  " : "", task);
	ret->style = STYLE_RUNNING;
}

static void name_cell(const struct watch_thread *thread, struct cell *ret)
{
	cell_text(ret, "%s%s", thread->name[0] ? thread->name : "-",
		  thread->ended ? " (ended)" : "");
	if (thread->ended)
		ret->style = STYLE_FAINT;
}

static void cell(struct top *top, uint32_t item, int column, struct cell *ret)
{
	const struct watch_thread *thread = watch_thread_at(top->watch, item);
	uint64_t interval = watch_totals(top->watch)->interval;

	switch (column) {
	case THREAD:
		cell_count(ret, thread->thread);
		break;
	case TID:
		cell_text(ret, "%" PRIu32, thread->tid);
		*ret = thread->tid ? *ret : (struct cell){.text = "-", .style = STYLE_FAINT};
		ret->by_text = false;
		ret->number = thread->tid ? thread->tid : WATCH_UNKNOWN;
		break;
	case NAME:
		name_cell(thread, ret);
		break;
	case BUSY:
		cell_share(ret, thread->busy, interval);
		break;
	case IDLE:
		cell_share(ret, thread->idle, interval);
		break;
	case RUNS:
		cell_count(ret, top_rate(top, thread->runs_now));
		break;
	case LAG:
		lag_cell(thread->lag, 500, ret);
		break;
	case LAG_P99:
		lag_cell(thread->lag, 990, ret);
		break;
	case LAG_MOST:
		cell_span(ret,
			  thread->lag && thread->lag->count ? thread->lag->max : WATCH_UNKNOWN);
		break;
	case ITERATIONS:
		cell_count(ret, thread->loop ? thread->iterations : WATCH_UNKNOWN);
		break;
	case FOR:
		cell_span(ret, thread->task && !thread->early ? thread->task_ns : WATCH_UNKNOWN);
		break;
	case TASK:
		task_cell(top, thread->task, ret);
		break;
	default:
		break;
	}
}

static int open_task(struct top *top, uint32_t item)
{
	const struct watch_thread *thread = watch_thread_at(top->watch, item);

	if (thread->task)
		return top_open_task(top, thread->task);
	snprintf(top->message, sizeof(top->message), "no task runs on this thread");
	return 0;
}

const struct view view_threads = {
	.name = "threads",
	.keys = "Enter what runs",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.sort = THREAD,
	.ascending = true,
	.count = count,
	.id = id,
	.cell = cell,
	.open = open_task,
	.empty = "no thread ran a task yet",
};
