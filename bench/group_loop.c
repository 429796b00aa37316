/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a level adds to a run loop that does 1 or 10 µs of work at a time, with
 * the real recorder on the other processor: loop.* and overhead.*
 *
 * A repetition is a slice of some ms for each variant; the level changes in
 * between. Overhead is what recording takes from a program that is not recorded;
 * `off` is what that takes from a loop that knows nothing of unweave, which is
 * there twice: how much the two differ is how much can be told apart.
 */
#include <errno.h>
#include <stdio.h>

#include "bench.h"
#include "level.h"
#include "rows.h"
#include "taker.h"
#include "workload.h"

#define WARM_UP 200u /* runs after a change of level, which are not timed */

enum { BARE, AGAIN, OFF, FULL, CLOCKS, LEAST, FLOOR_TASKS, FLOOR_FULL, SAMPLES, TASKS, VARIANTS };

static const struct {
	enum level level;
	enum workload_hooks hooks;
} variants[VARIANTS] = {
	[BARE] = {LEVEL_OFF, HOOKS_NONE},
	[AGAIN] = {LEVEL_OFF, HOOKS_NONE},
	[FULL] = {LEVEL_FULL, HOOKS_REAL},
	[CLOCKS] = {LEVEL_OFF, HOOKS_CLOCKS},
	[FLOOR_TASKS] = {LEVEL_OFF, HOOKS_FLOOR_TASKS},
	[FLOOR_FULL] = {LEVEL_OFF, HOOKS_FLOOR_FULL},
	[LEAST] = {LEVEL_OFF, HOOKS_LEAST},
	[OFF] = {LEVEL_OFF, HOOKS_REAL},
	[SAMPLES] = {LEVEL_SAMPLES, HOOKS_REAL},
	[TASKS] = {LEVEL_TASKS, HOOKS_REAL},
};

/* A loop, and how the names of its rows begin. */
struct plan {
	const char *title;
	const char *overhead;
	const char *loop; /* NULL: only FULL is of interest, and what comes before it */
	enum unweave_model model;
	uint32_t tasks;
	double ns;      /* of work */
	uint32_t slice; /* runs */
	uint32_t repetitions;
	uint32_t quick;
};

#define CHAIN UNWEAVE_MODEL_CHAIN
#define MACHINE UNWEAVE_MODEL_MACHINE

static const struct plan plans[] = {
	{"hot loop, chains", "overhead.1M", "loop.hot", CHAIN, WORKLOAD_HOT, 1000, 2048, 1500, 8},
	{"cold loop, chains", "overhead.1M.cold", "loop.cold", CHAIN, WORKLOAD_COLD, 1000, 2048,
	 1500, 8},
	{"hot loop, state machines", "overhead.1M.machine", "loop.hot.machine", MACHINE,
	 WORKLOAD_HOT, 1000, 2048, 1500, 8},
	{"cold loop, state machines", "overhead.1M.cold.machine", "loop.cold.machine", MACHINE,
	 WORKLOAD_COLD, 1000, 2048, 1500, 8},
	{"hot loop, 100 k/s", "overhead.100k", NULL, CHAIN, WORKLOAD_HOT, 10000, 512, 1000, 8},
};
#define PLANS (sizeof(plans) / sizeof(plans[0]))

struct loop {
	struct workload workload;
	struct rng rng;
	uint32_t first; /* where the slices of this repetition begin */
	uint32_t repetition;
};

static double measure(void *context, uint32_t variant, uint32_t repetition)
{
	struct loop *loop = context;

	if (repetition != loop->repetition) {
		loop->repetition = repetition;
		loop->first = rng_below(&loop->rng, loop->workload.slice);
	}
	level_set(variants[variant].level);
	workload_pretend_told(&loop->workload, variants[variant].level != LEVEL_FULL);
	workload_run(&loop->workload, variants[variant].hooks, WARM_UP, loop->first);
	return workload_run(&loop->workload, variants[variant].hooks, loop->workload.slice,
			    loop->first);
}

static double best_added(const struct samples *samples, uint32_t variant)
{
	double bare = samples_best(samples, BARE), again = samples_best(samples, AGAIN);

	return samples_best(samples, variant) - (bare < again ? bare : again);
}

