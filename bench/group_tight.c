/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks back to back, without work between them: emit.*, hook.off.ns, pair.*
 * and task.new_end.
 *
 * Nobody drains here. The thread's chunk is made empty again every few records,
 * so that what is timed is the hook, with its chunk in the nearest cache; what
 * the hand-off and colder lines cost shows in the rows of the run loop. A clock
 * read is an out-of-line call that reads the clock of the hooks, in a loop of
 * the same shape.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench.h"
#include "emit/links.h"
#include "level.h"
#include "rows.h"
#include "unweave/callback.h"
#include "unweave/chain.h"
#include "workload.h"

#define BLOCK 40u  /* operations between two recycles: the largest fill two thirds of a chunk */
#define BLOCKS 16u /* in a repetition */
#define PICKS (1u << 16)
#define STACKS 512u

struct tight {
	uint16_t picks[PICKS]; /* task << 9 | leaf */
	uint64_t tasks[WORKLOAD_HOT];
	uint64_t leaves[STACKS];
	uint64_t frames[32];
	struct rng rng;
};

static __attribute__((noinline)) uint64_t read_clock(void)
{
	return clock_ticks(BENCH_CLOCK);
}

static __attribute__((noinline)) uint64_t read_plain_clock(void)
{
	return clock_raw();
}

/* Continuations that a branch predictor cannot tell apart by anything but their history. */
#define GO(n)                                                                                      \
	static __attribute__((noinline)) int go_##n(struct unweave_link *link, void *context)      \
	{                                                                                          \
		(void)link;                                                                        \
		((struct unweave_link *)context)->state += n;                                      \
		return n;                                                                          \
	}
/* clang-format off */
GO(1) GO(2) GO(3) GO(4) GO(5) GO(6) GO(7) GO(8)
	/* clang-format on */

	static unweave_go const continuations[8] = {go_1, go_2, go_3, go_4, go_5, go_6, go_7, go_8};
static struct unweave_link called;
static uint32_t place; /* within a dispatch, which ends after a continuation or two */

static int wait_again(struct unweave_link *link, void *context)
{
	unweave_chain_push(context, link);
	return UNWEAVE_STEP_SUSPENDED;
}

/* The same without unweave: a loop that takes the innermost function and calls it. */
static int wait_directly(struct unweave_link *link, void *context)
{
	struct unweave_link **innermost = context;

	link->awaiter = *innermost;
	*innermost = link;
	return UNWEAVE_STEP_SUSPENDED;
}

static struct unweave_chain chain, direct_chain;
static struct unweave_link chain_links[2], direct_links[2];

static void make_chains(void)
{
	unweave_chain_init(&chain);
	for (int i = 0; i < 2; i++) {
		unweave_link_init(&chain_links[i], wait_again, NULL, 0);
		unweave_link_init(&direct_links[i], wait_directly, NULL, 0);
		unweave_chain_push(&chain, &chain_links[i]);
	}
	unweave_chain_start(&chain, NULL, 0);
	direct_links[0].awaiter = &direct_links[1];
	direct_chain.head.innermost = &direct_links[0];
}

static inline void run_directly(void)
{
	struct unweave_link *link = direct_chain.head.innermost;

	direct_chain.head.innermost = link->awaiter;
	bench_use((uint64_t)link->go(link, &direct_chain.head.innermost));
}

static const char *const kind_timer = "timer";
static uint64_t standing;

static inline void fire(unweave_go go)
{
	struct unweave_call call = {.task = standing,
				    .go = go,
				    .context = &called,
				    .code = (void *)(uintptr_t)go,
				    .end = UNWEAVE_CALL_FIRES,
				    .straight_on = 1};

	bench_use((uint64_t)unweave_callback_call(&call));
}

