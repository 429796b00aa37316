/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks, in the usual case: the thread is up to date, the session records
 * the life of all tasks, the clock is the machine's own, the chunk has room.
 * Everything else goes the slow way, which repeats the whole step; so each
 * function here is a leaf that calls nothing and ends in a tail call.
 */
#include "emit/emit.h"

/* Whether the hook may go the quick way. */
static inline bool is_quick(const struct emit_thread *self, uint64_t gate)
{
	return emit_likely(self->hot.gate == gate && self->quick == gate);
}

/* Room in the main stream with the gate closed; or NULL, with the gate open again. */
static inline uint64_t *begin(struct emit_thread *self, uint64_t gate, size_t words)
{
	uint64_t *at;

	unweave_priv_enter(&self->hot);
	at = emit_room(&self->main, words);
	if (emit_unlikely(!at))
		unweave_priv_exit(&self->hot, gate);
	return at;
}

static inline void stamp(uint64_t *to, unsigned kind)
{
	emit_store(to, record_first_word(kind, clock_ticks(CLOCK_QUICK)));
}

static inline void end(struct emit_thread *self, uint64_t gate, uint64_t *at)
{
	emit_publish(&self->main, at);
	unweave_priv_exit(&self->hot, gate);
}

static inline unsigned depth_of(const struct unweave_priv_nest *nest)
{
	unsigned depth = 0;

	while (emit_unlikely(nest->tasks[depth]))
		depth++;
	return depth;
}

/* Ends the hook with another run innermost: `task` at `depth`, or 0 if one ended there. */
static inline void end_at_depth(struct emit_thread *self, uint64_t gate, uint64_t *at,
				unsigned depth, uint64_t task)
{
	emit_publish(&self->main, at);
	__atomic_store_n(&self->hot.nest->tasks[depth], task, __ATOMIC_RELEASE);
	unweave_priv_exit(&self->hot, gate);
}

/* The depth of the innermost run, if that is `task`'s; else UNWEAVE_PRIV_NEST. */
static inline unsigned innermost_depth(const struct unweave_priv_nest *nest, uint64_t task)
{
	unsigned depth = depth_of(nest) - 1;

	/* One less than the most: there may be runs beyond that. */
	if (emit_unlikely(depth >= UNWEAVE_PRIV_NEST - 1 || nest->tasks[depth] != task))
		return UNWEAVE_PRIV_NEST;
	return depth;
}

void unweave_priv_push_deep(struct unweave_priv_nest *nest, uint64_t task)
{
	unsigned depth = depth_of(nest);

	if (depth < UNWEAVE_PRIV_NEST)
		__atomic_store_n(&nest->tasks[depth], task, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&nest->beyond, nest->beyond + 1, __ATOMIC_RELEASE);
}

void unweave_priv_pop_deep(struct unweave_priv_nest *nest, uint64_t task)
{
	unsigned depth = depth_of(nest);

	if (nest->beyond)
		__atomic_store_n(&nest->beyond, nest->beyond - 1, __ATOMIC_RELEASE);
	else if (depth && nest->tasks[depth - 1] == task)
		__atomic_store_n(&nest->tasks[depth - 1], 0, __ATOMIC_RELEASE);
}

static EMIT_COLD void resume_slowly(uint64_t task, const struct unweave_stack *stack)
{
	emit_slowly(&(struct emit_request){
		.kind = RECORD_RESUME,
		.with_task = true,
		.keyword = UNWEAVE_KEYWORD_RESUME,
		.stack_keyword = UNWEAVE_KEYWORD_RESUME_STACK,
		.task = task,
		.stack = stack,
	});
}

void unweave_priv_resume(uint64_t task, const struct unweave_stack *stack)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	unsigned depth;
	uint64_t *at;

	if (emit_unlikely(!is_quick(self, gate) || stack))
		return resume_slowly(task, stack);
	depth = depth_of(self->hot.nest);
	if (emit_unlikely(depth == UNWEAVE_PRIV_NEST))
		return resume_slowly(task, stack);
	at = begin(self, gate, 2);
	if (emit_unlikely(!at))
		return resume_slowly(task, stack);
	stamp(at, RECORD_RESUME);
	emit_store(at + 1, task);
	end_at_depth(self, gate, at + 2, depth, task);
}

static EMIT_COLD void suspend_slowly(unsigned kind, uint64_t task,
				     const struct unweave_stack *stack)
{
	emit_slowly(&(struct emit_request){
		.kind = (uint8_t)kind,
		.keyword = UNWEAVE_KEYWORD_SUSPEND,
		.stack_keyword = UNWEAVE_KEYWORD_SUSPEND_STACK,
		.task = task,
		.stack = stack,
	});
}

