/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries that the loader gives a program when it starts: those that it
 * needs, those that they need, and so on. What it loads later is not known.
 */
#ifndef SYMBOL_CLOSURE_H
#define SYMBOL_CLOSURE_H

#include <stdbool.h>

#include "symbol/linkage.h"

/* A file in memory, to be given up by closure_close(). */
struct closure_file {
	const void *bytes;
	size_t length;
};

/* Returns -errno; -ENOEXEC for what is empty, or no file. */
int closure_open(struct closure_file *ret, const char *path);
void closure_close(struct closure_file *file);

/* Called once for each by the name that it is needed by. Borrowed. */
typedef void (*closure_visit)(void *data, const char *name);

/*
 * Looks for them where the loader does: the paths in the files, `library_path` (as
 * LD_LIBRARY_PATH, or NULL), its cache, the system's folders. One that is not found
 * is named all the same. Returns -errno.
 */
int closure_walk(const char *program, const struct linkage *linkage, const char *library_path,
		 closure_visit visit, void *data);

#endif /* SYMBOL_CLOSURE_H */
