/* SPDX-License-Identifier: Apache-2.0 */
#include "arena/clock.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* Whether the TSC ticks at one rate in all power states, by the processor's own word. */
static bool tsc_is_invariant(void)
{
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8));
}
#endif

enum arena_clock clock_choose(void)
{
#if defined(__x86_64__)
	return tsc_is_invariant() ? ARENA_CLOCK_TSC : ARENA_CLOCK_RAW;
#elif defined(__aarch64__)
	return ARENA_CLOCK_CNTVCT;
#else
	return ARENA_CLOCK_RAW;
#endif
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t clock_raw(void)
{
	return clock_ns(CLOCK_MONOTONIC_RAW);
}

uint64_t clock_monotonic(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

struct clock_moment clock_measure(enum arena_clock clock)
{
	struct clock_moment best = {0};
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < 10; i++) {
		uint64_t before = clock_ticks(clock);
		uint64_t raw = clock_raw();
		uint64_t middle = clock_ticks(clock);
		uint64_t realtime = clock_ns(CLOCK_REALTIME);
		uint64_t after = clock_ticks(clock);

		if (after - before >= narrowest)
			continue;
		narrowest = after - before;
		/* `raw` was read between `before` and `middle`; `realtime` just after. */
		best = (struct clock_moment){
			.ticks = before + (middle - before) / 2, .raw = raw, .realtime = realtime};
	}
	return best;
}

uint64_t clock_rate(enum arena_clock clock)
{
	struct clock_moment from, to;
	struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};

	if (clock == ARENA_CLOCK_RAW)
		return UINT64_C(1000000000);
#if defined(__aarch64__)
	if (clock == ARENA_CLOCK_CNTVCT) {
		uint64_t rate;

		__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(rate));
		return rate;
	}
#endif
	from = clock_measure(clock);
	nanosleep(&pause, NULL);
	to = clock_measure(clock);
	if (to.raw <= from.raw)
		return 0;
	return (to.ticks - from.ticks) * UINT64_C(1000000000) / (to.raw - from.raw);
}
