/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of cache.h: a file of names in memory, and as text. */
#ifndef SYMBOL_CACHEFILE_H
#define SYMBOL_CACHEFILE_H

#include "symbol/cache.h"
#include "util/buffer.h"
#include "util/map.h"

struct cache_file {
	struct cache *cache;  /* NULL: it is in memory only */
	char name[160];       /* in the folder */
	char debug_file[192]; /* where its debug information would usually be */
	struct store *store;
	struct map by_offset; /* -> index in `entries` */
	struct cache_entry *entries;
	uint32_t count, capacity;
	bool has_lines, asked_servers;
	bool changed;
};

/* Empties it. */
void cachefile_clear(struct cache_file *file);

/* Writes all of it as text; a buffer that turns bad is not to be used. */
void cachefile_write(const struct cache_file *file, struct buffer *buffer);

#endif /* SYMBOL_CACHEFILE_H */