/* A loop over an operation, which may use `task` and `leaf`. */
#define LOOP(name, ...)                                                                            \
	static void name(const struct tight *tight, const uint16_t *picks)                         \
	{                                                                                          \
		for (uint32_t block = 0; block < BLOCKS; block++) {                                \
			for (uint32_t i = 0; i < BLOCK; i++, picks++) {                            \
				uint64_t task = tight->tasks[*picks / STACKS];                     \
				const uint64_t *leaf = &tight->leaves[*picks % STACKS];            \
                                                                                                   \
				(void)leaf;                                                        \
				bench_use(task);                                                   \
				__VA_ARGS__;                                                       \
			}                                                                          \
			level_recycle();                                                           \
		}                                                                                  \
	}

LOOP(loop_clock, bench_use(read_clock()))
LOOP(loop_plain_clock, bench_use(read_plain_clock()))
LOOP(loop_wake, unweave_task_wake(task, UNWEAVE_SOURCE_TASK))
LOOP(loop_wake_from, unweave_task_wake(task, UNWEAVE_SOURCE_IO))
LOOP(loop_pair, unweave_task_resume(task); unweave_task_suspend(task))
LOOP(loop_leaf, struct unweave_stack stack = {leaf, NULL, 1, 7}; unweave_task_resume(task);
     unweave_task_suspend_stack(task, &stack))
LOOP(loop_stack8, struct unweave_stack stack = {tight->frames, NULL, 8, 0};
     unweave_task_resume(task); unweave_task_suspend_stack(task, &stack))
LOOP(loop_stack32, struct unweave_stack stack = {tight->frames, NULL, 32, 0};
     unweave_task_resume(task); unweave_task_suspend_stack(task, &stack))
LOOP(loop_leave, unweave_task_resume(task); unweave_task_leave(task, NULL))
LOOP(loop_new_end, uint64_t born = unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, task, NULL);
     unweave_task_complete(born, UNWEAVE_OK))

LOOP(loop_direct, place = *picks & 1 ? place + 1 : 0; bench_use(place);
     bench_use((uint64_t)continuations[*picks >> 1 & 7](NULL, &called)))
LOOP(loop_anchor, place = *picks & 1 ? place + 1 : 0;
     bench_use((uint64_t)emit_anchors[place % UNWEAVE_ANCHORS](NULL, &called, NULL,
							       continuations[*picks >> 1 & 7])))
LOOP(loop_run_directly, run_directly())
LOOP(loop_callback_directly, bench_use((uint64_t)continuations[*picks >> 1 & 7](NULL, &called)))
LOOP(loop_fire, fire(continuations[*picks >> 1 & 7]))
LOOP(loop_run, bench_use(unweave_chain_run(&chain, 0)))

/* Callbacks that are armed, all those of a block, and then called, as a loop does. */
static void loop_callback(const struct tight *tight, const uint16_t *picks)
{
	struct unweave_call calls[BLOCK];

	(void)tight;
	for (uint32_t block = 0; block < BLOCKS; block++, picks += BLOCK) {
		for (uint32_t i = 0; i < BLOCK; i++) {
			unweave_go go = continuations[picks[i] >> 1 & 7];

			calls[i] = (struct unweave_call){.go = go,
							 .context = &called,
							 .code = (void *)(uintptr_t)go,
							 .straight_on = 1};
			calls[i].task = unweave_callback_arm(kind_timer, calls[i].code, &called, 0);
		}
		for (uint32_t i = 0; i < BLOCK; i++)
			bench_use((uint64_t)unweave_callback_call(&calls[i]));
		level_recycle();
	}
}

enum {
	CLOCK,
	EVENT,
	WAKE_FROM,
	OFF,
	SAMPLES,
	PAIR,
	LEAF,
	STACK8,
	STACK32,
	LEAVE,
	NEW_END,
	SLOT,
	DIRECT,
	ANCHOR,
	RUN_DIRECTLY,
	RUN_OFF,
	CALLBACK_DIRECTLY,
	CALLBACK_OFF,
	CALLBACK_SAMPLES,
	CALLBACK_TASKS,
	FIRE_SAMPLES,
	FIRE_TASKS,
	VARIANTS
};

