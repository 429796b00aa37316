/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's tasks of the chain model. */
#include "random.h"

#include <stdlib.h>
#include <string.h>

struct frame {
	struct unweave_link link;
	bool catches;
};

static int chain_go(struct unweave_link *link, void *context);

static void push_frame(struct chain_task *task, struct frame *frame, uint32_t choice, bool catches)
{
	bool own = choice % 7 == 0;

	unweave_link_init(&frame->link, chain_go,
			  own ? NULL : (const void *)(uintptr_t)address_of(choice / 8),
			  state_of(choice));
	frame->catches = catches;
	unweave_chain_push(&task->chain, &frame->link);
	/* Pushed outwards: the first is the innermost. */
	known_append(
		&task->pushed,
		&(struct known_chain){
			.frames = &(struct known_frame){.address = own ? (uintptr_t)chain_go
								       : address_of(choice / 8),
							.state = state_of(choice),
							.catches = catches,
							.link = &frame->link},
			.count = 1});
}

/* One time in four there are many: more than there are anchors, or a handful of words. */
static uint32_t frames_of(uint32_t choice)
{
	return choice % 4 ? 1 + choice / 4 % 5 : 1 + choice / 4 % 90;
}

/* Those that catch errors are near to each other, or far apart, or there are none. */
void chain_push_some(struct chain_task *task, const struct op *op)
{
	static const uint32_t distances[] = {2, 7, 60, UINT32_MAX};
	uint32_t distance = distances[op->c / 16 % 4];
	uint32_t count = frames_of(op->a);

	if (task->known.count + task->pushed.count + count > CHAIN_MOST)
		count = 1;
	for (uint32_t i = 0; i < count; i++) {
		struct frame *frame = malloc(sizeof(*frame));

		if (!frame)
			abort();
		push_frame(task, frame, op->b + i * 37, i % distance == distance - 1);
	}
}

static void join_pushed(struct chain_task *task)
{
	known_join(&task->known, &task->pushed);
	task->pushed.count = 0;
}

static int catches(const struct unweave_link *link, const struct unweave_chain *chain)
{
	(void)chain;
	return ((const struct frame *)link)->catches;
}

/* Whoever looks at what was freed is to fall over it. */
static void forget(struct frame *frame)
{
	memset(frame, 0xdd, sizeof(*frame));
	free(frame);
}

static void unwound(struct unweave_link *link, struct unweave_chain *chain)
{
	struct chain_task *task = (struct chain_task *)chain;

	if (!task->unwound--)
		broke(self->world, "more continuations were taken off than there were");
	forget((struct frame *)link);
}

void chain_start(const struct op *op)
{
	struct chain_task *task = calloc(1, sizeof(*task));

	if (!task)
		abort();
	unweave_chain_init(&task->chain);
	task->chain.catches = catches;
	task->chain.unwound = unwound;
	chain_push_some(task, op);
	join_pushed(task);
	unweave_chain_start(&task->chain, (struct unweave_site *)site_of(op->c),
			    parent_of(op->c / 4));
	saw_create(self, task->chain.head.task, parent_of(op->c / 4), site_of(op->c), &task->known);
	pthread_mutex_lock(&self->world->lock);
	task->all = self->world->chains;
	self->world->chains = task;
	make_ready(self->world, READY_CHAIN, task);
	pthread_mutex_unlock(&self->world->lock);
}

static enum unweave_status status_of(enum unweave_step step)
{
	return step == UNWEAVE_STEP_DONE        ? UNWEAVE_OK
	       : step == UNWEAVE_STEP_CANCELLED ? UNWEAVE_CANCELLED
						: UNWEAVE_ERROR;
}

/* An error leaves a function that ran (`failed` 1) or the innermost that waits (0). */
static void saw_fault(struct chain_task *task, struct run *run, enum unweave_step fault,
		      uint32_t failed)
{
	task->unwound += task->pushed.count;
	task->pushed.count = 0;
	while (task->known.count && !task->known.frames[task->known.count - 1].catches) {
		task->known.count--;
		task->unwound++;
		failed++;
	}
	if (failed)
		saw_unwind(self, failed, task->known.count > 0);
	saw_places(self, run, failed);
	task->fault = fault;
	if (!task->known.count)
		saw_complete(self, run->task, status_of(fault));
}

