/* SPDX-License-Identifier: Apache-2.0 */
/* Plain text, for scripts and for those without a terminal. */
#include <errno.h>
#include <time.h>

#include "tui/ends.h"
#include "tui/figure.h"
#include "tui/frame.h"
#include "tui/list.h"
#include "tui/print_json.h"
#include "tui/term.h"
#include "tui/top.h"
#include "tui/view.h"

#define WIDTH 180      /* columns: enough for all of a list's */
#define ROOM_AROUND 24 /* lines besides the rows of a list */
#define PAGE_ROWS 200  /* of a view that is no list */
#define BELOW_ROWS 16  /* of what is said of a row, at most */

static void sleep_ns(uint64_t ns)
{
	struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
				.tv_nsec = (long)(ns % 1000000000)};

	nanosleep(&time, NULL);
}

/* Lets the program go on for a while, and makes the picture of then. */
static int advance(struct top *top)
{
	uint64_t until = term_now() + top->options->delay;
	int r = 0;

	for (uint64_t now = term_now(); r >= 0 && !ends_came() && now < until; now = term_now()) {
		uint64_t pause;

		r = top_pass(top);
		if (r < 0 || watch_has_ended(top->watch))
			break;
		pause = watch_pause_ns(top->watch);
		sleep_ns(pause < until - now ? pause : until - now);
	}
	return r < 0 ? r : top_refresh(top);
}

/* Draws a list on as many lines as it needs; returns the line after the last. */
static int draw_list(struct top *top, const struct view *view, int y)
{
	struct list *list = &top->lists[top->view];
	int r;

	if (view->above)
		y += view->above(top, y);
	r = list_draw(top, view, list, y, (int)top->options->rows + 1);
	if (r < 0)
		return r;
	y += 1 + (int)(list->shown ? list->shown : 1);
	if (list->total > list->shown)
		canvas_print(&top->canvas, y++, 0, STYLE_PLAIN, "... %s more",
			     figure_count(list->total - list->shown).text);
	for (uint32_t i = 0; view->below_all && i < list->shown; i++) {
		list->row = list->first + i;
		y = view->below(top, y);
	}
	return y;
}

static int rows_wanted(struct top *top)
{
	const struct view *view = view_get(top->view);
	uint32_t rows = (uint32_t)top->options->rows;

	if (!view->columns)
		return PAGE_ROWS;
	if (!view->below_all)
		return (int)rows;
	rows = rows < view->count(top) ? rows : view->count(top);
	return (int)(rows * (1 + BELOW_ROWS));
}

/* Draws a view that is no list, and again with more room if it turns out to be longer. */
static int draw_page(struct top *top, const struct view *view, int y)
{
	int r;

	view->draw(top, y, PAGE_ROWS);
	if (top->overhang > 0) {
		r = canvas_resize(&top->canvas, WIDTH, ROOM_AROUND + PAGE_ROWS + top->overhang);
		if (r < 0)
			return r;
		frame_head(top, 0);
		view->draw(top, y, PAGE_ROWS);
	}
	return y + PAGE_ROWS + top->overhang;
}

static int print(struct top *top, FILE *to)
{
	const struct view *view = view_get(top->view);
	int r = canvas_resize(&top->canvas, WIDTH, ROOM_AROUND + rows_wanted(top));
	int y;

	if (r < 0)
		return r;
	y = frame_head(top, 0) + 1;
	y = view->columns ? draw_list(top, view, y) : draw_page(top, view, y);
	if (y < 0)
		return y;
	canvas_write(&top->canvas, y, to);
	return 0;
}

static int print_all(struct top *top, FILE *to)
{
	bool trace = top_is_trace(top);
	/* Figures per second need two pictures. */
	int r = trace ? watch_lint_refresh(top->lint) : top_refresh(top);

	for (uint64_t i = 0; r >= 0 && (!top->options->times || i < top->options->times); i++) {
		if (i && !top->options->json)
			fputc('\n', to);
		if (!trace)
			r = advance(top);
		if (r >= 0 && !ends_came())
			r = top->options->json ? print_json(top, to) : print(top, to);
		if (r >= 0 && fflush(to) != 0)
			r = -errno;
		if (ends_came())
			return ends_came();
		if (trace || watch_totals(top->watch)->over)
			break;
	}
	return r < 0 ? r : 0;
}

int tui_print(struct watch *watch, struct watch_lint *lint, const struct tui_options *options,
	      FILE *to, struct diag *diag)
{
	struct top top;
	int r = top_init(&top, watch, lint, options, diag);

	if (r < 0)
		return r;
	top.plain = true;
	ends_catch();
	r = print_all(&top, to);
	top_fini(&top);
	return r;
}
