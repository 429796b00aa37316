/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the user: errors, hints, and text that came from outside; numbers are figures.h. */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/diag.h"
#include "view/figures.h"

/* "unweave: FILE: sentence" on stderr; `file` may be NULL. */
__attribute__((format(printf, 2, 3))) void say_error(const char *file, const char *format, ...);

/* "hint: sentence" on stderr. */
__attribute__((format(printf, 1, 2))) void say_hint(const char *format, ...);

/* Both, from a diag. */
void say_diag(const char *file, const struct diag *diag);

/*
 * Flushes stdout and returns `status`, or says what could not be written and
 * returns EXIT_FAILED. A reader who went away is no reason for words.
 */
int say_finish(int status);

/* The name nearest to `word`, if it could be a slip of it; else NULL. */
const char *say_closest(const char *word, const char *const *names, size_t count);

/*
 * Text from a trace: whatever a terminal might obey is shown as \xNN instead.
 * Returns how many characters that took.
 */
int say_text(FILE *to, const char *text);
/* How many characters say_text() would take. */
int say_width(const char *text);

#endif /* CLI_SAY_H */
