/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state-machine model. A run is of the box that is a task; the boxes that go
 * on when it completes are further functions of that run.
 */
#include "unweave/machine.h"

#include "emit/links.h"

/* A run, on the stack of unweave_box_run(). Its boxes may be gone before it ends: they are only
 * compared. */
struct box_run {
	struct unweave_priv_dispatch dispatch; /* its task is 0 once it has ended */
	const struct unweave_box *box;         /* the one that is the task */
	const struct unweave_box *current;     /* the one whose function runs */
	const struct unweave_box *completed;   /* the one whose awaiters may go on in here */
	uint32_t place;
	unsigned flags;
	bool box_done;
	enum unweave_status status; /* of the box, if it is done */
	bool shown;
};

/* The run that this thread is in, unless something of the other model is inside of it. */
static struct box_run *innermost_run(void)
{
	struct unweave_priv_dispatch *dispatch = dispatch_innermost();

	if (!dispatch || dispatch->model != UNWEAVE_MODEL_MACHINE || !dispatch->task)
		return NULL;
	return (struct box_run *)dispatch;
}

static struct unweave_box *box_of(struct unweave_link *link)
{
	return (struct unweave_box *)link;
}

/* The awaiter stays within reach: it may come only while the box runs. */
static struct unweave_priv_view live_view(struct unweave_box *box, uint32_t place)
{
	struct unweave_priv_view view = view_of(&box->link, place);

	view.link = &box->link;
	return view;
}

/* The run is over for its task, though its functions have not returned yet. */
static void end_early(struct box_run *run)
{
	run->dispatch.task = 0;
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

	links_suspend(own && run->flags & UNWEAVE_RUN_LEAVE ? RECORD_LEAVE : RECORD_SUSPEND,
		      &box->head);
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
	if (box->head.task)
		suspend_task(box, innermost_run());
	if (kind == RECORD_APPEND)
		__atomic_store_n(&child->link.awaiter, &box->link, __ATOMIC_RELEASE);
	if (task)
		links_append(kind, task, box->head.task, &box->link);
	/* It waits itself: the chain of what it waits for goes on with this box too. */
	if (under && under != task)
		links_append(kind, under, box->head.task, &box->link);
}

/* The function that ran in `run` has returned, and the box may go any time now. */
static void complete_current(struct box_run *run, struct unweave_box *box,
			     enum unweave_status status)
{
	struct unweave_link *awaiter = box->link.awaiter;

	if (status == UNWEAVE_OK)
		links_frame_complete(run->dispatch.task);
	else
		unweave_frame_unwind(run->dispatch.task, 1, awaiter != NULL);
	dispatch_show(&run->dispatch, view_of(&box->link, run->place));
	run->place = links_advance(run->dispatch.task, run->place, 1);
	run->current = NULL;
	run->completed = box;
	if (run->box != box)
		return;
	run->box_done = true;
	run->status = status;
	/* Nothing goes on in this run that is not a task itself. */
	if (!awaiter || box_of(awaiter)->head.task) {
		unweave_task_complete(run->dispatch.task, status);
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
	uint64_t task = run->dispatch.task;

	if (task && run->box_done)
		unweave_task_complete(task, run->status);
	else if (task)
		unweave_task_suspend(task);
	if (run->shown)
		dispatch_end(&run->dispatch);
}

void unweave_box_run(struct unweave_box *box, unsigned flags)
{
	struct box_run run = {.box = box, .current = box, .flags = flags};

	begin_turn(&box->head);
	box->under = 0;
	if (unweave_priv_off(unweave_priv_gate())) {
		box->link.go(&box->link, NULL);
		return;
	}
	if (!box->head.task)
		make_task(box);
	run.dispatch.views[0] = live_view(box, 0);
	run.shown = dispatch_begin(&run.dispatch, box->head.task, UNWEAVE_MODEL_MACHINE);
	links_resume(&box->head);
	links_frame_resume(run.dispatch.task, true);
	links_go(&box->link, NULL, 0);
	finish_run(&run);
}

/* One function more of a run that is under way. */
static void continue_in(struct box_run *run, struct unweave_box *box)
{
	const struct unweave_box *completed = run->completed;

	run->current = box;
	run->completed = NULL;
	box->under = 0;
	dispatch_show(&run->dispatch, live_view(box, run->place));
	links_frame_resume(run->dispatch.task, false);
	links_go(&box->link, NULL, run->place);
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
