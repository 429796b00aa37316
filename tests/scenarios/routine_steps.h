/* SPDX-License-Identifier: Apache-2.0 */
/* What a coroutine may do at a step: the hooks as a library calls them, and the oracle told. */
#ifndef SCENARIOS_ROUTINE_STEPS_H
#define SCENARIOS_ROUTINE_STEPS_H

#include "routine_oracle.h"
#include "routine_stage.h"

/* What the steps and the function that all coroutines have share. */
extern struct stage {
	uint32_t numbers;     /* coroutines so far; all that happens by chance goes by it */
	struct co *transfer;  /* where control goes next, instead of returning */
	struct co *came_back; /* the one that started a child which is done, and returned to it */
} stage;

/* The function of all coroutines; it returns STAGE_RETURNS. */
int stage_go(struct unweave_link *link, void *context);
#define STAGE_RETURNS 7

/* A task that waits, by chance; NULL if there is none. */
struct task *some_waiting(uint32_t least_depth);

/* Resumes what is innermost of a task, in a place of its own. */
void run_task(struct task *task);
/* Runs a new coroutine that nobody awaits. Who made it is known when it runs. */
void run_fresh(void);
/* Runs a new generator in this place. */
void run_generator(void);

/* One step of what runs. Returns whether it goes on. */
bool do_step(struct task *task, enum step step);

#endif /* SCENARIOS_ROUTINE_STEPS_H */
