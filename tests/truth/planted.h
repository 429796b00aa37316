/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a known answer: tasks that burn CPU in functions of their own,
 * at known places of known chains, and keep an exact account of it.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include <stdint.h>

#include "unweave/chain.h"
#include "unweave/machine.h"

#define TASKS 23
#define LEVELS 5 /* at most so many levels of a chain burn */
#define DEPTH_MAX 200
#define FUNCTIONS 256

/* The functions that wait in chains: f_00 to f_ff, and one that awaits itself. */
extern const unweave_go functions[FUNCTIONS];
int walk(struct unweave_link *link, void *context);

/* burn_T3_L2 and so on: those of task 3 are called by nobody else. */
typedef void (*burn)(uint64_t ns);
extern const burn burns[TASKS][LEVELS];
/* CPU time that was burnt in each, in ns. */
extern uint64_t burnt[TASKS][LEVELS];

/* The same outside of any task: in the loop, and on a thread that has no tasks. */
void burn_in_loop(uint64_t ns, uint64_t *account);
void burn_alone(uint64_t ns, uint64_t *account);

/* CPU time of the calling thread, in ns. */
uint64_t cpu_now(void);

/* What every function of a chain does when it goes on; in planted.c. */
int step(struct unweave_link *link, void *context);

#endif /* PLANTED_H */
