/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the user: errors, hints, numbers, and text that came from outside. */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/diag.h"

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

struct say_number {
	char text[32];
};

/* With separators: 1,234,567. */
struct say_number say_count(uint64_t number);

/* A duration that people can read: 1.234 s, 56.7 ms. */
struct say_number say_duration(uint64_t ns);

/* A size that people can read: 93.4 kB. */
struct say_number say_bytes(uint64_t bytes);

/* The same in three digits, for tables: 1.23 s, 56.7 ms, 890 us. */
struct say_number say_span(uint64_t ns);

/* Of a whole: 12.3 %, 0.04 %; less than that is "<0.01 %", nothing "0 %". */
struct say_number say_percent(uint64_t part, uint64_t whole);

/* Whether the terminal, by the environment, shows UTF-8. */
bool say_utf8(void);

/*
 * Text from a trace: whatever a terminal might obey is shown as \xNN instead.
 * Returns how many characters that took.
 */
int say_text(FILE *to, const char *text);
/* How many characters say_text() would take. */
int say_width(const char *text);

#endif /* CLI_SAY_H */
