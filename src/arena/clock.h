/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the records: the cheapest that all threads and processes of the
 * machine agree on. A tick is 16 TSC cycles on x86-64 (about 5 ns), one step of
 * the generic timer on arm64, and a nanosecond of CLOCK_MONOTONIC_RAW elsewhere;
 * so that 56 bits last for more than two years of uptime.
 */
#ifndef ARENA_CLOCK_H
#define ARENA_CLOCK_H

#include <stdint.h>

#include "arena/arena.h"

#define CLOCK_TSC_SHIFT 4

/* The clock that is one instruction; 0 where there is none. */
#if defined(__x86_64__)
#define CLOCK_QUICK ARENA_CLOCK_TSC
#elif defined(__aarch64__)
#define CLOCK_QUICK ARENA_CLOCK_CNTVCT
#else
#define CLOCK_QUICK 0
#endif

/* The best clock of this machine. Costs microseconds: ask once. [signal-safe] */
enum arena_clock clock_choose(void);

/* In ns: CLOCK_MONOTONIC_RAW, the clock of traces, and CLOCK_MONOTONIC, that of waiting.
 * [signal-safe] */
uint64_t clock_raw(void);
uint64_t clock_monotonic(void);

/* [hot] */
static inline uint64_t clock_ticks(enum arena_clock clock)
{
#if defined(__x86_64__)
	if (__builtin_expect(clock == ARENA_CLOCK_TSC, 1))
		return __builtin_ia32_rdtsc() >> CLOCK_TSC_SHIFT;
#elif defined(__aarch64__)
	if (__builtin_expect(clock == ARENA_CLOCK_CNTVCT, 1)) {
		uint64_t ticks;

		/* Not before what the caller has seen of other threads. */
		__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
		return ticks;
	}
#endif
	(void)clock;
	return clock_raw();
}

/* One moment on three clocks. */
struct clock_moment {
	uint64_t ticks;
	uint64_t raw;      /* CLOCK_MONOTONIC_RAW, ns */
	uint64_t realtime; /* CLOCK_REALTIME, ns */
};

/* The best of several tries: reads the clocks between two reads of the ticks, as close as can be.
 */
struct clock_moment clock_measure(enum arena_clock clock);

/* Ticks in a second; exact where the machine says it, else measured in about 10 ms. */
uint64_t clock_rate(enum arena_clock clock);

#endif /* ARENA_CLOCK_H */
