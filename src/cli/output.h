/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a command writes for others to read. One that is cut short would be taken for one
 * that is whole, so it does not stay.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* A slip such as -o run.unw must not cost the trace. Either may be NULL. */
bool output_is_same(const char *output, const char *trace);

/* Creates or truncates it. NULL: errno says why. */
FILE *output_open(const char *path);

/*
 * Closes it, and removes it if it could not all be written, or `result`, which is what making it
 * came to, is negative: then that is returned, else 0 or what the writing met.
 */
int output_close(FILE *file, const char *path, int result);

/* Removes a file that is not whole. What is no file, such as /dev/full, stays. */
void output_remove(const char *path);

#endif /* CLI_OUTPUT_H */
