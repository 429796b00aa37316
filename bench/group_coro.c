/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a C++ coroutine's resume and its next wait take more if its library includes
 * unweave/coro.hpp: coro.mixin.*. Nobody drains, as in group_tight.c.
 */
#include <errno.h>

#include "bench.h"
#include "coro.h"
#include "level.h"
#include "rows.h"
#include "workload.h"

#define BLOCK 40u
#define BLOCKS 16u

enum { PLAIN, OFF, SAMPLES, TASKS, FULL, VARIANTS };

static const enum level levels[VARIANTS] = {
	[PLAIN] = LEVEL_OFF,   [OFF] = LEVEL_OFF,   [SAMPLES] = LEVEL_SAMPLES,
	[TASKS] = LEVEL_TASKS, [FULL] = LEVEL_FULL,
};

static void resume_many(void (*resume)(uint32_t number), struct rng rng)
{
	for (uint32_t block = 0; block < BLOCKS; block++) {
		for (uint32_t i = 0; i < BLOCK; i++)
			resume((uint32_t)rng_below(&rng, CORO_TASKS));
		level_recycle();
	}
}

static double measure(void *context, uint32_t variant, uint32_t repetition)
{
	void (*resume)(uint32_t) = variant == PLAIN ? coro_resume_plain : coro_resume_told;
	const struct rng *rng = context;
	uint64_t start;

	(void)repetition;
	level_set(levels[variant]);
	resume_many(resume, *rng);
	start = clock_raw();
	resume_many(resume, *rng);
	return (double)(clock_raw() - start) / (BLOCK * BLOCKS);
}

static void set_over_plain(const char *name, const struct samples *samples, uint32_t variant)
{
	rows_set(name, samples_best(samples, variant) - samples_best(samples, PLAIN),
		 samples_difference(samples, variant, PLAIN));
	rows_note(name, "%.2f ns, %.2f over %.2f, %.2f", samples_best(samples, variant),
		  samples_median(samples, variant), samples_best(samples, PLAIN),
		  samples_median(samples, PLAIN));
}

int group_coro(struct bench *bench)
{
	struct samples samples;
	int r;

	coro_make();
	if (!emit_process.control) {
		bench_complain("%s", unweave_status());
		return -ENOTSUP;
	}
	level_give_chunks();
	r = samples_take(&samples, VARIANTS, bench_amount(bench, 4001, 101), measure, &bench->rng,
			 &bench->rng);
	if (r < 0)
		return r;
	set_over_plain("coro.mixin.off.ns", &samples, OFF);
	set_over_plain("coro.mixin.samples.ns", &samples, SAMPLES);
	set_over_plain("coro.mixin.tasks.ns", &samples, TASKS);
	set_over_plain("coro.mixin.full.ns", &samples, FULL);
	samples_fini(&samples);
	level_set(LEVEL_OFF);
	return 0;
}
