/* SPDX-License-Identifier: Apache-2.0 */
/* The state of `unweave top`: which view is shown, and where in it the user is. */
#ifndef TUI_TOP_H
#define TUI_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "tui/canvas.h"
#include "tui/columns.h"
#include "tui/term.h"
#include "tui/tui.h"

#define TOP_FILTER_ROOM 80
#define TOP_WAITS_OF_KIND 64u /* things of one kind that are listed */

enum view_id {
	VIEW_TASKS,
	VIEW_TASK,
	VIEW_SITES,
	VIEW_WAITS,
	VIEW_THREADS,
	VIEW_WARNINGS,
	VIEW_COUNT
};

/* What the selection of a list stays with when rows move. */
enum hold {
	HOLD_ROW,  /* with its row: nobody chose anything yet */
	HOLD_NEXT, /* with what is on its row when that is next looked up */
	HOLD_ITEM, /* with that, for as long as it is there */
};

/* Where the user is in a list. Rows are those of the whole list, not of the screen. */
struct list {
	int sort; /* column */
	bool ascending;
	enum hold hold;
	uint64_t selected; /* id of what the selection is on */
	uint64_t row;      /* where that is, or was last */
	uint64_t first;    /* at the top of the screen */
	uint64_t total;    /* rows that there are */
	uint32_t *items;   /* of the rows on the screen: what the view knows them by */
	uint32_t shown;    /* how many that are */
	uint32_t capacity;
};

struct top {
	struct watch *watch;
	struct watch_lint *lint;
	const struct tui_options *options;
	struct canvas canvas;
	bool plain; /* it is printed: no selection, no keys */

	enum view_id view;
	enum view_id back; /* where Escape leads */
	struct list lists[VIEW_COUNT];
	int scroll;   /* of what is no list */
	int overhang; /* lines of it that did not fit */

	struct watch_query query; /* of the tasks; its filter is `filter` */
	char filter[TOP_FILTER_ROOM];
	bool typing; /* the filter is being typed */
	bool help;
	bool paused;
	bool playing;              /* a trace: time goes on by itself */
	bool touched;              /* the user did something: what is on the screen is old */
	uint64_t goal;             /* a moment that was not reached, since a key came; 0: none */
	uint64_t reading;          /* since when a trace is read, ns of term_now(); 0: it is not */
	struct term_event pending; /* what came meanwhile; TERM_TIME: nothing */
	char message[256];

	struct watch_row *rows; /* of the tasks on the screen */
	uint32_t row_capacity;
	struct watch_wait waits[WATCH_KINDS * TOP_WAITS_OF_KIND];
	uint32_t wait_count;

	/* Where things were drawn, for the mouse. */
	struct place places[COLUMNS_MOST];
	int head_y, rows_y, tabs_y, slider_y; /* slider: -1: there is none */
	struct place tabs[VIEW_COUNT];
	struct place slider;
};

/* Takes what the program said. -ENOMEM, -EIO. */
int top_pass(struct top *top);

/* Makes the picture of this moment, and what warns of it. -ENOMEM, -EIO. */
int top_refresh(struct top *top);

/* Takes the events of a living program, however many there are; or, if it does, no more. -ENOMEM.
 */
int top_listen(struct top *top);

/* Goes to a moment of a trace. -ENOMEM; what cannot be read is said on the screen. */
int top_seek(struct top *top, uint64_t time);

/* Goes to another view; `top->back` says from where. */
void top_go(struct top *top, enum view_id view);
/* Goes to a task. -ENOMEM; what cannot be read is said on the screen. */
int top_open_task(struct top *top, uint64_t task);
/* Goes to the tasks of a site, or of a parent. */
void top_open_site(struct top *top, uint32_t site);
void top_open_children(struct top *top, uint64_t parent);

bool top_is_trace(const struct top *top);

/* A figure per second, of one for the last interval. */
uint64_t top_rate(const struct top *top, uint64_t count);

int top_init(struct top *top, struct watch *watch, struct watch_lint *lint,
	     const struct tui_options *options, struct diag *diag);
void top_fini(struct top *top);

#endif /* TUI_TOP_H */
