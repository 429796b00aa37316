/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on the screen: rows sorted, filtered, scrolled and drawn. */
#ifndef TUI_LIST_H
#define TUI_LIST_H

#include "tui/view.h"

/* Makes room for the items of so many rows. -ENOMEM. */
int list_reserve(struct list *list, uint32_t rows);
void list_fini(struct list *list);

/* Moves the top of the screen, so that the selected row is among `rows`; call with `total` set. */
void list_scroll(struct list *list, uint32_t rows);

/* Says what is on the selected row, now that it was looked up. */
void list_hold(struct list *list, uint64_t id);

/* The rows of a view that has `count` and `id`. -ENOMEM. */
int list_fetch(struct top *top, const struct view *view, struct list *list, uint32_t rows);

/* Draws titles at `y` and rows below it, `rows` lines in all. -ENOMEM. */
int list_draw(struct top *top, const struct view *view, struct list *list, int y, int rows);

/* Moves the selection by rows, and then holds what is there. */
void list_move(struct list *list, int64_t by);
void list_move_to(struct list *list, uint64_t row);

/* Sorts by another column; by the same one, the other way round. */
void list_sort(struct list *list, const struct view *view, int column);

/* Whether a text has the filter in it; letters may be small or capital. */
bool list_matches(const char *text, const char *filter);

#endif /* TUI_LIST_H */
