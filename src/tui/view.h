/* SPDX-License-Identifier: Apache-2.0 */
/* A view: a list, or a page of its own making. One file view_<name>.c each. */
#ifndef TUI_VIEW_H
#define TUI_VIEW_H

#include "tui/top.h"

/* What stands in a list at one place. */
struct cell {
	char text[WATCH_TEXT + 32];
	enum style style;
	bool tail;       /* where it is too long, its end is shown */
	uint64_t number; /* to sort by; WATCH_UNKNOWN is last. Of texts: they sort by themselves */
	bool by_text;
	bool share; /* the number is in millionths of a whole */
};

struct view {
	const char *name;
	const char *keys;             /* for the last line, what it has besides those of all */
	const struct column *columns; /* NULL: it is no list */
	int column_count;
	int sort; /* column, at first */
	bool ascending;
	/*
	 * Fills in `list->items` with what is on `rows` lines, and all else of it; -ENOMEM.
	 * NULL: list_fetch() does, by `count` and `id`.
	 */
	int (*fetch)(struct top *top, struct list *list, uint32_t rows);
	uint32_t (*count)(struct top *top);
	uint64_t (*id)(struct top *top, uint32_t item);
	bool (*skip)(struct top *top, uint32_t item); /* it is not shown; NULL: all are */
	void (*cell)(struct top *top, uint32_t item, int column, struct cell *ret);
	/* Enter, on what is selected. -ENOMEM. */
	int (*open)(struct top *top, uint32_t item);
	/* Draws what stands above the list, and returns how many lines that took. NULL: nothing. */
	int (*above)(struct top *top, int y);
	/* How many of `rows` lines are for more on what is selected, which is drawn below. */
	int (*below_rows)(const struct top *top, int rows);
	int (*below)(struct top *top, int y); /* returns the line after the last */
	bool below_all;                       /* where it is printed: of each row */
	/* What is no list: draws `rows` lines from `y` on. */
	void (*draw)(struct top *top, int y, int rows);
	const char *empty; /* said where there is no row */
};

const struct view *view_get(enum view_id id);
/* VIEW_COUNT: there is none of this name. */
enum view_id view_find(const char *name);
/* The column with this title; -1: none. */
int view_column(const struct view *view, const char *title);

/* Cells of the common kinds. */
void cell_span(struct cell *cell, uint64_t ns);
void cell_count(struct cell *cell, uint64_t count);
void cell_share(struct cell *cell, uint64_t part, uint64_t whole);
__attribute__((format(printf, 2, 3))) void cell_text(struct cell *cell, const char *format, ...);
/* "function file:line", the file without its folders. */
void cell_place(struct cell *cell, const char *place);
/* How a state looks. */
enum style cell_state_style(enum watch_state state);

extern const struct view view_tasks;
extern const struct view view_task;
extern const struct view view_sites;
extern const struct view view_waits;
extern const struct view view_threads;
extern const struct view view_warnings;

#endif /* TUI_VIEW_H */
