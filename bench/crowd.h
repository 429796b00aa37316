/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with many tasks. A crowd of them waits; besides, requests come and go: each is
 * created, runs, waits among 10,000 others, is woken, runs again and ends. With every tenth of them
 * one of the crowd runs, too.
 */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include <stdint.h>

#include "stats.h"

#define CROWD_FLYING 10000u /* requests at a time */

struct crowd {
	uint64_t *tasks; /* that wait */
	uint32_t count;
	uint64_t flying[CROWD_FLYING]; /* 0: none yet */
	uint64_t steps;                /* so far */
	uint32_t rounds;               /* of work that take half a step */
	struct rng rng;
};

/* Makes `count` tasks that wait: calls the first hook. Returns -ENOMEM. */
int crowd_init(struct crowd *crowd, uint32_t count, struct rng *rng);
void crowd_fini(struct crowd *crowd);

/* Finds the rounds of work with which a step takes `ns` of dense work, without hooks. */
void crowd_calibrate(struct crowd *crowd, double ns);

/* Ends one request and begins another. */
void crowd_step(struct crowd *crowd);

#endif /* BENCH_CROWD_H */
