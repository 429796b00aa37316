/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run loop on one of the two models: takes a task from a queue, lets it run
 * for a while, and puts it back. Its tasks, their order, the length of their runs and their stacks
 * are drawn at random, so that neither a branch predictor nor a compressor
 * finds a pattern to learn.
 *
 * The work is dense: independent chains of arithmetic that fill the processor.
 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "stats.h"
#include "unweave/chain.h"
#include "unweave/machine.h"

#define WORKLOAD_HOT 16u
#define WORKLOAD_COLD 10000u

#define WORKLOAD_ROOTS 64u /* seven outer frames each ... */
#define WORKLOAD_LEAVES 8u /* ... and one of so many on top: 512 stacks */
#define WORKLOAD_DEPTH 8u

/* A task of the loop, on cache lines of its own: 10,000 of them are 5 MB. */
struct __attribute__((aligned(512))) job {
	struct unweave_link links[WORKLOAD_DEPTH]; /* its chain, innermost first */
	union {
		struct unweave_chain chain;
		struct unweave_box box; /* instead of the innermost link */
	};
	uint64_t state[8]; /* what its work reads and leaves behind */
	uint32_t root;
};

struct workload {
	enum unweave_model model;
	struct job *jobs;
	uint32_t count;
	uint32_t *order; /* job << 3 | leaf: each round runs every task once, in a new order */
	uint32_t steps;  /* of `order` */
	uint32_t at;
	uint32_t *rounds; /* of work, for each run of a slice: half to one and a half of the mean */
	uint32_t slice;   /* runs in a slice; `rounds` holds as many, so that slices are equal */
	bool pretend_told;
	uint64_t leaves[WORKLOAD_ROOTS][WORKLOAD_LEAVES];
};

/* Makes `count` tasks: calls the first hook. Returns -ENOMEM. */
int workload_init(struct workload *workload, enum unweave_model model, uint32_t count,
		  uint32_t slice, struct rng *rng);
void workload_fini(struct workload *workload);

/* Finds the rounds of work with which a run takes `ns` in a loop without hooks. */
void workload_calibrate(struct workload *workload, double ns, struct rng *rng);

/* Tells the drain the whole chain of each task. With detail `full`. */
void workload_introduce(struct workload *workload);

/* What the loop does at the beginning and at the end of a run. */
enum workload_hooks {
	HOOKS_NONE,        /* nothing: calls the task's function directly */
	HOOKS_CLOCKS,      /* reads the clock, twice */
	HOOKS_LEAST,       /* the least that a record can cost: see workload.c */
	HOOKS_FLOOR_TASKS, /* the same with what detail `tasks` promises */
	HOOKS_FLOOR_FULL,  /* and what detail `full` does */
	HOOKS_REAL,        /* the model's run, which ends in a wait with a new leaf */
};

/*
 * Levels change in the middle of a session, which no recorder does: a leaf that
 * was not told because the level was lower is to be as one that was.
 */
void workload_pretend_told(struct workload *workload, bool pretend);

/* Runs `runs` tasks; `first` says with which of `rounds` to begin. Returns ns per run. */
double workload_run(struct workload *workload, enum workload_hooks hooks, uint32_t runs,
		    uint32_t first);

#endif /* BENCH_WORKLOAD_H */
