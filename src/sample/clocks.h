/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes threads sample themselves: a perf event for each, which sends it a
 * signal; a timer for each, which it sets itself when asked to; or the recorder,
 * which asks each thread time and again (wall.h).
 */
#ifndef SAMPLE_CLOCKS_H
#define SAMPLE_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "arena/ring.h"
#include "sample/threads.h"
#include "trace/sample.h"

/* Whether a perf event can be had for a thread, and whether only without the kernel's part. */
struct clocks_perf {
	bool allowed;
	bool user_only;
	int error; /* why not */
};

struct clocks_perf clocks_try_perf(pid_t tid, uint64_t period_ns);

/* Gives a thread its perf event. Returns -errno. */
int clocks_arm_perf(struct thread *thread, int signal, uint64_t period_ns, bool user_only);

/* CPU ns that a thread has run, as its event counts them, or the kernel; 0 if nobody knows. */
uint64_t clocks_counted(const struct threads *threads, const struct thread *thread);

/* CPU ns that all threads have run, those that have ended included; 0 if nobody knows. */
uint64_t clocks_used(const struct threads *threads);

/* Sends thread `tid` an order. -errno. */
int clocks_order(const struct threads *threads, pid_t tid, enum ring_order order);

#endif /* SAMPLE_CLOCKS_H */
