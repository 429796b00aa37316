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
	const struct unweave_box *box;       /* the one that is the task; NULL once it is done */
	const struct unweave_box *current;   /* the one whose function runs */
	const struct unweave_box *completed; /* the last one that returned, and ... */
	const struct unweave_link *awaiter;  /* ... the one that may go on in here then */
	unsigned flags;                      /* UNWEAVE_RUN_* */
	enum unweave_status status;          /* of `completed` */
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

static uint64_t task_of(const struct unweave_box *box)
{
	return __atomic_load_n(&box->head.task, __ATOMIC_ACQUIRE);
}

/* Nobody may look at the boxes from here on: others go on with them, and let them go. */
static void hide(struct box_run *run)
{
	links_show(&run->run, (struct unweave_priv_view){.place = run->run.place});
	run->current = NULL;
}

/* The run is over for its task, though its functions have not returned yet. */
static void end_early(struct box_run *run)
{
	run->run.dispatch.task = 0;
	run->current = NULL;
	run->completed = NULL;
}

/* Nothing goes on any more in this run. */
static void complete_run(struct box_run *run)
{
	unweave_task_complete(run->run.dispatch.task, run->status);
	end_early(run);
}

/*
 * Whose chain a box is part of, for those that come to await it later; with this
 * bit it waits for that task too, but somebody else goes on in its chain. The bit
 * alone: it waits for a box that is in no task's chain yet.
 */
#define BESIDE (UINT64_C(1) << 63)

/* Known as long as one session lasts: what happened between two of them nobody noted. */
static uint64_t under_of(const struct unweave_box *box)
{
	return __atomic_load_n(&box->under_epoch, __ATOMIC_ACQUIRE) == emit_epoch()
		       ? __atomic_load_n(&box->under, __ATOMIC_ACQUIRE)
		       : 0;
}

static void set_under(struct unweave_box *box, uint64_t under)
{
	__atomic_store_n(&box->under, under, __ATOMIC_RELAXED);
	__atomic_store_n(&box->under_epoch, emit_epoch(), __ATOMIC_RELEASE);
}

/* It waits for nobody, and is in no run but its own. */
static void clear_under(struct unweave_box *box)
{
	if (box->under)
		__atomic_store_n(&box->under, 0, __ATOMIC_RELEASE);
}

/* For a chain that is just being told. */
static void set_all_under(struct unweave_link *link, uint64_t under)
{
	struct link_walk walk = {0};

	if (unweave_priv_off(unweave_priv_gate()))
		return;
	for (; link; link = link_next(&walk, link))
		set_under(box_of(link), under);
}

static void make_task(struct unweave_box *box)
{
	struct unweave_link *awaiter = __atomic_load_n(&box->link.awaiter, __ATOMIC_ACQUIRE);
	uint64_t task =
		links_new(box->site, UNWEAVE_MODEL_MACHINE, UNWEAVE_PARENT_CURRENT, &box->head);

	__atomic_store_n(&box->head.task, task, __ATOMIC_SEQ_CST);
	clear_under(box);
	set_all_under(awaiter, task);
	/* Whoever came to await it just now may not have seen that there is a task to tell of. */
	if (__atomic_load_n(&box->link.awaiter, __ATOMIC_SEQ_CST) != awaiter)
		box->head.epoch = 0;
}

/* A task that waited for a box goes on: whoever awaits it is in its own chain from now on. */
static void leave_under(struct unweave_box *box)
{
	/* Most have never waited for one: then there is nothing to write. */
	if (emit_likely(!box->under))
		return;
	clear_under(box);
	set_all_under(link_awaiter(&box->link), box->head.task);
}

/* A task's box waits. Its run ends, if it is the one under way here; else it began unseen. */
static void suspend_task(struct unweave_box *box, struct box_run *run)
{
	bool own = run && run->box == box;

	links_suspend(&box->head, UNWEAVE_MODEL_MACHINE, own && run->flags & UNWEAVE_RUN_LEAVE);
	if (own)
		end_early(run);
}

/* Returns whether it was running. */
static bool end_turn(struct unweave_head *head)
{
	bool running = head->turn & 1;

	head_end_turn(head);
	return running;
}

/* The box stops to wait. What is left of the chain that went on in here goes with it. */
static void stop(struct unweave_box *box)
{
	struct box_run *run = innermost_run();
	bool running = end_turn(&box->head);

	if (running && box->head.task)
		suspend_task(box, run);
	else if (run && run->current == box)
		complete_run(run);
}

static __attribute__((noinline)) void suspend_otherwise(struct unweave_box *box)
{
	/* Before the run that it went on in is over: that is where it comes from. */
	if (!box->head.task)
		make_task(box);
	stop(box);
}

void unweave_box_suspend(struct unweave_box *box)
{
	uint64_t gate = unweave_priv_gate();
	struct emit_thread *self = emit_self();
	struct box_run *run;

	/* Mostly the thread is up to date, and it is the task that runs here. */
	if (emit_unlikely(unweave_priv_off(gate) || self->hot.gate != gate))
		return suspend_otherwise(box);
	run = innermost_run();
	if (emit_unlikely(!run || run->box != box))
		return suspend_otherwise(box);
	head_end_turn(&box->head);
	links_suspend_now(self, gate, &box->head, UNWEAVE_MODEL_MACHINE,
			  run->flags & UNWEAVE_RUN_LEAVE);
	end_early(run);
}

/* Whoever awaits a task that is done: the chain that it had, as it turns out now. */
static void tell_late(struct unweave_box *box, struct unweave_box *child, bool first)
{
	uint64_t task = task_of(child);

	if (!task)
		task = under_of(child) & ~BESIDE;
	if (!task)
		return;
	if (first)
		links_append(RECORD_LATE, task, box->head.task, &child->link);
	else
		links_append(RECORD_AWAIT, task, box->head.task, &box->link);
}

