/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/pace.h"

#include "check.h"

static struct pace pace;
static struct pace_look look;

/* So many looks, 100 ms apart, between which the thread switches and runs so much. */
static void pass(uint32_t looks, uint64_t switches, uint64_t ran_ms)
{
	for (uint32_t i = 0; i < looks; i++) {
		look.now_ns += 100000000;
		look.switches += switches;
		look.ran_ns += ran_ms * 1000000;
		pace_note(&pace, &look);
	}
}

static void begin(void)
{
	pace = (struct pace){0};
	look = (struct pace_look){.now_ns = 1, .switches = 1000000, .ran_ns = 77};
	pace_note(&pace, &look);
}

static void what_was_before_the_first_look_does_not_count(void)
{
	begin();
	CHECK(!pace.often);
}

static void a_thread_that_switches_2000_times_a_second_does_so_often(void)
{
	begin();
	pass(50, 200, 50);
	CHECK(!pace.often);
	pass(1, 201, 50);
	CHECK(pace.often);
}

static void it_is_calm_only_after_a_second_at_half_of_that(void)
{
	begin();
	pass(1, 1000, 50);
	pass(50, 101, 50);
	CHECK(pace.often);
	pass(9, 100, 50);
	CHECK(pace.often);
	pass(1, 101, 50);
	pass(9, 100, 50);
	CHECK(pace.often);
	pass(1, 100, 50);
	CHECK(!pace.often);
}

/* A service between two requests is still the same service. */
static void a_thread_that_hardly_runs_stays_what_it_was(void)
{
	begin();
	pass(1, 1000, 50);
	pass(1000, 3, 1);
	CHECK(pace.often);
}

static void two_looks_that_are_close_are_one(void)
{
	begin();
	look.now_ns += 1000;
	look.switches += 1;
	pace_note(&pace, &look);
	CHECK(!pace.often);
	pass(1, 100, 50);
	CHECK(!pace.often);
}

int main(void)
{
	RUN(what_was_before_the_first_look_does_not_count);
	RUN(a_thread_that_switches_2000_times_a_second_does_so_often);
	RUN(it_is_calm_only_after_a_second_at_half_of_that);
	RUN(a_thread_that_hardly_runs_stays_what_it_was);
	RUN(two_looks_that_are_close_are_one);
	return check_done();
}
