/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain model: a task is a chain of continuations, final before it is
 * scheduled, and a loop that runs them, innermost first.
 *
 * A runtime embeds a link in each continuation and a chain in each task:
 *
 *     int after_read(struct unweave_link *link, void *context)
 *     {
 *             struct unweave_chain *chain = context;
 *             struct my_frame *frame = (struct my_frame *)link;
 *
 *             if (!more_to_do(frame))
 *                     return UNWEAVE_STEP_DONE;
 *             unweave_chain_push(chain, link);
 *             return UNWEAVE_STEP_SUSPENDED;
 *     }
 *
 *     unweave_chain_init(&chain);
 *     unweave_link_init(&frame->link, after_read, after_read, 0);
 *     unweave_chain_push(&chain, &frame->link);
 *     unweave_chain_start(&chain, UNWEAVE_SITE("request"), UNWEAVE_PARENT_CURRENT);
 *     …
 *     if (unweave_chain_run(&chain, 0) == UNWEAVE_STEP_SUSPENDED)
 *             arm_what_it_waits_for(&chain);
 *
 * While nobody records, a run is the plain loop. Nothing here allocates or locks.
 * docs/integrating.md has a whole program.
 */
#ifndef UNWEAVE_CHAIN_H
#define UNWEAVE_CHAIN_H

#include "unweave/link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a continuation's `go` returns, and what a run comes to. */
enum unweave_step {
	UNWEAVE_STEP_DONE,      /* it is done: its awaiter goes on */
	UNWEAVE_STEP_SUSPENDED, /* it pushed what is to go on later */
	UNWEAVE_STEP_ERROR,     /* it failed: the nearest awaiter that catches goes on */
	UNWEAVE_STEP_CANCELLED, /* the same, as a cancellation */
};

struct unweave_chain {
	struct unweave_head head;
	struct unweave_link *pushed; /* since the step began, innermost first */
	struct unweave_link *last;   /* of those */
	uint32_t pushes;
	uint32_t fault; /* the error that a catching continuation goes on with, or STEP_DONE */
	/* Whether a continuation goes on after an error inside of it; NULL: none does. */
	int (*catches)(const struct unweave_link *link, const struct unweave_chain *chain);
	/* A continuation that an error took off, to be freed; NULL: there is nothing to free. */
	void (*unwound)(struct unweave_link *link, struct unweave_chain *chain);
};

/* `code` may be NULL: then `go` is what is shown. */
static inline void unweave_link_init(struct unweave_link *link, unweave_go go, const void *code,
				     int32_t state)
{
	link->awaiter = NULL;
	link->go = go;
	link->code = code;
	link->state = state;
}

/* Also to use one again whose task has ended. `catches` and `unwound` are to be set after it. */
static inline void unweave_chain_init(struct unweave_chain *chain)
{
	memset(chain, 0, sizeof(*chain));
}

/*
 * [hot] Adds a continuation outside of those pushed before: the function that
 * waits for the innermost comes next, and so on. Inside a step what was pushed
 * ends up inside of the rest of the chain. A link that was run may be pushed
 * again after its `code` and `state` were changed to where it will go on.
 */
static inline void unweave_chain_push(struct unweave_chain *chain, struct unweave_link *link)
{
	link->awaiter = NULL;
	if (chain->last)
		chain->last->awaiter = link;
	else
		chain->pushed = link;
	chain->last = link;
	chain->pushes++;
}

/*
 * [hot] Makes the task, of what was pushed. `site` and `parent` are as in
 * unweave_task_new(). The chain must stay where it is until the task has ended.
 */
UNWEAVE_API void unweave_chain_start(struct unweave_chain *chain, struct unweave_site *site,
				     uint64_t parent);

/*
 * [hot] Runs the chain until it is done or waits; `flags` may be UNWEAVE_RUN_LEAVE. Returns
 * UNWEAVE_STEP_SUSPENDED, or how the task ended. A `go` must not leave by longjmp() or an
 * exception, nor let the chain be run by somebody else before this function has returned.
 */
UNWEAVE_API enum unweave_step unweave_chain_run(struct unweave_chain *chain, unsigned flags);

/*
 * [hot] The next run begins with this error, inside of the innermost continuation:
 * UNWEAVE_STEP_CANCELLED is how a waiting task is cancelled.
 */
static inline void unweave_chain_fail(struct unweave_chain *chain, enum unweave_step fault)
{
	chain->fault = (uint32_t)fault;
}

#ifdef __cplusplus
}
#endif

#endif /* UNWEAVE_CHAIN_H */
