/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void mappings_fini(struct mappings *mappings)
{
	free(mappings->of);
	*mappings = (struct mappings){0};
}

/* The first that ends beyond `address`. */
static uint32_t first_beyond(const struct mappings *mappings, uint64_t address)
{
	uint32_t low = 0, high = mappings->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (mappings->of[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address)
{
	uint32_t at = first_beyond(mappings, address);

	return at < mappings->count && mappings->of[at].start <= address ? &mappings->of[at] : NULL;
}

bool mappings_has(const struct mappings *mappings, const struct mapping *mapping)
{
	const struct mapping *there = mappings_find(mappings, mapping->start);

	return there && there->start == mapping->start && there->end == mapping->end &&
	       there->offset == mapping->offset && there->file == mapping->file;
}

static int make_room(struct mappings *mappings)
{
	uint32_t capacity = mappings->capacity ? mappings->capacity * 2 : 32;
	struct mapping *more;

	/* One that is added inside of another leaves both ends of it: two more. */
	if (mappings->count + 2 <= mappings->capacity)
		return 0;
	if (mappings->count + 2 > MAPPINGS_MOST)
		return -E2BIG;
	more = reallocarray(mappings->of, capacity, sizeof(*more));
	if (!more)
		return -ENOMEM;
	mappings->of = more;
	mappings->capacity = capacity;
	return 0;
}

int mappings_add(struct mappings *mappings, const struct mapping *mapping)
{
	struct mapping parts[3]; /* what is left of the first it lies over, itself, of the last */
	uint32_t part_count = 0, from, to;
	int r = make_room(mappings);

	if (r < 0 || mapping->start >= mapping->end)
		return r;
	from = first_beyond(mappings, mapping->start);
	for (to = from; to < mappings->count && mappings->of[to].start < mapping->end;)
		to++;
	if (from < to && mappings->of[from].start < mapping->start) {
		parts[part_count] = mappings->of[from];
		parts[part_count++].end = mapping->start;
	}
	parts[part_count++] = *mapping;
	if (from < to && mappings->of[to - 1].end > mapping->end) {
		struct mapping rest = mappings->of[to - 1];

		rest.offset += mapping->end - rest.start;
		rest.start = mapping->end;
		parts[part_count++] = rest;
	}
	memmove(mappings->of + from + part_count, mappings->of + to,
		(mappings->count - to) * sizeof(*parts));
	memcpy(mappings->of + from, parts, part_count * sizeof(*parts));
	mappings->count = mappings->count - (to - from) + part_count;
	return 0;
}
