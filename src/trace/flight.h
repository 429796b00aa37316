/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last blocks of a recording, in memory: those that are older than so long,
 * or too many, go; what a reader needs to make sense of the rest stays.
 */
#ifndef TRACE_FLIGHT_H
#define TRACE_FLIGHT_H

#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

struct flight;

struct flight_limits {
	uint64_t ticks; /* how far back; 0: as far as `bytes` allow */
	uint64_t bytes; /* of blocks, as they would stand in a file */
};

struct flight_totals {
	uint64_t events;
	uint64_t samples;
	uint64_t first; /* ticks, of the oldest and the newest of them */
	uint64_t last;
};

/* Returns -ENOMEM. */
int flight_new(struct flight **ret, const struct flight_limits *limits);
struct flight *flight_free(struct flight *flight);

/* Adds a block, which is `bytes` in a file; copies them. Returns -ENOMEM. */
int flight_add(struct flight *flight, const struct block *block, const uint8_t *bytes,
	       size_t length);

/* Calls `put` for each block that is there, in their order; returns the first error that it did. */
int flight_each(const struct flight *flight,
		int (*put)(void *data, const uint8_t *bytes, size_t length), void *data);

/* Of the file that they would make. */
uint64_t flight_bytes(const struct flight *flight);

/* Looks at all of them. */
struct flight_totals flight_totals(const struct flight *flight);

#endif /* TRACE_FLIGHT_H */
