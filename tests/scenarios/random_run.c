/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor: threads that follow their operations, with one list of what is
 * ready to run. The oracle is told at each step, before or after the call that
 * makes the events; nothing else of the thread's comes in between.
 */
#include "random.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEST_MOST 4u /* runs inside of each other that operations make */
#define EAGER_MOST 6u

__thread struct worker *self;

struct unweave_site random_sites[3] = {
	{"alpha", "greek", "first", "random.c", 1, 0},
	{"beta", NULL, "second", "random.c", 2, 0},
	{NULL, NULL, "third", "random.c", 3, 0},
};

static char long_name[300];
static const char *const task_names[] = {"ada", "", "a name with blanks", long_name};

void broke(struct world *world, const char *what)
{
	if (!world->broken)
		world->broken = what;
}

const struct unweave_site *site_of(uint32_t choice)
{
	return choice % 4 < 3 ? &random_sites[choice % 4] : NULL;
}

uint64_t address_of(uint32_t choice)
{
	return 0x400000 + choice % 61 * 16;
}

int32_t state_of(uint32_t choice)
{
	static const int32_t states[] = {0, 0, 0, 1, 2, -1, INT32_MAX, INT32_MIN};

	return states[choice % 8];
}

uint64_t parent_of(uint32_t choice)
{
	if (choice % 3 == 0)
		return 0;
	return choice % 3 == 1 ? UNWEAVE_PARENT_CURRENT : innermost_task(self);
}

static bool next_op(struct op *ret)
{
	const struct program *program = self->world->program;

	while (self->next_op < program->count) {
		*ret = program->ops[self->next_op++];
		if (ret->thread % program->threads == self->number)
			return true;
	}
	*ret = (struct op){0};
	return false;
}

void make_ready(struct world *world, int sort, void *what)
{
	if (world->ready_count == sizeof(world->ready) / sizeof(world->ready[0])) {
		broke(world, "the list of what is ready is full");
		return;
	}
	world->ready[world->ready_count].sort = sort;
	world->ready[world->ready_count++].what = what;
}

void make_ready_locked(int sort, void *what)
{
	pthread_mutex_lock(&self->world->lock);
	make_ready(self->world, sort, what);
	pthread_mutex_unlock(&self->world->lock);
}

/* Takes one off the list; a box is as good as started then. */
static bool take_ready(uint32_t choice, struct ready *ret)
{
	struct world *world = self->world;
	bool any;

	pthread_mutex_lock(&world->lock);
	any = world->ready_count > 0;
	if (any) {
		uint32_t at = choice % world->ready_count;

		*ret = world->ready[at];
		world->ready[at] = world->ready[--world->ready_count];
	}
	pthread_mutex_unlock(&world->lock);
	return any;
}

struct run *enter_run(int sort, uint64_t task)
{
	struct run *run = &self->runs[self->run_count++];

	if (self->run_count == RUNS_MAX)
		abort();
	memset(run, 0, sizeof(*run));
	run->sort = sort;
	run->task = task;
	return run;
}

/* Operations that mean the same everywhere. */

static void run_some(const struct op *op)
{
	struct ready ready;

	if (self->nest_count >= NEST_MOST || !take_ready(op->a, &ready))
		return;
	switch (ready.sort) {
	case READY_CHAIN:
		chain_run(ready.what, op);
		break;
	case READY_BOX:
		box_run_ready(ready.what, op);
		break;
	case READY_RAW:
		raw_run(ready.what, op);
		break;
	}
}

static void fail_some(const struct op *op)
{
	struct chain_task *chain;
	struct ready ready;

	if (!take_ready(op->a, &ready))
		return;
	switch (ready.sort) {
	case READY_CHAIN:
		chain = ready.what;
		chain->fault = op->b % 2 ? UNWEAVE_STEP_ERROR : UNWEAVE_STEP_CANCELLED;
		unweave_chain_fail(&chain->chain, chain->fault);
		make_ready_locked(READY_CHAIN, chain);
		break;
	case READY_BOX:
		box_cancel(ready.what, op);
		break;
	case READY_RAW:
		raw_ends(ready.what, OUTCOME_FAIL, op);
		break;
	}
}

static void append_some(const struct op *op)
{
	struct ready ready;

	if (!take_ready(op->a, &ready))
		return;
	if (ready.sort == READY_RAW)
		raw_append(ready.what, op);
	make_ready_locked((int)ready.sort, ready.what);
}

static uint64_t task_of(const struct ready *ready)
{
	if (ready->sort == READY_CHAIN)
		return ((struct chain_task *)ready->what)->chain.head.task;
	if (ready->sort == READY_BOX)
		return ((struct box *)ready->what)->box.head.task;
	return ((struct raw_task *)ready->what)->task;
}

