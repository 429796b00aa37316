/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UP 0x25b2
#define DOWN 0x25bc

int list_reserve(struct list *list, uint32_t rows)
{
	uint32_t *items;

	if (rows <= list->capacity)
		return 0;
	items = reallocarray(list->items, rows, sizeof(*items));
	if (!items)
		return -ENOMEM;
	list->items = items;
	list->capacity = rows;
	return 0;
}

void list_fini(struct list *list)
{
	free(list->items);
	*list = (struct list){0};
}

void list_scroll(struct list *list, uint32_t rows)
{
	uint64_t last_first = list->total > rows ? list->total - rows : 0;

	if (list->row >= list->total)
		list->row = list->total ? list->total - 1 : 0;
	if (list->row < list->first)
		list->first = list->row;
	if (rows && list->row >= list->first + rows)
		list->first = list->row - rows + 1;
	if (list->first > last_first)
		list->first = last_first;
}

void list_hold(struct list *list, uint64_t id)
{
	list->selected = id;
	if (list->hold == HOLD_NEXT)
		list->hold = HOLD_ITEM;
}

bool list_matches(const char *text, const char *filter)
{
	return strcasestr(text, filter) != NULL;
}

/* A row, and what it is sorted by. */
struct key {
	uint32_t item;
	uint64_t id;
	bool ascending;
	struct cell cell;
};

static int compare(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	uint64_t one = a->cell.number, other = b->cell.number;
	int order = 0;

	if (a->cell.by_text)
		order = strcmp(a->cell.text, b->cell.text);
	else if (one == WATCH_UNKNOWN || other == WATCH_UNKNOWN)
		return one == other           ? (a->id > b->id) - (a->id < b->id)
		       : one == WATCH_UNKNOWN ? 1
					      : -1;
	else
		order = (one > other) - (one < other);
	if (order == 0)
		return (a->id > b->id) - (a->id < b->id);
	return a->ascending ? order : -order;
}

static bool is_wanted(struct top *top, const struct view *view, uint32_t item)
{
	if (view->skip && view->skip(top, item))
		return false;
	if (!top->filter[0])
		return true;
	for (int i = 0; i < view->column_count; i++) {
		struct cell cell = {0};

		view->cell(top, item, i, &cell);
		if (cell.by_text && list_matches(cell.text, top->filter))
			return true;
	}
	return false;
}

static uint32_t collect(struct top *top, const struct view *view, const struct list *list,
			struct key *keys, uint32_t count)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!is_wanted(top, view, i))
			continue;
		keys[found] = (struct key){
			.item = i, .id = view->id(top, i), .ascending = list->ascending};
		view->cell(top, i, list->sort, &keys[found++].cell);
	}
	return found;
}

int list_fetch(struct top *top, const struct view *view, struct list *list, uint32_t rows)
{
	uint32_t count = view->count(top);
	struct key *keys = calloc(count ? count : 1, sizeof(*keys));

	if (!keys || list_reserve(list, rows) < 0) {
		free(keys);
		return -ENOMEM;
	}
	count = collect(top, view, list, keys, count);
	qsort(keys, count, sizeof(*keys), compare);
	list->total = count;
	for (uint32_t i = 0; list->hold == HOLD_ITEM && i < count; i++)
		if (keys[i].id == list->selected)
			list->row = i;
	list_scroll(list, rows);
	list->shown = 0;
	for (uint64_t i = list->first; i < count && list->shown < rows; i++)
		list->items[list->shown++] = keys[i].item;
	if (count)
		list_hold(list, keys[list->row].id);
	free(keys);
	return 0;
}

static void draw_head(struct top *top, const struct view *view, const struct list *list, int y)
{
	struct canvas *canvas = &top->canvas;

	top->head_y = y;
	canvas_restyle(canvas, y, 0, canvas->width, STYLE_HEAD);
	for (int i = 0; i < view->column_count; i++) {
		const struct place *place = &top->places[i];
		const struct column *column = &view->columns[i];
		bool sorted = i == list->sort && column->sort;
		enum style style = sorted ? STYLE_SORTED : STYLE_HEAD;
		int width = canvas_width(column->title);

		if (!place->width)
			continue;
		if (column->to_right)
			canvas_right(canvas, y, place->x, place->width, style, column->title);
		else
			canvas_text(canvas, y, place->x, place->width, style, column->title);
		if (!sorted || width >= place->width)
			continue;
		canvas_repeat(canvas, y,
			      column->to_right ? place->x + place->width - width - 1
					       : place->x + width,
			      1, style, list->ascending ? UP : DOWN);
	}
}

static void draw_row(struct top *top, const struct view *view, uint32_t item, int y)
{
	for (int i = 0; i < view->column_count; i++) {
		const struct place *place = &top->places[i];
		struct cell cell = {0};

		if (!place->width)
			continue;
		view->cell(top, item, i, &cell);
		(cell.tail                   ? canvas_tail
		 : view->columns[i].to_right ? canvas_right
					     : canvas_text)(&top->canvas, y, place->x, place->width,
							    cell.style, cell.text);
	}
}

int list_draw(struct top *top, const struct view *view, struct list *list, int y, int rows)
{
	uint32_t room = rows > 1 ? (uint32_t)rows - 1 : 0;
	int r = view->fetch ? view->fetch(top, list, room) : list_fetch(top, view, list, room);

	if (r < 0)
		return r;
	columns_fit(view->columns, view->column_count, top->canvas.width, top->places);
	draw_head(top, view, list, y);
	top->rows_y = y + 1;
	for (uint32_t i = 0; i < list->shown; i++) {
		int at = y + 1 + (int)i;

		draw_row(top, view, list->items[i], at);
		if (!top->plain && list->first + i == list->row)
			canvas_restyle(&top->canvas, at, 0, top->canvas.width, STYLE_SELECTED);
	}
	if (!list->total)
		canvas_text(&top->canvas, y + 1, 0, top->canvas.width, STYLE_FAINT,
			    top->filter[0] ? "nothing matches the filter" : view->empty);
	return 0;
}

void list_move_to(struct list *list, uint64_t row)
{
	list->row = row < list->total ? row : list->total ? list->total - 1 : 0;
	list->hold = HOLD_NEXT;
}

void list_move(struct list *list, int64_t by)
{
	if (by < 0 && (uint64_t)-by > list->row)
		list_move_to(list, 0);
	else
		list_move_to(list, list->row + (uint64_t)by);
}

void list_sort(struct list *list, const struct view *view, int column)
{
	if (column < 0 || !view->columns[column].sort)
		return;
	if (list->sort == column)
		list->ascending = !list->ascending;
	else
		list->ascending = !view->columns[column].to_right;
	list->sort = column;
}
