/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a C++ coroutine's resume and its next wait take more if its library includes
 * unweave/coro.hpp, coro.mixin.*, and if it knows nothing but is built with the shim
 * <coroutine>, coro.shim.*. Nobody drains, as in group_tight.c.
 */
#include <errno.h>

#include "bench.h"
#include "coro.h"
#include "level.h"
#include "rows.h"
#include "workload.h"

#define BLOCK 40u
#define BLOCKS 16u

#define PLAIN 0u

static const struct {
	const char *row;
	void (*resume)(uint32_t number);
	enum level level;
} variants[] = {
	[PLAIN] = {NULL, coro_resume_plain, LEVEL_OFF},
	{"coro.mixin.off.ns", coro_resume_told, LEVEL_OFF},
	{"coro.mixin.samples.ns", coro_resume_told, LEVEL_SAMPLES},
	{"coro.mixin.tasks.ns", coro_resume_told, LEVEL_TASKS},
	{"coro.mixin.full.ns", coro_resume_told, LEVEL_FULL},
	{"coro.shim.off.ns", coro_resume_unaware, LEVEL_OFF},
	{"coro.shim.samples.ns", coro_resume_unaware, LEVEL_SAMPLES},
	{"coro.shim.tasks.ns", coro_resume_unaware, LEVEL_TASKS},
	{"coro.shim.full.ns", coro_resume_unaware, LEVEL_FULL},
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

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
	void (*resume)(uint32_t) = variants[variant].resume;
	const struct rng *rng = context;
	uint64_t start;

	(void)repetition;
	level_set(variants[variant].level);
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
	coro_make_unaware();
	if (!emit_process.control) {
		bench_complain("%s", unweave_status());
		return -ENOTSUP;
	}
	level_give_chunks();
	r = samples_take(&samples, VARIANTS, bench_amount(bench, 4001, 101), measure, &bench->rng,
			 &bench->rng);
	if (r < 0)
		return r;
	for (uint32_t i = PLAIN + 1; i < VARIANTS; i++)
		set_over_plain(variants[i].row, &samples, i);
	samples_fini(&samples);
	level_set(LEVEL_OFF);
	return 0;
}
