/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/timeline.h"

#include <errno.h>

#include "check.h"

static void add(struct timeline *timeline, uint64_t ticks, uint64_t raw)
{
	struct meta_clock clock = {.ticks = ticks, .raw = raw, .realtime = 5000 + raw};

	CHECK_EQ(timeline_add(timeline, &clock), 0);
}

static void without_a_clock_the_rate_of_the_session_counts(void)
{
	struct timeline timeline;

	timeline_init(&timeline);
	CHECK_EQ(timeline_ns(&timeline, 12345), 12345);
	timeline_set_rate(&timeline, 250000000);
	CHECK_EQ(timeline_ns(&timeline, 0), 0);
	CHECK_EQ(timeline_ns(&timeline, 1000), 4000);
	timeline_fini(&timeline);
}

static void one_clock_sets_the_zero_and_the_session_the_rate(void)
{
	struct timeline timeline;

	timeline_init(&timeline);
	timeline_set_rate(&timeline, 500000000);
	add(&timeline, 1000, 70000);
	CHECK_EQ(timeline_ns(&timeline, 1000), 70000);
	CHECK_EQ(timeline_ns(&timeline, 1100), 70200);
	CHECK_EQ(timeline_ns(&timeline, 900), 69800);
	timeline_fini(&timeline);
}

static void between_two_clocks_it_is_a_straight_line_that_goes_on_beyond(void)
{
	struct timeline timeline;

	timeline_init(&timeline);
	timeline_set_rate(&timeline, 1);
	add(&timeline, 1000, 5000);
	add(&timeline, 2000, 8000);
	add(&timeline, 3000, 9000);
	CHECK_EQ(timeline_ns(&timeline, 1000), 5000);
	CHECK_EQ(timeline_ns(&timeline, 1500), 6500);
	CHECK_EQ(timeline_ns(&timeline, 2000), 8000);
	CHECK_EQ(timeline_ns(&timeline, 2500), 8500);
	CHECK_EQ(timeline_ns(&timeline, 3000), 9000);
	CHECK_EQ(timeline_ns(&timeline, 4000), 10000);
	CHECK_EQ(timeline_ns(&timeline, 500), 3500);
	CHECK_EQ(timeline_ns(&timeline, 0), 2000);
	timeline_fini(&timeline);
}

static void a_clock_that_runs_backwards_is_refused(void)
{
	struct timeline timeline;
	struct meta_clock back = {.ticks = 900, .raw = 6000};
	struct meta_clock earlier = {.ticks = 1100, .raw = 4999};

	timeline_init(&timeline);
	add(&timeline, 1000, 5000);
	add(&timeline, 1000, 5000);
	CHECK_EQ(timeline_add(&timeline, &back), -EBADMSG);
	CHECK_EQ(timeline_add(&timeline, &earlier), -EBADMSG);
	CHECK_EQ(timeline.count, 1);
	timeline_fini(&timeline);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Random clocks, also absurd ones; random ticks, and those next to each clock. */
static void later_ticks_never_give_an_earlier_time(void)
{
	uint64_t state = 88172645463325252u;

	for (unsigned round = 0; round < 2000; round++) {
		unsigned shift = random_next(&state) % 64, count = random_next(&state) % 5;
		uint64_t ticks = 0, raw = random_next(&state) >> (random_next(&state) % 64);
		uint64_t at[64], ns[64];
		struct timeline timeline;
		unsigned n = 0;

		timeline_init(&timeline);
		timeline_set_rate(&timeline, random_next(&state) >> shift);
		for (unsigned i = 0; i < count; i++) {
			ticks += random_next(&state) >> shift >> 3;
			timeline_add(&timeline, &(struct meta_clock){.ticks = ticks, .raw = raw});
			raw += random_next(&state) >> (random_next(&state) % 64) >> 3;
			at[n++] = ticks;
			at[n++] = ticks + 1;
			at[n++] = ticks - 1;
		}
		at[n++] = 0;
		at[n++] = UINT64_MAX;
		while (n < 64)
			at[n++] = random_next(&state) >> (random_next(&state) % 64);
		for (unsigned i = 0; i < 64; i++)
			ns[i] = timeline_ns(&timeline, at[i]);
		for (unsigned i = 0; i < 64; i++)
			for (unsigned j = 0; j < 64; j++)
				CHECK(at[i] > at[j] || ns[i] <= ns[j]);
		timeline_fini(&timeline);
	}
}

static void finds_the_first_ticks_of_a_time(void)
{
	struct timeline timeline;
	uint64_t ticks = 0;

	timeline_init(&timeline);
	add(&timeline, 1000, 5000);
	add(&timeline, 2000, 8000);
	CHECK(timeline_ticks(&timeline, 6500, &ticks));
	CHECK_EQ(ticks, 1500);
	CHECK(timeline_ticks(&timeline, 6501, &ticks));
	CHECK_EQ(ticks, 1501);
	CHECK(timeline_ticks(&timeline, 0, &ticks));
	CHECK_EQ(ticks, 0);
	timeline_fini(&timeline);
}

static void the_time_of_day_follows_the_clock_before(void)
{
	struct timeline timeline;

	timeline_init(&timeline);
	CHECK_EQ(timeline_realtime(&timeline, 77), 0);
	add(&timeline, 1000, 5000);
	CHECK_EQ(timeline_realtime(&timeline, 5100), 10100);
	CHECK_EQ(timeline_realtime(&timeline, 4900), 9900);
	timeline_fini(&timeline);
}

int main(void)
{
	RUN(without_a_clock_the_rate_of_the_session_counts);
	RUN(one_clock_sets_the_zero_and_the_session_the_rate);
	RUN(between_two_clocks_it_is_a_straight_line_that_goes_on_beyond);
	RUN(a_clock_that_runs_backwards_is_refused);
	RUN(later_ticks_never_give_an_earlier_time);
	RUN(finds_the_first_ticks_of_a_time);
	RUN(the_time_of_day_follows_the_clock_before);
	return check_done();
}
