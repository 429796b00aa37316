/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "util/grow.h"

void ranges_fini(struct ranges *ranges)
{
	free(ranges->of);
	*ranges = (struct ranges){0};
}

int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t owner)
{
	struct range *more;

	if (start >= end)
		return 0;
	more = grow(ranges->of, ranges->count, &ranges->capacity, 64, sizeof(*more));
	if (!more)
		return -ENOMEM;
	ranges->of = more;
	ranges->of[ranges->count++] = (struct range){.start = start, .end = end, .owner = owner};
	return 0;
}

/* Of those that begin together the longest comes first: the search goes from the end. */
static int compare(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->end != right->end)
		return left->end > right->end ? -1 : 1;
	return left->owner < right->owner ? -1 : left->owner > right->owner;
}

void ranges_sort(struct ranges *ranges)
{
	uint64_t furthest = 0;

	if (ranges->count > 0)
		qsort(ranges->of, ranges->count, sizeof(*ranges->of), compare);
	for (size_t i = 0; i < ranges->count; i++) {
		if (ranges->of[i].end > furthest)
			furthest = ranges->of[i].end;
		ranges->of[i].furthest = furthest;
	}
}

uint32_t ranges_find(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->of[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0 && ranges->of[low].furthest > address)
		if (address < ranges->of[low].end)
			return ranges->of[low].owner;
	return RANGES_NONE;
}
