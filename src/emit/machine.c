/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state-machine model. A run is of the box that is a task; the boxes that go
 * on when it completes are further functions of that run.
 */
#include "unweave/machine.h"

#include "emit/links.h"

/* A run of a box. Boxes may be gone before it ends: they are only compared. */
struct box_run {
	struct links_run run;                /* its task is 0 once it has ended */
	const struct unweave_box *box;       /* the one that is the task */
	const struct unweave_box *current;   /* the one whose function runs */
	const struct unweave_box *completed; /* the one whose awaiters may go on in here */
	unsigned flags;                      /* UNWEAVE_RUN_* */
	bool box_done;
	enum unweave_status status; /* of the box, if it is done */
};

/* The run that this thread is in, unless something of the other model is inside of it. */
static struct box_run *innermost_run(void)
{
	struct links_run *run = links_innermost();

	if (!run || run->dispatch.model != UNWEAVE_MODEL_MACHINE || !run->dispatch.task)
		return NULL;
	return (struct box_run *)run;
}

static struct unweave_box *box_of(struct unweave_link *link)
{
	return (struct unweave_box *)link;
}

/* The run is over for its task, though its functions have not returned yet. */
static void end_early(struct box_run *run)
{
	run->run.dispatch.task = 0;
}

static void make_task(struct unweave_box *box)
{
	box->head.task =
		links_new(box->site, UNWEAVE_MODEL_MACHINE, UNWEAVE_PARENT_CURRENT, &box->head);
}

/* A task's box waits. Its run ends, if it is the one under way here; else it began unseen. */
static void suspend_task(struct unweave_box *box, struct box_run *run)
{
	bool own = run && run->box == box;

	links_suspend(&box->head, own && run->flags & UNWEAVE_RUN_LEAVE);
	if (own)
		end_early(run);
}

static void begin_turn(struct unweave_head *head)
{
	__atomic_store_n(&head->turn, head->turn | 1, __ATOMIC_RELEASE);
}

static void end_turn(struct unweave_head *head)
{
	__atomic_store_n(&head->turn, head->turn + (head->turn & 1), __ATOMIC_RELEASE);
}

void unweave_box_suspend(struct unweave_box *box)
{
	end_turn(&box->head);
	if (!box->head.task)
		make_task(box);
	else
		suspend_task(box, innermost_run());
}

/* Whoever awaits a task that is done: the chain that it had, as it turns out now. */
static void await_late(struct unweave_box *box, struct unweave_box *child)
{
	if (!child->head.task)
		return;
	if (child->link.awaiter) {
		links_append(RECORD_AWAIT, child->head.task, box->head.task, &box->link);
		return;
	}
	child->link.awaiter = &box->link;
	links_append(RECORD_LATE, child->head.task, box->head.task, &child->link);
}

void unweave_box_await(struct unweave_box *box, struct unweave_box *child)
{
	uint64_t task = __atomic_load_n(&child->head.task, __ATOMIC_ACQUIRE);
	uint64_t under = __atomic_load_n(&child->under, __ATOMIC_ACQUIRE);
	unsigned kind = child->link.awaiter ? RECORD_AWAIT : RECORD_APPEND;

	if (__atomic_load_n(&child->done, __ATOMIC_ACQUIRE)) {
		await_late(box, child);
		return;
	}
	__atomic_store_n(&box->under, task ? task : under, __ATOMIC_RELEASE);
	end_turn(&box->head);
	if (box->head.task) {
		unweave_task_waits(box->head.task, UNWEAVE_WAIT_TASK, box->under);
		suspend_task(box, innermost_run());
	}
	if (kind == RECORD_APPEND)
		__atomic_store_n(&child->link.awaiter, &box->link, __ATOMIC_RELEASE);
	if (task)
		links_append(kind, task, box->head.task, &box->link);
	/* It waits itself: the chain of what it waits for goes on with this box too. */
	if (under && under != task)
		links_append(kind, under, box->head.task, &box->link);
}

/* The function that ran has returned, and the box may go any time now. */
static void complete_current(struct box_run *run, struct unweave_box *box,
			     enum unweave_status status)
{
	struct unweave_link *awaiter = box->link.awaiter;
	uint64_t task = run->run.dispatch.task;

	if (status == UNWEAVE_OK)
		links_frame_complete(&run->run);
	else
		unweave_frame_unwind(task, 1, awaiter != NULL);
	links_show(&run->run, links_view(&box->link, run->run.place, false));
	links_advance(&run->run, 1);
	run->current = NULL;
	run->completed = box;
	if (run->box != box)
		return;
	run->box_done = true;
	run->status = status;
	/* Nothing goes on in this run that is not a task itself. */
	if (!awaiter || box_of(awaiter)->head.task) {
		unweave_task_complete(task, status);
		end_early(run);
	}
}

void unweave_box_complete(struct unweave_box *box, enum unweave_status status)
{
	struct box_run *run = innermost_run();

	end_turn(&box->head);
	if (run && run->current == box)
		complete_current(run, box, status);
	else if (box->head.task)
		unweave_task_complete(box->head.task, status);
	__atomic_store_n(&box->done, 1, __ATOMIC_RELEASE);
}

/* The task is done with its run, unless its box said so, or waits without a word. */
static void finish_run(struct box_run *run)
{
	uint64_t task = run->run.dispatch.task;

	if (task && run->box_done)
		unweave_task_complete(task, run->status);
	else if (task)
		unweave_task_suspend(task);
	links_end(&run->run);
}

void unweave_box_run(struct unweave_box *box, unsigned flags)
{
	struct box_run run;

	begin_turn(&box->head);
	box->under = 0;
	if (unweave_priv_off(unweave_priv_gate())) {
		box->link.go(&box->link, NULL);
		return;
	}
	if (!box->head.task)
		make_task(box);
	run.box = box;
	run.current = box;
	run.completed = NULL;
	run.box_done = false;
	run.flags = flags;
	links_begin(&run.run, &box->head, UNWEAVE_MODEL_MACHINE, true);
	links_frame_resume(&run.run, true);
	links_go(&run.run, &box->link, NULL);
	finish_run(&run);
}

/* One function more of a run that is under way. */
static void continue_in(struct box_run *run, struct unweave_box *box)
{
	const struct unweave_box *completed = run->completed;

	run->current = box;
	run->completed = NULL;
	box->under = 0;
	links_show(&run->run, links_view(&box->link, run->run.place, true));
	links_frame_resume(&run->run, false);
	links_go(&run->run, &box->link, NULL);
	run->current = NULL;
	run->completed = completed;
}

void unweave_box_continue(struct unweave_box *box, const struct unweave_box *child)
{
	struct box_run *run = innermost_run();

	if (run && !box->head.task && child && run->completed == child)
		continue_in(run, box);
	else
		unweave_box_run(box, 0);
}