static void tell_of_some(const struct op *op)
{
	struct ready ready;
	uint64_t task;

	if (!take_ready(op->a, &ready))
		return;
	task = task_of(&ready);
	if (task && op->kind == OP_WAKE) {
		unweave_task_wake(task, (enum unweave_source)(op->b % 5));
		saw(self, UNWEAVE_EVENT_WAKE, task)->value = op->b % 5;
		self->log[self->log_count - 1].other = innermost_task(self);
	} else if (task) {
		unweave_task_name(task, task_names[op->b % 4]);
		saw(self, UNWEAVE_EVENT_NAME, task)->text = task_names[op->b % 4];
	}
	make_ready_locked((int)ready.sort, ready.what);
}

static void start_box(const struct op *op)
{
	struct box *box;

	pthread_mutex_lock(&self->world->lock);
	box = box_new(op->a, op->c);
	if (box)
		make_ready(self->world, READY_BOX, box);
	pthread_mutex_unlock(&self->world->lock);
}

static void do_anywhere(const struct op *op)
{
	switch (op->kind) {
	case OP_START_CHAIN:
		chain_start(op);
		break;
	case OP_START_BOX:
		start_box(op);
		break;
	case OP_START_RAW:
		raw_start(op);
		break;
	case OP_RUN:
		run_some(op);
		break;
	case OP_CALL:
		if (self->eager < EAGER_MOST)
			box_call(op->b % 4 ? 0 : op->b / 4 % 50, op->a, op->c);
		break;
	case OP_FAIL_WAITING:
		fail_some(op);
		break;
	case OP_WAKE:
	case OP_NAME:
		tell_of_some(op);
		break;
	case OP_IDLE:
		unweave_thread_idle();
		saw(self, UNWEAVE_EVENT_IDLE, 0);
		break;
	case OP_APPEND:
		append_some(op);
		break;
	default:
		break;
	}
}

/* Whether the operation ends the function that the thread is in. */
static bool ends(const struct scope *scope, const struct op *op, enum outcome *ret)
{
	if (scope->sort == SCOPE_OUTSIDE)
		return false;
	*ret = op->kind == OP_WAIT     ? OUTCOME_WAIT
	       : op->kind == OP_RETURN ? OUTCOME_RETURN
	       : op->kind == OP_FAIL   ? OUTCOME_FAIL
				       : OUTCOME_AWAIT;
	if (*ret != OUTCOME_AWAIT)
		return true;
	return op->kind == OP_AWAIT && scope->sort == SCOPE_BOX && box_await_some(scope->box, op);
}

enum outcome interpret(struct scope *scope, struct op *ret_op)
{
	enum outcome outcome;

	while (next_op(ret_op)) {
		if ((ret_op->a ^ ret_op->c) % 8 == 0)
			sched_yield();
		if (ends(scope, ret_op, &outcome))
			return outcome;
		if (ret_op->kind == OP_PUSH && scope->sort == SCOPE_CHAIN)
			chain_push_some(scope->chain, ret_op);
		else if (ret_op->kind == OP_MARK && scope->sort == SCOPE_RAW)
			raw_mark(scope->raw, ret_op);
		else
			do_anywhere(ret_op);
	}
	return scope->sort == SCOPE_RAW ? OUTCOME_WAIT : OUTCOME_RETURN;
}

/* The threads. */

static void *work(void *data)
{
	struct scope outside = {.sort = SCOPE_OUTSIDE};
	struct op op;

	self = data;
	self->tid = (uint32_t)syscall(SYS_gettid);
	pthread_barrier_wait(&self->world->start);
	interpret(&outside, &op);
	/* No thread ends before the last has begun: their numbers are all different. */
	pthread_barrier_wait(&self->world->end);
	return NULL;
}

void world_run(struct world *ret, const struct program *program)
{
	memset(ret, 0, sizeof(*ret));
	memset(long_name, 'x', sizeof(long_name) - 1);
	ret->program = program;
	pthread_mutex_init(&ret->lock, NULL);
	pthread_barrier_init(&ret->start, NULL, program->threads);
	pthread_barrier_init(&ret->end, NULL, program->threads);
	for (uint32_t i = 0; i < program->threads; i++) {
		ret->workers[i].world = ret;
		ret->workers[i].number = i;
		if (pthread_create(&ret->workers[i].pthread, NULL, work, &ret->workers[i]))
			abort();
	}
	for (uint32_t i = 0; i < program->threads; i++)
		pthread_join(ret->workers[i].pthread, NULL);
}

void world_fini(struct world *world)
{
	for (uint32_t i = 0; i < world->program->threads; i++) {
		struct worker *worker = &world->workers[i];

		for (uint32_t j = 0; j < worker->log_count; j++)
			free(worker->log[j].frames);
		free(worker->log);
	}
	for (struct chain_task *task; (task = world->chains);) {
		world->chains = task->all;
		chain_free(task);
	}
	for (struct raw_task *task; (task = world->raws);) {
		world->raws = task->all;
		if (!task->done)
			unweave_task_complete(task->task, UNWEAVE_CANCELLED);
		known_fini(&task->known);
		free(task);
	}
	boxes_free(world);
	pthread_barrier_destroy(&world->start);
	pthread_barrier_destroy(&world->end);
	pthread_mutex_destroy(&world->lock);
}
