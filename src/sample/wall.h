/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples by the wall clock: the recorder asks each thread time and again.
 *
 * To be asked wakes a thread that sleeps, and ends the call that it sleeps in where the
 * kernel does not start that over. So it is asked once in each sleep, and its answer
 * stands for the rest of it too, as long as it is there that it sleeps: what it went on to
 * after its call had ended is another sleep.
 */
#ifndef SAMPLE_WALL_H
#define SAMPLE_WALL_H

#include "drain/attach.h"
#include "sample/stacks.h"
#include "sample/take.h"
#include "sample/threads.h"

struct wall {
	struct threads *threads; /* borrowed, as the next two */
	const struct attachment *attachment;
	struct stack_finder *finder;
	uint64_t period_ns;
	uint64_t asked_ns;               /* when it was the time to ask last; 0: never */
	uint8_t stack[RING_STACK_BYTES]; /* of a thread, as it is now */
};

/*
 * Asks those threads that have run since they were asked last, other than to answer, if
 * the time for that has come. All answers so far have been told.
 */
void wall_ask(struct wall *wall, uint64_t now);

/* Of an answer that has just come: whether its thread slept, and the ns that it stands for. */
bool wall_slept(const struct thread *thread, const struct taken *taken);
uint64_t wall_weight(const struct wall *wall, const struct thread *thread);

/* Then says so: `taken` was taken last, and its stack found last. What it slept before was told. */
void wall_answered(struct wall *wall, struct thread *thread, const struct take *take,
		   const struct taken *taken);

/* The ns that a thread's last answer stands for besides; `*ret` is that answer. 0: none. */
uint64_t wall_take_sleep(struct thread *thread, struct taken *ret);

#endif /* SAMPLE_WALL_H */
