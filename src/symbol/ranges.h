/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of addresses that belong to something with a number. */
#ifndef SYMBOL_RANGES_H
#define SYMBOL_RANGES_H

#include <stddef.h>
#include <stdint.h>

#define RANGES_NONE UINT32_MAX

struct range {
	uint64_t start, end;
	uint64_t furthest; /* the largest end of all up to this one */
	uint32_t owner;
};

struct ranges {
	struct range *of; /* sorted by ranges_sort() */
	uint32_t count, capacity;
};

void ranges_fini(struct ranges *ranges);

/* An empty range is not added. Returns -ENOMEM. */
int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t owner);

/* Before the first search. */
void ranges_sort(struct ranges *ranges);

/* The owner of the range around `address` that begins last, or RANGES_NONE. */
uint32_t ranges_find(const struct ranges *ranges, uint64_t address);

#endif /* SYMBOL_RANGES_H */
