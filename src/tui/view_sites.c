/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks by where they are created, and how long those of the selected site run and wait. */
#include "tui/bars.h"
#include "tui/list.h"
#include "tui/view.h"

enum {
	NAME,
	PLACE,
	TASKS,
	RUNNING,
	QUEUED_NOW,
	WAITING,
	CREATED,
	ENDED,
	BUSY,
	WAITED,
	QUEUED,
	RUNS,
	MEDIAN,
	P99,
	LONGEST,
	WAKES,
	SELF,
	COLUMN_COUNT
};

static const struct column columns[COLUMN_COUNT] = {
	[NAME] = {"name", 14, 40, 1, false, 1},        [PLACE] = {"site", 18, 60, 6, false, 1},
	[TASKS] = {"tasks", 7, 7, 1, true, 1},         [RUNNING] = {"running", 7, 7, 9, true, 1},
	[QUEUED_NOW] = {"queueing", 8, 8, 9, true, 1}, [WAITING] = {"waiting", 7, 7, 8, true, 1},
	[CREATED] = {"new/s", 7, 7, 2, true, 1},       [ENDED] = {"ended/s", 7, 7, 3, true, 1},
	[BUSY] = {"busy", 7, 7, 2, true, 1},           [WAITED] = {"waited", 7, 7, 3, true, 1},
	[QUEUED] = {"queued", 7, 7, 4, true, 1},       [RUNS] = {"runs", 7, 7, 5, true, 1},
	[MEDIAN] = {"run 50%", 7, 7, 7, true, 1},      [P99] = {"run 99%", 7, 7, 5, true, 1},
	[LONGEST] = {"longest", 7, 7, 2, true, 1},     [WAKES] = {"wakes", 7, 7, 10, true, 1},
	[SELF] = {"self", 7, 7, 10, true, 1},
};

static uint32_t count(struct top *top)
{
	return watch_site_count(top->watch);
}

/* The place of tasks whose place is not known, where there are none. */
static bool skip(struct top *top, uint32_t item)
{
	const struct watch_site *site = watch_site_at(top->watch, item);

	return !site->id && !site->alive && (!site->runs || site->runs == WATCH_UNKNOWN);
}

static uint64_t id(struct top *top, uint32_t item)
{
	return watch_site_at(top->watch, item)->id;
}

static void quantile_cell(const struct histogram *histogram, uint32_t per_mille, struct cell *ret)
{
	cell_span(ret, histogram && histogram->count ? histogram_quantile(histogram, per_mille)
						     : WATCH_UNKNOWN);
}

static void figures(struct top *top, const struct watch_site *site, int column, struct cell *ret)
{
	switch (column) {
	case TASKS:
		cell_count(ret, site->alive);
		break;
	case RUNNING:
		cell_count(ret, site->states[WATCH_RUNNING]);
		break;
	case QUEUED_NOW:
		cell_count(ret, site->states[WATCH_QUEUED]);
		break;
	case WAITING:
		cell_count(ret, site->states[WATCH_WAITING]);
		break;
	case CREATED:
		cell_count(ret, top_rate(top, site->created_now));
		break;
	case ENDED:
		cell_count(ret, top_rate(top, site->ended_now));
		break;
	case RUNS:
		cell_count(ret, site->runs);
		break;
	case WAKES:
		cell_count(ret, site->wakes);
		break;
	default:
		cell_count(ret, site->self_wakes);
		break;
	}
}

static void cell(struct top *top, uint32_t item, int column, struct cell *ret)
{
	const struct watch_site *site = watch_site_at(top->watch, item);
	char text[WATCH_TEXT];

	switch (column) {
	case NAME:
		watch_site_name(top->watch, site->id, text);
		cell_text(ret, "%s", text[0] ? text : "unknown");
		break;
	case PLACE:
		watch_site_place(top->watch, site->id, text);
		cell_place(ret, text);
		break;
	case BUSY:
		cell_span(ret, site->busy);
		break;
	case WAITED:
		cell_span(ret, site->waited);
		break;
	case QUEUED:
		cell_span(ret, site->queued);
		break;
	case MEDIAN:
		quantile_cell(site->run, 500, ret);
		break;
	case P99:
		quantile_cell(site->run, 990, ret);
		break;
	case LONGEST:
		cell_span(ret, site->longest_task ? site->longest_run : WATCH_UNKNOWN);
		break;
	default:
		figures(top, site, column, ret);
		break;
	}
}

static int open_site(struct top *top, uint32_t item)
{
	top_open_site(top, watch_site_at(top->watch, item)->id);
	return 0;
}

/* The list keeps at least as much for itself. */
static int below_rows(const struct top *top, int rows)
{
	(void)top;
	return rows >= 2 * (BARS_ROWS + 1) ? BARS_ROWS + 1 : 0;
}

static int below(struct top *top, int y)
{
	const struct watch_site *site =
		watch_site_find(top->watch, (uint32_t)top->lists[VIEW_SITES].selected);
	int each = top->canvas.width >= 3 * (BARS_LEAST + 2) ? (top->canvas.width - 4) / 3
							     : (top->canvas.width - 2) / 2;

	if (!site || !top->lists[VIEW_SITES].total)
		return y;
	bars_draw(&top->canvas, y + 1, 0, each, "runs", site->run);
	bars_draw(&top->canvas, y + 1, each + 2, each, "waits", site->wait);
	bars_draw(&top->canvas, y + 1, 2 * (each + 2), each, "queued", site->queue);
	return y + 1 + BARS_ROWS;
}

const struct view view_sites = {
	.name = "sites",
	.keys = "Enter its tasks",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.sort = BUSY,
	.count = count,
	.id = id,
	.skip = skip,
	.cell = cell,
	.open = open_site,
	.below_rows = below_rows,
	.below = below,
	.empty = "no task was created yet",
};