/* What a variant takes away from another: recorded, from not recorded, mostly. */
static void set_overhead(const struct plan *plan, const char *level, const struct samples *samples,
			 uint32_t variant, uint32_t base)
{
	double added = samples_difference(samples, variant, base);
	double best = samples_best(samples, variant) - samples_best(samples, base);
	char name[64];

	snprintf(name, sizeof(name), "%s.%s.pct", plan->overhead, level);
	rows_set(name, 100 * best / samples_best(samples, variant),
		 100 * added / (samples_median(samples, base) + added));
	rows_note(name, "%+.1f ns a pair, %+.1f; quartiles +-%.1f", best, added,
		  samples_scatter(samples, variant, base));
}

static void set_loop(const struct plan *plan, const char *level, const struct samples *samples,
		     uint32_t variant)
{
	double best_clocks = best_added(samples, CLOCKS);
	double clocks = samples_difference(samples, CLOCKS, BARE);
	char name[64];

	snprintf(name, sizeof(name), "%s.%s.x_2clock", plan->loop, level);
	rows_set(name, best_added(samples, variant) / best_clocks,
		 samples_difference(samples, variant, BARE) / clocks);
	rows_note(name, "two clock reads add %+.1f ns, %+.1f; hooks that are off %+.1f, %+.1f",
		  best_clocks, clocks, best_added(samples, OFF),
		  samples_difference(samples, OFF, BARE));
}

static void report(const struct plan *plan, const struct samples *samples)
{
	set_overhead(plan, "again", samples, AGAIN, BARE);
	set_overhead(plan, "off", samples, OFF, BARE);
	set_overhead(plan, "full", samples, FULL, OFF);
	if (!plan->loop)
		return;
	set_overhead(plan, "samples", samples, SAMPLES, OFF);
	set_overhead(plan, "tasks", samples, TASKS, OFF);
	set_loop(plan, "least", samples, LEAST);
	set_loop(plan, "floor.tasks", samples, FLOOR_TASKS);
	set_loop(plan, "floor.full", samples, FLOOR_FULL);
	set_loop(plan, "tasks", samples, TASKS);
	set_loop(plan, "full", samples, FULL);
}

static int run_plan(struct bench *bench, const struct plan *plan, struct taker *taker)
{
	struct loop loop = {.repetition = UINT32_MAX, .rng.state = rng_next(&bench->rng)};
	struct samples samples;
	int r;

	bench_progress("%s", plan->title);
	r = workload_init(&loop.workload, plan->model, plan->tasks, plan->slice, &bench->rng);
	if (r < 0)
		return r;
	r = taker_begin(taker);
	if (r < 0) {
		bench_complain("the recorder: %s", taker->why);
	} else {
		workload_introduce(&loop.workload);
		level_set(LEVEL_OFF);
		workload_calibrate(&loop.workload, plan->ns, &bench->rng);
		r = samples_take(&samples, plan->loop ? VARIANTS : FULL + 1,
				 bench_amount(bench, plan->repetitions, plan->quick), measure,
				 &loop, &bench->rng);
	}
	if (r >= 0) {
		report(plan, &samples);
		samples_fini(&samples);
		r = taker_end(taker);
		if (taker->lost)
			bench_complain("%s: %llu events were lost", plan->title,
				       (unsigned long long)taker->lost);
	}
	workload_fini(&loop.workload);
	return r;
}

static bool is_wanted(const struct plan *plan)
{
	return rows_wanted(plan->overhead) || (plan->loop && rows_wanted(plan->loop));
}

int group_loop(struct bench *bench)
{
	struct taker *takers[PLANS];
	int r = 0;

	/* All of them before the first hook. */
	for (size_t i = 0; i < PLANS; i++)
		takers[i] = is_wanted(&plans[i]) ? taker_new(bench->directory, plans[i].overhead)
						 : NULL;
	for (size_t i = 0; i < PLANS && r >= 0; i++)
		if (is_wanted(&plans[i]))
			r = takers[i] ? run_plan(bench, &plans[i], takers[i]) : -ENOMEM;
	for (size_t i = 0; i < PLANS; i++)
		taker_free(takers[i]);
	return r;
}
