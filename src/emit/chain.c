/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain model: the loop that runs continuations, plain while nobody records
 * and with everything that a recorder may want when somebody does.
 */
#include "unweave/chain.h"

#include "emit/links.h"

/* Puts what was pushed inside of the rest. */
static void join(struct unweave_chain *chain)
{
	/* What was taken off since is not there to be kept. */
	if (chain->head.told > chain->head.depth)
		chain->head.told = chain->head.depth;
	if (!chain->last)
		return;
	chain->last->awaiter = chain->head.innermost;
	chain->head.innermost = chain->pushed;
	chain->head.depth += chain->pushes;
	chain->pushed = NULL;
	chain->last = NULL;
	chain->pushes = 0;
}

/* Takes the innermost continuation off, to run it: it may be gone when it returns. */
static struct unweave_link *take(struct unweave_chain *chain)
{
	struct unweave_link *link = chain->head.innermost;

	chain->head.innermost = link->awaiter;
	chain->head.depth--;
	return link;
}

/* The first continuation that goes on after the error; NULL: none. */
static struct unweave_link *catcher(const struct unweave_chain *chain)
{
	struct unweave_link *link = chain->head.innermost;

	while (link && !(chain->catches && chain->catches(link, chain)))
		link = link->awaiter;
	return link;
}

/* Takes off all continuations up to `last`. Returns how many. */
static uint32_t unwind(struct unweave_chain *chain, const struct unweave_link *last)
{
	uint32_t frames = 0;

	for (; chain->head.innermost != last; frames++) {
		struct unweave_link *link = take(chain);

		if (chain->unwound)
			chain->unwound(link, chain);
	}
	return frames;
}

/* What an error in the middle of a step had pushed will never run. */
static void drop_pushed(struct unweave_chain *chain)
{
	struct unweave_link *rest = chain->head.innermost;

	join(chain);
	unwind(chain, rest);
}

static enum unweave_status status_of(enum unweave_step step)
{
	if (step == UNWEAVE_STEP_CANCELLED)
		return UNWEAVE_CANCELLED;
	return step == UNWEAVE_STEP_DONE ? UNWEAVE_OK : UNWEAVE_ERROR;
}

/* After a step: an error that it was to deal with is dealt with, or there is a new one. */
static void settle_fault(struct unweave_chain *chain, enum unweave_step step)
{
	chain->fault = step == UNWEAVE_STEP_SUSPENDED ? UNWEAVE_STEP_DONE : (uint32_t)step;
}

static enum unweave_step suspend_run(struct links_run *run, struct unweave_chain *chain,
				     unsigned flags)
{
	join(chain);
	links_suspend(&chain->head, UNWEAVE_MODEL_CHAIN, flags & UNWEAVE_RUN_LEAVE);
	links_end(run);
	head_end_turn(&chain->head);
	return UNWEAVE_STEP_SUSPENDED;
}

static enum unweave_step complete_run(struct links_run *run, struct unweave_chain *chain,
				      enum unweave_step step)
{
	head_end_turn(&chain->head);
	unweave_task_complete(run->dispatch.task, status_of(step));
	links_end(run);
	return step;
}

/*
 * An error came out of `failed` continuations (one that ran; or none, if the
 * chain was failed while it waited). Returns false if nobody catches it.
 */
static bool catch_fault(struct links_run *run, struct unweave_chain *chain, uint32_t failed)
{
	struct unweave_link *last;
	struct unweave_priv_view view;

	drop_pushed(chain);
	last = catcher(chain);
	/* Those that are to be freed must not be seen any more. */
	view = run->dispatch.views[run->dispatch.shown];
	view.rest = (uintptr_t)last;
	links_show(run, view);
	failed += unwind(chain, last);
	if (failed)
		unweave_frame_unwind(run->dispatch.task, failed, last != NULL);
	links_advance(run, failed);
	return last != NULL;
}

static inline enum unweave_step call_innermost(struct links_run *run, struct unweave_chain *chain)
{
	struct unweave_link *link = take(chain);

	return (enum unweave_step)links_go(run, link, chain);
}

/* From what a continuation of the run came to, up to what the run comes to. */
static LINKS_DISPATCH enum unweave_step go_on(struct links_run *run, struct unweave_chain *chain,
					      enum unweave_step step, unsigned flags)
{
	for (;;) {
		settle_fault(chain, step);
		if (step == UNWEAVE_STEP_SUSPENDED)
			return suspend_run(run, chain, flags);
		if (step == UNWEAVE_STEP_DONE) {
			links_frame_complete(run);
			links_advance(run, 1);
		} else if (!catch_fault(run, chain, 1)) {
			return complete_run(run, chain, step);
		}
		if (!chain->head.innermost)
			return complete_run(run, chain, UNWEAVE_STEP_DONE);
		links_show(run, links_view(chain->head.innermost, run->place, false));
		links_frame_resume(run);
		step = call_innermost(run, chain);
	}
}

