/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal: shows a canvas, and says what its user did. The only file that knows of
 * curses. There is one of them, as there is one terminal.
 *
 * While it is open, signals that end or stop us come as events, so that the terminal is
 * always given back as it was. Those that end us are noted for good: see ends.h.
 */
#ifndef TUI_TERM_H
#define TUI_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "tui/canvas.h"
#include "util/diag.h"

enum term_kind {
	TERM_TIME,   /* the time is up */
	TERM_KEY,    /* `key` */
	TERM_CLICK,  /* at (`y`, `x`) */
	TERM_REDRAW, /* another size, or we were stopped and go on */
	TERM_QUIT,   /* ^C */
	TERM_ENDED,  /* `signal` wants us to end; 0: the terminal has gone */
};

/* Keys that are no character. */
enum term_key {
	TERM_UP = 0x110000, /* beyond the last code point */
	TERM_DOWN,
	TERM_LEFT,
	TERM_RIGHT,
	TERM_PAGE_UP,
	TERM_PAGE_DOWN,
	TERM_HOME,
	TERM_END,
	TERM_ENTER,
	TERM_BACKSPACE,
	TERM_ESCAPE,
	TERM_TAB,
	TERM_BACK_TAB,
	TERM_OTHER_KEY,
};

struct term_event {
	enum term_kind kind;
	uint32_t key; /* enum term_key, or a code point */
	int y, x;
	bool twice; /* a click, and one more */
	int signal;
};

/*
 * Chooses how text is shown, by the environment; to be called once, before anything is drawn.
 * Returns whether there is more than ASCII.
 */
bool term_locale(void);

/* Returns -ENOTTY, -EINVAL if the terminal is not able to, or -EBUSY. */
int term_open(struct diag *diag);
/* Gives the terminal back. Does nothing if it is not open. */
void term_close(void);

void term_size(int *ret_width, int *ret_height);
/* Shows the canvas; the cursor at (`y`, `x`), if `y` is not negative. */
void term_show(const struct canvas *canvas, int y, int x);

/* Waits for something to happen, until `deadline` (ns, CLOCK_MONOTONIC). */
struct term_event term_wait(uint64_t deadline);
uint64_t term_now(void);

#endif /* TUI_TERM_H */
