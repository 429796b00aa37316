/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines as a C++ library drives them, in C, beside an oracle.
 *
 * A function of the program is told what to do step by step; each step calls the
 * hooks as a library would. At each step unweave_here() and the anchors on the stack are
 * compared with what the oracle says, and in the end the events with what it expected:
 *
 *     routine_oracle.c  which tasks there are, who awaits whom where, and which places on
 *                       the stack run what
 *     routine_steps.c   what a coroutine may do
 *     routine_stage.c   has coroutines do what they are told, until nothing is left
 */
#ifndef SCENARIOS_ROUTINE_STAGE_H
#define SCENARIOS_ROUTINE_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "unweave/routine.h"

enum step {
	STEP_CALL,     /* awaits a new child, by transfer */
	STEP_START,    /* awaits a new child, which is resumed inside of that */
	STEP_PUMP,     /* awaits a new child, which the loop runs later */
	STEP_WAIT,     /* waits */
	STEP_POST,     /* waits, and resumes a new coroutine inside of that */
	STEP_RETRY,    /* is about to wait, and goes on after all */
	STEP_SWITCH,   /* waits, and transfers to a task that waited, if there is one */
	STEP_SPAWN,    /* resumes a new coroutine that nobody awaits */
	STEP_RUN,      /* resumes a task that waited, if there is one */
	STEP_NEXT,     /* resumes a generator */
	STEP_EAGER,    /* calls a coroutine that begins in its caller's place */
	STEP_AWAIT,    /* waits for a task that waits, if there is one */
	STEP_DROP,     /* destroys a task that waits, if there is one */
	STEP_LEAVE,    /* resumes one that waits for a child, if there is one: that is given up */
	STEP_SESSION,  /* somebody begins to record, or stops, while it runs */
	STEP_END,      /* is done; the awaiter goes on by transfer, of a root: nobody */
	STEP_END_IN,   /* is done; the awaiter is resumed inside of that */
	STEP_END_BY,   /* is done; the awaiter goes on by a queue */
	STEP_END_BACK, /* is done, and returns to the awaiter that resumed it inside of its wait */
	STEP_FAIL,     /* the same as END, with an error */
	STEPS
};

/*
 * Records the program: so many roots, then whatever waits, until nothing does. What is done
 * next says `next`, which gets how many places there are on the stack.
 */
void stage_play(enum step (*next)(uint32_t depth), uint32_t roots);

/*
 * The same with sessions that come and go at any step. Whatever is shown must be so then, but
 * something may be unknown: what began while nobody recorded.
 */
void stage_play_sessions(enum step (*next)(uint32_t depth), uint32_t roots);

/* How many events of a kind there were. */
size_t stage_count(enum unweave_event_kind kind);

#endif /* SCENARIOS_ROUTINE_STAGE_H */
