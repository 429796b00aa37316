/* SPDX-License-Identifier: Apache-2.0 */
/* The cache in which the loader looks libraries up by name: /etc/ld.so.cache. */
#ifndef SYMBOL_LDCACHE_H
#define SYMBOL_LDCACHE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The path of the `index`-th library of that name, from 0: there is one for each
 * sort of machine, and for each generation of it. NULL: no more. Borrowed from the
 * bytes, which may be anything.
 */
const char *ldcache_find(const void *bytes, size_t length, const char *name, uint32_t index);

#endif /* SYMBOL_LDCACHE_H */
