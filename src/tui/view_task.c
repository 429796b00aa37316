/* SPDX-License-Identifier: Apache-2.0 */
/* All of one task: what it does, its chain, how long it runs and waits, and who is around it. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "tui/bars.h"
#include "tui/figure.h"
#include "tui/view.h"
#include "tui/warning.h"

#define SIDE_BY_SIDE 120 /* columns from which on there are two halves */
#define RUNS_SHOWN 12u
#define CHILDREN_SHOWN 8u

/* Where the next line goes. */
struct page {
	struct top *top;
	const struct watch_detail *detail;
	int y, x, width;
};

__attribute__((format(printf, 3, 4))) static void line(struct page *page, enum style style,
						       const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	canvas_text(&page->top->canvas, page->y++, page->x, page->width, style, text);
}

static void title(struct page *page, const char *text, const char *more)
{
	int x = page->x;

	page->y++;
	x += canvas_text(&page->top->canvas, page->y, x, page->width, STYLE_STRONG, text);
	canvas_text(&page->top->canvas, page->y++, x + 2, page->width - (x + 2 - page->x),
		    STYLE_FAINT, more);
}

/* What it waits for, in words; which one, if that is known. */
static void waits_for(const struct watch_detail *detail, char *to, size_t room)
{
	static const char *const words[WATCH_KINDS] = {
		[UNWEAVE_WAIT_TASK] = "task",   [UNWEAVE_WAIT_IO] = "file",
		[UNWEAVE_WAIT_LOCK] = "lock",   [UNWEAVE_WAIT_CHANNEL] = "channel",
		[UNWEAVE_WAIT_TIMER] = "timer",
	};
	const struct watch_task *task = &detail->row.task;
	const char *word = task->waits < WATCH_KINDS ? words[task->waits] : NULL;

	to[0] = '\0';
	if (!word)
		return;
	if (task->waits == UNWEAVE_WAIT_TIMER || task->awaits == WATCH_UNKNOWN)
		snprintf(to, room, " for a %s", word);
	else if (task->waits == UNWEAVE_WAIT_LOCK || task->waits == UNWEAVE_WAIT_CHANNEL)
		snprintf(to, room, " for %s %#" PRIx64, word, task->awaits);
	else
		snprintf(to, room, " for %s %" PRIu64 "%s%s", word, task->awaits,
			 detail->awaits_name[0] ? ", " : "", detail->awaits_name);
}

/* Until what is shown was so. */
static uint64_t passed(const struct page *page, uint64_t since)
{
	uint64_t at = page->detail->at;

	return since == WATCH_UNKNOWN ? WATCH_UNKNOWN : at > since ? at - since : 0;
}

static void state_line(struct page *page)
{
	const struct watch_detail *detail = page->detail;
	const struct watch_row *row = &detail->row;
	char what[WATCH_TEXT + 64] = "";
	uint64_t since;

	if (detail->ended) {
		line(page, STYLE_STRONG, "has ended%s%s; this is how it was last",
		     detail->end == MODEL_INCOMPLETE ? "" : ": ",
		     detail->end == MODEL_INCOMPLETE ? "" : model_end_name(detail->end));
		return;
	}
	if (row->task.state == WATCH_UNTOLD) {
		line(page, STYLE_FAINT, "unknown: nothing was heard of it yet");
		return;
	}
	if (row->task.state == WATCH_RUNNING && row->task.thread)
		snprintf(what, sizeof(what), " on thread %" PRIu32, row->task.thread);
	else if (row->task.state == WATCH_WAITING)
		waits_for(detail, what, sizeof(what));
	since = passed(page, row->task.since);
	line(page, cell_state_style(row->task.state), "%s%s, for %s%s",
	     watch_state_name(row->task.state), what,
	     row->task.early && since != WATCH_UNKNOWN ? "more than " : "",
	     figure_span(since).text);
}

/* Of one that was there before, it is more. */
static void age_line(struct page *page, uint64_t lived)
{
	const struct watch_row *row = &page->detail->row;
	const char *place = row->place;

	if (lived == WATCH_UNKNOWN)
		line(page, STYLE_PLAIN, "how long it %s is not known%s%s",
		     page->detail->ended ? "lived" : "has lived", place[0] ? "; created by " : "",
		     place);
	else
		line(page, STYLE_PLAIN, "%s %s%s%s%s",
		     page->detail->ended ? "lived" : "has lived for",
		     row->task.before ? "more than " : "", figure_span(lived).text,
		     place[0] ? "; created by " : "", place);
}

static void facts(struct page *page)
{
	const struct watch_row *row = &page->detail->row;
	const struct watch_task *task = &row->task;
	uint64_t lived = passed(page, task->created);

	line(page, STYLE_STRONG, "%s  task %" PRIu64, row->name, task->id);
	state_line(page);
	age_line(page, lived);
	if (task->parent)
		line(page, STYLE_PLAIN, "parent task %" PRIu64 "  %s", task->parent,
		     page->detail->parent_name);
	line(page, STYLE_PLAIN, "busy %s (%s)  waited %s (%s)  queued %s (%s)",
	     figure_span(task->busy).text, figure_share(task->busy, lived).text,
	     figure_span(task->waited).text, figure_share(task->waited, lived).text,
	     figure_span(task->queued).text, figure_share(task->queued, lived).text);
	line(page, STYLE_PLAIN, "runs %s  wakes %s, of which by itself %s",
	     figure_count(task->runs).text, figure_count(task->wakes).text,
	     figure_count(task->self_wakes).text);
	if (task->uncertain)
		line(page, STYLE_WARNING, "! events about it were lost: there may be more");
	page->y = warning_lines(page->top, task->id, page->y, page->x, page->width);
}

