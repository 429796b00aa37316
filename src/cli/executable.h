/* SPDX-License-Identifier: Apache-2.0 */
/* The file that a command is, once it is found and its interpreters are followed. */
#ifndef CLI_EXECUTABLE_H
#define CLI_EXECUTABLE_H

#include <limits.h>
#include <stdbool.h>

struct executable {
	char path[PATH_MAX];
	bool secure; /* it is given rights that its caller does not have: the loader is careful */
};

/*
 * Finds what execvp() would start, and through `#!` what that would start. Returns
 * -ENOENT, -ELOOP if scripts lead on and on, or what else it met.
 */
int executable_find(struct executable *ret, const char *command);

#endif /* CLI_EXECUTABLE_H */