/* With whatever the session asks for. Also goes on in the middle of a plain run. */
static LINKS_DISPATCH __attribute__((noinline)) enum unweave_step
run_seen(struct unweave_chain *chain, unsigned flags)
{
	enum unweave_step fault = (enum unweave_step)chain->fault;
	struct links_run run;

	links_begin(&run, &chain->head, UNWEAVE_MODEL_CHAIN, false);
	if (fault) {
		if (!catch_fault(&run, chain, 0))
			return complete_run(&run, chain, fault);
		links_show(&run, links_view(chain->head.innermost, run.place, false));
	}
	if (!chain->head.innermost)
		return complete_run(&run, chain, UNWEAVE_STEP_DONE);
	links_first_resume(&run);
	return go_on(&run, chain, call_innermost(&run, chain), flags);
}

/* Whether the run is one that run_once() is made for. */
static inline bool is_usual(const struct unweave_chain *chain, const struct emit_thread *self,
			    uint64_t gate)
{
	return emit_likely(self->hot.gate == gate && !chain->fault && chain->head.innermost &&
			   ((gate & UNWEAVE_PRIV_MODE_MASK) == UNWEAVE_PRIV_MODE_SAMPLES ||
			    links_wanted(self, UNWEAVE_MODEL_CHAIN, UNWEAVE_KEYWORD_RESUME)));
}

/*
 * The usual run: one continuation, which waits again. It does what run_seen()
 * would, with less to set up; if it turns out not to be usual, that goes on.
 */
static LINKS_DISPATCH __attribute__((noinline)) enum unweave_step
run_once(struct unweave_chain *chain, struct emit_thread *self, uint64_t gate, unsigned flags)
{
	struct unweave_priv_nest *nest = self->hot.nest;
	struct unweave_head *head = &chain->head;
	struct unweave_link *link = head->innermost;
	enum unweave_step step;
	struct links_run run;

	links_prepare(&run, head, UNWEAVE_MODEL_CHAIN, false);
	links_hang_out(&run, nest);
	links_resume(self, gate, head, UNWEAVE_MODEL_CHAIN);
	take(chain);
	step = (enum unweave_step)links_go_first(link, chain);
	if (emit_unlikely(step != UNWEAVE_STEP_SUSPENDED || self->hot.gate != gate ||
			  gate != unweave_priv_gate())) {
		run.place = 0;
		links_look_again(&run);
		return go_on(&run, chain, step, flags);
	}
	join(chain);
	links_suspend_now(self, gate, head, UNWEAVE_MODEL_CHAIN, flags & UNWEAVE_RUN_LEAVE);
	links_take_in(run.dispatch.outer, nest);
	head_end_turn(head);
	return UNWEAVE_STEP_SUSPENDED;
}

static enum unweave_step complete_plainly(struct unweave_chain *chain, enum unweave_step step)
{
	head_end_turn(&chain->head);
	unweave_task_complete(chain->head.task, status_of(step));
	return step;
}

static bool catch_plainly(struct unweave_chain *chain)
{
	struct unweave_link *last;

	drop_pushed(chain);
	last = catcher(chain);
	unwind(chain, last);
	return last != NULL;
}

/* While nobody records. */
static __attribute__((noinline)) enum unweave_step run_plainly(struct unweave_chain *chain,
							       unsigned flags)
{
	if (chain->fault && !catch_plainly(chain))
		return complete_plainly(chain, (enum unweave_step)chain->fault);
	while (chain->head.innermost) {
		struct unweave_link *link = take(chain);
		enum unweave_step step = (enum unweave_step)link->go(link, chain);

		settle_fault(chain, step);
		if (step == UNWEAVE_STEP_SUSPENDED) {
			join(chain);
			head_end_turn(&chain->head);
			return step;
		}
		if (step != UNWEAVE_STEP_DONE && !catch_plainly(chain))
			return complete_plainly(chain, step);
		/* Somebody may have begun to record. */
		if (!unweave_priv_off(unweave_priv_gate()) && chain->head.innermost)
			return run_seen(chain, flags);
	}
	return complete_plainly(chain, UNWEAVE_STEP_DONE);
}

void unweave_chain_start(struct unweave_chain *chain, struct unweave_site *site, uint64_t parent)
{
	join(chain);
	chain->head.task = links_new(site, UNWEAVE_MODEL_CHAIN, parent, &chain->head);
}

LINKS_DISPATCH enum unweave_step unweave_chain_run(struct unweave_chain *chain, unsigned flags)
{
	uint64_t gate = unweave_priv_gate();
	struct emit_thread *self;

	head_begin_turn(&chain->head);
	if (unweave_priv_off(gate))
		return run_plainly(chain, flags);
	self = emit_self();
	if (is_usual(chain, self, gate))
		return run_once(chain, self, gate, flags);
	return run_seen(chain, flags);
}
