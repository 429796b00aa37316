/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What boxes do, as the oracle has it: which task each of them is, or is in the chain
 * of, and what of that is told. All under the lock.
 */
#include "random.h"

#include <stdlib.h>

/* The box and who awaits it, as an array. */
struct known_chain box_chain(const struct box *box)
{
	struct known_chain inward = {0}, chain = {0};

	for (; box; box = box->first)
		known_push(&inward, (struct known_frame){.address = box->address,
							 .state = box->box.link.state});
	for (uint32_t i = inward.count; i-- > 0;)
		known_push(&chain, inward.frames[i]);
	known_fini(&inward);
	return chain;
}

/* Whose chain the boxes from here outwards are in, from now on. */
static void joins(struct box *box, struct box_task *task, bool beside)
{
	for (; box; box = box->first) {
		box->within = task;
		box->beside = beside;
		box->noted = true;
	}
}

/* It is in no chain but its own. */
static void leaves(struct box *box)
{
	box->within = NULL;
	box->noted = false;
}

/* The box is a task from now on; the recorder was told of it just now, or is by the next call. */
void saw_box_create(struct box *box)
{
	struct box_task *task = calloc(1, sizeof(*task));

	if (!task)
		abort();
	task->all = self->world->box_tasks;
	self->world->box_tasks = task;
	task->id = box->box.head.task;
	task->known = box_chain(box);
	saw_create(self, task->id, UNWEAVE_PARENT_CURRENT, box->box.site, &task->known);
	box->own = task;
	leaves(box);
	joins(box->first, task, false);
}

static void saw_box_task_end(struct box_task *task, enum unweave_status status)
{
	saw_complete(self, task->id, status);
	task->dead = true;
}

/* The run of a box that the thread is in, as the state-machine model sees it. */
struct run *box_run_here(void)
{
	uint32_t at = self->run_count;

	while (at && self->runs[at - 1].sort == RUN_RAW)
		at--;
	if (!at || self->runs[at - 1].sort != RUN_BOX || self->runs[at - 1].ended)
		return NULL;
	return &self->runs[at - 1];
}

void saw_run_end(struct run *run)
{
	saw_box_task_end(run->of, run->status);
	run->ended = true;
}

/*
 * What the recorder knows of the chain must be so; but of who comes to await a box that
 * awaits several, only one of those is told.
 */
static void check_known(const struct box *box)
{
	struct known_chain chain = box_chain(box);
	const struct known_chain *known = &box->own->known;
	bool same = chain.count == known->count, several = false;

	for (const struct box *link = box; link; link = link->first)
		several = several || link->await_count > 1;
	for (uint32_t i = 0; same && i < chain.count; i++)
		same = chain.frames[i].address == known->frames[i].address &&
		       chain.frames[i].state == known->frames[i].state;
	if (!same && !several)
		broke(self->world, "the recorder is not told of all that is in a chain");
	known_fini(&chain);
}

/* The box's task ends its run here. */
static void saw_box_suspend(struct box *box)
{
	struct run *run = box_run_here();
	struct known_chain *known = &box->own->known;

	known->frames[known->count - 1].state = box->box.link.state;
	check_known(box);
	saw_suspend(self, box->own->id, known, box->left);
	run->ended = true;
}

/* The box stops: its own run ends, or what is left of the chain that it went on in. */
void saw_stop(struct box *box)
{
	struct run *run = box_run_here();

	if (!run || run->current != box)
		return;
	if (run->box == box)
		saw_box_suspend(box);
	else
		saw_run_end(run);
}

/* The one who awaits stands beside, in no chain of the task. */
static void saw_beside(struct box *box, const struct box_task *task)
{
	struct known_chain chain = box_chain(box);
	struct expected *expected = saw(self, UNWEAVE_EVENT_AWAIT, task->id);

	expected->other = box->own ? box->own->id : 0;
	saw_stack(expected, &chain);
	known_fini(&chain);
}

/* `box` is now at the root of the chain of `task`; or it awaits it too, and stands beside it. */
void saw_joined(struct box *box, struct box_task *task, bool first)
{
	struct known_chain chain;
	struct expected *expected;

	if (!task || task->dead || task == box->own)
		return;
	if (!first) {
		saw_beside(box, task);
		return;
	}
	chain = box_chain(box);
	expected = saw(self, UNWEAVE_EVENT_APPEND, task->id);
	expected->other = box->own ? box->own->id : 0;
	known_append(&task->known, &chain);
	saw_stack(expected, &task->known);
	known_fini(&chain);
}

void saw_late(struct box *box, struct box *child)
{
	const struct box_task *task = child->own ? child->own : child->within;
	bool first = !child->first;
	struct expected *expected;
	struct known_chain chain;

	if (first)
		child->first = box;
	if (!task)
		return;
	if (!first) {
		saw_beside(box, task);
		return;
	}
	chain = box_chain(child);
	expected = saw(self, UNWEAVE_EVENT_APPEND, task->id);
	expected->flags = UNWEAVE_EVENT_LATE;
	expected->other = box->own ? box->own->id : 0;
	saw_stack(expected, &chain);
	known_fini(&chain);
}

/* The one that `box`, which runs, is about to wait for is not done. */
void saw_await(struct box *box, struct box *child)
{
	struct box_task *within = child->within;
	bool beside = child->beside, first = !child->first;

	saw_stop(box);
	if (box->own)
		box->own->stale = true;
	if (first)
		child->first = box;
	saw_joined(box, child->own, first);
	if (within != child->own)
		saw_joined(box, within, first && !beside);
	joins(box, within ? within : child->own, (within && beside) || !first);
	box->awaits[box->await_count++] = child;
	box->pending++;
	box->state = BOX_AWAITS;
	child->awaiters[child->awaiter_count++] = box;
}

/* What the end of a box looks like to its run; or to its task, if it is not in it. */
void saw_box_end(struct box *box, enum unweave_status status)
{
	struct run *run = box_run_here();

	if (!run || run->current != box) {
		if (box->own)
			saw_box_task_end(box->own, status);
		return;
	}
	if (status == UNWEAVE_OK)
		saw(self, UNWEAVE_EVENT_FRAME_COMPLETE, innermost_task(self));
	else
		saw_unwind(self, 1, box->first != NULL);
	saw_places(self, run, 1);
	run->box = NULL;
	run->current = NULL;
	run->completed = box;
	run->next = box->first;
	run->status = status;
	if (!box->first || box->first->own)
		saw_run_end(run);
	else if (box->first->pending > 1)
		run->of->ending = true;
}

/* A run of the box begins: the recorder knew its task before, or it was made just now. */
void saw_box_begin(struct box *box)
{
	struct run *run = enter_run(RUN_BOX, box->box.head.task);

	if (!box->own) {
		saw_box_create(box);
	} else if (box->own->stale) {
		known_fini(&box->own->known);
		box->own->known = box_chain(box);
	}
	/* One that only ever awaited what was done has left nothing, and whoever awaits it stays.
	 */
	if (box->noted) {
		leaves(box);
		joins(box->first, box->own, false);
	}
	box->own->stale = false;
	check_known(box);
	run->of = box->own;
	run->box = run->current = box;
	saw_resume(self, run->task, &box->own->known);
}

/* It is one function more of the run that the thread is in. */
void saw_box_continue(struct box *box)
{
	struct run *run = box_run_here();

	saw(self, UNWEAVE_EVENT_FRAME_RESUME, innermost_task(self));
	if (!run) {
		broke(self->world, "a box went on in a run that is over");
		return;
	}
	run->current = box;
	run->completed = NULL;
	if (box->within != run->of || box->beside)
		joins(box, run->of, false);
}
