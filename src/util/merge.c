/* SPDX-License-Identifier: Apache-2.0 */
#include "util/merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static bool before(const struct merge_source *a, const struct merge_source *b)
{
	return a->ticks < b->ticks || (a->ticks == b->ticks && a->order < b->order);
}

void merge_fini(struct merge *merge)
{
	free(merge->heap);
	*merge = (struct merge){0};
}

int merge_reset(struct merge *merge, uint32_t capacity)
{
	struct merge_source **heap;

	merge->first = NULL;
	merge->count = 0;
	if (capacity <= merge->capacity)
		return 0;
	heap = reallocarray(merge->heap, capacity, sizeof(struct merge_source *));
	if (!heap)
		return -ENOMEM;
	merge->heap = heap;
	merge->capacity = capacity;
	return 0;
}

void merge_add(struct merge *merge, struct merge_source *source)
{
	uint32_t at = merge->count++;

	while (at && before(source, merge->heap[(at - 1) / 2])) {
		merge->heap[at] = merge->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	merge->heap[at] = source;
}

/* Puts `source` where the top was. */
static void replace_top(struct merge *merge, struct merge_source *source)
{
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < merge->count && before(merge->heap[child + 1], merge->heap[child]))
			child++;
		if (child >= merge->count || !before(merge->heap[child], source))
			break;
		merge->heap[at] = merge->heap[child];
		at = child;
	}
	merge->heap[at] = source;
}

static void set_bound(struct merge *merge)
{
	const struct merge_source *second;

	merge->bound = UINT64_MAX;
	if (!merge->first || !merge->count)
		return;
	/* A second that would go first at the same ticks has more of them, so at least 1. */
	second = merge->heap[0];
	merge->bound = second->ticks - (second->order < merge->first->order);
}

void merge_settle(struct merge *merge)
{
	struct merge_source *first = merge->first;

	if (!first) {
		merge_drop(merge);
		return;
	}
	if (merge->count && before(merge->heap[0], first)) {
		merge->first = merge->heap[0];
		replace_top(merge, first);
	}
	set_bound(merge);
}

void merge_drop(struct merge *merge)
{
	merge->first = NULL;
	if (merge->count) {
		merge->first = merge->heap[0];
		merge->count--;
		if (merge->count)
			replace_top(merge, merge->heap[merge->count]);
	}
	set_bound(merge);
}
