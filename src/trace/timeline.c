/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/timeline.h"

#include <errno.h>
#include <stdlib.h>

#define NS_PER_S UINT64_C(1000000000)

/* Two years at one a minute. */
#define CLOCKS_MAX (1u << 20)

typedef unsigned __int128 wide;

/* `ns` for every `ticks`; ticks is not 0. */
struct rate {
	uint64_t ticks;
	uint64_t ns;
};

void timeline_init(struct timeline *timeline)
{
	*timeline = (struct timeline){0};
	timeline_select(timeline, 0);
}

void timeline_fini(struct timeline *timeline)
{
	free(timeline->clocks);
	*timeline = (struct timeline){0};
}

int timeline_add(struct timeline *timeline, const struct meta_clock *clock)
{
	const struct meta_clock *last;

	if (timeline->count) {
		last = &timeline->clocks[timeline->count - 1];
		if (clock->ticks == last->ticks && clock->raw == last->raw)
			return 0;
		if (clock->ticks <= last->ticks || clock->raw < last->raw)
			return -EBADMSG;
	}
	if (timeline->count == timeline->capacity) {
		uint32_t capacity = timeline->capacity ? timeline->capacity * 2 : 16;
		struct meta_clock *clocks;

		if (capacity > CLOCKS_MAX)
			return -EBADMSG;
		clocks = reallocarray(timeline->clocks, capacity, sizeof(*clocks));
		if (!clocks)
			return -ENOMEM;
		timeline->clocks = clocks;
		timeline->capacity = capacity;
	}
	timeline->clocks[timeline->count++] = *clock;
	timeline_select(timeline, 0);
	return 0;
}

void timeline_set_rate(struct timeline *timeline, uint64_t ticks_per_s)
{
	timeline->ticks_per_s = ticks_per_s;
	timeline_select(timeline, 0);
}

static void use(struct timeline *timeline, uint64_t from, uint64_t span, uint64_t base,
		struct rate rate)
{
	timeline->line = (struct timeline_line){
		.from = from,
		.span = span,
		.base = base,
		.whole = rate.ns / rate.ticks,
		.part = (uint64_t)(((wide)(rate.ns % rate.ticks) << 64) / rate.ticks),
	};
}

static uint64_t cap(wide value)
{
	return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

/* Ticks that `ns` last at this rate. */
static uint64_t lasting(uint64_t ns, struct rate rate)
{
	return rate.ns ? cap((wide)ns * rate.ticks / rate.ns) : UINT64_MAX;
}

static struct rate rate_between(const struct meta_clock *from)
{
	return (struct rate){.ticks = from[1].ticks - from[0].ticks,
			     .ns = from[1].raw - from[0].raw};
}

static struct rate rate_near(const struct timeline *timeline, uint32_t clock)
{
	if (timeline->count >= 2)
		return rate_between(&timeline->clocks[clock]);
	if (timeline->ticks_per_s)
		return (struct rate){.ticks = timeline->ticks_per_s, .ns = NS_PER_S};
	return (struct rate){.ticks = 1, .ns = 1};
}

/* From `clock` on, up to where the time would pass 2^64 ns, and stands still. */
static void select_after(struct timeline *timeline, const struct meta_clock *clock,
			 struct rate rate, uint64_t ticks)
{
	uint64_t span = lasting(UINT64_MAX - clock->raw, rate);
	uint64_t most = UINT64_MAX - clock->ticks;

	if (span >= most)
		use(timeline, clock->ticks, most, clock->raw, rate);
	else if (ticks - clock->ticks <= span)
		use(timeline, clock->ticks, span, clock->raw, rate);
	else
		use(timeline, clock->ticks + span + 1, most - span - 1, UINT64_MAX,
		    (struct rate){.ticks = 1, .ns = 0});
}

/* Before `clock`, back to where the time would be less than 0, and stands still. */
static void select_before(struct timeline *timeline, const struct meta_clock *clock,
			  struct rate rate, uint64_t ticks)
{
	uint64_t back = lasting(clock->raw, rate);
	uint64_t start, before;

	if (back > clock->ticks)
		back = clock->ticks;
	start = clock->ticks - back;
	if (ticks < start) {
		use(timeline, 0, start - 1, 0, (struct rate){.ticks = 1, .ns = 0});
		return;
	}
	/* Rounded up, so that the line stays below the clock that it leads to. */
	before = cap(((wide)back * rate.ns + rate.ticks - 1) / rate.ticks);
	use(timeline, start, back - 1, clock->raw - before, rate);
}

void timeline_select(struct timeline *timeline, uint64_t ticks)
{
	static const struct meta_clock zero;
	const struct meta_clock *clocks = timeline->clocks;
	uint32_t low = 0, high = timeline->count;

	if (!timeline->count) {
		select_after(timeline, &zero, rate_near(timeline, 0), ticks);
		return;
	}
	/* `low` becomes the first clock after `ticks`. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (clocks[middle].ticks <= ticks)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		select_before(timeline, clocks, rate_near(timeline, 0), ticks);
	else if (low == timeline->count)
		select_after(timeline, &clocks[low - 1],
			     rate_near(timeline, low >= 2 ? low - 2 : 0), ticks);
	else
		use(timeline, clocks[low - 1].ticks, clocks[low].ticks - clocks[low - 1].ticks - 1,
		    clocks[low - 1].raw, rate_between(&clocks[low - 1]));
}

bool timeline_ticks(struct timeline *timeline, uint64_t ns, uint64_t *ret)
{
	uint64_t low = 0, high = UINT64_MAX;

	if (timeline_ns(timeline, UINT64_MAX) < ns)
		return false;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (timeline_ns(timeline, middle) >= ns)
			high = middle;
		else
			low = middle + 1;
	}
	*ret = low;
	return true;
}

uint64_t timeline_realtime(const struct timeline *timeline, uint64_t ns)
{
	const struct meta_clock *clock = timeline->clocks;

	if (!timeline->count)
		return 0;
	for (uint32_t i = 1; i < timeline->count && timeline->clocks[i].raw <= ns; i++)
		clock = &timeline->clocks[i];
	return clock->realtime + (ns - clock->raw);
}
