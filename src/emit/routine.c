/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routine model. The links of a task are kept up to date at all times; a run,
 * where somebody records, shows the one that control is in. Control goes from one
 * routine to the other, and from one task to the other, without a call or a return:
 * so a run is a place on the stack, below an anchor, and tasks take turns in it.
 */
#include "unweave/routine.h"

#include "emit/cause.h"
#include "emit/links.h"

/* A place where routines run. They may be gone before it ends: roots are only compared. */
struct routine_run {
	struct links_run run; /* its task is 0 while none runs; `place`: anchors inside the first */
	const struct unweave_routine *root; /* of that task */
	struct unweave_routine *current;    /* that runs; NULL: it is done */
	uint64_t last;                      /* the task that ran here before */
	unsigned flags;                     /* UNWEAVE_RUN_* */
};

/*
 * The place that this thread is at, unless something of another model is inside of it, or it was
 * begun while nobody recorded. What it shows is kept up to date also while nobody does: the next
 * session looks there.
 */
static inline struct routine_run *innermost_run(void)
{
	struct links_run *run = links_innermost();

	return run && run->dispatch.model == LINKS_ROUTINE ? (struct routine_run *)run : NULL;
}

/* Whether a task of this root runs there. */
static inline bool is_of(const struct routine_run *run, const struct unweave_routine *root)
{
	return run && run->run.dispatch.task && run->root == root;
}

static struct unweave_routine *routine_of(struct unweave_link *link)
{
	return (struct unweave_routine *)link;
}

/* Its task is over for this place, whose functions have not returned yet. */
static void end_early(struct routine_run *run)
{
	run->last = run->run.dispatch.task;
	run->run.dispatch.task = 0;
	run->root = NULL;
	run->current = NULL;
}

/* The task waits, though nobody said so: its routines may be gone. */
static void end_quietly(struct routine_run *run)
{
	unweave_task_suspend(run->run.dispatch.task);
	end_early(run);
}

/* What ran is off the chain, and its frame may go, but it still is what runs. */
static void show_without_link(struct routine_run *run, struct unweave_link *rest)
{
	struct unweave_priv_view view = run->run.dispatch.views[run->run.dispatch.shown];

	view.rest = (uintptr_t)rest;
	links_show(&run->run, view);
	run->current = NULL;
}

/* What is innermost in the chain is not as it was told. */
static void forget_told(struct unweave_head *head)
{
	if (head->told >= head->depth)
		head->told = head->depth - 1;
}

static void set_line(struct unweave_routine *routine, struct unweave_head *head, uint32_t line)
{
	int32_t state = UNWEAVE_STATE_LINE | (int32_t)(line & (UNWEAVE_STATE_LINE - 1));

	if (!line || state == routine->link.state)
		return;
	routine->link.state = state;
	forget_told(head);
}

/* Takes the routine out of its chain, which it does not touch. */
static void let_go(struct unweave_routine *routine)
{
	__atomic_store_n(&routine->link.awaiter, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&routine->head.task, 0, __ATOMIC_RELAXED);
	routine->root = NULL;
}

/* Makes a routine, which is not part of a task, the root of one that there may be. */
static void make_root(struct unweave_routine *routine)
{
	routine->head.innermost = &routine->link;
	routine->head.depth = 1;
	routine->head.told = 0;
	routine->head.epoch = 0;
	routine->root = routine;
}

/*
 * Makes the routine the innermost of its chain: whatever it waited for, it goes on, or
 * ends, without that. The turn is odd.
 */
static void give_up_children(struct unweave_routine *routine)
{
	struct unweave_head *head = &routine->root->head;
	struct routine_run *run = innermost_run();
	struct unweave_link *link = head->innermost;
	uint32_t given_up = 0;

	if (is_of(run, routine->root))
		show_without_link(run, &routine->link);
	head->innermost = &routine->link;
	for (; link && link != &routine->link; given_up++) {
		struct unweave_routine *child = routine_of(link);

		link = link->awaiter;
		let_go(child);
	}
	head->depth -= given_up;
	forget_told(head);
}