void unweave_priv_suspend(uint64_t task)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	unsigned depth;
	uint64_t *at;

	if (emit_unlikely(!is_quick(self, gate)))
		return suspend_slowly(RECORD_SUSPEND, task, NULL);
	depth = innermost_depth(self->hot.nest, task);
	if (emit_unlikely(depth == UNWEAVE_PRIV_NEST))
		return suspend_slowly(RECORD_SUSPEND, task, NULL);
	at = begin(self, gate, 1);
	if (emit_unlikely(!at))
		return suspend_slowly(RECORD_SUSPEND, task, NULL);
	stamp(at, RECORD_SUSPEND);
	end_at_depth(self, gate, at + 1, depth, 0);
}

/* A stack that the quick way takes. */
static inline bool is_plain(const struct unweave_stack *stack)
{
	return emit_likely(!stack->states && stack->count - 1 < 64);
}

/* Mostly one frame is new: the others follow in a loop that is not begun for it. */
static inline uint64_t *store_frames(uint64_t *at, const struct unweave_stack *stack)
{
	const uint64_t *addresses = stack->addresses;
	uint32_t count = stack->count;

	emit_store(at, record_stack_word(count, 0, stack->keep, 0));
	emit_store(at + 1, addresses[0]);
	at += 2;
	for (uint32_t i = 1; i < count; i++)
		emit_store(at++, addresses[i]);
	return at;
}

void unweave_priv_suspend_stack(uint64_t task, const struct unweave_stack *stack)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	unsigned depth;
	uint64_t *at;

	if (emit_unlikely(!is_quick(self, gate)))
		return suspend_slowly(RECORD_SUSPEND, task, stack);
	if (!stack || self->quick_stacks != gate)
		return unweave_priv_suspend(task);
	depth = innermost_depth(self->hot.nest, task);
	if (emit_unlikely(depth == UNWEAVE_PRIV_NEST || !is_plain(stack)))
		return suspend_slowly(RECORD_SUSPEND, task, stack);
	at = begin(self, gate, 2 + (size_t)stack->count);
	if (emit_unlikely(!at))
		return suspend_slowly(RECORD_SUSPEND, task, stack);
	stamp(at, RECORD_SUSPEND | RECORD_WITH_STACK);
	end_at_depth(self, gate, store_frames(at + 1, stack), depth, 0);
}

void unweave_priv_leave(uint64_t task, const struct unweave_stack *stack)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	unsigned depth;
	uint64_t *at;

	if (emit_unlikely(!is_quick(self, gate)))
		return suspend_slowly(RECORD_LEAVE, task, stack);
	if (self->quick_stacks != gate)
		stack = NULL;
	depth = innermost_depth(self->hot.nest, task);
	if (emit_unlikely(depth == UNWEAVE_PRIV_NEST || (stack && !is_plain(stack))))
		return suspend_slowly(RECORD_LEAVE, task, stack);
	at = begin(self, gate, stack ? 2 + (size_t)stack->count : 1);
	if (emit_unlikely(!at))
		return suspend_slowly(RECORD_LEAVE, task, stack);
	if (stack) {
		emit_store(at, record_first_word(RECORD_LEAVE | RECORD_WITH_STACK, 0));
		at = store_frames(at + 1, stack);
	} else {
		emit_store(at++, record_first_word(RECORD_LEAVE, 0));
	}
	end_at_depth(self, gate, at, depth, 0);
}

static EMIT_COLD void complete_slowly(uint64_t task, enum unweave_status status)
{
	emit_slowly(&(struct emit_request){
		.kind = (uint8_t)(RECORD_COMPLETE + status),
		.keyword = UNWEAVE_KEYWORD_COMPLETE,
		.task = task,
	});
}

void unweave_priv_complete(uint64_t task, enum unweave_status status)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	unsigned depth;
	uint64_t *at;

	if (emit_unlikely((unsigned)status > UNWEAVE_CANCELLED))
		status = UNWEAVE_ERROR;
	if (emit_unlikely(!is_quick(self, gate)))
		return complete_slowly(task, status);
	at = begin(self, gate, 3);
	if (emit_unlikely(!at))
		return complete_slowly(task, status);
	depth = innermost_depth(self->hot.nest, task);
	if (depth < UNWEAVE_PRIV_NEST) {
		stamp(at, RECORD_COMPLETE + (unsigned)status);
		end_at_depth(self, gate, at + 1, depth, 0);
	} else if (emit_unlikely(self->hot.nest->beyond)) {
		unweave_priv_exit(&self->hot, gate);
		complete_slowly(task, status);
	} else {
		stamp(at, RECORD_COMPLETE_TASK);
		emit_store(at + 1, task);
		emit_store(at + 2, status);
		end(self, gate, at + 3);
	}
}