static const struct {
	enum level level;
	void (*loop)(const struct tight *tight, const uint16_t *picks);
} variants[VARIANTS] = {
	[CLOCK] = {LEVEL_OFF, loop_clock},
	[EVENT] = {LEVEL_FULL, loop_wake},
	[WAKE_FROM] = {LEVEL_FULL, loop_wake_from},
	[OFF] = {LEVEL_OFF, loop_pair},
	[SAMPLES] = {LEVEL_SAMPLES, loop_pair},
	[PAIR] = {LEVEL_TASKS, loop_pair},
	[LEAF] = {LEVEL_FULL, loop_leaf},
	[STACK8] = {LEVEL_FULL, loop_stack8},
	[STACK32] = {LEVEL_FULL, loop_stack32},
	[LEAVE] = {LEVEL_TASKS, loop_leave},
	[NEW_END] = {LEVEL_TASKS, loop_new_end},
	[SLOT] = {LEVEL_OFF, loop_new_end},
	[DIRECT] = {LEVEL_OFF, loop_direct},
	[ANCHOR] = {LEVEL_OFF, loop_anchor},
	[RUN_DIRECTLY] = {LEVEL_OFF, loop_run_directly},
	[RUN_OFF] = {LEVEL_OFF, loop_run},
	[CALLBACK_DIRECTLY] = {LEVEL_OFF, loop_callback_directly},
	[CALLBACK_OFF] = {LEVEL_OFF, loop_callback},
	[CALLBACK_SAMPLES] = {LEVEL_SAMPLES, loop_callback},
	[CALLBACK_TASKS] = {LEVEL_TASKS, loop_callback},
	[FIRE_SAMPLES] = {LEVEL_SAMPLES, loop_fire},
	[FIRE_TASKS] = {LEVEL_TASKS, loop_fire},
};

static double measure(void *context, uint32_t variant, uint32_t repetition)
{
	struct tight *tight = context;
	const uint16_t *picks = tight->picks + rng_below(&tight->rng, PICKS - BLOCK * BLOCKS);
	void (*loop)(const struct tight *, const uint16_t *) = variants[variant].loop;
	uint64_t start;

	(void)repetition;
	if (variant == CLOCK && emit_process.clock != BENCH_CLOCK)
		loop = loop_plain_clock;
	level_set(variants[variant].level);
	loop(tight, picks);
	start = clock_raw();
	loop(tight, picks);
	return (double)(clock_raw() - start) / (BLOCK * BLOCKS);
}

static struct tight *tight_new(struct rng *rng)
{
	struct tight *tight = calloc(1, sizeof(*tight));

	if (!tight)
		return NULL;
	for (uint32_t i = 0; i < PICKS; i++)
		tight->picks[i] = (uint16_t)rng_below(rng, WORKLOAD_HOT * STACKS);
	for (uint32_t i = 0; i < WORKLOAD_HOT; i++)
		tight->tasks[i] = unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL);
	for (uint32_t i = 0; i < STACKS; i++)
		tight->leaves[i] = 0x401000 + i * 52;
	for (uint32_t i = 0; i < 32; i++)
		tight->frames[i] = 0x501000 + i * 52;
	tight->rng.state = rng_next(rng);
	return tight;
}

/* In clock reads of the same run. */
static void set_ratio(const char *name, const struct samples *samples, uint32_t variant)
{
	rows_set(name, samples_best(samples, variant) / samples_best(samples, CLOCK),
		 samples_median(samples, variant) / samples_median(samples, CLOCK));
	rows_note(name, "%.2f ns, %.2f", samples_best(samples, variant),
		  samples_median(samples, variant));
}

