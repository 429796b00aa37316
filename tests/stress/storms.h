/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in which everything happens at once: threads that run tasks of both
 * models, on all kinds of stacks; others that know nothing of tasks; threads and
 * children that come and go; modules that do; handlers that jump. Each thread
 * says on a board which task it runs, and so does its stack.
 */
#ifndef STRESS_STORMS_H
#define STRESS_STORMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STORMS_SLOTS 2048u
#define STORMS_TASKS 16384u                      /* that a slot remembers */
#define STORMS_LINKS 4u                          /* of a chain */
#define STORMS_MARK UINT64_C(0x6d61726b6d61726b) /* on a stack: this, a number, its complement */

/* The address of a frame says of which slot's which task it is, and which level of its chain. */
#define STORMS_ADDRESS(slot, number, level)                                                        \
	(UINT64_C(1) << 46 | (uint64_t)(slot) << 34 | (uint64_t)(number) << 4 | (level))

struct storms_slot {
	_Atomic uint32_t tid;
	/* By the number of the task, modulo STORMS_TASKS: its id. Set before it runs. */
	_Atomic uint64_t *tasks;
};

struct storms_board {
	_Atomic uint32_t ready;   /* the arena is there */
	_Atomic uint32_t stop;    /* the test's wish */
	_Atomic uint32_t slots;   /* that are in use */
	_Atomic uint32_t unwell;  /* checks of the program's own that failed */
	_Atomic uint32_t threads; /* that have come and gone */
	_Atomic uint32_t children;
	_Atomic uint32_t modules;
	_Atomic uint32_t jumps;
	_Atomic uint32_t taskless; /* the thread that knows nothing of tasks */
	struct storms_slot all[STORMS_SLOTS];
};

/* Memory that both processes share. NULL if there is none. */
struct storms_board *storms_board_new(void);

/* Runs until it is told to stop, and all short threads have come and gone; ends by exec(). */
_Noreturn void storms_run(struct storms_board *board, uint32_t short_threads);

#endif /* STRESS_STORMS_H */
