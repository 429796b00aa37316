/* SPDX-License-Identifier: Apache-2.0 */
#include "util/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BITS 6u

int map_init(struct map *map, uint32_t limit)
{
	struct map_slot *slots = calloc(1u << FIRST_BITS, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	*map = (struct map){.slots = slots, .shift = 64 - FIRST_BITS, .limit = limit, .epoch = 1};
	return 0;
}

void map_fini(struct map *map)
{
	free(map->slots);
	*map = (struct map){0};
}

static size_t slot_count(const struct map *map)
{
	return (size_t)1 << (64 - map->shift);
}

static void insert(struct map *map, uint64_t key, uint32_t value)
{
	uint64_t mask = UINT64_MAX >> map->shift;
	uint64_t at = hash_mix(key) >> map->shift;

	while (map->slots[at].epoch == map->epoch)
		at = (at + 1) & mask;
	map->slots[at] = (struct map_slot){.key = key, .value = value, .epoch = map->epoch};
	map->count++;
}

static int grow(struct map *map)
{
	size_t count = slot_count(map);
	struct map bigger = {.shift = map->shift - 1, .limit = map->limit, .epoch = 1};

	bigger.slots = calloc(count * 2, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (map->slots[i].epoch == map->epoch)
			insert(&bigger, map->slots[i].key, map->slots[i].value);
	free(map->slots);
	*map = bigger;
	return 0;
}

int map_put(struct map *map, uint64_t key, uint32_t value)
{
	if (map->count == map->limit)
		return -ENOMEM;
	if (map->count >= slot_count(map) / 2 && grow(map) < 0)
		return -ENOMEM;
	insert(map, key, value);
	return 0;
}

void map_clear(struct map *map)
{
	map->count = 0;
	if (++map->epoch == 0) {
		memset(map->slots, 0, slot_count(map) * sizeof(*map->slots));
		map->epoch = 1;
	}
}
