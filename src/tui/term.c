/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/term.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tui/ends.h"
#include "tui/palette.h"

#define WIDEST 1000 /* columns, and lines, that are drawn: sizes come from outside */
#define EMPTY_READS 16

/* What comes at once, pressed and released, or more than that, curses makes one event of. */
#define CLICKS (BUTTON1_PRESSED | BUTTON1_CLICKED)

/* Besides those that end us. */
enum { SIGNALS = 3 };
static const int signals[SIGNALS] = {SIGTSTP, SIGCONT, SIGWINCH};

static SCREEN *screen;
static volatile sig_atomic_t came[SIGNALS];
static struct sigaction actions_before[SIGNALS];
static sigset_t mask_before;
static attr_t looks[STYLE_COUNT];
static short pairs[STYLE_COUNT];

bool term_locale(void)
{
	const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	if (setlocale(LC_CTYPE, ""))
		return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	/* One that this machine does not have; the terminal may be right all the same. */
	for (unsigned i = 0; i < 3; i++) {
		const char *value = getenv(names[i]);

		if (value && value[0])
			return (strcasestr(value, "utf-8") || strcasestr(value, "utf8")) &&
			       setlocale(LC_CTYPE, "C.UTF-8");
	}
	return false;
}

uint64_t term_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void note(int signal)
{
	for (int i = 0; i < SIGNALS; i++)
		if (signals[i] == signal)
			came[i] = 1;
}

/* Curses leaves alone what has a handler already. They only run while we wait. */
static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = note};
	sigset_t mask;

	ends_catch();
	sigemptyset(&mask);
	ends_add(&mask);
	for (int i = 0; i < SIGNALS; i++) {
		came[i] = 0;
		sigaddset(&mask, signals[i]);
		sigaction(signals[i], &action, &actions_before[i]);
	}
	sigprocmask(SIG_BLOCK, &mask, &mask_before);
}

static void release_signals(void)
{
	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &actions_before[i], NULL);
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

/* The terminal's own background stays, since nobody knows whether it is light or dark. */
static void choose_looks(void)
{
	const char *no_color = getenv("NO_COLOR");
	bool colours = has_colors() && !(no_color && no_color[0]) && start_color() == OK &&
		       use_default_colors() == OK;

	for (short i = 0; i < STYLE_COUNT; i++) {
		const struct palette_look *look = palette_look((enum style)i);

		looks[i] = (look->bold ? A_BOLD : 0) | (look->faint ? A_DIM : 0) |
			   (look->reverse ? A_REVERSE : 0) | (look->underline ? A_UNDERLINE : 0);
		pairs[i] = 0;
		if (colours && look->colour &&
		    init_pair(i, COLORS >= 256 ? look->of_256 : look->of_8, -1) == OK)
			pairs[i] = i;
	}
}

static int check(struct diag *diag)
{
	const char *name = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		diag_set(diag, -ENOTTY, "%s is not a terminal",
			 isatty(STDOUT_FILENO) ? "standard input" : "standard output");
		return diag_hint(diag, -ENOTTY, "unweave top -b prints plain text");
	}
	if (!name || !name[0] || strcmp(name, "dumb") == 0) {
		diag_set(diag, -EINVAL, "the terminal cannot show a screen: TERM is %s",
			 name && name[0] ? "dumb" : "not set");
		return diag_hint(diag, -EINVAL, "set TERM, or unweave top -b prints plain text");
	}
	return 0;
}

int term_open(struct diag *diag)
{
	int r = screen ? -EBUSY : check(diag);

	if (r < 0)
		return r;
	catch_signals();
	/* initscr() would end us where it fails. */
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		release_signals();
		diag_set(diag, -EINVAL, "no terminal of the kind that TERM says is known");
		return diag_hint(diag, -EINVAL,
				 "set TERM to what it is, or unweave top -b prints plain text");
	}
	set_escdelay(25);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, true);
	nodelay(stdscr, true);
	mouseinterval(0);
	mousemask(CLICKS | BUTTON1_DOUBLE_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	choose_looks();
	return 0;
}

void term_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
	release_signals();
}

static int at_most(int value, int most)
{
	return value < 1 ? 1 : value > most ? most : value;
}

void term_size(int *ret_width, int *ret_height)
{
	*ret_width = at_most(COLS, WIDEST);
	*ret_height = at_most(LINES, WIDEST);
}

static void show_row(const struct canvas *canvas, int y)
{
	wchar_t run[WIDEST];

	move(y, 0);
	for (int x = 0; x < canvas->width;) {
		uint8_t style = canvas_at(canvas, y, x)->style;
		int length = 0;

		for (; x < canvas->width && canvas_at(canvas, y, x)->style == style; x++) {
			uint32_t glyph = canvas_at(canvas, y, x)->glyph;

			if (glyph)
				run[length++] = (wchar_t)glyph;
		}
		attr_set(looks[style], pairs[style], NULL);
		addnwstr(run, length);
	}
}

