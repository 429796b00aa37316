/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routine model: coroutines whose frames outlive their calls, such as those
 * of C++20. unweave/coro.hpp and adapters/coro are made of it.
 *
 * A task is a *root*, a routine that nobody awaited when it began, and all that
 * is called from there: it lives from the root's first run, or wait, to its end.
 * Its chain are the routines that wait for each other, innermost first, each with
 * the line where it does. One routine of a task runs at a time; control goes from
 * one to the other by resuming it, inside of the other or later, or by transfer,
 * which leaves no frame on the stack. So the runtime calls, each *before* it lets
 * anybody else see what happened:
 *
 *     unweave_routine_call(p, child, line)  it awaits a child that has not begun
 *     unweave_routine_suspend(r, line)      it will wait for something outside
 *     unweave_routine_await(r, other)       what that is: a routine of another task
 *     unweave_routine_complete(r, status)   its body is done
 *     unweave_routine_drop(r)               its frame goes before that
 *
 * and, to go on,
 *
 *     unweave_routine_run(r, context, 0)    somebody resumes it
 *     unweave_routine_switch(r)             control is transferred to it
 *     unweave_routine_resumed(r)            its wait was over at once
 *
 * A routine that runs in the place of its caller, before its first suspension, is
 * part of what the caller does; it becomes a task when it first waits.
 *
 * Calls about the routines of one task must not overlap, as their runtime does not
 * let them anyway. While nobody records they keep the links up to date, a few
 * stores, so that who comes later finds every chain. Nothing here allocates or
 * locks. C++ exceptions must not leave a `go`.
 */
#ifndef UNWEAVE_ROUTINE_H
#define UNWEAVE_ROUTINE_H

#include "unweave/link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* It yields values to whoever resumes it, inside of whose chain it runs: never a task. */
#define UNWEAVE_ROUTINE_GENERATOR 1u

/* In the coroutine's frame. Private, but for `site`. */
struct unweave_routine {
	struct unweave_link link;
	struct unweave_routine *root; /* that has the head of its task; NULL: it has none */
	struct unweave_head head;     /* of the task, if it is a root; `task` also if not */
	struct unweave_site *site;    /* of that task; NULL: one that names its function */
	uint64_t parent;              /* of that task: what ran where it was made; 0: not known */
	uint32_t flags;               /* UNWEAVE_ROUTINE_* */
	uint32_t done;
};

/* The task that whatever begins here comes from; 0: none. */
UNWEAVE_API uint64_t unweave_priv_routine_parent(void);

/*
 * For a coroutine that has not begun. `go` goes on with it, with the `context` of
 * unweave_routine_run(); `code` is an address in its function, which is shown.
 */
static inline void unweave_routine_init(struct unweave_routine *routine, unweave_go go,
					const void *code, uint32_t flags)
{
	memset(routine, 0, sizeof(*routine));
	routine->link.go = go;
	routine->link.code = code;
	routine->link.state = UNWEAVE_STATE_LINE;
	routine->flags = flags;
	if (!unweave_priv_off(unweave_priv_gate()))
		routine->parent = unweave_priv_routine_parent();
}

/*
 * [hot] Somebody resumes it: calls `go` through an anchor, and returns what that
 * returns; the routine may be gone then. `flags` may be UNWEAVE_RUN_LEAVE. One that has
 * not begun and that nobody awaits is a new task, whose parent is the task in which it was made.
 */
UNWEAVE_API int unweave_routine_run(struct unweave_routine *routine, void *context, unsigned flags);

/*
 * Whether there is little to do: nobody records, nor did when something began that this thread
 * is still inside of, and the routine is the innermost of a chain.
 */
static inline int unweave_priv_routine_plain(const struct unweave_routine *routine)
{
	const struct unweave_priv_nest *nest = unweave_priv_self->nest;

	return unweave_priv_off(unweave_priv_gate()) && (!nest || !nest->dispatch) &&
	       routine->root && routine->root->head.innermost == &routine->link;
}

/*
 * [hot] While nobody records: notes that it goes on, and returns 1; then the caller is to resume
 * it as if there were no unweave. 0: unweave_routine_run() is to be called.
 */
static inline int unweave_routine_run_plainly(struct unweave_routine *routine)
{
	struct unweave_head *head;

	if (!unweave_priv_routine_plain(routine))
		return 0;
	head = &routine->root->head;
	__atomic_store_n(&head->turn, head->turn | 1, __ATOMIC_RELAXED);
	/* As head_begin_turn() has it: the turn, before what the run changes. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	routine->link.state = UNWEAVE_STATE_LINE;
	return 1;
}

/*
 * [hot] `parent` awaits `child`, in `line` of its source (0: not known), and goes on when it
 * is done. If the child has begun already, or is in a chain, nothing happens: see
 * unweave_routine_await(). Returns whether it is a call.
 */
UNWEAVE_API int unweave_routine_call(struct unweave_routine *parent, struct unweave_routine *child,
				     uint32_t line);

/*
 * [hot] Control is transferred to `to`, in place of what runs here: a child just
 * called, the awaiter of one that completed, or whatever else after
 * unweave_routine_suspend(), in which case it is a run of that one's task. NULL: to
 * nobody, so that what was to go on here waits.
 */
UNWEAVE_API void unweave_routine_switch(struct unweave_routine *to);

/*
 * [hot] It is about to wait, in `line` of its source (0: as said before, or not known). The
 * run of its task ends here. Also for the awaiter of one that completed, if it is to go on by
 * a queue.
 */
UNWEAVE_API void unweave_priv_routine_suspend(struct unweave_routine *routine, uint32_t line);

static inline void unweave_routine_suspend(struct unweave_routine *routine, uint32_t line)
{
	struct unweave_head *head;

	if (!unweave_priv_routine_plain(routine) || !routine->root->head.task) {
		unweave_priv_routine_suspend(routine, line);
		return;
	}
	head = &routine->root->head;
	if (line)
		routine->link.state = UNWEAVE_STATE_LINE | (int32_t)line;
	__atomic_store_n(&head->turn, head->turn + (head->turn & 1), __ATOMIC_RELEASE);
}

/* [hot] It does not wait after all, and goes on here. */
UNWEAVE_API void unweave_routine_resumed(struct unweave_routine *routine);

/*
 * [hot] What it waits for, or is about to, is the end of `other`, of another task:
 * recorded as one that awaits that.
 */
UNWEAVE_API void unweave_routine_await(struct unweave_routine *routine,
				       const struct unweave_routine *other);

/* [hot] Its body is done; that of a root ends the task. */
UNWEAVE_API void unweave_routine_complete(struct unweave_routine *routine,
					  enum unweave_status status);

/*
 * [hot] Its frame is to be destroyed. If it was not done it is cancelled, and so is its
 * task if it is the root. Also takes back an unweave_routine_call() of a child
 * that has not begun.
 */
UNWEAVE_API void unweave_routine_drop(struct unweave_routine *routine);

/* The task that it is part of; 0: none. */
static inline uint64_t unweave_routine_task(const struct unweave_routine *routine)
{
	return __atomic_load_n(&routine->head.task, __ATOMIC_ACQUIRE);
}

#ifdef __cplusplus
}
#endif

#endif /* UNWEAVE_ROUTINE_H */