/* What the function leaves to go on with: itself, what it pushed, or only who waits for it. */
static void chain_waits(struct chain_task *task, struct frame *frame, const struct op *op)
{
	if (op->a % 3 == 0 || (!task->pushed.count && !task->known.count))
		push_frame(task, frame, op->b, op->c % 4 == 0);
	else
		forget(frame);
	join_pushed(task);
	task->fault = UNWEAVE_STEP_DONE;
	saw_suspend(self, task->chain.head.task, &task->known, task->left);
}

static void chain_returns(struct chain_task *task, struct frame *frame)
{
	struct run *run = &self->runs[self->run_count - 1];

	forget(frame);
	task->fault = UNWEAVE_STEP_DONE;
	saw(self, UNWEAVE_EVENT_FRAME_COMPLETE, innermost_task(self));
	saw_places(self, run, 1);
	if (!task->known.count)
		saw_complete(self, run->task, UNWEAVE_OK);
}

static int chain_go(struct unweave_link *link, void *context)
{
	struct chain_task *task = context;
	struct scope scope = {.sort = SCOPE_CHAIN, .chain = task};
	struct run *run = &self->runs[self->run_count - 1];
	enum outcome outcome;
	struct op op;

	if (!task->known.count || task->known.frames[task->known.count - 1].link != link)
		broke(self->world, "a continuation was run whose turn it was not");
	else
		task->known.count--;
	if (task->chain.fault != (uint32_t)task->fault)
		broke(self->world, "a continuation was given the wrong error to go on with");
	/* Of the first, the RESUME says it. */
	if (run->began)
		saw(self, UNWEAVE_EVENT_FRAME_RESUME, innermost_task(self));
	run->began = true;
	outcome = interpret(&scope, &op);
	if (outcome == OUTCOME_FAIL) {
		enum unweave_step fault = op.a % 3 ? UNWEAVE_STEP_ERROR : UNWEAVE_STEP_CANCELLED;

		forget((struct frame *)link);
		saw_fault(task, run, fault, 1);
		return (int)fault;
	}
	if (outcome == OUTCOME_RETURN && !task->pushed.count) {
		chain_returns(task, (struct frame *)link);
		return UNWEAVE_STEP_DONE;
	}
	chain_waits(task, (struct frame *)link, &op);
	return UNWEAVE_STEP_SUSPENDED;
}

void chain_run(struct chain_task *task, const struct op *op)
{
	struct run *run = enter_run(RUN_CHAIN, task->chain.head.task);
	enum unweave_step step;

	task->left = op->b % 3 == 0;
	saw_resume(self, run->task, &task->known);
	if (task->fault)
		saw_fault(task, run, task->fault, 0);
	step = unweave_chain_run(&task->chain, task->left ? UNWEAVE_RUN_LEAVE : 0);
	self->run_count--;
	if (task->unwound)
		broke(self->world, "fewer continuations were taken off than there were");
	if ((step == UNWEAVE_STEP_SUSPENDED) != (task->known.count > 0) ||
	    (step != UNWEAVE_STEP_SUSPENDED && step != task->fault))
		broke(self->world, "a run did not come to what it should have");
	task->done = step != UNWEAVE_STEP_SUSPENDED;
	if (!task->done)
		make_ready_locked(READY_CHAIN, task);
}

void chain_free(struct chain_task *task)
{
	struct unweave_link *link = task->chain.head.innermost;

	if (!task->done)
		unweave_task_complete(task->chain.head.task, UNWEAVE_CANCELLED);
	while (link) {
		struct unweave_link *next = link->awaiter;

		free(link);
		link = next;
	}
	known_fini(&task->known);
	known_fini(&task->pushed);
	free(task);
}
