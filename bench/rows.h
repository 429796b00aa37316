/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the table: every budget of the design that exists by now, and
 * what was measured for it. They lie in memory that the groups, which are
 * processes of their own, share.
 */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stdbool.h>
#include <stdio.h>

/* Returns -ENOMEM. Before any group is forked. */
int rows_init(void);

/* Whether a row was asked for: by its name, or by the beginning of it. Without names, all are. */
void rows_select(char *const *names, int count);
/* Whether a row whose name begins with `prefix` was asked for. */
bool rows_wanted(const char *prefix);

void rows_set(const char *name, double best, double median);
/* A few words for the reader of the row. */
__attribute__((format(printf, 2, 3))) void rows_note(const char *name, const char *format, ...);

enum rows_form { ROWS_TEXT, ROWS_MARKDOWN };

/* `judge`: with verdicts. */
void rows_print(FILE *to, enum rows_form form, bool judge);
/* Returns what creating or writing the file met. */
int rows_write_json(const char *path, bool judge);

#endif /* BENCH_ROWS_H */