static EMIT_COLD void wake_slowly(uint64_t task, enum unweave_source source)
{
	emit_slowly(&(struct emit_request){
		.kind = source == UNWEAVE_SOURCE_TASK ? RECORD_WAKE : RECORD_WAKE_FROM,
		.with_task = true,
		.fields = source != UNWEAVE_SOURCE_TASK,
		.keyword = UNWEAVE_KEYWORD_WAKE,
		.task = task,
		.field = {source},
	});
}

void unweave_priv_wake(uint64_t task, enum unweave_source source)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	uint64_t *at;

	if (emit_unlikely(!is_quick(self, gate) || source != UNWEAVE_SOURCE_TASK))
		return wake_slowly(task, source);
	at = begin(self, gate, 2);
	if (emit_unlikely(!at))
		return wake_slowly(task, source);
	stamp(at, RECORD_WAKE);
	emit_store(at + 1, task);
	end(self, gate, at + 2);
}

/* The same function for the two frame markers; `kind` and `keyword` are constants in each. */
static inline void mark_frame(uint64_t task, unsigned kind, uint64_t keyword)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	uint64_t *at = NULL;

	if (is_quick(self, gate) && emit_wants(self, task, keyword))
		at = begin(self, gate, 1);
	if (emit_unlikely(!at)) {
		emit_slowly(&(struct emit_request){
			.kind = (uint8_t)kind, .keyword = keyword, .task = task});
		return;
	}
	stamp(at, kind);
	end(self, gate, at + 1);
}

void unweave_priv_frame_resume(uint64_t task)
{
	mark_frame(task, RECORD_FRAME_RESUME, UNWEAVE_KEYWORD_FRAME_RESUME);
}

void unweave_priv_frame_complete(uint64_t task)
{
	mark_frame(task, RECORD_FRAME_COMPLETE, UNWEAVE_KEYWORD_FRAME_COMPLETE);
}

uint64_t unweave_priv_new(struct unweave_site *site, enum unweave_model model, uint64_t parent,
			  const struct unweave_stack *stack)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	uint32_t site_id = site ? __atomic_load_n(&site->id, __ATOMIC_RELAXED) : 0;
	uint64_t task, *at;

	if (emit_unlikely(!is_quick(self, gate) || stack || (site && !site_id) ||
			  self->hot.next_task == self->hot.end_task))
		return emit_new_slowly(site, model, parent, stack);
	at = begin(self, gate, 4);
	if (emit_unlikely(!at))
		return emit_new_slowly(site, model, parent, stack);
	task = self->hot.next_task | model;
	self->hot.next_task += 2;
	if (parent == UNWEAVE_PARENT_CURRENT)
		parent = emit_innermost(self->hot.nest);
	stamp(at, RECORD_CREATE);
	emit_store(at + 1, task);
	emit_store(at + 2, parent);
	emit_store(at + 3, site_id);
	end(self, gate, at + 4);
	return task;
}

void unweave_priv_append(uint64_t task, const struct unweave_stack *stack)
{
	if (stack)
		emit_slowly(&(struct emit_request){
			.kind = RECORD_APPEND,
			.with_task = true,
			.keyword = UNWEAVE_KEYWORD_APPEND,
			.stack_keyword = UNWEAVE_KEYWORD_APPEND,
			.task = task,
			.stack = stack,
		});
}

void unweave_priv_name(uint64_t task, const char *name)
{
	size_t length = 0;

	while (name && length < RECORD_NAME_MAX && name[length])
		length++;
	emit_slowly(&(struct emit_request){
		.kind = RECORD_NAME,
		.with_task = true,
		.fields = 1,
		.keyword = UNWEAVE_KEYWORD_NAME,
		.task = task,
		.field = {length},
		.text = name ? name : "",
	});
}

void unweave_priv_unwind(uint64_t task, uint32_t frames, int handled)
{
	emit_slowly(&(struct emit_request){
		.kind = RECORD_UNWIND,
		.fields = 1,
		.keyword = UNWEAVE_KEYWORD_UNWIND,
		.task = task,
		.field = {(uint64_t)frames << 1 | (handled != 0)},
	});
}

void unweave_priv_anchor_reset(uint64_t task)
{
	emit_slowly(&(struct emit_request){.kind = RECORD_ANCHOR_RESET, .task = task});
}

void unweave_priv_idle(void)
{
	emit_slowly(&(struct emit_request){.kind = RECORD_IDLE, .keyword = UNWEAVE_KEYWORD_IDLE});
}
