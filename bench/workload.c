/* SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "emit/links.h"
#include "unweave.h"

#define STEPS (1u << 20)
#define IDLE_EVERY 1000u
#define CODE UINT64_C(0x401000) /* where the frames seem to be */

_Static_assert(sizeof(struct job) == 512, "jobs lie on lines of their own");

/* Every address differs, and is at least a few instructions from its neighbours. */
static uint64_t draw_address(struct rng *rng)
{
	return CODE + rng_below(rng, 1u << 20) * UINT64_C(4);
}

/* What the step that runs next is to do: the loop's, for the function that it calls. */
static struct {
	struct job *job;
	uint32_t rounds;
	const void *leaf;
} step;

static int direct_step(struct unweave_link *link, void *context);
static int chain_step(struct unweave_link *link, void *context);
static int box_step(struct unweave_link *link, void *context);

static const void *as_code(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

static void start_chain(struct job *job)
{
	unweave_chain_init(&job->chain);
	for (uint32_t i = 0; i < WORKLOAD_DEPTH; i++)
		unweave_chain_push(&job->chain, &job->links[i]);
	unweave_chain_start(&job->chain, UNWEAVE_SITE("bench"), 0);
}

/* The links above the box are awaiters that never go on. */
static void start_box(struct job *job)
{
	unweave_box_init(&job->box, box_step, job->links[0].code, UNWEAVE_SITE("bench"));
	for (uint32_t i = 1; i + 1 < WORKLOAD_DEPTH; i++)
		job->links[i].awaiter = &job->links[i + 1];
	job->box.link.awaiter = &job->links[1];
	unweave_box_suspend(&job->box);
}

static void draw_jobs(struct workload *workload, struct rng *rng)
{
	uint64_t outer[WORKLOAD_ROOTS][WORKLOAD_DEPTH];

	for (uint32_t root = 0; root < WORKLOAD_ROOTS; root++) {
		for (uint32_t i = 1; i < WORKLOAD_DEPTH; i++)
			outer[root][i] = draw_address(rng);
		for (uint32_t i = 0; i < WORKLOAD_LEAVES; i++)
			workload->leaves[root][i] = draw_address(rng);
		outer[root][0] = workload->leaves[root][0];
	}
	for (uint32_t i = 0; i < workload->count; i++) {
		struct job *job = &workload->jobs[i];

		job->root = rng_below(rng, WORKLOAD_ROOTS);
		for (uint32_t k = 0; k < WORKLOAD_DEPTH; k++)
			unweave_link_init(&job->links[k], chain_step, as_code(outer[job->root][k]),
					  0);
		for (unsigned s = 0; s < 8; s++)
			job->state[s] = rng_next(rng) | 1;
		if (workload->model == UNWEAVE_MODEL_CHAIN)
			start_chain(job);
		else
			start_box(job);
	}
}

static void draw_order(struct workload *workload, struct rng *rng)
{
	uint32_t *order = workload->order;
	uint32_t done = 0;

	while (done < STEPS) {
		uint32_t round = STEPS - done < workload->count ? STEPS - done : workload->count;

		for (uint32_t i = 0; i < round; i++)
			order[done + i] = i << 3 | rng_below(rng, WORKLOAD_LEAVES);
		rng_shuffle(rng, order + done, round);
		done += round;
	}
}

/* The same sum each time: half to one and a half of `mean`, evenly, in any order. */
static void draw_rounds(struct workload *workload, double mean, struct rng *rng)
{
	for (uint32_t i = 0; i < workload->slice; i++)
		workload->rounds[i] = (uint32_t)(mean * (0.5 + (i + 0.5) / workload->slice) + 0.5);
	rng_shuffle(rng, workload->rounds, workload->slice);
}

int workload_init(struct workload *workload, enum unweave_model model, uint32_t count,
		  uint32_t slice, struct rng *rng)
{
	memset(workload, 0, sizeof(*workload));
	workload->model = model;
	workload->count = count;
	workload->slice = slice;
	workload->steps = STEPS;
	workload->jobs = aligned_alloc(sizeof(struct job), count * sizeof(struct job));
	workload->order = calloc(STEPS, sizeof(*workload->order));
	workload->rounds = calloc(slice, sizeof(*workload->rounds));
	if (!workload->jobs || !workload->order || !workload->rounds) {
		workload_fini(workload);
		return -ENOMEM;
	}
	memset(workload->jobs, 0, count * sizeof(struct job));
	draw_jobs(workload, rng);
	draw_order(workload, rng);
	return 0;
}

void workload_fini(struct workload *workload)
{
	free(workload->jobs);
	free(workload->order);
	free(workload->rounds);
	memset(workload, 0, sizeof(*workload));
}

/*
 * Eight chains that do not wait for each other. The longest, a multiplication and
 * an addition, leaves room beside it: work that fills every port settles at one of
 * several speeds, percents apart, by what ran before it, and that would be measured.
 */
static __attribute__((noinline)) void work(struct job *job, uint32_t rounds)
{
	uint64_t a = job->state[0], b = job->state[1], c = job->state[2], d = job->state[3];
	uint64_t e = job->state[4], f = job->state[5], g = job->state[6], h = job->state[7];

	for (; rounds; rounds--) {
		a = a * 5 + 1;
		b = (b << 7 | b >> 57) + rounds;
		c ^= rounds;
		d += rounds;
		e = (e << 9 | e >> 55) ^ rounds;
		f = f * UINT64_C(0x9e3779b97f4a7c15) + rounds;
		g -= rounds;
		h = h * 9;
	}
	job->state[0] = a, job->state[1] = b, job->state[2] = c, job->state[3] = d;
	job->state[4] = e, job->state[5] = f, job->state[6] = g, job->state[7] = h;
}

/*
 * What no recorder can do without that can be switched off and has an end: two calls, a look at
 * whether it is wanted in each, one clock read, a look at whether there is room for both, three
 * words stored and a cursor moved after each. In memory of its own, that nobody takes away.
 */
#define LEAST_WORDS 2048u

static struct {
	uint64_t words[LEAST_WORDS];
	uint32_t at;
	uint32_t on;
	/* For the floor: whether it may begin, what runs since when, what waits, a line a task. */
	uint32_t gate;
	uint64_t task, since, view[4];
	uint64_t slots[WORKLOAD_COLD][8];
} least = {.on = 1, .gate = 1};

static inline bool least_is_on(void)
{
	return __atomic_load_n(&least.on, __ATOMIC_RELAXED);
}

/* Where the next word goes, with room for those of a pair. */
static inline uint32_t least_room(void)
{
	return least.at > LEAST_WORDS - 8 ? 0 : least.at;
}

static __attribute__((noinline)) void least_resume(uint64_t task)
{
	uint32_t at = least_room();

	if (!least_is_on())
		return;
	least.words[at] = clock_ticks(BENCH_CLOCK) << 8;
	least.words[at + 1] = task;
	__atomic_store_n(&least.at, at + 2, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) void least_leave(void)
{
	if (!least_is_on())
		return;
	least.words[least.at] = 1;
	__atomic_store_n(&least.at, least.at + 1, __ATOMIC_RELEASE);
}

/*
 * What nobody can do without who keeps the promises of detail `tasks`, made by hand for this loop:
 * a handler that emits at any instruction finds the gate closed; what a thread runs, and which
 * functions wait for that, can be read at any time; each task has a line with its runs and time;
 * who reads a chain from outside is told when it may change. `full` also stores the frame that is
 * new. As with the least, nobody takes anything away.
 */
static inline bool floor_begin(void)
{
	if (least.gate != __atomic_load_n(&least.on, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&least.gate, 0, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

static inline void floor_end(uint32_t at)
{
	__atomic_store_n(&least.at, at, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&least.gate, 1, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void floor_resume(struct unweave_head *head,
						   const struct unweave_link *link, uint64_t task)
{
	uint32_t at = least_room();
	uint64_t now;

	head_begin_turn(head);
	if (!floor_begin())
		return;
	now = clock_ticks(BENCH_CLOCK);
	least.words[at] = now << 8;
	least.words[at + 1] = task;
	least.view[0] = (uintptr_t)link->code;
	least.view[1] = (uintptr_t)link->awaiter;
	least.view[2] = (uint64_t)link->state;
	least.since = now;
	__atomic_store_n(&least.task, task, __ATOMIC_RELEASE);
	floor_end(at + 2);
}

static inline void floor_leave(struct unweave_head *head, const struct unweave_link *frame,
			       uint32_t index)
{
	uint64_t *slot = least.slots[index];
	uint32_t at = least.at;

	if (!floor_begin())
		return;
	least.words[at] = frame ? (uintptr_t)frame->code << 16 | 1 : 1;
	slot[0]++;
	slot[1] += least.since;
	slot[2] = least.since;
	slot[3] = 2;
	__atomic_store_n(&least.task, 0, __ATOMIC_RELEASE);
	floor_end(at + 1);
	head_end_turn(head);
}

static __attribute__((noinline)) void floor_leave_tasks(struct unweave_head *head, uint32_t index)
{
	floor_leave(head, NULL, index);
}

static __attribute__((noinline)) void
floor_leave_full(struct unweave_head *head, const struct unweave_link *frame, uint32_t index)
{
	floor_leave(head, frame, index);
}

/* A task's function: works, and goes to wait with another leaf. What is around it differs. */
static int direct_step(struct unweave_link *link, void *context)
{
	struct unweave_link **innermost = context;

	work(step.job, step.rounds);
	link->code = step.leaf;
	if (innermost) {
		link->awaiter = *innermost;
		*innermost = link;
	}
	return UNWEAVE_STEP_SUSPENDED;
}

static int chain_step(struct unweave_link *link, void *context)
{
	work(step.job, step.rounds);
	link->code = step.leaf;
	unweave_chain_push(context, link);
	return UNWEAVE_STEP_SUSPENDED;
}

static int box_step(struct unweave_link *link, void *context)
{
	(void)context;
	work(step.job, step.rounds);
	link->code = step.leaf;
	unweave_box_suspend((struct unweave_box *)link);
	return 0;
}

/* A call through a pointer, as it would be. */
static unweave_go volatile direct_go = direct_step;

/* What a loop does that knows nothing of unweave: takes the innermost function, and calls it. */
static inline void run_directly(struct job *job, enum unweave_model model)
{
	unweave_go direct = direct_go;
	struct unweave_link *link;

	if (model == UNWEAVE_MODEL_MACHINE) {
		direct(&job->box.link, NULL);
		return;
	}
	link = job->chain.head.innermost;
	job->chain.head.innermost = link->awaiter;
	direct(link, &job->chain.head.innermost);
}

/* As directly, but through an anchor. */
static inline void run_on_floor(struct job *job, uint32_t index, enum workload_hooks hooks,
				enum unweave_model model)
{
	struct unweave_head *head = &job->box.head;
	struct unweave_link **innermost = NULL;
	struct unweave_link *link = &job->box.link;

	if (model == UNWEAVE_MODEL_CHAIN) {
		head = &job->chain.head;
		innermost = &head->innermost;
		link = *innermost;
		*innermost = link->awaiter;
	}
	floor_resume(head, link, index);
	emit_anchors[0](link, innermost, NULL, direct_go);
	if (hooks == HOOKS_FLOOR_FULL)
		floor_leave_full(head, link, index);
	else
		floor_leave_tasks(head, index);
}

static inline void run_job(struct workload *workload, struct job *job, enum workload_hooks hooks,
			   enum unweave_model model)
{
	uint32_t index = (uint32_t)(job - workload->jobs);

	if (hooks == HOOKS_FLOOR_TASKS || hooks == HOOKS_FLOOR_FULL) {
		run_on_floor(job, index, hooks, model);
		return;
	}
	if (hooks == HOOKS_REAL) {
		if (model == UNWEAVE_MODEL_CHAIN)
			unweave_chain_run(&job->chain, UNWEAVE_RUN_LEAVE);
		else
			unweave_box_run(&job->box, UNWEAVE_RUN_LEAVE);
		return;
	}
	if (hooks == HOOKS_CLOCKS)
		bench_use(clock_ticks(BENCH_CLOCK));
	else if (hooks == HOOKS_LEAST)
		least_resume(index);
	run_directly(job, model);
	if (hooks == HOOKS_CLOCKS)
		bench_use(clock_ticks(BENCH_CLOCK));
	else if (hooks == HOOKS_LEAST)
		least_leave();
}

static inline void pretend_told(struct job *job, enum unweave_model model)
{
	if (model == UNWEAVE_MODEL_CHAIN)
		job->chain.head.told = job->chain.head.depth;
	else
		job->box.head.epoch = emit_epoch();
}

/* One loop for each way to run: `hooks` and `model` are constants in each. */
static inline __attribute__((always_inline)) void run(struct workload *workload, uint32_t runs,
						      uint32_t first, enum workload_hooks hooks,
						      enum unweave_model model)
{
	uint32_t slice = workload->slice, steps = workload->steps;
	uint32_t at = workload->at, round = first % slice;
	uint32_t idle = IDLE_EVERY;

	for (uint32_t i = 0; i < runs; i++) {
		uint32_t drawn = workload->order[at];
		struct job *job = &workload->jobs[drawn >> 3];

		step.job = job;
		step.rounds = workload->rounds[round];
		step.leaf = as_code(workload->leaves[job->root][drawn & 7]);
		run_job(workload, job, hooks, model);
		if (hooks == HOOKS_REAL && workload->pretend_told)
			pretend_told(job, model);
		at = at + 1 == steps ? 0 : at + 1;
		round = round + 1 == slice ? 0 : round + 1;
		if (--idle == 0) {
			idle = IDLE_EVERY;
			if (hooks == HOOKS_REAL)
				unweave_thread_idle();
		}
	}
	workload->at = at;
}

#define RUN_LOOP(name, hooks, model)                                                               \
	static __attribute__((noinline)) void name(struct workload *workload, uint32_t runs,       \
						   uint32_t first)                                 \
	{                                                                                          \
		run(workload, runs, first, hooks, model);                                          \
	}

RUN_LOOP(chain_bare, HOOKS_NONE, UNWEAVE_MODEL_CHAIN)
RUN_LOOP(chain_clocks, HOOKS_CLOCKS, UNWEAVE_MODEL_CHAIN)
RUN_LOOP(chain_least, HOOKS_LEAST, UNWEAVE_MODEL_CHAIN)
RUN_LOOP(chain_floor_tasks, HOOKS_FLOOR_TASKS, UNWEAVE_MODEL_CHAIN)
RUN_LOOP(chain_floor_full, HOOKS_FLOOR_FULL, UNWEAVE_MODEL_CHAIN)
RUN_LOOP(chain_real, HOOKS_REAL, UNWEAVE_MODEL_CHAIN)
RUN_LOOP(box_bare, HOOKS_NONE, UNWEAVE_MODEL_MACHINE)
RUN_LOOP(box_clocks, HOOKS_CLOCKS, UNWEAVE_MODEL_MACHINE)
RUN_LOOP(box_least, HOOKS_LEAST, UNWEAVE_MODEL_MACHINE)
RUN_LOOP(box_floor_tasks, HOOKS_FLOOR_TASKS, UNWEAVE_MODEL_MACHINE)
RUN_LOOP(box_floor_full, HOOKS_FLOOR_FULL, UNWEAVE_MODEL_MACHINE)
RUN_LOOP(box_real, HOOKS_REAL, UNWEAVE_MODEL_MACHINE)

void workload_pretend_told(struct workload *workload, bool pretend)
{
	workload->pretend_told = pretend;
}

double workload_run(struct workload *workload, enum workload_hooks hooks, uint32_t runs,
		    uint32_t first)
{
	static void (*const loops[2][6])(struct workload *, uint32_t, uint32_t) = {
		[UNWEAVE_MODEL_CHAIN] = {[HOOKS_NONE] = chain_bare,
					 [HOOKS_CLOCKS] = chain_clocks,
					 [HOOKS_LEAST] = chain_least,
					 [HOOKS_FLOOR_TASKS] = chain_floor_tasks,
					 [HOOKS_FLOOR_FULL] = chain_floor_full,
					 [HOOKS_REAL] = chain_real},
		[UNWEAVE_MODEL_MACHINE] = {[HOOKS_NONE] = box_bare,
					   [HOOKS_CLOCKS] = box_clocks,
					   [HOOKS_LEAST] = box_least,
					   [HOOKS_FLOOR_TASKS] = box_floor_tasks,
					   [HOOKS_FLOOR_FULL] = box_floor_full,
					   [HOOKS_REAL] = box_real},
	};
	uint64_t start = bench_cpu_ns();

	loops[workload->model][hooks](workload, runs, first);
	return (double)(bench_cpu_ns() - start) / runs;
}

static double quickest(struct workload *workload, double mean, struct rng *rng)
{
	double best = 0;

	draw_rounds(workload, mean, rng);
	for (int i = 0; i < 31; i++) {
		double ns = workload_run(workload, HOOKS_NONE, workload->slice, 0);

		if (i == 0 || ns < best)
			best = ns;
	}
	return best;
}

void workload_calibrate(struct workload *workload, double ns, struct rng *rng)
{
	double few = 200, many = 1200;
	double at_few = quickest(workload, few, rng), at_many = quickest(workload, many, rng);
	double mean = few + (ns - at_few) * (many - few) / (at_many - at_few);

	draw_rounds(workload, mean > 1 ? mean : 1, rng);
}

void workload_introduce(struct workload *workload)
{
	uint32_t at = workload->at;

	/* The first round of the order is one run of every task. */
	workload->at = 0;
	workload_run(workload, HOOKS_REAL, workload->count, 0);
	workload->at = at;
}