void term_show(const struct canvas *canvas, int y, int x)
{
	for (int row = 0; row < canvas->height; row++)
		show_row(canvas, row);
	attr_set(0, 0, NULL);
	curs_set(y >= 0);
	if (y >= 0)
		move(y, x);
	refresh();
}

static struct term_event redraw(void)
{
	struct winsize size;

	/* resizeterm() would put a key into the input, each time. */
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resize_term(size.ws_row, size.ws_col);
	clearok(curscr, true);
	return (struct term_event){.kind = TERM_REDRAW};
}

/* As ^Z is for others: the shell has the terminal while we are stopped. */
static struct term_event stop(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL}, before;
	sigset_t mask;

	endwin();
	sigemptyset(&mask);
	sigaddset(&mask, SIGTSTP);
	sigaction(SIGTSTP, &action, &before);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	sigaction(SIGTSTP, &before, NULL);
	reset_prog_mode();
	return redraw();
}

static bool take_signal(int signal)
{
	for (int i = 0; i < SIGNALS; i++) {
		if (signals[i] != signal || !came[i])
			continue;
		came[i] = 0;
		return true;
	}
	return false;
}

static bool by_signal(struct term_event *ret)
{
	int end = ends_came();

	if (end) {
		*ret = (struct term_event){.kind = end == SIGINT ? TERM_QUIT : TERM_ENDED,
					   .signal = end};
		return true;
	}
	if (take_signal(SIGTSTP)) {
		*ret = stop();
		return true;
	}
	if (take_signal(SIGCONT)) {
		reset_prog_mode();
		*ret = redraw();
		return true;
	}
	if (take_signal(SIGWINCH)) {
		*ret = redraw();
		return true;
	}
	return false;
}

static uint32_t special_key(wint_t key)
{
	switch (key) {
	case KEY_UP:
		return TERM_UP;
	case KEY_DOWN:
		return TERM_DOWN;
	case KEY_LEFT:
		return TERM_LEFT;
	case KEY_RIGHT:
		return TERM_RIGHT;
	case KEY_PPAGE:
		return TERM_PAGE_UP;
	case KEY_NPAGE:
		return TERM_PAGE_DOWN;
	case KEY_HOME:
		return TERM_HOME;
	case KEY_END:
		return TERM_END;
	case KEY_ENTER:
		return TERM_ENTER;
	case KEY_BACKSPACE:
		return TERM_BACKSPACE;
	case KEY_BTAB:
		return TERM_BACK_TAB;
	default:
		return TERM_OTHER_KEY;
	}
}

static uint32_t plain_key(wint_t key)
{
	switch (key) {
	case '\r':
	case '\n':
		return TERM_ENTER;
	case '\t':
		return TERM_TAB;
	case 0x1b:
		return TERM_ESCAPE;
	case '\b':
	case 0x7f:
		return TERM_BACKSPACE;
	default:
		return (uint32_t)key;
	}
}

static struct term_event mouse(void)
{
	struct term_event event = {.kind = TERM_KEY, .key = TERM_OTHER_KEY};
	MEVENT said;

	if (getmouse(&said) != OK)
		return event;
	if (said.bstate & BUTTON4_PRESSED)
		event.key = TERM_UP;
	else if (said.bstate & BUTTON5_PRESSED)
		event.key = TERM_DOWN;
	else if (said.bstate & (CLICKS | BUTTON1_DOUBLE_CLICKED))
		event = (struct term_event){.kind = TERM_CLICK,
					    .y = said.y,
					    .x = said.x,
					    .twice = said.bstate & BUTTON1_DOUBLE_CLICKED};
	return event;
}

static bool by_key(struct term_event *ret)
{
	wint_t key;
	int r = wget_wch(stdscr, &key);

	if (r == ERR)
		return false;
	if (r == KEY_CODE_YES && key == KEY_MOUSE)
		*ret = mouse();
	else
		*ret = (struct term_event){.kind = TERM_KEY,
					   .key = r == KEY_CODE_YES ? special_key(key)
								    : plain_key(key)};
	return true;
}

struct term_event term_wait(uint64_t deadline)
{
	const struct term_event gone = {.kind = TERM_ENDED};
	struct term_event event;

	for (int empty = 0; empty < EMPTY_READS;) {
		struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
		uint64_t now = term_now();
		uint64_t left = deadline > now ? deadline - now : 0;
		struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000),
					   .tv_nsec = (long)(left % 1000000000)};
		int ready;

		if (by_signal(&event) || by_key(&event))
			return event;
		ready = ppoll(&input, 1, &timeout, &mask_before);
		if (ready == 0)
			return (struct term_event){.kind = TERM_TIME};
		/* A signal says more than that the terminal is gone, which it may be about. */
		if (by_signal(&event))
			return event;
		if (ready > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)))
			return gone;
		/* What is there to be read, and is nothing, is the end. */
		empty += ready > 0;
		if (ready > 0 && by_key(&event))
			return event;
	}
	return gone;
}