static void frame_line(struct page *page, const struct watch_frame *frame)
{
	struct canvas *canvas = &page->top->canvas;
	char where[WATCH_TEXT] = "";
	int used;

	if (frame->omitted) {
		line(page, STYLE_FAINT, "  … %s frames more",
		     frame->address ? figure_count(frame->address).text : "some");
		return;
	}
	used = 2 +
	       canvas_text(canvas, page->y, page->x + 2, page->width - 2, STYLE_PLAIN, frame->name);
	if (frame->file)
		snprintf(where, sizeof(where), "%s:%" PRIu32, frame->file, frame->line);
	if (frame->state)
		snprintf(where + strlen(where), sizeof(where) - strlen(where), "%sstate %" PRId32,
			 where[0] ? "  " : "", frame->state);
	canvas_tail(canvas, page->y, page->x + used + 2, page->width - used - 2, STYLE_FAINT,
		    where);
	page->y++;
}

static void chain(struct page *page)
{
	const struct watch_detail *detail = page->detail;

	title(page, "chain", "innermost first");
	if (detail->no_frames)
		line(page, STYLE_FAINT, "  %s", detail->no_frames);
	for (uint32_t i = 0; i < detail->frame_count; i++)
		frame_line(page, &detail->frames[i]);
}

static void histograms(struct page *page)
{
	const struct watch_detail *detail = page->detail;
	int each = (page->width - 2) / 2;

	page->y++;
	bars_draw(&page->top->canvas, page->y, page->x, each, "runs", detail->run);
	bars_draw(&page->top->canvas, page->y, page->x + each + 2, each, "waits", detail->wait);
	page->y += BARS_ROWS;
}

static void wakers(struct page *page)
{
	static const char *const sources[] = {"a thread", "a timer", "io", "a signal", "other"};
	const struct watch_detail *detail = page->detail;

	title(page, "woken by", detail->waker_count ? "" : "nobody seen");
	for (uint32_t i = 0; i < detail->waker_count; i++) {
		const struct watch_waker *waker = &detail->wakers[i];

		if (waker->task)
			line(page, STYLE_PLAIN, "  %7s  %s  task %" PRIu64,
			     figure_count(waker->wakes).text, waker->name, waker->task);
		else
			line(page, STYLE_PLAIN, "  %7s  %s", figure_count(waker->wakes).text,
			     waker->source < sizeof(sources) / sizeof(sources[0])
				     ? sources[waker->source]
				     : "-");
	}
}

static void children(struct page *page)
{
	const struct watch_detail *detail = page->detail;
	char name[WATCH_TEXT];

	title(page, "children", figure_count(detail->child_count).text);
	for (uint32_t i = 0; i < detail->children_listed && i < CHILDREN_SHOWN; i++) {
		const struct watch_task *child =
			watch_task_find(page->top->watch, detail->children[i]);

		if (!child)
			continue;
		watch_name(page->top->watch, child, name);
		line(page, STYLE_PLAIN, "  %-8s  %s  task %" PRIu64, watch_state_name(child->state),
		     name, child->id);
	}
}

static void recent_runs(struct page *page)
{
	const struct watch_detail *detail = page->detail;
	uint64_t now = watch_totals(page->top->watch)->now;

	title(page, "runs, newest first", detail->run_count ? "" : "none was seen yet");
	if (detail->run_count)
		line(page, STYLE_HEAD, "  %9s  %7s  %7s  %7s  %6s", "ago", "ran", "waited",
		     "queued", "thread");
	for (uint32_t i = 0; i < detail->run_count && i < RUNS_SHOWN; i++) {
		const struct watch_run *run = &detail->runs[i];
		uint64_t end = run->end ? run->end : now;

		line(page, STYLE_PLAIN, "  %9s  %7s  %7s  %7s  %6" PRIu32,
		     run->end ? figure_span(now > run->end ? now - run->end : 0).text : "runs now",
		     figure_span(end > run->start ? end - run->start : 0).text,
		     figure_span(run->waited).text, figure_span(run->queued).text, run->thread);
	}
}

static void draw_all(struct page *page)
{
	int top_y, left_end;

	facts(page);
	if (page->width < SIDE_BY_SIDE) {
		chain(page);
		histograms(page);
		wakers(page);
		children(page);
		recent_runs(page);
		return;
	}
	top_y = page->y;
	page->width = (page->width - 4) / 2;
	chain(page);
	recent_runs(page);
	left_end = page->y;
	page->y = top_y;
	page->x += page->width + 4;
	histograms(page);
	wakers(page);
	children(page);
	page->y = page->y > left_end ? page->y : left_end;
}

static void draw(struct top *top, int y, int rows)
{
	struct page page = {
		.top = top, .detail = watch_detail(top->watch), .width = top->canvas.width};

	if (!page.detail) {
		canvas_text(&top->canvas, y, 0, top->canvas.width, STYLE_FAINT,
			    top->options->task ? "there is no such task"
					       : "no task is chosen: Enter on one in another view");
		top->overhang = 1 - rows;
		return;
	}
	page.y = y - top->scroll;
	draw_all(&page);
	top->overhang = page.y + top->scroll - y - rows;
}

const struct view view_task = {
	.name = "task",
	.keys = "Up/Down scroll",
	.draw = draw,
};
