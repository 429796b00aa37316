/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From ticks to ns of CLOCK_MONOTONIC_RAW, by the CLOCK blocks of a trace.
 *
 * Straight lines between neighbouring blocks, the nearest line beyond them.
 * Ticks that grow give times that grow or stay.
 */
#ifndef TRACE_TIMELINE_H
#define TRACE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meta.h"

/* A piece of it: base + (ticks - from) * (whole + part / 2^64). */
struct timeline_line {
	uint64_t from;
	uint64_t span; /* it holds for from ... from + span */
	uint64_t base;
	uint64_t whole;
	uint64_t part;
};

struct timeline {
	struct timeline_line line; /* the one that was used last */
	struct meta_clock *clocks; /* growing in ticks, not falling in ns */
	uint32_t count;
	uint32_t capacity;
	uint64_t ticks_per_s; /* 0: unknown */
};

void timeline_init(struct timeline *timeline);
void timeline_fini(struct timeline *timeline);

/* -ENOMEM, or -EBADMSG for a clock that runs backwards from the one before. */
int timeline_add(struct timeline *timeline, const struct meta_clock *clock);

/* What is used where there are less than two CLOCK blocks. */
void timeline_set_rate(struct timeline *timeline, uint64_t ticks_per_s);

/* Makes the line for `ticks` the one in use. */
void timeline_select(struct timeline *timeline, uint64_t ticks);

static inline bool timeline_holds(const struct timeline_line *line, uint64_t ticks)
{
	return ticks - line->from <= line->span;
}

static inline uint64_t timeline_on(const struct timeline_line *line, uint64_t ticks)
{
	ticks -= line->from;
	return line->base + ticks * line->whole +
	       (uint64_t)((unsigned __int128)ticks * line->part >> 64);
}

static inline uint64_t timeline_ns(struct timeline *timeline, uint64_t ticks)
{
	if (__builtin_expect(!timeline_holds(&timeline->line, ticks), 0))
		timeline_select(timeline, ticks);
	return timeline_on(&timeline->line, ticks);
}

/* The first ticks whose time is not before `ns`; false if there are none. */
bool timeline_ticks(struct timeline *timeline, uint64_t ns, uint64_t *ret);

/* CLOCK_REALTIME of a time, by the CLOCK block before it; 0 if there is none. */
uint64_t timeline_realtime(const struct timeline *timeline, uint64_t ns);

#endif /* TRACE_TIMELINE_H */
