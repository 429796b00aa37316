/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/keys.h"

#include <string.h>

#include "tui/frame.h"
#include "tui/glyph.h"
#include "tui/list.h"
#include "tui/view.h"

static struct list *list_of(struct top *top)
{
	return &top->lists[top->view];
}

/* The last character goes, all of its bytes. */
static void erase(char *text)
{
	size_t length = strlen(text);

	while (length && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
		length--;
	text[length ? length - 1 : 0] = '\0';
}

static void type(struct top *top, uint32_t key)
{
	size_t length = strlen(top->filter);

	switch (key) {
	case TERM_ESCAPE:
		top->filter[0] = '\0';
		top->typing = false;
		break;
	case TERM_ENTER:
		top->typing = false;
		break;
	case TERM_BACKSPACE:
		erase(top->filter);
		break;
	default:
		if (key < ' ' || key >= TERM_UP || length + GLYPH_BYTES >= sizeof(top->filter))
			return;
		length += glyph_encode(key, top->filter + length);
		top->filter[length] = '\0';
		break;
	}
}

static void scroll_page(struct top *top, int64_t by)
{
	int64_t most = top->scroll + (top->overhang > 0 ? top->overhang : 0);
	int64_t wanted = top->scroll + by;

	top->scroll = (int)(wanted < 0 ? 0 : wanted > most ? most : wanted);
}

static void move(struct top *top, int64_t by)
{
	if (view_get(top->view)->columns)
		list_move(list_of(top), by);
	else
		scroll_page(top, by);
}

static int64_t page_rows(const struct top *top)
{
	const struct list *list = &top->lists[top->view];

	return view_get(top->view)->columns && list->shown > 1 ? (int64_t)list->shown - 1
							       : top->canvas.height / 2;
}

/* The next column on the screen that can be sorted by. */
static void sort_beside(struct top *top, int step)
{
	const struct view *view = view_get(top->view);
	int column = list_of(top)->sort;

	for (int i = 0; i < view->column_count; i++) {
		column = (column + step + view->column_count) % view->column_count;
		if (top->places[column].width && view->columns[column].sort)
			break;
	}
	if (view->columns && column != list_of(top)->sort)
		list_sort(list_of(top), view, column);
}

static int open_row(struct top *top, uint64_t row)
{
	const struct list *list = list_of(top);
	const struct view *view = view_get(top->view);

	if (!view->open || row < list->first || row - list->first >= list->shown)
		return 0;
	return view->open(top, list->items[row - list->first]);
}

/* One step out: of the filter, of what the tasks are narrowed to, of the view. */
static void go_back(struct top *top)
{
	enum view_id back = top->back;

	if (top->filter[0] && view_get(top->view)->columns) {
		top->filter[0] = '\0';
		return;
	}
	if (top->view == VIEW_TASKS && (top->query.of_site || top->query.of_parent)) {
		top->query.of_site = top->query.of_parent = false;
		if (back == VIEW_TASK)
			return;
	}
	top_go(top, back);
	top->back = VIEW_TASKS;
}

static void group(struct top *top)
{
	top_go(top, VIEW_TASKS);
	top->query.of_site = top->query.of_parent = false;
	top->query.group = (top->query.group + 1) % (WATCH_GROUP_PARENT + 1);
	list_move_to(&top->lists[VIEW_TASKS], 0);
	top->lists[VIEW_TASKS].hold = HOLD_ROW;
}

/* Moves through a trace by a share of its length. */
static int seek_by(struct top *top, int per_cent)
{
	const struct watch_totals *totals = watch_totals(top->watch);
	uint64_t step = (totals->last - totals->first) / 100 *
			(uint64_t)(per_cent < 0 ? -per_cent : per_cent);
	/* Keys that come faster than a trace can be read add up. */
	uint64_t from = top->goal ? top->goal : totals->now, to = from + step;

	if (per_cent < 0)
		to = from - totals->first > step ? from - step : totals->first;
	else if (to > totals->last)
		to = totals->last;
	return top_is_trace(top) ? top_seek(top, to) : 0;
}

static void pause_or_play(struct top *top)
{
	if (top_is_trace(top))
		top->playing = !top->playing;
	else
		top->paused = !top->paused;
}

static int command(struct top *top, uint32_t key)
{
	switch (key) {
	case 'q':
		return KEYS_QUIT;
	case '?':
		top->help = true;
		break;
	case '/':
		top->typing = true;
		break;
	case ' ':
		pause_or_play(top);
		break;
	case 'b':
		group(top);
		break;
	case 'e':
		return top_is_trace(top) ? 0 : top_listen(top);
	case 'r':
		list_of(top)->ascending = !list_of(top)->ascending;
		break;
	case ',':
		return seek_by(top, -1);
	case '.':
		return seek_by(top, 1);
	case '<':
		return seek_by(top, -10);
	case '>':
		return seek_by(top, 10);
	default:
		if (key >= '1' && key < '1' + VIEW_COUNT)
			top_go(top, (enum view_id)(key - '1'));
		break;
	}
	return 0;
}

static int press(struct top *top, uint32_t key)
{
	switch (key) {
	case TERM_UP:
	case 'k':
		move(top, -1);
		return 0;
	case TERM_DOWN:
	case 'j':
		move(top, 1);
		return 0;
	case TERM_PAGE_UP:
		move(top, -page_rows(top));
		return 0;
	case TERM_PAGE_DOWN:
		move(top, page_rows(top));
		return 0;
	case TERM_HOME:
	case 'g':
		move(top, -INT32_MAX);
		return 0;
	case TERM_END:
	case 'G':
		move(top, INT32_MAX);
		return 0;
	case TERM_LEFT:
	case 'h':
		sort_beside(top, -1);
		return 0;
	case TERM_RIGHT:
	case 'l':
		sort_beside(top, 1);
		return 0;
	case TERM_TAB:
		top_go(top, (top->view + 1) % VIEW_COUNT);
		return 0;
	case TERM_BACK_TAB:
		top_go(top, (top->view + VIEW_COUNT - 1) % VIEW_COUNT);
		return 0;
	case TERM_ENTER:
		return open_row(top, list_of(top)->row);
	case TERM_ESCAPE:
	case TERM_BACKSPACE:
		go_back(top);
		return 0;
	default:
		return command(top, key);
	}
}

static int click_row(struct top *top, int y)
{
	struct list *list = list_of(top);
	uint64_t row = list->first + (uint64_t)(y - top->rows_y);

	if (row >= list->first + list->shown)
		return 0;
	/* What is selected already is opened. */
	if (row == list->row)
		return open_row(top, row);
	list_move_to(list, row);
	return 0;
}

static int click(struct top *top, int y, int x)
{
	const struct view *view = view_get(top->view);

	if (y == top->slider_y)
		return top_seek(top, frame_slider_time(top, x < top->slider.x ? top->slider.x : x));
	if (y == top->tabs_y) {
		int tab = columns_find(top->tabs, VIEW_COUNT, x);

		if (tab >= 0)
			top_go(top, (enum view_id)tab);
		return 0;
	}
	if (!view->columns)
		return 0;
	if (y == top->head_y)
		list_sort(list_of(top), view, columns_find(top->places, view->column_count, x));
	else if (y >= top->rows_y)
		return click_row(top, y);
	return 0;
}

static bool is_step(const struct term_event *event)
{
	return event->kind == TERM_KEY &&
	       (event->key == ',' || event->key == '.' || event->key == '<' || event->key == '>');
}

int keys_take(struct top *top, const struct term_event *event)
{
	top->message[0] = '\0';
	if (!is_step(event))
		top->goal = 0;
	if (top->help) {
		top->help = false;
		return 0;
	}
	if (event->kind == TERM_CLICK) {
		int r = click(top, event->y, event->x);

		return r == 0 && event->twice ? click(top, event->y, event->x) : r;
	}
	if (top->typing) {
		type(top, event->key);
		return 0;
	}
	return press(top, event->key);
}
