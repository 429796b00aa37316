/* SPDX-License-Identifier: Apache-2.0 */
/* A small event loop with timers, on one thread, for programs with a fault. */
#ifndef WARNINGS_LOOP_H
#define WARNINGS_LOOP_H

#include <stdbool.h>

#include "unweave/chain.h"

#define MS UINT64_C(1000000)

/* A function that may wait, awaited by another one. */
struct task {
	struct unweave_chain chain; /* first, so that a continuation finds its task */
	struct unweave_link inner, outer;
	uint64_t due; /* ns of CLOCK_MONOTONIC; 0: it waits for no moment */
	struct task *next;
	int step; /* the program's own */
	struct task *other;
};

uint64_t now(void);

/* A new task in which `outer` awaits `inner`, which is called now and whenever it has waited. */
struct task *spawn(unweave_go inner, unweave_go outer, struct unweave_site *site);

/* To be returned by a function: it waits, and is called again after some time, or a wake. */
int wait_ns(struct task *task, uint64_t ns);
int wait_for(struct task *task, enum unweave_wait kind, uint64_t on);

/* From inside of a task, its own too. */
void wake(struct task *task);

/* Runs what is there to run until that moment, whether or not there is anything. */
void run_until(uint64_t end);

/* For some time on the processor. */
void compute(uint64_t ns);

#endif /* WARNINGS_LOOP_H */
