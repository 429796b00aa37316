/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/links.h"

void links_look_again(struct links_run *run)
{
	uint64_t gate = unweave_priv_gate();

	run->self = emit_self();
	run->gate = gate;
	run->wants = 0;
	/* As a hook would, the thread learns of this only when there is something to record. */
	if (unweave_priv_off(gate))
		return;
	if (emit_self()->hot.gate != gate)
		emit_refresh();
	run->self = emit_self();
	run->wants = (uint32_t)(run->self->keywords >> links_shift(run->dispatch.model));
}

void links_begin_otherwise(struct links_run *run, struct unweave_head *head,
			   enum unweave_model model)
{
	links_look_again(run);
	if (run->self->hot.nest)
		links_hang_out(run, run->self->hot.nest);
	if (run->self->hot.gate == run->gate)
		links_resume(run->self, run->gate, head, model);
	else
		unweave_task_resume(head->task);
}

static struct unweave_priv_dispatch *first_dispatch(const struct unweave_priv_nest *nest)
{
	return (struct unweave_priv_dispatch *)(uintptr_t)__atomic_load_n(&nest->dispatch,
									  __ATOMIC_RELAXED);
}

void links_resume_told(struct unweave_head *head)
{
	struct emit_frames frames = frames_of_head(head, emit_epoch());

	emit_slowly(&(struct emit_request){
		.kind = RECORD_RESUME,
		.with_task = true,
		.keyword = UNWEAVE_KEYWORD_RESUME,
		.stack_keyword = UNWEAVE_KEYWORD_RESUME_STACK,
		.task = head->task,
		.frames = &frames,
	});
}

void links_advance(struct links_run *run, uint32_t steps)
{
	uint32_t place = run->place + steps;

	for (uint32_t i = run->place / UNWEAVE_ANCHORS; i < place / UNWEAVE_ANCHORS; i++)
		unweave_anchor_reset(run->dispatch.task);
	run->place = place;
}

uint64_t links_new(struct unweave_site *site, enum unweave_model model, uint64_t parent,
		   struct unweave_head *head)
{
	struct emit_frames frames;
	uint64_t task;

	if (unweave_priv_off(unweave_priv_gate()) || !head->innermost) {
		task = unweave_task_new(site, model, parent, NULL);
	} else {
		frames = frames_of_head(head, emit_epoch());
		task = emit_new_slowly(site, model, parent, &frames);
	}
	emit_task_head(task, (uintptr_t)head);
	return task;
}

void links_suspend(struct unweave_head *head, enum unweave_model model, bool leave)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();

	if (unweave_priv_off(gate))
		return;
	if (emit_likely(self->hot.gate == gate))
		links_suspend_now(self, gate, head, model, leave);
	else if (head->innermost)
		/* It may want the stack: the slow way will know. */
		emit_suspend_head(self, gate, leave ? RECORD_LEAVE : RECORD_SUSPEND, head);
	else
		links_suspend_silently(self, gate, head, leave);
}

void links_append(unsigned kind, uint64_t task, uint64_t by, struct unweave_link *links)
{
	struct emit_frames frames;

	if (unweave_priv_off(unweave_priv_gate()))
		return;
	frames = frames_of_links(links, 0);
	emit_slowly(&(struct emit_request){
		.kind = (uint8_t)kind,
		.with_task = true,
		.fields = 1,
		.keyword = UNWEAVE_KEYWORD_APPEND,
		.stack_keyword = UNWEAVE_KEYWORD_APPEND,
		.task = task,
		.field = {by},
		.frames = &frames,
	});
}

const struct unweave_priv_view *dispatch_view(const struct unweave_priv_nest *nest, uint64_t task)
{
	const struct unweave_priv_dispatch *dispatch = first_dispatch(nest);

	/* A run is shown before its task is in the nest, and still is after: look past it. */
	while (dispatch && dispatch->task != task)
		dispatch = dispatch->outer;
	return dispatch ? &dispatch->views[__atomic_load_n(&dispatch->shown, __ATOMIC_ACQUIRE)]
			: NULL;
}

void dispatch_refill_nest(struct unweave_priv_nest *nest)
{
	const struct unweave_priv_dispatch *dispatch;
	uint32_t depth = 0;

	for (dispatch = first_dispatch(nest); dispatch; dispatch = dispatch->outer)
		depth += dispatch->task != 0;
	if (depth > UNWEAVE_PRIV_NEST)
		__atomic_store_n(&nest->beyond, depth - UNWEAVE_PRIV_NEST, __ATOMIC_RELAXED);
	for (dispatch = first_dispatch(nest); dispatch; dispatch = dispatch->outer)
		if (dispatch->task && --depth < UNWEAVE_PRIV_NEST)
			__atomic_store_n(&nest->tasks[depth], dispatch->task, __ATOMIC_RELEASE);
}

uint32_t unweave_here(uint64_t *ret_task, uint64_t *addresses, int32_t *states, uint32_t most)
{
	const struct unweave_priv_nest *nest = emit_self()->hot.nest;
	const struct unweave_priv_view *view;
	const struct unweave_link *link;
	struct link_walk walk = {0};
	uint32_t count;

	*ret_task = nest ? emit_innermost(nest) : 0;
	view = *ret_task ? dispatch_view(nest, *ret_task) : NULL;
	if (!view || !view->code)
		return 0;
	if (most) {
		addresses[0] = (uintptr_t)view->code;
		if (states)
			states[0] = view->state;
	}
	for (count = 1, link = view_rest(view); link; link = link_next(&walk, link), count++) {
		if (count >= most)
			continue;
		addresses[count] = link_address(link);
		if (states)
			states[count] = link->state;
	}
	return count;
}
