/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from 64-bit keys to 32-bit values.
 *
 * Emptying it takes no time: each slot says in which epoch it was filled, and
 * only those of the present one count. So a table that is used afresh for every
 * block keeps its memory.
 */
#ifndef UTIL_MAP_H
#define UTIL_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"

struct map_slot {
	uint64_t key;
	uint32_t value;
	uint32_t epoch; /* of no use unless it is the map's */
};

struct map {
	struct map_slot *slots; /* a power of two of them; at most half are in use */
	unsigned shift;         /* 64 - log2 of their number */
	uint32_t count;
	uint32_t limit; /* keys it may hold */
	uint32_t epoch; /* never 0, so that zeroed slots are empty */
};

/* Takes memory for the first few keys at once. Returns -ENOMEM. */
int map_init(struct map *map, uint32_t limit);
void map_fini(struct map *map);

/* Borrowed until the next map_put(). NULL if the key is not there. */
static inline uint32_t *map_find(const struct map *map, uint64_t key)
{
	uint64_t mask = UINT64_MAX >> map->shift;
	uint64_t at = hash_mix(key) >> map->shift;

	for (; map->slots[at].epoch == map->epoch; at = (at + 1) & mask)
		if (map->slots[at].key == key)
			return &map->slots[at].value;
	return NULL;
}

/* Adds a key that is not there. Returns -ENOMEM, also at the limit; the map is as it was. */
int map_put(struct map *map, uint64_t key, uint32_t value);

void map_clear(struct map *map);

#endif /* UTIL_MAP_H */
