/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planted [--threads N] [--cpu SECONDS] [--seed N] ACCOUNT.json
 *
 * Each of 23 tasks has a chain of 1 to 200 functions, and burns CPU at up to five
 * levels of it, in a function for each of these places. A turn goes on with the
 * innermost function, and from one to the next that awaits it up to a level drawn
 * at random; that one has its callees called again, and waits. Slices have random
 * lengths too, so that no timer can keep step with them.
 *
 * What it cost is counted by the thread's CPU clock, so that it does not matter
 * what else the machine does, and written as JSON at the end, with the logical
 * stack of each place: docs/truth.md.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "planted.h"

#define THREADS_MAX 16
#define SLICE_NS 60000 /* of weight 1 */

/* A function that waits, as one of a chain or of a state machine. */
struct frame {
	struct unweave_box box; /* first; a chain uses its link only */
	struct task *task;
	unsigned level; /* 0: innermost */
};

struct task {
	struct unweave_chain chain;
	struct unweave_site site;
	struct frame *frames;
	struct task *inner; /* runs inside of this one, at its second planted level */
	struct task *outer;
	bool machine;
	bool recursive; /* every other function, or all of a short chain, is walk() */
	bool finish;    /* the outermost function returns, if it is reached */
	unsigned number, depth;
	unsigned levels[LEVELS], level_count; /* those that burn */
	unsigned reach;                       /* the level at which this turn ends */
	uint64_t random;
	char name[8];
};

static struct task tasks[TASKS];
static struct task *idle[TASKS]; /* those that no thread runs */
static unsigned idle_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t budget_ns = 1000000000, spent_ns;
static uint64_t in_loop_ns, alone_ns; /* the latter by one thread only */
static bool over;

static unsigned draw(uint64_t *random, unsigned below)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*random >> 33) % below;
}

static uint64_t slice(uint64_t *random, unsigned weight)
{
	return weight * (SLICE_NS / 2 + draw(random, SLICE_NS));
}

/* The plan: which task has which chain */

/* No two places have the same weight for a simple reason such as being innermost. */
static unsigned weight_of(const struct task *task, unsigned planted)
{
	return 1 + (task->number * 3 + planted * 7) % 5;
}

static unweave_go function_of(const struct task *task, unsigned level)
{
	if (task->recursive && (level % 2 || task->depth < 20))
		return walk;
	return functions[(task->number * 37 + level) % FUNCTIONS];
}

static void plan_levels(struct task *task)
{
	unsigned wanted[] = {0, 1, task->depth / 2, task->depth - 2, task->depth - 1};

	for (unsigned i = 0; i < LEVELS; i++)
		if (wanted[i] < task->depth &&
		    (!task->level_count || wanted[i] > task->levels[task->level_count - 1]))
			task->levels[task->level_count++] = wanted[i];
}

static void plan(unsigned number, bool machine, unsigned depth, bool recursive, int outer,
		 uint64_t seed)
{
	struct task *task = &tasks[number];

	task->number = number;
	task->machine = machine;
	task->depth = depth;
	task->recursive = recursive;
	task->random = seed * 1000 + number;
	snprintf(task->name, sizeof(task->name), "T%u", number);
	task->site = (struct unweave_site){task->name, NULL, __func__, __FILE__, __LINE__, 0};
	plan_levels(task);
	task->frames = calloc(depth, sizeof(*task->frames));
	if (!task->frames)
		abort();
	for (unsigned i = 0; i < depth; i++) {
		task->frames[i].task = task;
		task->frames[i].level = i;
	}
	if (outer >= 0) {
		task->outer = &tasks[outer];
		tasks[outer].inner = task;
	} else {
		idle[idle_count++] = task;
	}
}

static void plan_all(uint64_t seed)
{
	static const struct {
		unsigned depth;
		bool recursive;
	} shapes[] = {{1, false},  {2, false}, {8, false},   {32, false},
		      {33, false}, {64, true}, {200, false}, {12, true}};

	for (unsigned i = 0; i < 16; i++)
		plan(i, i >= 8, shapes[i % 8].depth, shapes[i % 8].recursive, -1, seed);
	/* A chain in a state machine, and the other way round; then three in each other. */
	plan(16, true, 4, false, -1, seed);
	plan(17, false, 3, false, 16, seed);
	plan(18, false, 4, false, -1, seed);
	plan(19, true, 3, false, 18, seed);
	plan(20, false, 34, false, -1, seed);
	plan(21, true, 3, true, 20, seed);
	plan(22, false, 35, false, 21, seed);
}

