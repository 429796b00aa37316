/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the models have in common: a run, which a thread can be asked about;
 * hooks that take their stacks from links; the anchors.
 */
#ifndef EMIT_LINKS_H
#define EMIT_LINKS_H

#include "emit/emit.h"
#include "unweave/link.h"

/* `more` is for the callbacks of a library, some of which take three arguments. */
typedef int (*emit_anchor)(struct unweave_link *link, void *context, void *more, unweave_go go);

extern const emit_anchor emit_anchors[UNWEAVE_ANCHORS];
/* The first of them, for runs of one function. */
int emit_first_anchor(struct unweave_link *link, void *context, void *more, unweave_go go);

/*
 * For the functions that call anchors, which are on the stack while what they call
 * runs. They lie beside the anchors, so that all of it is known by its address.
 */
#define LINKS_DISPATCH __attribute__((section("unweave_anchor")))

/* The model of a routine's dispatch: its tasks are state machines, its runs are not. */
#define LINKS_ROUTINE ((enum unweave_model)(UNWEAVE_MODEL_MACHINE | 2))

/* Where the anchors and these functions begin and end; 0 where a linker does not say. */
struct links_code {
	uint64_t start, end;
};
struct links_code links_code(void);

/*
 * A run, on the stack of the function that makes it. What the session wants of
 * it is looked up once, and again when the session has changed.
 */
struct links_run {
	struct unweave_priv_dispatch dispatch;
	struct emit_thread *self;
	uint64_t gate;  /* with which `wants` was looked up */
	uint32_t wants; /* keywords of its model */
	uint32_t place; /* of the function that runs */
};

/* The session changed, or the thread is in a child of fork(): looks again what is wanted. */
void links_look_again(struct links_run *run);

static inline bool links_want(struct links_run *run, uint64_t keyword)
{
	if (emit_unlikely(run->gate != unweave_priv_gate()))
		links_look_again(run);
	return run->wants & keyword;
}

static inline struct unweave_priv_view links_view(struct unweave_link *link, uint32_t place,
						  bool link_stays)
{
	return (struct unweave_priv_view){
		.code = link->code ? link->code : (const void *)(uintptr_t)link->go,
		.rest = link_stays ? (uintptr_t)link | 1 : (uintptr_t)link_awaiter(link),
		.state = link->state,
		.place = place,
	};
}

/* On to the next function. The views take turns: a signal handler sees the old one or the new. */
static inline void links_show(struct links_run *run, struct unweave_priv_view view)
{
	uint32_t next = !run->dispatch.shown;

	run->dispatch.views[next] = view;
	/* For a handler of this thread, and for a tool that reads this memory. */
	__atomic_store_n(&run->dispatch.shown, next, __ATOMIC_RELEASE);
}

static inline void links_frame_resume(struct links_run *run)
{
	if (links_want(run, UNWEAVE_KEYWORD_FRAME_RESUME))
		unweave_frame_resume(run->dispatch.task);
}

/* What the first function of a run goes on with is the RESUME, if that is recorded. */
static inline void links_first_resume(const struct links_run *run)
{
	const uint32_t both = UNWEAVE_KEYWORD_RESUME | UNWEAVE_KEYWORD_FRAME_RESUME;

	if (emit_unlikely((run->wants & both) == UNWEAVE_KEYWORD_FRAME_RESUME))
		unweave_frame_resume(run->dispatch.task);
}

static inline void links_frame_complete(struct links_run *run)
{
	if (links_want(run, UNWEAVE_KEYWORD_FRAME_COMPLETE))
		unweave_frame_complete(run->dispatch.task);
}

/* Calls a link through the anchor of its place. */
static inline int links_go(const struct links_run *run, struct unweave_link *link, void *context)
{
	return emit_anchors[run->place % UNWEAVE_ANCHORS](link, context, NULL, link->go);
}

/* The same for the first one of a run. */
static inline int links_go_first(struct unweave_link *link, void *context)
{
	return emit_first_anchor(link, context, NULL, link->go);
}

/* So many functions of this run are over; tells each time that the anchors restart. */
void links_advance(struct links_run *run, uint32_t steps);

/* The RESUME of a run, if the recorder was not told of the chain at its last suspension. */
void links_resume_told(struct unweave_head *head);

/* Where the keywords of a model begin. */
static inline unsigned links_shift(unsigned model)
{
	return (model & UNWEAVE_MODEL_MACHINE) * 32;
}

/* Whether the session wants an event of a task of this model: a constant where it is known. */
static inline bool links_wanted(const struct emit_thread *self, enum unweave_model model,
				uint64_t keyword)
{
	return self->keywords & keyword << links_shift(model);
}

/* The thread must be up to date. */
static inline void links_resume(struct emit_thread *self, uint64_t gate, struct unweave_head *head,
				enum unweave_model model)
{
	if ((gate & UNWEAVE_PRIV_MODE_MASK) == UNWEAVE_PRIV_MODE_SAMPLES)
		unweave_priv_push(self->hot.nest, head->task);
	else if (links_wanted(self, model, UNWEAVE_KEYWORD_RESUME_STACK) && head->innermost &&
		 (head->epoch != emit_epoch() || head->told != head->depth))
		links_resume_told(head);
	else
		unweave_priv_resume(&self->hot, gate, head->task);
}

