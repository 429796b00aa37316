/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the groups of rows have in common. Each group is a process of its own,
 * pinned to one processor; what drains it is another, pinned to another one.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "arena/clock.h"
#include "stats.h"

struct bench {
	bool quick;            /* only to see that it runs */
	const char *directory; /* for traces and sockets: on a disk, taken away at the end */
	const char *beside;    /* where the executable is */
	struct rng rng;
};

/* Each measures its rows. Returns 0, or a negative errno after saying what went wrong. */
typedef int (*bench_group)(struct bench *bench);
int group_tight(struct bench *bench);
int group_loop(struct bench *bench);
int group_sample(struct bench *bench);
int group_trace(struct bench *bench);
int group_versus(struct bench *bench);
int group_adapters(struct bench *bench);
int group_top(struct bench *bench);
int group_tree(struct bench *bench);
int group_coro(struct bench *bench);
int group_asio(struct bench *bench);

enum bench_cpu { BENCH_CPU_WORKER, BENCH_CPU_DRAIN };

/* Pins the calling process to one of the two processors; false if there is only one. */
bool bench_pin(enum bench_cpu cpu);

/* Repetitions, or other amounts: less if it is only to see that it runs. */
uint32_t bench_amount(const struct bench *bench, uint32_t full, uint32_t quick);

/* Something on its way to standard error, if that is a terminal. */
__attribute__((format(printf, 1, 2))) void bench_progress(const char *format, ...);
__attribute__((format(printf, 1, 2))) void bench_complain(const char *format, ...);

void bench_sleep_us(uint64_t us);

/*
 * Time that the calling thread has had a processor for: what is timed for ms is
 * timed by this, so that others who run on the machine disturb less. Costs a
 * system call.
 */
uint64_t bench_cpu_ns(void);

/* The clock that the hooks read on this kind of machine, if it has it. */
#if defined(__x86_64__)
#define BENCH_CLOCK ARENA_CLOCK_TSC
#elif defined(__aarch64__)
#define BENCH_CLOCK ARENA_CLOCK_CNTVCT
#else
#define BENCH_CLOCK ARENA_CLOCK_RAW
#endif

/* The compiler must suppose that `value` is used. */
static inline void bench_use(uint64_t value)
{
	__asm__ volatile("" : : "r"(value) : "memory");
}

#endif /* BENCH_BENCH_H */