/* The two models */

static void init_frame(struct frame *frame)
{
	unweave_box_init(&frame->box, function_of(frame->task, frame->level), NULL,
			 &frame->task->site);
	frame->box.link.state = (int32_t)frame->level + 1;
}

/* The functions up to `level` are called, and the innermost waits for something outside. */
static void call_chain(struct task *task, unsigned level)
{
	for (unsigned i = 0; i <= level; i++) {
		unweave_link_init(&task->frames[i].box.link, function_of(task, i), NULL,
				  (int32_t)i + 1);
		unweave_chain_push(&task->chain, &task->frames[i].box.link);
	}
}

/* The one at `level` is a box already. Awaits come before or after there is a task to be joined. */
static void call_boxes(struct task *task, unsigned level)
{
	bool late = draw(&task->random, 2);

	for (unsigned i = 0; i < level; i++)
		init_frame(&task->frames[i]);
	if (late || level == 0)
		unweave_box_suspend(&task->frames[0].box);
	for (unsigned i = 1; i <= level; i++)
		unweave_box_await(&task->frames[i].box, &task->frames[i - 1].box);
	if (!late && level > 0)
		unweave_box_suspend(&task->frames[0].box);
}

static void start(struct task *task)
{
	if (task->machine) {
		init_frame(&task->frames[task->depth - 1]);
		call_boxes(task, task->depth - 1);
		return;
	}
	unweave_chain_init(&task->chain);
	call_chain(task, task->depth - 1);
	unweave_chain_start(&task->chain, &task->site, UNWEAVE_PARENT_CURRENT);
}

/* One turn: it runs up to a level drawn at random. */
static __attribute__((noinline)) void turn(struct task *task)
{
	task->reach = task->levels[draw(&task->random, task->level_count)];
	task->finish = draw(&task->random, 2);
	if (task->machine) {
		unweave_task_wake(task->frames[0].box.head.task, UNWEAVE_SOURCE_TIMER);
		unweave_box_run(&task->frames[0].box, 0);
	} else {
		unweave_task_wake(task->chain.head.task, UNWEAVE_SOURCE_IO);
		unweave_chain_run(&task->chain, 0);
	}
	if (task->finish && task->reach == task->depth - 1)
		start(task);
}

/* Which of its burning levels this is, or LEVELS if it is none. */
static unsigned planted_at(const struct task *task, unsigned level)
{
	for (unsigned i = 0; i < task->level_count; i++)
		if (task->levels[i] == level)
			return i;
	return LEVELS;
}

/* Inside of a run of the outer task, in the middle of its function. */
static __attribute__((noinline)) void run_inner(struct task *task)
{
	turn(task);
	__asm__ volatile("");
}

static int end_step(struct task *task, struct frame *frame)
{
	bool waits =
		frame->level == task->reach && !(task->finish && frame->level == task->depth - 1);

	if (!task->machine) {
		if (waits)
			call_chain(task, frame->level);
		return waits ? UNWEAVE_STEP_SUSPENDED : UNWEAVE_STEP_DONE;
	}
	if (waits) {
		call_boxes(task, frame->level);
		return 0;
	}
	unweave_box_complete(&frame->box, UNWEAVE_OK);
	if (frame->level + 1 < task->depth)
		unweave_box_continue(&task->frames[frame->level + 1].box, &frame->box);
	return 0;
}

__attribute__((noinline)) int step(struct unweave_link *link, void *context)
{
	struct frame *frame = (struct frame *)link;
	struct task *task = frame->task;
	unsigned planted = planted_at(task, frame->level);

	(void)context;
	if (planted < LEVELS)
		burns[task->number][planted](slice(&task->random, weight_of(task, planted)));
	if (planted == 1 && task->inner)
		run_inner(task->inner);
	return end_step(task, frame);
}

/* Threads */

static struct task *take_idle(uint64_t *random, uint64_t spent)
{
	struct task *task = NULL;
	unsigned at;

	pthread_mutex_lock(&lock);
	spent_ns += spent;
	if (spent_ns >= budget_ns)
		__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	if (idle_count && !over) {
		at = draw(random, idle_count);
		task = idle[at];
		idle[at] = idle[--idle_count];
	}
	pthread_mutex_unlock(&lock);
	return task;
}