/* Begins to change the chain. Returns whether its task runs. */
static bool open_chain(struct unweave_routine *routine)
{
	struct unweave_head *head;
	bool running;

	if (!routine->root)
		make_root(routine);
	head = &routine->root->head;
	running = head->turn & 1;
	head_begin_turn(head);
	if (emit_unlikely(head->innermost != &routine->link))
		give_up_children(routine);
	return running;
}

static void close_chain(struct unweave_head *head, bool running)
{
	if (!running)
		head_end_turn(head);
}

/* Takes the innermost routine off the chain; it is not the root. */
static void take_off(struct unweave_routine *routine)
{
	struct unweave_head *head = &routine->root->head;

	head->innermost = routine->link.awaiter;
	head->depth--;
	/* One more than need be, so that the next resume tells that the chain is shorter. */
	forget_told(head);
	let_go(routine);
}

static struct unweave_site *site_of(const struct unweave_routine *root)
{
	struct cause *cause;

	if (root->site)
		return root->site;
	cause = cause_find(
		&(struct unweave_priv_way){.kind = "coroutine", .code = root->link.code});
	return cause ? &cause->is->site : NULL;
}

/* Also one that is about to leave the place. */
uint64_t unweave_priv_routine_parent(void)
{
	const struct unweave_priv_nest *nest = emit_self()->hot.nest;
	const struct routine_run *run = innermost_run();

	if (run && !run->run.dispatch.task && run->last)
		return run->last;
	return nest ? emit_innermost(nest) : 0;
}

static __attribute__((noinline)) void make_task(struct unweave_routine *root)
{
	uint64_t parent = root->parent ? root->parent : unweave_priv_routine_parent();
	uint64_t task = links_new(site_of(root), UNWEAVE_MODEL_MACHINE, parent, &root->head);
	struct unweave_link *link = root->head.innermost;

	for (; link; link = link->awaiter)
		__atomic_store_n(&routine_of(link)->head.task, task, __ATOMIC_RELEASE);
}

/* The routine goes on: where it waited counts no more. */
static void leave_line(struct unweave_routine *routine)
{
	routine->link.state = UNWEAVE_STATE_LINE;
	forget_told(&routine->root->head);
}

/* What runs there: nobody knows in which line. */
static void show(struct routine_run *run, struct unweave_routine *routine)
{
	struct unweave_priv_view view = links_view(&routine->link, run->run.place, true);

	view.state = UNWEAVE_STATE_LINE;
	run->current = routine;
	links_show(&run->run, view);
}

/* Goes on with another routine of the task that runs here. */
static void go_on_in(struct routine_run *run, struct unweave_routine *routine)
{
	/* First: the line is in the chain of what was shown before. */
	show(run, routine);
	leave_line(routine);
	links_frame_resume(&run->run);
}

