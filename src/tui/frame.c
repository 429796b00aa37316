/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/frame.h"

#include <inttypes.h>
#include <string.h>

#include "tui/bars.h"
#include "tui/figure.h"
#include "tui/help.h"
#include "tui/list.h"
#include "tui/view.h"
#include "view/figures.h"

#define SLIDER_TEXT 28 /* columns, for the moment */
#define SILENT_NS UINT64_C(1000000000)

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "2 running", if there are any. */
static int state_count(struct top *top, int y, int x, enum watch_state state)
{
	uint64_t count = watch_totals(top->watch)->states[state];

	if (!count)
		return x;
	x += canvas_print(&top->canvas, y, x, STYLE_PLAIN, "  ");
	return x + canvas_print(&top->canvas, y, x, cell_state_style(state), "%s %s",
				figure_count(count).text, watch_state_name(state));
}

static void program_line(struct top *top, int y)
{
	const struct watch_totals *totals = watch_totals(top->watch);
	int x = canvas_print(&top->canvas, y, 0, STYLE_STRONG, "%s",
			     totals->program[0] ? last_part(totals->program) : "unknown program");

	if (totals->pid)
		x += canvas_print(&top->canvas, y, x, STYLE_PLAIN, " (pid %" PRIu32 ")",
				  totals->pid);
	x += canvas_print(&top->canvas, y, x, STYLE_STRONG, "  %s", say_count(totals->alive).text);
	x += canvas_print(&top->canvas, y, x, STYLE_PLAIN, " task%s",
			  totals->alive == 1 ? "" : "s");
	for (int state = WATCH_RUNNING; state < WATCH_STATES; state++)
		x = state_count(top, y, x, (enum watch_state)state);
	state_count(top, y, x, WATCH_UNTOLD);
	if (top->paused)
		canvas_right(&top->canvas, y, top->canvas.width - 8, 8, STYLE_SELECTED, " PAUSED ");
}

static void rates_line(struct top *top, int y)
{
	const struct watch_totals *totals = watch_totals(top->watch);
	int x = canvas_print(&top->canvas, y, 0, STYLE_PLAIN,
			     "%s new/s  %s ended/s  %s runs/s  %" PRIu32 " thread%s",
			     figure_count(top_rate(top, totals->created_now)).text,
			     figure_count(top_rate(top, totals->ended_now)).text,
			     figure_count(top_rate(top, totals->runs_now)).text, totals->threads,
			     totals->threads == 1 ? "" : "s");

	if (totals->source == WATCH_TRACE && top->plain)
		canvas_print(&top->canvas, y, x, STYLE_PLAIN, "  at %.6f s of %.6f s",
			     (double)(totals->now - totals->first) / 1e9,
			     (double)(totals->last - totals->first) / 1e9);
	if (totals->source == WATCH_EVENTS)
		canvas_print(&top->canvas, y, x, STYLE_FAINT, "  watched for %s",
			     figure_span(totals->now - totals->first).text);
}

/* What is not known, and why; returns how many lines that took. */
static int doubts(struct top *top, int y)
{
	const struct watch_totals *totals = watch_totals(top->watch);
	int rows = 0;

	if (totals->over && totals->source != WATCH_TRACE)
		canvas_print(&top->canvas, y + rows++, 0, STYLE_WARNING,
			     "! the program has ended: this is how it was last");
	if (totals->lost && totals->lost != WATCH_UNKNOWN)
		canvas_print(&top->canvas, y + rows++, 0, STYLE_WARNING,
			     "! %s events were lost: figures may be too low",
			     figure_count(totals->lost).text);
	if (totals->slotless && totals->slotless != WATCH_UNKNOWN)
		canvas_print(
			&top->canvas, y + rows++, 0, STYLE_WARNING,
			"! %s tasks found no place in the table: not shown, if they still live",
			figure_count(totals->slotless).text);
	/* At first there is time for it to come. */
	if (totals->silent && totals->now - totals->first >= SILENT_NS &&
	    totals->source == WATCH_EVENTS)
		canvas_print(&top->canvas, y + rows++, 0, STYLE_PLAIN,
			     "%" PRIu32 " of %" PRIu32
			     " threads said nothing yet: %s may run tasks that are not shown so",
			     totals->silent, totals->threads, totals->silent == 1 ? "it" : "they");
	if (top->plain && top->view != VIEW_WARNINGS && watch_lint_count(top->lint))
		canvas_print(&top->canvas, y + rows++, 0, STYLE_WARNING,
			     "! %s warning%s: see --view warnings",
			     figure_count(watch_lint_count(top->lint)).text,
			     watch_lint_count(top->lint) == 1 ? "" : "s");
	return rows + canvas_wrap(&top->canvas, y + rows, 0, top->canvas.width, STYLE_FAINT,
				  watch_note(top->watch));
}

int frame_head(struct top *top, int y)
{
	program_line(top, y);
	rates_line(top, y + 1);
	return 2 + doubts(top, y + 2);
}

