/* SPDX-License-Identifier: Apache-2.0 */
/* Every live task, or groups of them. Only those on the screen are fetched. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tui/figure.h"
#include "tui/list.h"
#include "tui/view.h"
#include "tui/warning.h"

enum {
	TASK,
	STATE,
	NAME,
	SITE,
	FOR,
	AGE,
	BUSY,
	QUEUED,
	WAITED,
	RUNS,
	WAKES,
	SELF,
	WARNING,
	COLUMN_COUNT
};

/* What can be sorted by carries its watch_column + 1. */
#define BY(column) (WATCH_BY_##column + 1)

static const struct column columns[COLUMN_COUNT] = {
	[TASK] = {"task", 12, 20, 2, true, BY(TASKS)},
	[STATE] = {"state", 8, 11, 1, false, BY(STATE)},
	[NAME] = {"name", 14, 40, 1, false, BY(NAME)},
	[SITE] = {"site", 18, 60, 5, false, BY(SITE)},
	[FOR] = {"for", 7, 7, 2, true, BY(IN_STATE)},
	[AGE] = {"age", 7, 7, 2, true, BY(AGE)},
	[BUSY] = {"busy", 7, 7, 2, true, BY(BUSY)},
	[QUEUED] = {"queued", 7, 7, 4, true, BY(QUEUED)},
	[WAITED] = {"waited", 7, 7, 3, true, BY(WAITED)},
	[RUNS] = {"runs", 7, 7, 3, true, BY(RUNS)},
	[WAKES] = {"wakes", 7, 7, 6, true, BY(WAKES)},
	[SELF] = {"self", 7, 7, 7, true, BY(SELF_WAKES)},
	[WARNING] = {"!", 1, 18, 1, false, BY(WARNINGS)},
};

static bool grouped(const struct top *top)
{
	return top->query.group != WATCH_NO_GROUP;
}

static uint64_t row_id(const struct top *top, const struct watch_row *row)
{
	return top->query.group == WATCH_GROUP_SITE ? row->task.site : row->task.id;
}

static int reserve(struct top *top, struct list *list, uint32_t rows)
{
	struct watch_row *grown;

	if (list_reserve(list, rows) < 0)
		return -ENOMEM;
	if (rows <= top->row_capacity)
		return 0;
	grown = reallocarray(top->rows, rows, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	top->rows = grown;
	top->row_capacity = rows;
	return 0;
}

/* Where the selected task is now. It stays on its row if it is no more. */
static int follow(struct top *top, struct list *list)
{
	uint64_t row;
	int r;

	if (list->hold != HOLD_ITEM || top->query.group == WATCH_GROUP_SITE)
		return 0;
	r = watch_where(top->watch, &top->query, list->selected, &row);
	if (r == 0)
		list->row = row;
	return r == -ENOENT ? 0 : r;
}

static int fetch(struct top *top, struct list *list, uint32_t rows)
{
	struct watch_found found = {0};
	int r = reserve(top, list, rows);

	top->query.order = (enum watch_column)(columns[list->sort].sort - 1);
	top->query.ascending = list->ascending;
	top->query.filter = top->filter[0] ? top->filter : NULL;
	if (r == 0)
		r = follow(top, list);
	/* How many there are is known after the first look, which may be at the wrong place. */
	for (int look = 0; look < 2 && r >= 0; look++) {
		uint64_t first = list->first;

		if (look == 0 && list->row >= list->first + rows)
			first = list->row - rows + 1;
		else if (look == 0 && list->row < list->first)
			first = list->row;
		r = watch_select(top->watch, &top->query, first, rows, top->rows, &found);
		list->first = first;
		list->total = found.rows;
		list_scroll(list, rows);
		if (list->first == first)
			break;
	}
	if (r < 0)
		return r;
	list->shown = (uint32_t)r;
	for (uint32_t i = 0; i < list->shown; i++)
		list->items[i] = i;
	if (list->row - list->first < list->shown)
		list_hold(list, row_id(top, &top->rows[list->row - list->first]));
	return 0;
}

/* A group: how many of its tasks do what. */
static void states_cell(const struct watch_row *row, struct cell *ret)
{
	cell_text(ret, "%s run", figure_count(row->states[WATCH_RUNNING]).text);
	ret->style = row->states[WATCH_RUNNING] ? STYLE_RUNNING : STYLE_FAINT;
}

static void task_cell(const struct top *top, const struct watch_row *row, struct cell *ret)
{
	if (grouped(top))
		cell_text(ret, "%s tasks", figure_count(row->tasks).text);
	else
		cell_text(ret, "%" PRIu64, row->task.id);
	ret->by_text = false;
	ret->number = grouped(top) ? row->tasks : row->task.id;
}

static void state_cell(const struct watch_row *row, struct cell *ret)
{
	cell_text(ret, "%s", watch_state_name((enum watch_state)row->task.state));
	ret->style = cell_state_style((enum watch_state)row->task.state);
}

static void self_cell(const struct watch_task *task, struct cell *ret)
{
	if (task->wakes == WATCH_UNKNOWN || task->self_wakes == WATCH_UNKNOWN)
		cell_count(ret, WATCH_UNKNOWN);
	else
		cell_count(ret, task->self_wakes);
}

static void cell(struct top *top, uint32_t item, int column, struct cell *ret)
{
	const struct watch_row *row = &top->rows[item];
	const struct watch_task *task = &row->task;

	switch (column) {
	case TASK:
		task_cell(top, row, ret);
		break;
	case STATE:
		if (grouped(top))
			states_cell(row, ret);
		else
			state_cell(row, ret);
		break;
	case NAME:
		cell_text(ret, "%s", row->name[0] ? row->name : "-");
		break;
	case SITE:
		cell_place(ret, row->place);
		break;
	case FOR:
		cell_span(ret, row->in_state);
		break;
	case AGE:
		cell_span(ret, row->age);
		break;
	case BUSY:
		cell_span(ret, task->busy);
		break;
	case QUEUED:
		cell_span(ret, task->queued);
		break;
	case WAITED:
		cell_span(ret, task->waited);
		break;
	case RUNS:
		cell_count(ret, task->runs);
		break;
	case WAKES:
		cell_count(ret, task->wakes);
		break;
	case SELF:
		self_cell(task, ret);
		break;
	case WARNING:
		warning_cell(task->warnings, ret);
		break;
	default:
		break;
	}
}

static int open_row(struct top *top, uint32_t item)
{
	const struct watch_row *row = &top->rows[item];

	if (top->query.group == WATCH_NO_GROUP)
		return top_open_task(top, row->task.id);
	if (top->query.group == WATCH_GROUP_SITE)
		top_open_site(top, row->task.site);
	else
		top_open_children(top, row->task.id);
	return 0;
}

const struct view view_tasks = {
	.name = "tasks",
	.keys = "Enter details  b group",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.sort = BUSY,
	.fetch = fetch,
	.cell = cell,
	.open = open_row,
	.empty = "no task lives",
};