static void put_idle(struct task *task)
{
	pthread_mutex_lock(&lock);
	idle[idle_count++] = task;
	pthread_mutex_unlock(&lock);
}

static void *run_tasks(void *data)
{
	uint64_t random = (uintptr_t)data * 77, before = cpu_now();
	uint64_t own_ns = 0;
	struct task *task;

	while ((task = take_idle(&random, cpu_now() - before))) {
		before = cpu_now();
		turn(task);
		put_idle(task);
		burn_in_loop(slice(&random, 1) / 4, &own_ns);
	}
	pthread_mutex_lock(&lock);
	in_loop_ns += own_ns;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *run_alone(void *data)
{
	uint64_t random = (uintptr_t)data;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		burn_alone(slice(&random, 2), &alone_ns);
	return NULL;
}

static void run(unsigned threads)
{
	pthread_t ids[THREADS_MAX], alone;

	for (uintptr_t i = 1; i < threads; i++)
		if (pthread_create(&ids[i], NULL, run_tasks, (void *)(i + 1)) != 0)
			abort();
	if (threads > 1 && pthread_create(&alone, NULL, run_alone, (void *)9) != 0)
		abort();
	run_tasks((void *)1);
	for (unsigned i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	if (threads > 1)
		pthread_join(alone, NULL);
}

/* The account */

static void print_chain(FILE *file, const struct task *task, unsigned level)
{
	for (unsigned i = level; i < task->depth; i++) {
		if (function_of(task, i) == walk)
			fputs(", \"walk\"", file);
		else
			fprintf(file, ", \"f_%02x\"", (task->number * 37 + i) % FUNCTIONS);
	}
}

static void print_place(FILE *file, const struct task *task, unsigned planted)
{
	fprintf(file, "{\"task\": \"%s\", \"ns\": %llu, \"stack\": [\"burn_T%u_L%u\", \"step\"",
		task->name, (unsigned long long)burnt[task->number][planted], task->number,
		planted);
	print_chain(file, task, task->levels[planted]);
	for (; task->outer; task = task->outer) {
		fputs(", \"turn\", \"run_inner\", \"step\"", file);
		print_chain(file, task->outer, task->outer->levels[1]);
	}
	fputs("]},\n", file);
}

static bool print_account(const char *path, unsigned threads)
{
	FILE *file = fopen(path, "w");
	struct timespec cpu;

	if (!file)
		return false;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	fprintf(file, "{\"cpu_ns\": %llu, \"places\": [\n",
		(unsigned long long)cpu.tv_sec * 1000000000 + (unsigned long long)cpu.tv_nsec);
	for (unsigned t = 0; t < TASKS; t++)
		for (unsigned l = 0; l < tasks[t].level_count; l++)
			print_place(file, &tasks[t], l);
	if (threads > 1)
		fprintf(file, "{\"task\": null, \"ns\": %llu, \"stack\": [\"burn_alone\"]},\n",
			(unsigned long long)alone_ns);
	fprintf(file, "{\"task\": null, \"ns\": %llu, \"stack\": [\"burn_in_loop\"]}\n]}\n",
		(unsigned long long)in_loop_ns);
	return fclose(file) == 0;
}

int main(int argc, char **argv)
{
	unsigned long threads = 1, seed = 1;
	int at = 1;

	for (; at + 1 < argc - 1; at += 2) {
		if (strcmp(argv[at], "--threads") == 0)
			threads = strtoul(argv[at + 1], NULL, 10);
		else if (strcmp(argv[at], "--cpu") == 0)
			budget_ns = (uint64_t)(strtod(argv[at + 1], NULL) * 1e9);
		else if (strcmp(argv[at], "--seed") == 0)
			seed = strtoul(argv[at + 1], NULL, 10);
	}
	if (at + 1 != argc || threads < 1 || threads > THREADS_MAX) {
		fputs("usage: planted [--threads N] [--cpu SECONDS] [--seed N] ACCOUNT\n", stderr);
		return 2;
	}
	plan_all(seed);
	for (unsigned i = 0; i < TASKS; i++)
		start(&tasks[i]);
	run((unsigned)threads);
	return print_account(argv[at], (unsigned)threads) ? EXIT_SUCCESS : EXIT_FAILURE;
}