/* Fills what is shown of a run of `head`'s task, which is at its innermost link. */
static inline void links_prepare(struct links_run *run, const struct unweave_head *head,
				 enum unweave_model model, bool link_stays)
{
	run->dispatch.task = head->task;
	run->dispatch.model = model;
	run->dispatch.shown = 0;
	run->dispatch.views[0] = emit_likely(head->innermost != NULL)
					 ? links_view(head->innermost, 0, link_stays)
					 : (struct unweave_priv_view){0};
}

/* Lets a signal handler, or a tool, see the run: from the RESUME on, which is to follow. */
static inline void links_hang_out(struct links_run *run, struct unweave_priv_nest *nest)
{
	run->dispatch.outer = (struct unweave_priv_dispatch *)(uintptr_t)nest->dispatch;
	/* Complete, before a signal handler can see it; and seen before the RESUME. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&nest->dispatch, (uintptr_t)&run->dispatch, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* A run is over that `outer` was outside of. */
static inline void links_take_in(struct unweave_priv_dispatch *outer,
				 struct unweave_priv_nest *nest)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&nest->dispatch, (uintptr_t)outer, __ATOMIC_RELEASE);
}

/* links_begin(), from where it turns out that the thread is not up to date. */
void links_begin_otherwise(struct links_run *run, struct unweave_head *head,
			   enum unweave_model model);

/*
 * Begins a run of `head`'s task, at its innermost link: shows it, and emits the
 * RESUME. `link_stays`: the link can be relied on while its function runs.
 */
static inline void links_begin(struct links_run *run, struct unweave_head *head,
			       enum unweave_model model, bool link_stays)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();

	links_prepare(run, head, model, link_stays);
	run->place = 0;
	run->self = self;
	run->gate = gate;
	run->wants = (uint32_t)(self->keywords >> links_shift(model));
	if (emit_unlikely(self->hot.gate != gate || !self->hot.nest)) {
		links_begin_otherwise(run, head, model);
		return;
	}
	links_hang_out(run, self->hot.nest);
	/* A signal handler may have brought the thread into another session meanwhile. */
	if (emit_likely(self->hot.gate == gate))
		links_resume(self, gate, head, model);
	else
		unweave_task_resume(head->task);
}

/* Ends a run whose task was suspended or completed. */
static inline void links_end(struct links_run *run)
{
	struct unweave_priv_nest *nest = run->self->hot.nest;

	/* In a child of fork() the thread has no nest, or another one. */
	if (emit_likely(nest && nest->dispatch == (uintptr_t)&run->dispatch))
		links_take_in(run->dispatch.outer, nest);
}

/* A new task with the chain that it has so far. */
uint64_t links_new(struct unweave_site *site, enum unweave_model model, uint64_t parent,
		   struct unweave_head *head);

/* Without its stack. The next resume has it to tell: a state machine is in another state by now. */
static inline void links_suspend_silently(struct emit_thread *self, uint64_t gate,
					  struct unweave_head *head, bool leave)
{
	if (!head->depth)
		head->epoch = 0;
	if (leave)
		unweave_priv_leave(&self->hot, gate, head->task, NULL);
	else
		unweave_priv_suspend(&self->hot, gate, head->task);
}

/* The run of `head`'s task ends in a wait. The session is on, and the thread up to date. */
static inline void links_suspend_now(struct emit_thread *self, uint64_t gate,
				     struct unweave_head *head, enum unweave_model model,
				     bool leave)
{
	if ((gate & UNWEAVE_PRIV_MODE_MASK) == UNWEAVE_PRIV_MODE_SAMPLES)
		unweave_priv_pop(self->hot.nest, head->task);
	else if (head->innermost && links_wanted(self, model, UNWEAVE_KEYWORD_SUSPEND_STACK))
		emit_suspend_head(self, gate, leave ? RECORD_LEAVE : RECORD_SUSPEND, head);
	else
		links_suspend_silently(self, gate, head, leave);
}

/* The same, whatever the session and the thread are at. */
void links_suspend(struct unweave_head *head, enum unweave_model model, bool leave);

/* `kind` is RECORD_APPEND, RECORD_LATE or RECORD_AWAIT; `by` awaits `task`. */
void links_append(unsigned kind, uint64_t task, uint64_t by, struct unweave_link *links);

/* The innermost run of this thread that is shown; NULL if there is none. */
static inline struct links_run *links_innermost(void)
{
	const struct unweave_priv_nest *nest = emit_self()->hot.nest;

	return nest ? (struct links_run *)(uintptr_t)nest->dispatch : NULL;
}

/* What a thread's dispatch records say it is inside of, for a session that begins meanwhile. */
void dispatch_refill_nest(struct unweave_priv_nest *nest);
/* The view of the run of `task` on this thread; NULL if it is not known. */
const struct unweave_priv_view *dispatch_view(const struct unweave_priv_nest *nest, uint64_t task);

#endif /* EMIT_LINKS_H */
