/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repetitions, and what is made of them.
 *
 * All variants of a group run in each repetition, one after the other, in an
 * order that is drawn anew: what disturbs the machine for a while disturbs all
 * of them alike. `best` is the quickest repetition. Where two variants differ
 * by less than the noise, the median of the differences within a repetition
 * says more than the difference of anything else.
 */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stdint.h>

#define STATS_VARIANTS_MAX 24u

/* splitmix64: any state will do. */
struct rng {
	uint64_t state;
};

uint64_t rng_next(struct rng *rng);
/* 0 to bound - 1 */
uint32_t rng_below(struct rng *rng, uint32_t bound);
void rng_shuffle(struct rng *rng, uint32_t *values, uint32_t count);

/* The measurements of some variants: ns per operation, by variant and repetition. */
struct samples {
	uint32_t variants;
	uint32_t repetitions;
	double *ns; /* variants * repetitions of them */
};

/* Measures one repetition of a variant; returns ns per operation. */
typedef double (*samples_measure)(void *context, uint32_t variant, uint32_t repetition);

/* Returns -ENOMEM. */
int samples_take(struct samples *ret, uint32_t variants, uint32_t repetitions,
		 samples_measure measure, void *context, struct rng *rng);
void samples_fini(struct samples *samples);

double samples_best(const struct samples *samples, uint32_t variant);
double samples_median(const struct samples *samples, uint32_t variant);
/* The best of `variant` less that of `other`, of each `together` repetitions; of these the median.
 */
double samples_usual_difference(const struct samples *samples, uint32_t variant, uint32_t other,
				uint32_t together);

/* The median, over the repetitions, of `variant` - `other`; and half the distance of its quartiles.
 */
double samples_difference(const struct samples *samples, uint32_t variant, uint32_t other);
double samples_scatter(const struct samples *samples, uint32_t variant, uint32_t other);

/* Of any row of numbers, which is left sorted. */
double stats_median(double *values, uint32_t count);

#endif /* BENCH_STATS_H */
