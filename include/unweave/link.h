/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links: what awaits what, as all models keep it.
 *
 * A runtime that has an object for each suspended function puts a link into
 * it. Links that point to each other are a chain; unweave reads it where it
 * lies, and only as far as it is new. unweave/chain.h, unweave/machine.h and
 * unweave/routine.h are made of this; a runtime uses one of them, or several.
 */
#ifndef UNWEAVE_LINK_H
#define UNWEAVE_LINK_H

#include "unweave.h"

#ifdef __cplusplus
extern "C" {
#endif

struct unweave_link;

/* Goes on with a suspended function. `context` and the result are the model's. */
typedef int (*unweave_go)(struct unweave_link *link, void *context);

/* One suspended function. Put it first in an object of your own, and cast. */
struct unweave_link {
	struct unweave_link *awaiter; /* goes on after this one; NULL: none, or not known yet */
	unweave_go go;
	const void *code; /* what is shown: an address in the function that waits; NULL: `go` */
	int32_t state;    /* where in it, for a state machine; 0 where there is no such thing */
};

/* Where the chain of a task begins. The task table points here. Private, but for `task`. */
struct unweave_head {
	struct unweave_link *innermost; /* NULL: it runs its last function, or is done */
	uint64_t task;                  /* 0: none yet */
	uint32_t depth;                 /* links from `innermost` on; 0 if nobody counts */
	uint32_t turn;  /* one more at each begin and end of a run: odd while it runs */
	uint32_t told;  /* links, from the root on, that the recorder was told of ... */
	uint32_t epoch; /* ... if it still is the one that was told; 0: none was */
};

/*
 * For a run: if it ends in a wait, the thread goes straight on to another run or
 * to unweave_thread_idle(). Saves a clock read, as unweave_task_leave() does.
 */
#define UNWEAVE_RUN_LEAVE 1u

/*
 * [signal-safe] Where the calling thread is, at any instruction: the task that
 * runs there, and its chain, innermost first. At most `most` frames go to
 * `addresses` and `states`, which may be NULL. Returns how many frames the chain
 * has, which may be more; 0 if the chain is not known, `*ret_task` 0 if no task
 * is known to run. Knows nothing while nobody records.
 */
UNWEAVE_API uint32_t unweave_here(uint64_t *ret_task, uint64_t *addresses, int32_t *states,
				  uint32_t most);

/*
 * The anchors: every function of a chain is called through the one that has the
 * number of its place in this run, modulo 32. So a stack that any tool captured
 * says by its return addresses how far the run had come. They lie one after the
 * other, UNWEAVE_ANCHOR_BYTES apart.
 */
#define UNWEAVE_ANCHORS 32
#define UNWEAVE_ANCHOR_BYTES 64
UNWEAVE_API const void *unweave_anchors(void);

/* What follows is written by the models, and read by unweave_here() and by tools. */

/* A function that runs, and those that wait for it. */
struct unweave_priv_view {
	const void *code;
	uintptr_t
		rest; /* the link that waits first; or | 1: the one that runs, whose awaiter does */
	int32_t state;
	uint32_t place; /* its number in this run */
};

/*
 * A task that runs, on the stack of the function that runs it. Two views, so
 * that to go on from one function to the next is one store.
 */
struct unweave_priv_dispatch {
	struct unweave_priv_dispatch *outer;
	uint64_t task;
	uint32_t shown; /* which view counts */
	uint32_t model; /* enum unweave_model */
	struct unweave_priv_view views[2];
};

#ifdef __cplusplus
}
#endif

#endif /* UNWEAVE_LINK_H */