/* What the tasks are narrowed down to. */
static void narrowed(const struct top *top, char *to, size_t room)
{
	static const char *const groups[] = {"", "by site", "by parent"};
	char site[WATCH_TEXT] = "";
	size_t length = 0;

	to[0] = '\0';
	if (top->view == VIEW_TASKS && top->query.of_site) {
		watch_site_name(top->watch, top->query.site, site);
		length += (size_t)snprintf(to, room, "of %s", site[0] ? site : "unknown site");
	} else if (top->view == VIEW_TASKS && top->query.of_parent) {
		length += (size_t)snprintf(to, room, "of task %" PRIu64, top->query.parent);
	} else if (top->view == VIEW_TASKS && top->query.group) {
		length += (size_t)snprintf(to, room, "%s", groups[top->query.group]);
	}
	if (top->filter[0] && !top->typing && length < room)
		snprintf(to + length, room - length, "%sfilter: %s", length ? "  " : "",
			 top->filter);
}

static int draw_tabs(struct top *top, int y)
{
	char text[2 * WATCH_TEXT];
	int x = 0;

	top->tabs_y = y;
	for (int i = 0; i < VIEW_COUNT; i++) {
		bool here = i == (int)top->view;
		int width;

		snprintf(text, sizeof(text), " %d %s", i + 1, view_get((enum view_id)i)->name);
		if (i == VIEW_WARNINGS && watch_lint_count(top->lint))
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " (%s)",
				 figure_count(watch_lint_count(top->lint)).text);
		strcat(text, " ");
		width = canvas_text(&top->canvas, y, x, top->canvas.width - x,
				    here ? STYLE_SELECTED : STYLE_PLAIN, text);
		top->tabs[i] = (struct place){.x = x, .width = width};
		x += width + 1;
	}
	narrowed(top, text, sizeof(text));
	canvas_right(&top->canvas, y, x, top->canvas.width - x, STYLE_STRONG, text);
	return 1;
}

static int draw_slider(struct top *top, int y)
{
	const struct watch_totals *totals = watch_totals(top->watch);
	uint64_t length = totals->last - totals->first, at = totals->now - totals->first;
	int width = top->canvas.width - SLIDER_TEXT;

	top->slider_y = -1;
	if (!top_is_trace(top))
		return 0;
	top->slider_y = y;
	top->slider = (struct place){.x = SLIDER_TEXT, .width = width > 1 ? width : 1};
	canvas_print(&top->canvas, y, 0, STYLE_STRONG, "%s %.3f s of %.3f s",
		     top->playing ? "▶" : "at", (double)at / 1e9, (double)length / 1e9);
	bars_share(&top->canvas, y, SLIDER_TEXT, top->slider.width, at, length);
	return 1;
}

uint64_t frame_slider_time(const struct top *top, int x)
{
	const struct watch_totals *totals = watch_totals(top->watch);
	double share = top->slider.width > 1
			       ? (double)(x - top->slider.x) / (double)(top->slider.width - 1)
			       : 1;

	return totals->first + (uint64_t)(share * (double)(totals->last - totals->first));
}

static void draw_foot(struct top *top, int y)
{
	if (top->typing)
		canvas_print(&top->canvas, y, 0, STYLE_STRONG, "filter: %s", top->filter);
	else if (top->message[0])
		canvas_print(&top->canvas, y, 0, STYLE_STRONG, "%s", top->message);
	else
		canvas_print(&top->canvas, y, 0, STYLE_FAINT, "q quit  ? help  %s%s  %s",
			     !view_get(top->view)->columns ? ""
			     : top->canvas.ascii           ? "/ filter  Left Right r sort  "
							   : "/ filter  ← → r sort  ",
			     top_is_trace(top) ? "Space play  , . time" : "Space pause",
			     view_get(top->view)->keys);
}

/* The body of a view, on `rows` lines. */
static int draw_body(struct top *top, int y, int rows)
{
	const struct view *view = view_get(top->view);
	struct list *list = &top->lists[top->view];
	int below, above, r;

	top->head_y = top->rows_y = -1;
	canvas_clip(&top->canvas, y, y + rows);
	if (!view->columns) {
		view->draw(top, y, rows);
		return 0;
	}
	above = view->above ? view->above(top, y) : 0;
	below = view->below_rows ? view->below_rows(top, rows - above) : 0;
	r = list_draw(top, view, list, y + above, rows - above - below);
	if (r == 0 && below)
		view->below(top, y + rows - below);
	return r;
}

int frame_draw(struct top *top)
{
	int rows = top->canvas.height, y, bottom, r;

	canvas_clear(&top->canvas);
	bottom = rows - 1 - draw_slider(top, rows - 2);
	y = frame_head(top, 0);
	y += draw_tabs(top, y);
	r = draw_body(top, y, bottom > y ? bottom - y : 0);
	canvas_clip(&top->canvas, 0, rows);
	draw_foot(top, rows - 1);
	if (top->help)
		help_draw(&top->canvas);
	return r;
}