/* An event, and what the frames add to a suspension. */
static void set_stack(const char *name, const struct samples *samples, uint32_t variant)
{
	double best = samples_best(samples, EVENT) + samples_best(samples, variant) -
		      samples_best(samples, PAIR);
	double median = samples_median(samples, EVENT) + samples_difference(samples, variant, PAIR);

	rows_set(name, best / samples_best(samples, CLOCK),
		 median / samples_median(samples, CLOCK));
	rows_note(name, "%.2f ns, %.2f", best, median);
}

/* What one variant takes over another. */
static void set_over(const char *name, const struct samples *samples, uint32_t variant,
		     uint32_t base)
{
	rows_set(name, samples_best(samples, variant) - samples_best(samples, base),
		 samples_difference(samples, variant, base));
	rows_note(name, "%.2f ns, %.2f over %.2f, %.2f", samples_best(samples, variant),
		  samples_median(samples, variant), samples_best(samples, base),
		  samples_median(samples, base));
}

static void report(const struct samples *samples)
{
	set_over("anchor.ns", samples, ANCHOR, DIRECT);
	set_over("dispatch.off.ns", samples, RUN_OFF, RUN_DIRECTLY);
	set_over("callback.off.ns", samples, CALLBACK_OFF, CALLBACK_DIRECTLY);
	set_over("callback.samples.ns", samples, CALLBACK_SAMPLES, CALLBACK_DIRECTLY);
	set_over("callback.tasks.ns", samples, CALLBACK_TASKS, CALLBACK_DIRECTLY);
	set_over("callback.fire.samples.ns", samples, FIRE_SAMPLES, CALLBACK_DIRECTLY);
	set_over("callback.fire.tasks.ns", samples, FIRE_TASKS, CALLBACK_DIRECTLY);
	set_ratio("emit.event.x_clock", samples, EVENT);
	rows_note("emit.event.x_clock", "%.2f ns, %.2f; call + clock read %.2f, %.2f",
		  samples_best(samples, EVENT), samples_median(samples, EVENT),
		  samples_best(samples, CLOCK), samples_median(samples, CLOCK));
	set_ratio("emit.wake_from.x_clock", samples, WAKE_FROM);
	set_stack("emit.stack8.x_clock", samples, STACK8);
	set_stack("emit.stack32.x_clock", samples, STACK32);
	rows_set("hook.off.ns", samples_best(samples, OFF) / 2, samples_median(samples, OFF) / 2);
	rows_note("hook.off.ns", "half a pair, with the loop around it");
	rows_set("pair.samples.ns", samples_best(samples, SAMPLES),
		 samples_median(samples, SAMPLES));
	rows_note("pair.samples.ns", "with the loop around it");
	set_ratio("pair.tasks.x_clock", samples, PAIR);
	set_ratio("pair.full8.x_clock", samples, LEAF);
	set_ratio("pair.loop.tasks.x_clock", samples, LEAVE);
	rows_set("task.new_end.ns", samples_best(samples, SLOT), samples_median(samples, SLOT));
	rows_note("task.new_end.ns", "nothing on: the slot only, with the loop around it");
	set_ratio("task.new_end.x_clock", samples, NEW_END);
}

int group_tight(struct bench *bench)
{
	struct tight *tight = tight_new(&bench->rng);
	struct samples samples;
	int r;

	if (!tight)
		return -ENOMEM;
	if (!emit_process.control) {
		bench_complain("%s", unweave_status());
		free(tight);
		return -ENOTSUP;
	}
	level_give_chunks();
	make_chains();
	standing = unweave_callback_arm(kind_timer, &standing, &called, UNWEAVE_STANDING);
	r = samples_take(&samples, VARIANTS, bench_amount(bench, 20001, 201), measure, tight,
			 &bench->rng);
	if (r >= 0) {
		report(&samples);
		samples_fini(&samples);
	}
	level_set(LEVEL_OFF);
	free(tight);
	return r;
}
