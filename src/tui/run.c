/* SPDX-License-Identifier: Apache-2.0 */
/* The screen's life: take what the program said, draw, wait for the user, and again. */
#include <errno.h>

#include "tui/frame.h"
#include "tui/keys.h"
#include "tui/term.h"
#include "tui/top.h"

#define READING_NS UINT64_C(100000000) /* between two looks at how far a trace is read */

/* When something is to be done next; ns of term_now(). */
struct due {
	uint64_t pass;
	uint64_t picture;
};

/* Time goes on in a trace that is played. */
static int play(struct top *top, const struct due *due, uint64_t now)
{
	const struct watch_totals *totals = watch_totals(top->watch);
	uint64_t late = now > due->picture ? now - due->picture : 0;
	int r;

	if (!top->playing)
		return 0;
	r = top_seek(top, totals->now + top->options->delay + late);
	if (watch_totals(top->watch)->now >= totals->last)
		top->playing = false;
	return r;
}

/* Does what is due, and says when the next thing is. */
static int work(struct top *top, struct due *due)
{
	uint64_t now = term_now();
	int r = 0;

	if (now >= due->pass && !watch_totals(top->watch)->over) {
		r = top_pass(top);
		due->pass = now + watch_pause_ns(top->watch);
	}
	if (r < 0 || now < due->picture)
		return r;
	if (top_is_trace(top))
		r = play(top, due, now);
	else if (!top->paused)
		r = top_refresh(top);
	due->picture = now + top->options->delay;
	return r;
}

static int show(struct top *top)
{
	int width, height, r;
	int y = -1, x = 0;

	term_size(&width, &height);
	r = canvas_resize(&top->canvas, width, height);
	if (r == 0)
		r = frame_draw(top);
	if (r < 0)
		return r;
	if (top->typing) {
		y = height - 1;
		x = canvas_width("filter: ") + canvas_width(top->filter);
	}
	term_show(&top->canvas, y, x < width ? x : width - 1);
	return 0;
}

/* A trace is read, for long: says how far that is, unless the user wants something else. */
static bool reads_on(void *data, unsigned per_cent)
{
	struct top *top = data;
	int y = top->canvas.height - 1;
	uint64_t now = term_now();

	if (!top->reading)
		top->reading = now;
	if (now - top->reading < READING_NS)
		return true;
	top->reading = now;
	top->pending = term_wait(0);
	if (top->pending.kind == TERM_REDRAW)
		top->pending.kind = TERM_TIME;
	canvas_repeat(&top->canvas, y, 0, top->canvas.width, STYLE_STRONG, ' ');
	canvas_print(&top->canvas, y, 0, STYLE_STRONG, "reading the trace: %u %%; a key stops it",
		     per_cent);
	term_show(&top->canvas, -1, 0);
	return top->pending.kind == TERM_TIME;
}

/* Escape has done what it was for. */
static struct term_event next_event(struct top *top, uint64_t deadline)
{
	struct term_event event = top->pending;

	if (event.kind == TERM_TIME)
		return term_wait(deadline);
	top->pending.kind = TERM_TIME;
	if (event.kind == TERM_KEY && event.key == TERM_ESCAPE) {
		top->goal = 0;
		event.kind = TERM_REDRAW;
	}
	return event;
}

static int loop(struct top *top, struct diag *diag)
{
	struct due due = {0};
	int r = 0;

	while (r >= 0) {
		uint64_t picture = due.picture;
		struct term_event event;

		r = work(top, &due);
		/* Only what changed is drawn again. */
		if (r >= 0)
			r = due.picture == picture && !top->touched ? 0 : show(top);
		top->touched = false;
		if (r < 0)
			break;
		event = next_event(top, due.pass < due.picture && !watch_totals(top->watch)->over
						? due.pass
						: due.picture);
		if (event.kind == TERM_QUIT)
			return 0;
		if (event.kind == TERM_ENDED)
			return event.signal ? event.signal
					    : diag_set(diag, -EIO, "the terminal went away");
		top->touched = event.kind != TERM_TIME;
		if (event.kind == TERM_KEY || event.kind == TERM_CLICK)
			r = keys_take(top, &event);
		if (r == KEYS_QUIT)
			return 0;
	}
	return r;
}

int tui_run(struct watch *watch, struct watch_lint *lint, const struct tui_options *options,
	    struct diag *diag)
{
	struct top top;
	int r = top_init(&top, watch, lint, options, diag);

	if (r < 0)
		return r;
	r = term_open(diag);
	if (r == 0) {
		watch_on_reading(watch, reads_on, &top);
		r = loop(&top, diag);
		watch_on_reading(watch, NULL, NULL);
	}
	term_close();
	top_fini(&top);
	return r;
}
