/* SPDX-License-Identifier: Apache-2.0 */
/* The code that a living program has mapped, with the build ids of its files. */
#ifndef SYMBOL_MAPS_H
#define SYMBOL_MAPS_H

#include "symbol/symbol.h"

typedef int (*maps_visit)(void *data, const struct symbol_module *module);

/*
 * Calls `visit` for each executable mapping of process `pid`, in the order of
 * addresses. Returns what `visit` returned if that was not 0, or -errno.
 */
int maps_each(uint32_t pid, maps_visit visit, void *data);

/* The same for lines of such a file that were kept, of a process that may be no more. */
int maps_each_in(const char *lines, size_t bytes, uint32_t pid, maps_visit visit, void *data);

#endif /* SYMBOL_MAPS_H */
