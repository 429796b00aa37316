/* SPDX-License-Identifier: Apache-2.0 */
/* `unweave top`: what a program's tasks do, on a terminal's whole screen or as plain text. */
#ifndef TUI_TUI_H
#define TUI_TUI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/diag.h"
#include "watch/lint.h"
#include "watch/watch.h"

struct tui_options {
	uint64_t delay;     /* ns between two pictures */
	const char *view;   /* its name; NULL: tasks */
	const char *sort;   /* title of a column; NULL: the view's own choice */
	const char *filter; /* or NULL */
	uint64_t task;      /* to begin with, in its view; 0: none */
	bool json;          /* tui_print(): one JSON object a picture */
	uint64_t times;     /* tui_print(): how often; 0: until it is stopped */
	uint64_t rows;      /* tui_print(): of a list, at most; up to TUI_ROWS_MOST */
};

#define TUI_ROWS_MOST 10000u

/*
 * Checks what the options name. Returns -EINVAL if there is no such view, or no such column of
 * it; `diag` lists those that there are.
 */
int tui_check(const struct tui_options *options, struct diag *diag);

/*
 * Shows the watch until the user has seen enough. Returns 0, the number of the signal that
 * ended it, which the caller raises when it has cleaned up (others are ignored from here on), or
 * why it cannot: -ENOTTY, -EINVAL, -ENOMEM, -EIO if the terminal went away, or
 * what the watch returned.
 */
int tui_run(struct watch *watch, struct watch_lint *lint, const struct tui_options *options,
	    struct diag *diag);

/*
 * Prints `options->times` pictures, each after a delay in which the program is watched; of a
 * trace, the one that it is at. Returns as tui_run() does, or why `to` cannot be written.
 */
int tui_print(struct watch *watch, struct watch_lint *lint, const struct tui_options *options,
	      FILE *to, struct diag *diag);

#endif /* TUI_TUI_H */
