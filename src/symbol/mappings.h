/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of code of a program, in the order of addresses, and their files. */
#ifndef SYMBOL_MAPPINGS_H
#define SYMBOL_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"

#define MAPPINGS_MOST 16384u

struct mapping {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint32_t file;   /* whose it is: the caller's number */
};

struct mappings {
	struct mapping *of; /* none overlaps another */
	uint32_t count, capacity;
};

void mappings_fini(struct mappings *mappings);

/* NULL: there is none. Borrowed until the next change. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

/* Whether exactly this one is there. */
bool mappings_has(const struct mappings *mappings, const struct mapping *mapping);

/*
 * Adds one; what others had of its addresses is its own now. Returns -ENOMEM,
 * -E2BIG beyond MAPPINGS_MOST.
 */
int mappings_add(struct mappings *mappings, const struct mapping *mapping);

#endif /* SYMBOL_MAPPINGS_H */