/* Begins a run of a task in a place where none runs. */
static void begin_in_place(struct routine_run *run, struct unweave_routine *routine)
{
	struct unweave_head *head = &routine->root->head;
	struct links_run *place = &run->run;

	if (!head->task)
		make_task(routine->root);
	show(run, routine);
	run->root = routine->root;
	/* A signal handler takes it for the run of this task from here on, and not before. */
	__atomic_store_n(&place->dispatch.task, head->task, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (place->gate != unweave_priv_gate())
		links_look_again(place);
	if (emit_likely(place->self->hot.gate == place->gate))
		links_resume(place->self, place->gate, head, LINKS_ROUTINE);
	else
		unweave_task_resume(head->task);
	leave_line(routine);
}

/* Control comes to the routine, without a call. */
static void go_on(struct unweave_routine *routine)
{
	struct routine_run *run = innermost_run();

	open_chain(routine);
	if (is_of(run, routine->root))
		return go_on_in(run, routine);
	if (run && !run->run.dispatch.task)
		return begin_in_place(run, routine);
	/* In the place of its caller: a part of what that does, until it returns there. */
	leave_line(routine);
}

/* After a function that was called from inside of the run has returned. */
static void settle_nested(struct routine_run *run)
{
	run->run.place--;
	if (!run->run.dispatch.task)
		return;
	if (run->current)
		return end_quietly(run);
	/* What it was called for is done, and whoever called it for that is what runs. */
	show(run, routine_of(run->root->head.innermost));
}

/* One function more of the run that is under way. */
static LINKS_DISPATCH __attribute__((noinline)) int
run_nested(struct routine_run *run, struct unweave_routine *routine, void *context)
{
	int result;

	open_chain(routine);
	run->run.place++;
	go_on_in(run, routine);
	result = links_go(&run->run, &routine->link, context);
	settle_nested(run);
	return result;
}

/* Inside of the chain of what runs here; it comes back to where it was. */
static LINKS_DISPATCH __attribute__((noinline)) int run_generator(struct unweave_routine *routine,
								  void *context)
{
	struct routine_run *run = innermost_run();
	struct unweave_routine *caller;
	int result;

	if (!run || !run->run.dispatch.task || !run->current)
		return routine->link.go(&routine->link, context);
	caller = run->current;
	routine->link.awaiter = &caller->link;
	run->run.place++;
	show(run, routine);
	result = links_go(&run->run, &routine->link, context);
	run->run.place--;
	if (run->run.dispatch.task)
		show(run, caller);
	return result;
}

static LINKS_DISPATCH __attribute__((noinline)) int run_seen(struct unweave_routine *routine,
							     void *context, unsigned flags)
{
	struct unweave_routine *root;
	struct routine_run run;
	int result;

	open_chain(routine);
	root = routine->root;
	if (!root->head.task)
		make_task(root);
	run.root = root;
	run.current = routine;
	run.last = 0;
	run.flags = flags;
	links_begin(&run.run, &root->head, LINKS_ROUTINE, true);
	run.run.dispatch.views[run.run.dispatch.shown].state = UNWEAVE_STATE_LINE;
	leave_line(routine);
	links_first_resume(&run.run);
	result = links_go_first(&routine->link, context);
	if (run.run.dispatch.task)
		end_quietly(&run);
	links_end(&run.run);
	return result;
}

LINKS_DISPATCH int unweave_routine_run(struct unweave_routine *routine, void *context,
				       unsigned flags)
{
	struct routine_run *run;

	if (emit_unlikely(routine->flags & UNWEAVE_ROUTINE_GENERATOR))
		return run_generator(routine, context);
	run = innermost_run();
	if (routine->root && is_of(run, routine->root))
		return run_nested(run, routine, context);
	/* Inside of a run that is shown it is, too: else what is in here would be taken for that.
	 */
	if (run || !unweave_priv_off(unweave_priv_gate()))
		return run_seen(routine, context, flags);
	open_chain(routine);
	leave_line(routine);
	return routine->link.go(&routine->link, context);
}

int unweave_routine_call(struct unweave_routine *parent, struct unweave_routine *child,
			 uint32_t line)
{
	struct unweave_head *head;
	bool running;

	if (child->root || child->done || child == parent || parent->done ||
	    (parent->flags | child->flags) & UNWEAVE_ROUTINE_GENERATOR)
		return 0;
	running = open_chain(parent);
	head = &parent->root->head;
	set_line(parent, head, line);
	child->root = parent->root;
	__atomic_store_n(&child->link.awaiter, &parent->link, __ATOMIC_RELEASE);
	__atomic_store_n(&child->head.task, head->task, __ATOMIC_RELEASE);
	head->innermost = &child->link;
	head->depth++;
	close_chain(head, running);
	return 1;
}

LINKS_DISPATCH void unweave_routine_switch(struct unweave_routine *to)
{
	struct routine_run *run;

	if (to)
		return go_on(to);
	run = innermost_run();
	/* The awaiter of one that completed, which nobody goes on with here. */
	if (run && run->run.dispatch.task && !run->current)
		unweave_routine_suspend(routine_of(run->root->head.innermost), 0);
}

LINKS_DISPATCH void unweave_routine_resumed(struct unweave_routine *routine)
{
	go_on(routine);
}

/* A session, or the thread, has changed since the run began, or there is none. */
static __attribute__((noinline)) void suspend_otherwise(struct unweave_routine *routine,
							uint32_t line)
{
	bool running = open_chain(routine);
	struct unweave_head *head = &routine->root->head;
	struct routine_run *run = innermost_run();
	bool own = is_of(run, routine->root);

	set_line(routine, head, line);
	if (!head->task) {
		make_task(routine->root);
		running = false;
	}
	/* Also if the run began unseen. */
	if (running)
		links_suspend(head, LINKS_ROUTINE, own && run->flags & UNWEAVE_RUN_LEAVE);
	if (own)
		end_early(run);
	head_end_turn(head);
}

LINKS_DISPATCH void unweave_priv_routine_suspend(struct unweave_routine *routine, uint32_t line)
{
	struct routine_run *run = innermost_run();
	struct unweave_head *head;

	/* Mostly it is what runs here, and nothing has changed since its run began. */
	if (emit_unlikely(!run || run->current != routine || !run->run.dispatch.task ||
			  run->run.gate != unweave_priv_gate() ||
			  run->run.self->hot.gate != run->run.gate))
		return suspend_otherwise(routine, line);
	head = &routine->root->head;
	set_line(routine, head, line);
	links_suspend_now(run->run.self, run->run.gate, head, LINKS_ROUTINE,
			  run->flags & UNWEAVE_RUN_LEAVE);
	end_early(run);
	head_end_turn(head);
}

void unweave_routine_await(struct unweave_routine *routine, const struct unweave_routine *other)
{
	uint64_t task = unweave_routine_task(routine), on = unweave_routine_task(other);

	if (!task || !on || task == on)
		return;
	unweave_task_waits(task, UNWEAVE_WAIT_TASK, on);
	links_append(RECORD_AWAIT, on, task, &routine->link);
}

/* The root is done, or goes: there is no task any more. */
static void end_task(struct unweave_routine *root, struct routine_run *run,
		     enum unweave_status status)
{
	uint64_t task = root->head.task;

	head_end_turn(&root->head);
	if (task)
		unweave_task_complete(task, status);
	if (is_of(run, root))
		end_early(run);
	let_go(root);
}

LINKS_DISPATCH void unweave_routine_complete(struct unweave_routine *routine,
					     enum unweave_status status)
{
	struct unweave_routine *root = routine->root;
	struct routine_run *run;
	bool running;

	routine->done = 1;
	if (!root)
		return;
	running = open_chain(routine);
	run = innermost_run();
	if (is_of(run, root) && status != UNWEAVE_OK)
		unweave_frame_unwind(run->run.dispatch.task, 1, routine != root);
	if (routine == root)
		return end_task(root, run, status);
	if (is_of(run, root)) {
		if (status == UNWEAVE_OK)
			links_frame_complete(&run->run);
		show_without_link(run, routine->link.awaiter);
	}
	take_off(routine);
	close_chain(&root->head, running);
}

LINKS_DISPATCH void unweave_routine_drop(struct unweave_routine *routine)
{
	struct unweave_routine *root = routine->root;
	struct routine_run *run;
	bool running;

	if (!root)
		return;
	running = open_chain(routine);
	run = innermost_run();
	if (routine == root)
		return end_task(root, run, UNWEAVE_CANCELLED);
	if (is_of(run, root) && run->current == routine) {
		links_frame_complete(&run->run);
		show_without_link(run, routine->link.awaiter);
	}
	take_off(routine);
	close_chain(&root->head, running);
}
