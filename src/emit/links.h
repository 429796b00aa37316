/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two models have in common: hooks that take their stacks from links,
 * the run that a thread can be asked about, the anchors.
 */
#ifndef EMIT_LINKS_H
#define EMIT_LINKS_H

#include "emit/emit.h"
#include "unweave/link.h"

typedef int (*emit_anchor)(struct unweave_link *link, void *context, unweave_go go);

/* Calls a link through the anchor of its place. */
extern const emit_anchor emit_anchors[UNWEAVE_ANCHORS];

static inline int links_go(struct unweave_link *link, void *context, uint32_t place)
{
	return emit_anchors[place % UNWEAVE_ANCHORS](link, context, link->go);
}

/* The epoch of now; where there is no arena, one that nothing was told in. */
static inline uint32_t links_epoch(void)
{
	return emit_process.control ? emit_epoch() : UINT32_MAX;
}

/* Whether a hook that `keyword` selects has anything to do. */
static inline bool links_may_want(uint64_t task, uint64_t keyword)
{
	const struct emit_thread *self = emit_self();

	return self->hot.gate != unweave_priv_gate() || emit_wants(self, task, keyword);
}

/* What the first function of a run goes on with is the RESUME, if that is recorded. */
static inline void links_frame_resume(uint64_t task, bool first)
{
	if (first && emit_wants(emit_self(), task, UNWEAVE_KEYWORD_RESUME))
		return;
	if (links_may_want(task, UNWEAVE_KEYWORD_FRAME_RESUME))
		unweave_frame_resume(task);
}

static inline void links_frame_complete(uint64_t task)
{
	if (links_may_want(task, UNWEAVE_KEYWORD_FRAME_COMPLETE))
		unweave_frame_complete(task);
}

/* The place after `steps` more functions of this run; tells each time that the anchors restart. */
uint32_t links_advance(uint64_t task, uint32_t place, uint32_t steps);

/*
 * Hooks as in unweave.h, with stacks from links. Only what is new goes into the
 * record: see frames_of_links() for `depth`.
 */
uint64_t links_new(struct unweave_site *site, enum unweave_model model, uint64_t parent,
		   struct unweave_head *head);
void links_resume(struct unweave_head *head);
/* `kind` is RECORD_SUSPEND or RECORD_LEAVE. */
void links_suspend(unsigned kind, struct unweave_head *head);
/* `kind` is RECORD_APPEND, RECORD_LATE or RECORD_AWAIT; `by` awaits `task`. */
void links_append(unsigned kind, uint64_t task, uint64_t by, struct unweave_link *links);

/*
 * A run of `task` begins: unweave_here() finds it from the next RESUME of the
 * task on, which must follow. `dispatch` shows its first function already.
 * Returns false if the thread has no place in the arena: then nothing is shown.
 */
bool dispatch_begin(struct unweave_priv_dispatch *dispatch, uint64_t task,
		    enum unweave_model model);
/* The run that this thread is inside of has ended, and its task was suspended or completed. */
void dispatch_end(struct unweave_priv_dispatch *dispatch);
/* The innermost run that was shown; NULL if there is none. */
struct unweave_priv_dispatch *dispatch_innermost(void);

/* On to the next function. The views take turns: a signal handler sees the old one or the new. */
static inline void dispatch_show(struct unweave_priv_dispatch *dispatch,
				 struct unweave_priv_view view)
{
	uint32_t next = !dispatch->shown;

	dispatch->views[next] = view;
	/* For a handler of this thread, and for a tool that reads this memory. */
	__atomic_store_n(&dispatch->shown, next, __ATOMIC_RELEASE);
}

static inline struct unweave_priv_view view_of(struct unweave_link *link, uint32_t place)
{
	return (struct unweave_priv_view){
		.code = (const void *)(uintptr_t)link_address(link),
		.rest = link->awaiter,
		.state = link->state,
		.place = place,
	};
}

/* What a thread's dispatch records say it is inside of, for a session that begins meanwhile. */
void dispatch_refill_nest(struct unweave_priv_nest *nest);
/* The view of the run of `task` on this thread; NULL if it is not known. */
const struct unweave_priv_view *dispatch_view(const struct unweave_priv_nest *nest, uint64_t task);

#endif /* EMIT_LINKS_H */
