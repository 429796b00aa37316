/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/links.h"

uint32_t links_advance(uint64_t task, uint32_t place, uint32_t steps)
{
	uint32_t restarts = (place + steps) / UNWEAVE_ANCHORS - place / UNWEAVE_ANCHORS;

	for (; restarts; restarts--)
		unweave_anchor_reset(task);
	return place + steps;
}

uint64_t links_new(struct unweave_site *site, enum unweave_model model, uint64_t parent,
		   struct unweave_head *head)
{
	struct emit_frames frames;

	if (unweave_priv_off(unweave_priv_gate()) || !head->innermost)
		return unweave_task_new(site, model, parent, NULL);
	frames = frames_of_links(head->innermost, head->depth, links_epoch());
	return emit_new_slowly(site, model, parent, &frames);
}

/* Nothing is walked here, unless the recorder was not told at the suspension. */
void links_resume(struct unweave_head *head)
{
	struct emit_thread *self = emit_self();
	struct emit_frames frames;

	if (!emit_wants(self, head->task, UNWEAVE_KEYWORD_RESUME_STACK) || !head->innermost ||
	    head->innermost->told == links_epoch()) {
		unweave_task_resume(head->task);
		return;
	}
	frames = frames_of_links(head->innermost, head->depth, links_epoch());
	emit_slowly(&(struct emit_request){
		.kind = RECORD_RESUME,
		.with_task = true,
		.keyword = UNWEAVE_KEYWORD_RESUME,
		.stack_keyword = UNWEAVE_KEYWORD_RESUME_STACK,
		.task = head->task,
		.frames = &frames,
	});
}

/* What is new at a suspension, while it is hot. */
static struct emit_frames new_frames(struct unweave_head *head)
{
	struct unweave_link *link = head->innermost;
	uint32_t epoch = links_epoch();

	if (head->depth || link->told != epoch)
		return frames_of_links(link, head->depth, epoch);
	/* A state machine: of a chain that was told, only its own state is new. */
	return (struct emit_frames){
		.links = link,
		.count = 1,
		.keep = RECORD_KEEP_REST,
		.with_states = link->state != 0,
	};
}

void links_suspend(unsigned kind, struct unweave_head *head)
{
	struct emit_frames frames;
	bool stack;

	if (unweave_priv_off(unweave_priv_gate()))
		return;
	stack = head->innermost && links_may_want(head->task, UNWEAVE_KEYWORD_SUSPEND_STACK);
	if (stack) {
		frames = new_frames(head);
		emit_suspend_frames(kind, head->task, &frames);
	} else if (kind == RECORD_LEAVE) {
		unweave_task_leave(head->task, NULL);
	} else {
		unweave_task_suspend(head->task);
	}
}

void links_append(unsigned kind, uint64_t task, uint64_t by, struct unweave_link *links)
{
	struct emit_frames frames;

	if (unweave_priv_off(unweave_priv_gate()))
		return;
	frames = frames_of_links(links, 0, 0);
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

static struct unweave_priv_dispatch *first_dispatch(const struct unweave_priv_nest *nest)
{
	return (struct unweave_priv_dispatch *)(uintptr_t)__atomic_load_n(&nest->dispatch,
									  __ATOMIC_RELAXED);
}

static void set_dispatch(struct unweave_priv_nest *nest, struct unweave_priv_dispatch *dispatch)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&nest->dispatch, (uintptr_t)dispatch, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

bool dispatch_begin(struct unweave_priv_dispatch *dispatch, uint64_t task, enum unweave_model model)
{
	struct emit_thread *self = emit_self();

	dispatch->task = task;
	dispatch->model = model;
	if (emit_unlikely(self->hot.gate != unweave_priv_gate()))
		emit_refresh();
	self = emit_self();
	if (emit_unlikely(!self->hot.nest))
		return false;
	dispatch->outer = first_dispatch(self->hot.nest);
	set_dispatch(self->hot.nest, dispatch);
	return true;
}

void dispatch_end(struct unweave_priv_dispatch *dispatch)
{
	struct emit_thread *self = emit_self();

	/* In a child of fork() the nest may be another one, which knows nothing of this run. */
	if (self->hot.nest && first_dispatch(self->hot.nest) == dispatch)
		set_dispatch(self->hot.nest, dispatch->outer);
}

struct unweave_priv_dispatch *dispatch_innermost(void)
{
	const struct unweave_priv_nest *nest = emit_self()->hot.nest;

	return nest ? first_dispatch(nest) : NULL;
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
