/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks wait for: totals by kind, and the things that most of them wait for. */
#include <inttypes.h>

#include "tui/figure.h"
#include "tui/list.h"
#include "tui/view.h"

enum { KIND, THING, TASKS, LONGEST, TASK, COLUMN_COUNT };

static const struct column columns[COLUMN_COUNT] = {
	[KIND] = {"kind", 8, 8, 1, false, 1},      [THING] = {"waited for", 22, 50, 1, false, 1},
	[TASKS] = {"tasks", 7, 7, 1, true, 1},     [LONGEST] = {"longest", 7, 7, 1, true, 1},
	[TASK] = {"by task", 18, 60, 1, false, 1},
};

static const char *const kind_names[WATCH_KINDS] = {
	[UNWEAVE_WAIT_NONE] = "not said", [UNWEAVE_WAIT_TASK] = "task",
	[UNWEAVE_WAIT_TIMER] = "timer",   [UNWEAVE_WAIT_IO] = "io",
	[UNWEAVE_WAIT_LOCK] = "lock",     [UNWEAVE_WAIT_CHANNEL] = "channel",
	[UNWEAVE_WAIT_OTHER] = "other",
};

static uint32_t count(struct top *top)
{
	return top->wait_count;
}

/* Things have no id of their own; kind and value are one. */
static uint64_t id(struct top *top, uint32_t item)
{
	const struct watch_wait *wait = &top->waits[item];

	return wait->on ^ (uint64_t)wait->kind << 60;
}

static void name_task(struct top *top, uint64_t id_wanted, struct cell *ret)
{
	const struct watch_task *task = watch_task_find(top->watch, id_wanted);
	char name[WATCH_TEXT] = "";

	if (task)
		watch_name(top->watch, task, name);
	cell_text(ret, "%s%s%" PRIu64, name, name[0] ? "  " : "", id_wanted);
}

/* Moments and what was not said are no things: one row for all of their kind. */
static bool has_things(uint32_t kind)
{
	return kind != UNWEAVE_WAIT_NONE && kind != UNWEAVE_WAIT_TIMER;
}

static void thing_cell(struct top *top, const struct watch_wait *wait, struct cell *ret)
{
	if (wait->on == WATCH_UNKNOWN && has_things(wait->kind)) {
		cell_text(ret, "-");
		ret->style = STYLE_FAINT;
		return;
	}
	switch (wait->kind) {
	case UNWEAVE_WAIT_TASK:
		name_task(top, wait->on, ret);
		break;
	case UNWEAVE_WAIT_IO:
		cell_text(ret, "file %" PRIu64, wait->on);
		break;
	case UNWEAVE_WAIT_LOCK:
	case UNWEAVE_WAIT_CHANNEL:
		cell_text(ret, "%s %#" PRIx64, kind_names[wait->kind], wait->on);
		break;
	case UNWEAVE_WAIT_OTHER:
		cell_text(ret, "%#" PRIx64, wait->on);
		break;
	default:
		cell_text(ret, "%s", "");
		break;
	}
}

static void cell(struct top *top, uint32_t item, int column, struct cell *ret)
{
	const struct watch_wait *wait = &top->waits[item];

	switch (column) {
	case KIND:
		cell_text(ret, "%s", kind_names[wait->kind]);
		break;
	case THING:
		thing_cell(top, wait, ret);
		break;
	case TASKS:
		cell_count(ret, wait->tasks);
		break;
	case LONGEST:
		cell_span(ret, wait->longest);
		break;
	case TASK:
		if (wait->task)
			name_task(top, wait->task, ret);
		break;
	default:
		break;
	}
}

static int collect(struct top *top)
{
	top->wait_count = 0;
	for (uint32_t kind = 0; kind < WATCH_KINDS; kind++) {
		const struct watch_wait *all = watch_waits(top->watch, kind);
		struct watch_wait *to = top->waits + top->wait_count;
		int r;

		if (!all->tasks)
			continue;
		if (!has_things(kind)) {
			*to = *all;
			top->wait_count++;
			continue;
		}
		r = watch_waits_on(top->watch, kind, TOP_WAITS_OF_KIND, to);
		if (r < 0)
			return r;
		top->wait_count += (uint32_t)r;
	}
	return 0;
}

static int fetch(struct top *top, struct list *list, uint32_t rows)
{
	int r = collect(top);

	return r < 0 ? r : list_fetch(top, &view_waits, list, rows);
}

static int above(struct top *top, int y)
{
	int x = 0;

	for (uint32_t kind = 0; kind < WATCH_KINDS; kind++) {
		const struct watch_wait *all = watch_waits(top->watch, kind);

		if (!all->tasks)
			continue;
		x += canvas_print(&top->canvas, y, x, STYLE_PLAIN, "%s%s ", x ? "   " : "",
				  kind_names[kind]);
		x += canvas_print(&top->canvas, y, x, STYLE_STRONG, "%s",
				  figure_count(all->tasks).text);
	}
	return x ? 1 : 0;
}

static int open_task(struct top *top, uint32_t item)
{
	return top->waits[item].task ? top_open_task(top, top->waits[item].task) : 0;
}

const struct view view_waits = {
	.name = "waits",
	.keys = "Enter the task",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.sort = TASKS,
	.fetch = fetch,
	.count = count,
	.id = id,
	.cell = cell,
	.open = open_task,
	.above = above,
	.empty = "no task waits",
};
