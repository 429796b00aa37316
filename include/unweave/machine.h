/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state-machine model: functions that were cut into states run until they
 * wait, each in a box, and find out who awaits whom while they do.
 *
 * A box that waits for something that is not a box (a timer, a descriptor, a
 * yield) is a task, from then on until it completes, and the boxes that await it
 * are its chain. When it completes, the first that awaited it goes on inside its
 * run, unless that is a task itself; so do those that await that one. Where the
 * last of them has returned, or waits again, the task has completed, with the
 * status of the last that returned. The runtime calls, each *before* it lets
 * anybody else see what happened:
 *
 *     unweave_box_suspend(box)           it will wait for something outside
 *     unweave_box_await(box, child)      it will wait for another box
 *     unweave_box_complete(box, status)  its function has returned
 *
 * and, to go on,
 *
 *     unweave_box_run(box, flags)        as a task of its own, from a queue
 *     unweave_box_continue(box, child)   right here, where `child` completed
 *
 * A box needs no clean-up. Calls about one box must not overlap, as its runtime
 * does not let them anyway; but `child` may run elsewhere meanwhile, and others
 * may come to await it. Nothing here allocates or locks.
 *
 * An error takes one function after the other off the chain: each box that
 * completes with one is an unwind of one frame, handled if somebody awaits it.
 *
 * While a box awaits it must stay where it is. docs/integrating.md has a whole program.
 */
#ifndef UNWEAVE_MACHINE_H
#define UNWEAVE_MACHINE_H

#include "unweave/link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Put it first in an object of your own. The link's `state` is yours to set before each wait. */
struct unweave_box {
	struct unweave_link link;
	struct unweave_head head;
	uint64_t under;            /* private: the innermost task, but its own, that it waits for or
				    * goes on in the run of; with the rest, on one cache line */
	struct unweave_site *site; /* of its task; may be NULL */
	/* Private: */
	uint32_t under_epoch; /* in which `under` was noted */
	uint32_t done;
};

/*
 * A box for a call of a function; also to use one again. `go` gets NULL as its context, and what it
 * returns is not looked at. `code` is as in a link.
 */
static inline void unweave_box_init(struct unweave_box *box, unweave_go go, const void *code,
				    struct unweave_site *site)
{
	memset(box, 0, sizeof(*box));
	box->link.go = go;
	box->link.code = code;
	box->head.innermost = &box->link;
	box->site = site;
}

/*
 * [hot] Runs a box that waited, as a task; also one that never ran and is to be a
 * task at once. `flags` may be UNWEAVE_RUN_LEAVE.
 */
UNWEAVE_API void unweave_box_run(struct unweave_box *box, unsigned flags);

/*
 * [hot] Runs a box whose wait for `child` is over: in the run of `child`, if that
 * is still under way here and the box was the first to await it; else as a task.
 */
UNWEAVE_API void unweave_box_continue(struct unweave_box *box, const struct unweave_box *child);

/* [hot] The box is about to wait for something outside. Its run, if it is a task's, ends here. */
UNWEAVE_API void unweave_box_suspend(struct unweave_box *box);

/*
 * [hot] The box is about to wait for `child`, until that is done; also for several
 * at once, until all are. If it completes before the runtime could register
 * the box, continue it. A box that will go on in another place than where `child`
 * completes, by a queue, says unweave_box_suspend() first: it is a task of its own.
 */
UNWEAVE_API void unweave_box_await(struct unweave_box *box, struct unweave_box *child);

/* [hot] The box would have waited for `child`, which has completed already: so it goes on. */
UNWEAVE_API void unweave_box_await_late(struct unweave_box *box, struct unweave_box *child);

/*
 * [hot] The box, which unweave_box_suspend() was called for, may go on when `child`
 * is done, but also without that: it waits for the first of several, or has a
 * timeout. So it is recorded as one that awaits, but is in no chain of `child`.
 */
UNWEAVE_API void unweave_box_watch(struct unweave_box *box, struct unweave_box *child);

/* [hot] The box's function has returned. */
UNWEAVE_API void unweave_box_complete(struct unweave_box *box, enum unweave_status status);

#ifdef __cplusplus
}
#endif

#endif /* UNWEAVE_MACHINE_H */
