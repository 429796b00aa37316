/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's tasks that have no model: hooks called by hand. */
#include "random.h"

#include <stdlib.h>

#define RAW_MOST 80u

/* Some frames, and how much of the chain stays below them; the chain is that then. */
static struct unweave_stack raw_stack(struct raw_task *task, const struct op *op,
				      uint64_t *addresses, int32_t *states)
{
	uint32_t count = op->b % 5 ? op->b / 5 % 4 : op->b / 5 % RAW_MOST;
	uint32_t keep = task->known.count ? op->c % (task->known.count + 1) : 0;
	bool stateful = op->c / 2 % 2;

	if (keep + count > CHAIN_MOST)
		keep = 0;
	for (uint32_t i = 0; i < count; i++) {
		addresses[i] = address_of(op->a + i);
		states[i] = state_of(op->a + i);
	}
	task->known.count = keep;
	for (uint32_t i = count; i-- > 0;)
		known_push(&task->known, (struct known_frame){.address = addresses[i],
							      .state = stateful ? states[i] : 0});
	return (struct unweave_stack){
		.addresses = addresses,
		.states = stateful ? states : NULL,
		.count = count,
		.keep = keep,
	};
}

void raw_start(const struct op *op)
{
	struct raw_task *task = calloc(1, sizeof(*task));
	enum unweave_model model = op->a % 2 ? UNWEAVE_MODEL_CHAIN : UNWEAVE_MODEL_MACHINE;
	uint64_t addresses[RAW_MOST];
	int32_t states[RAW_MOST];
	struct unweave_stack stack;

	if (!task)
		abort();
	if (op->a / 2 % 2)
		stack = raw_stack(task, op, addresses, states);
	task->task = unweave_task_new((struct unweave_site *)site_of(op->c), model,
				      parent_of(op->c / 4), op->a / 2 % 2 ? &stack : NULL);
	saw_create(self, task->task, parent_of(op->c / 4), site_of(op->c), &task->known);
	pthread_mutex_lock(&self->world->lock);
	task->all = self->world->raws;
	self->world->raws = task;
	make_ready(self->world, READY_RAW, task);
	pthread_mutex_unlock(&self->world->lock);
}

/* Ends a run in one of the three ways to wait. */
static void raw_waits(struct raw_task *task, const struct op *op)
{
	bool with = op->a % 2, left = op->a % 3 == 0;
	uint64_t addresses[RAW_MOST];
	int32_t states[RAW_MOST];
	struct unweave_stack stack;

	if (with)
		stack = raw_stack(task, op, addresses, states);
	if (left)
		unweave_task_leave(task->task, with ? &stack : NULL);
	else if (with)
		unweave_task_suspend_stack(task->task, &stack);
	else
		unweave_task_suspend(task->task);
	saw_suspend(self, task->task, &task->known, left);
	make_ready_locked(READY_RAW, task);
}

void raw_ends(struct raw_task *task, enum outcome outcome, const struct op *op)
{
	enum unweave_status status = UNWEAVE_OK;

	if (outcome == OUTCOME_WAIT) {
		raw_waits(task, op);
		return;
	}
	if (outcome == OUTCOME_FAIL)
		status = op->a % 3 ? UNWEAVE_ERROR : UNWEAVE_CANCELLED;
	task->done = true;
	unweave_task_complete(task->task, status);
	saw_complete(self, task->task, status);
}

void raw_run(struct raw_task *task, const struct op *op)
{
	struct scope scope = {.sort = SCOPE_RAW, .raw = task};
	uint64_t addresses[RAW_MOST];
	int32_t states[RAW_MOST];
	struct unweave_stack stack;
	enum outcome outcome;
	struct op last;

	if (op->b % 4 == 0) {
		stack = raw_stack(task, op, addresses, states);
		unweave_task_resume_stack(task->task, &stack);
	} else {
		unweave_task_resume(task->task);
	}
	saw_resume(self, task->task, &task->known);
	enter_run(RUN_RAW, task->task);
	outcome = interpret(&scope, &last);
	self->run_count--;
	raw_ends(task, outcome, &last);
}

void raw_append(struct raw_task *task, const struct op *op)
{
	struct raw_task more = {0};
	uint64_t addresses[RAW_MOST];
	int32_t states[RAW_MOST];
	struct unweave_stack stack = raw_stack(&more, op, addresses, states);

	if (task->known.count + stack.count > CHAIN_MOST)
		stack.count = more.known.count = 0;
	unweave_task_append(task->task, &stack);
	known_append(&task->known, &more.known);
	saw_stack(saw(self, UNWEAVE_EVENT_APPEND, task->task), &task->known);
	known_fini(&more.known);
}

void raw_mark(struct raw_task *task, const struct op *op)
{
	switch (op->a % 4) {
	case 0:
		unweave_frame_resume(task->task);
		saw(self, UNWEAVE_EVENT_FRAME_RESUME, innermost_task(self));
		break;
	case 1:
		unweave_frame_complete(task->task);
		saw(self, UNWEAVE_EVENT_FRAME_COMPLETE, innermost_task(self));
		break;
	case 2:
		unweave_frame_unwind(task->task, CHAIN_MOST + 1 + op->b, op->c % 2);
		saw_unwind(self, CHAIN_MOST + 1 + op->b, op->c % 2);
		break;
	case 3:
		unweave_anchor_reset(task->task);
		saw(self, UNWEAVE_EVENT_ANCHOR_RESET, innermost_task(self));
		break;
	}
}