/* The task's chain goes on with the box, or somebody else has that place already. */
static void tell(uint64_t task, struct unweave_box *box, bool first)
{
	if (task && task != box->head.task)
		links_append(first ? RECORD_APPEND : RECORD_AWAIT, task, box->head.task,
			     &box->link);
}

/*
 * The same for a task that the child was noted to be in the chain of. It may be over:
 * a box that has waited learns that only when it goes on.
 */
static void tell_under(uint64_t under, struct unweave_box *box, bool first)
{
	uint64_t task = under & ~BESIDE;

	if (task && !emit_task_is_over(task))
		tell(task, box, first && !(under & BESIDE));
}

/* Makes the box the one that goes on after `child`, unless there is one. */
static bool link_to(struct unweave_box *box, struct unweave_box *child)
{
	struct unweave_link *none = NULL;

	return __atomic_compare_exchange_n(&child->link.awaiter, &none, &box->link, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void unweave_box_await(struct unweave_box *box, struct unweave_box *child)
{
	uint64_t task = task_of(child), under = under_of(child) & ~BESIDE;
	bool first;

	if (box->head.task)
		unweave_task_waits(box->head.task, UNWEAVE_WAIT_TASK, task ? task : under);
	stop(box);
	/* Parents that come meanwhile are told to the task that it waits for. */
	box->head.epoch = 0;
	first = link_to(box, child);
	if (__atomic_load_n(&child->done, __ATOMIC_SEQ_CST)) {
		tell_late(box, child, first);
		return;
	}
	/* Only now that it is linked: a child that becomes a task meanwhile looks for that. */
	task = __atomic_load_n(&child->head.task, __ATOMIC_SEQ_CST);
	under = under_of(child);
	tell(task, box, first);
	/* If it waits itself, the chain of what it waits for goes on with this box too. */
	if (under & ~BESIDE && under != task)
		tell_under(under, box, first);
	else
		under = task;
	set_all_under(&box->link, under && first ? under : under | BESIDE);
}

void unweave_box_await_late(struct unweave_box *box, struct unweave_box *child)
{
	tell_late(box, child, link_to(box, child));
}

void unweave_box_watch(struct unweave_box *box, struct unweave_box *child)
{
	uint64_t task = task_of(child);

	if (task)
		tell(task, box, false);
	else
		tell_under(under_of(child), box, false);
}

/* The function that ran in `run` has returned, and the box may go any time now. */
static void complete_current(struct box_run *run, const struct unweave_box *box,
			     enum unweave_status status)
{
	struct unweave_link *awaiter = __atomic_load_n(&box->link.awaiter, __ATOMIC_ACQUIRE);

	if (status == UNWEAVE_OK)
		links_frame_complete(&run->run);
	else
		unweave_frame_unwind(run->run.dispatch.task, 1, awaiter != NULL);
	hide(run);
	links_advance(&run->run, 1);
	/* It may be in use again, for a call that goes on in here. */
	if (run->box == box)
		run->box = NULL;
	run->completed = box;
	run->awaiter = awaiter;
	run->status = status;
	/* Nothing goes on in this run that is not a task itself. */
	if (!awaiter || task_of(box_of(awaiter)))
		complete_run(run);
}

void unweave_box_complete(struct unweave_box *box, enum unweave_status status)
{
	struct box_run *run = innermost_run();

	end_turn(&box->head);
	/* First, so that who links itself from here on knows that it is late. */
	__atomic_store_n(&box->done, 1, __ATOMIC_SEQ_CST);
	if (run && run->current == box)
		complete_current(run, box, status);
	else if (box->head.task)
		unweave_task_complete(box->head.task, status);
}

/* The task is done with its run, unless its box said so, or waits without a word. */
static void finish_run(struct box_run *run)
{
	if (run->run.dispatch.task && run->completed)
		complete_run(run);
	else if (run->run.dispatch.task)
		unweave_task_suspend(run->run.dispatch.task);
	links_end(&run->run);
}

LINKS_DISPATCH void unweave_box_run(struct unweave_box *box, unsigned flags)
{
	struct box_run run;

	head_begin_turn(&box->head);
	if (unweave_priv_off(unweave_priv_gate())) {
		box->link.go(&box->link, NULL);
		return;
	}
	if (!box->head.task)
		make_task(box);
	else
		leave_under(box);
	run.box = box;
	run.current = box;
	run.completed = NULL;
	run.flags = flags;
	links_begin(&run.run, &box->head, UNWEAVE_MODEL_MACHINE, true);
	links_first_resume(&run.run);
	links_go_first(&box->link, NULL);
	finish_run(&run);
}

/* One function more of a run that is under way. */
static LINKS_DISPATCH void continue_in(struct box_run *run, struct unweave_box *box)
{
	run->current = box;
	run->completed = NULL;
	/* Of several that it waited for, the last to be noted need not be the last to complete. */
	if (under_of(box) != run->run.dispatch.task)
		set_all_under(&box->link, run->run.dispatch.task);
	links_show(&run->run, links_view(&box->link, run->run.place, true));
	links_frame_resume(&run->run);
	links_go(&run->run, &box->link, NULL);
}

LINKS_DISPATCH void unweave_box_continue(struct unweave_box *box, const struct unweave_box *child)
{
	struct box_run *run = innermost_run();

	if (run && !box->head.task && child && run->completed == child &&
	    run->awaiter == &box->link)
		continue_in(run, box);
	else
		unweave_box_run(box, 0);
}
