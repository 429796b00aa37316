/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is freed all at once, and strings in it that are kept once each:
 * most names and files come again and again.
 */
#ifndef SYMBOL_STORE_H
#define SYMBOL_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "util/map.h"

struct store_chunk;

struct store {
	struct store_chunk *chunks; /* newest first */
	size_t left;                /* bytes in the newest */
	struct map by_hash;         /* hash of a string -> its place in `strings` */
	const char **strings;
	uint32_t count, capacity;
};

/* Returns -ENOMEM. */
int store_init(struct store *store);
void store_fini(struct store *store);

/* Zeroed, aligned for anything. NULL: no memory. */
void *store_alloc(struct store *store, size_t bytes);

/* NULL: no memory. */
const char *store_text(struct store *store, const char *text, size_t length);

#endif /* SYMBOL_STORE_H */
