/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several sources is due next: the first by (ticks, order).
 *
 * The first is kept out of the heap, and stays first while its ticks are not
 * beyond `bound`: no other source has to be looked at meanwhile.
 */
#ifndef UTIL_MERGE_H
#define UTIL_MERGE_H

#include <stdint.h>

/* A source. Put it first in an object of your own, and cast. */
struct merge_source {
	uint64_t ticks; /* when it is due */
	uint64_t order; /* among sources that are due at once; no two have the same */
};

struct merge {
	struct merge_source *first; /* NULL: none is left */
	uint64_t bound;
	struct merge_source **heap; /* the others; the least of them at the top */
	uint32_t count;
	uint32_t capacity;
};

void merge_fini(struct merge *merge);

/* Makes room for as many sources and forgets those it had. -ENOMEM. */
int merge_reset(struct merge *merge, uint32_t capacity);

/* Adds a source; merge_settle() before the next use. */
void merge_add(struct merge *merge, struct merge_source *source);

/* Finds the first again, after its ticks grew. */
void merge_settle(struct merge *merge);

/* Takes the first out, and finds the next one. */
void merge_drop(struct merge *merge);

#endif /* UTIL_MERGE_H */
