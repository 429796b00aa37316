/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which track is due next: the first by (ticks, order).
 *
 * The first is kept out of the heap, and stays first while its ticks are not
 * beyond `bound`: no other track has to be looked at meanwhile.
 */
#ifndef TRACE_MERGE_H
#define TRACE_MERGE_H

#include <stdint.h>

#include "trace/track.h"

struct merge {
	struct track *first; /* NULL: none is left */
	uint64_t bound;
	struct track **heap; /* the others; the least of them at the top */
	uint32_t count;
	uint32_t capacity;
};

void merge_fini(struct merge *merge);

/* Makes room for as many tracks and forgets those it had. -ENOMEM. */
int merge_reset(struct merge *merge, uint32_t capacity);

/* Adds a track; merge_settle() before the next use. */
void merge_add(struct merge *merge, struct track *track);

/* Finds the first again, after its ticks grew. */
void merge_settle(struct merge *merge);

/* Takes the first out, and finds the next one. */
void merge_drop(struct merge *merge);

#endif /* TRACE_MERGE_H */
