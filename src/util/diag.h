/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong, in one sentence a user can act on.
 *
 * A library function returns a negative errno and, where the number alone
 * would not help, fills the `diag` it was given. It never prints: only the
 * tool knows whether it owns the terminal.
 */
#ifndef UTIL_DIAG_H
#define UTIL_DIAG_H

struct diag {
	char text[256];
	char hint[256]; /* what the user can do; empty if nothing */
};

/* Fills `diag` (may be NULL) and returns `error`, so that a caller can `return diag_set(...)`. */
__attribute__((format(printf, 3, 4))) int diag_set(struct diag *diag, int error, const char *format,
						   ...);

/* Adds the hint; returns `error`. */
__attribute__((format(printf, 3, 4))) int diag_hint(struct diag *diag, int error,
						    const char *format, ...);

#endif /* UTIL_DIAG_H */
