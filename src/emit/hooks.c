/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks, in the usual case: the thread is up to date, the session records
 * the life of all tasks, the clock is the machine's own, the chunk has room.
 * Everything else goes the slow way, which repeats the whole step; so each
 * function here is a leaf that calls nothing and ends in a tail call.
 */
#include "emit/emit.h"

#include "emit/quick.h"
#include "emit/table.h"

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

static EMIT_COLD void resume_slowly(uint64_t task, const struct emit_frames *frames)
{
	emit_slowly(&(struct emit_request){
		.kind = RECORD_RESUME,
		.with_task = true,
		.keyword = UNWEAVE_KEYWORD_RESUME,
		.stack_keyword = UNWEAVE_KEYWORD_RESUME_STACK,
		.task = task,
		.frames = frames,
	});
}

void unweave_priv_resume(struct unweave_priv_thread *hot, uint64_t gate, uint64_t task)
{
	if (emit_unlikely(!quick_resume((struct emit_thread *)hot, gate, task)))
		resume_slowly(task, NULL);
}

void unweave_priv_resume_stack(uint64_t task, const struct unweave_stack *stack)
{
	struct emit_frames frames = stack ? frames_of_stack(stack) : (struct emit_frames){0};

	resume_slowly(task, stack ? &frames : NULL);
}

static EMIT_COLD void suspend_slowly(unsigned kind, uint64_t task,
				     const struct unweave_stack *stack)
{
	struct emit_frames frames = stack ? frames_of_stack(stack) : (struct emit_frames){0};

	emit_slowly(&(struct emit_request){
		.kind = (uint8_t)kind,
		.keyword = UNWEAVE_KEYWORD_SUSPEND,
		.stack_keyword = UNWEAVE_KEYWORD_SUSPEND_STACK,
		.task = task,
		.frames = stack ? &frames : NULL,
	});
}

/* The run of `task` at `depth` ends, at a time that is known. */
static inline void end_run(struct emit_thread *self, struct arena_line *line, unsigned depth,
			   uint64_t task, uint64_t now)
{
	struct arena_task *slot = table_slot(self, task);

	if (table_is(slot, task))
		table_suspend(slot, now, line->nest.resumed[depth]);
}

void unweave_priv_suspend(struct unweave_priv_thread *hot, uint64_t gate, uint64_t task)
{
	struct emit_thread *self = (struct emit_thread *)hot;
	struct arena_line *line;
	unsigned depth;
	uint64_t *at;

	if (emit_unlikely(!is_quick(self, gate)))
		return suspend_slowly(RECORD_SUSPEND, task, NULL);
	line = line_of(self);
	depth = innermost_depth(&line->nest, task);
	if (emit_unlikely(depth == UNWEAVE_PRIV_NEST || !table_knows(self, task)))
		return suspend_slowly(RECORD_SUSPEND, task, NULL);
	if (emit_unlikely(!begin(self, line, gate, 1, &at)))
		return suspend_slowly(RECORD_SUSPEND, task, NULL);
	end_run(self, line, depth, task, stamp(at, RECORD_SUSPEND));
	end_at_depth(self, line, gate, at + 1, depth, 0);
}

/*
 * Whether the quick way takes the stack; then `*ret_word` begins its record. It
 * is read as one word: `count` and `keep` lie in memory as they do there.
 */
static inline bool is_plain(const struct unweave_stack *stack, uint64_t *ret_word)
{
	_Static_assert(offsetof(struct unweave_stack, keep) ==
				       offsetof(struct unweave_stack, count) + 4 &&
			       __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
		       "the two numbers are a stack's first word");
	memcpy(ret_word, (const char *)stack + offsetof(struct unweave_stack, count),
	       sizeof(*ret_word));
	return emit_likely(!stack->states && (uint32_t)*ret_word - 1 < 64 &&
			   (int64_t)*ret_word > 0);
}

/* Mostly one frame is new: the others follow in a loop, two at a time, that is not begun for it. */
static inline uint64_t *store_frames(uint64_t *at, uint64_t word, const uint64_t *addresses)
{
	uint32_t count = (uint16_t)word;
	const uint64_t *end = at + 1 + count;

	emit_store(at, word);
	emit_store(at + 1, addresses[0]);
	at += 2;
	if (emit_likely(count == 1))
		return at;
	if (!(count & 1))
		emit_store(at++, *++addresses);
	for (; at != end; at += 2, addresses += 2) {
		emit_store(at, addresses[1]);
		emit_store(at + 1, addresses[2]);
	}
	return at;
}

void unweave_priv_suspend_stack(struct unweave_priv_thread *hot, uint64_t gate, uint64_t task,
				const struct unweave_stack *stack)
{
	struct emit_thread *self = (struct emit_thread *)hot;
	struct arena_line *line;
	unsigned depth;
	uint64_t now, word, *at;

	if (emit_unlikely(!is_quick(self, gate)))
		return suspend_slowly(RECORD_SUSPEND, task, stack);
	if (!stack || self->quick_stacks != gate)
		return unweave_priv_suspend(hot, gate, task);
	line = line_of(self);
	depth = innermost_depth(&line->nest, task);
	if (emit_unlikely(depth == UNWEAVE_PRIV_NEST || !table_knows(self, task) ||
			  !is_plain(stack, &word)))
		return suspend_slowly(RECORD_SUSPEND, task, stack);
	if (emit_unlikely(!begin(self, line, gate, 2 + (uint32_t)word, &at)))
		return suspend_slowly(RECORD_SUSPEND, task, stack);
	now = stamp(at, RECORD_SUSPEND | RECORD_WITH_STACK);
	at = store_frames(at + 1, word, stack->addresses);
	end_run(self, line, depth, task, now);
	end_at_depth(self, line, gate, at, depth, 0);
}

/*
 * As begin(), on the quick way. That it is the quick way is looked up last: a
 * signal handler may have left a run of its own just now, and there is room for one.
 */
static inline bool begin_leave(struct emit_thread *self, struct arena_line *line, uint64_t gate,
			       size_t words, uint64_t **ret_at)
{
	if (emit_unlikely(!begin(self, line, gate, words, ret_at)))
		return false;
	if (emit_likely(self->quick == gate))
		return true;
	unweave_priv_exit(&self->hot, gate);
	return false;
}

void unweave_priv_leave(struct unweave_priv_thread *hot, uint64_t gate, uint64_t task,
			const struct unweave_stack *stack)
{
	struct emit_thread *self = (struct emit_thread *)hot;
	struct arena_line *line;
	unsigned depth;
	uint64_t word, *at;

	if (emit_unlikely(hot->gate != gate))
		return suspend_slowly(RECORD_LEAVE, task, stack);
	line = line_of(self);
	depth = innermost_depth(&line->nest, task);
	if (emit_unlikely(depth == UNWEAVE_PRIV_NEST || !table_knows(self, task)))
		return suspend_slowly(RECORD_LEAVE, task, stack);
	if (!stack || self->quick_stacks != gate) {
		if (emit_unlikely(!begin_leave(self, line, gate, 1, &at)))
			return suspend_slowly(RECORD_LEAVE, task, NULL);
		emit_store(at, record_first_word(RECORD_LEAVE, 0));
		table_leave(self, task, line->nest.resumed[depth]);
		return end_at_depth(self, line, gate, at + 1, depth, 0);
	}
	if (emit_unlikely(!is_plain(stack, &word) ||
			  !begin_leave(self, line, gate, 2 + (uint32_t)word, &at)))
		return suspend_slowly(RECORD_LEAVE, task, stack);
	emit_store(at, record_first_word(RECORD_LEAVE | RECORD_WITH_STACK, 0));
	table_leave(self, task, line->nest.resumed[depth]);
	end_at_depth(self, line, gate, store_frames(at + 1, word, stack->addresses), depth, 0);
}

static EMIT_COLD void suspend_head_slowly(unsigned kind, struct unweave_head *head)
{
	struct emit_frames frames = frames_of_head(head, emit_epoch());

	/* Until it is told: a record that finds no room leaves a state machine's chain unknown. */
	if (!head->depth)
		head->epoch = 0;
	emit_slowly(&(struct emit_request){
		.kind = (uint8_t)kind,
		.keyword = UNWEAVE_KEYWORD_SUSPEND,
		.stack_keyword = UNWEAVE_KEYWORD_SUSPEND_STACK,
		.task = head->task,
		.frames = &frames,
	});
}

/* A stack of one frame; there is room for its three words. */
static inline uint64_t *store_link(uint64_t *at, uint32_t keep, const struct unweave_link *link)
{
	emit_store(at, record_stack_word(1, 0, keep, link->state != 0));
	emit_store(at + 1, link_address(link));
	/* Without a state the word is not part of the record, and is written over. */
	emit_store(at + 2, (uint32_t)link->state);
	return at + 2 + (link->state != 0);
}

/* A LEAVE with one frame: all but always in the short form. */
static inline uint64_t *store_leave(uint64_t *at, uint32_t keep, const struct unweave_link *link)
{
	uint64_t address = link_address(link);

	if (emit_unlikely(!record_fits_at(address, keep))) {
		emit_store(at, record_first_word(RECORD_LEAVE | RECORD_WITH_STACK, 0));
		return store_link(at + 1, keep, link);
	}
	emit_store(at, record_leave_at(address, keep, link->state != 0));
	emit_store(at + 1, (uint32_t)link->state); /* as above */
	return at + 1 + (link->state != 0);
}

/* The quick way is for one new frame, which is what a run mostly leaves behind. */
void emit_suspend_head(struct emit_thread *self, uint64_t gate, unsigned kind,
		       struct unweave_head *head)
{
	const struct unweave_link *link = head->innermost;
	uint32_t epoch = emit_epoch();
	uint32_t keep = head_known(head, epoch);
	struct arena_line *line;
	unsigned depth;
	uint64_t *at;

	if (emit_unlikely(self->hot.gate != gate || self->quick_stacks != gate ||
			  (keep + 1 != head->depth && keep != RECORD_KEEP_REST)))
		return suspend_head_slowly(kind, head);
	line = line_of(self);
	depth = innermost_depth(&line->nest, head->task);
	if (emit_unlikely(depth == UNWEAVE_PRIV_NEST || !table_knows(self, head->task) ||
			  !begin_leave(self, line, gate, 4, &at)))
		return suspend_head_slowly(kind, head);
	if (kind == RECORD_LEAVE) {
		table_leave(self, head->task, line->nest.resumed[depth]);
		at = store_leave(at, keep, link);
	} else {
		end_run(self, line, depth, head->task,
			stamp(at, RECORD_SUSPEND | RECORD_WITH_STACK));
		at = store_link(at + 1, keep, link);
	}
	head_note_told(head, epoch);
	end_at_depth(self, line, gate, at, depth, 0);
}

static EMIT_COLD void complete_slowly(uint64_t task, enum unweave_status status)
{
	emit_slowly(&(struct emit_request){
		.kind = (uint8_t)(RECORD_COMPLETE + status),
		.keyword = UNWEAVE_KEYWORD_COMPLETE,
		.task = task,
	});
}

/* Nothing is recorded but, at detail `samples`, what runs. The gate is closed, and opened. */
static __attribute__((noinline)) void end_silently(struct emit_thread *self, uint64_t gate,
						   uint64_t task)
{
	table_end(self, task);
	if ((gate & UNWEAVE_PRIV_MODE_MASK) != ARENA_MODE_OFF)
		unweave_priv_pop(self->hot.nest, task);
	unweave_priv_exit(&self->hot, gate);
}

void unweave_priv_end(struct unweave_priv_thread *hot, uint64_t gate, uint64_t task)
{
	struct emit_thread *self = (struct emit_thread *)hot;

	if (emit_unlikely(hot->gate != gate || !table_knows(self, task)))
		return complete_slowly(task, UNWEAVE_OK);
	/* Only with the gate closed does the spare slot stay what it is. */
	unweave_priv_enter(hot);
	if (emit_unlikely(self->spare || (gate & UNWEAVE_PRIV_MODE_MASK) != ARENA_MODE_OFF))
		return end_silently(self, gate, task);
	table_end_spare(self, task);
	unweave_priv_exit(hot, gate);
}

void unweave_priv_complete(struct unweave_priv_thread *hot, uint64_t gate, uint64_t task,
			   enum unweave_status status)
{
	struct emit_thread *self = (struct emit_thread *)hot;
	struct arena_line *line;
	unsigned depth;
	uint64_t *at;

	if (emit_unlikely((unsigned)status > UNWEAVE_CANCELLED))
		status = UNWEAVE_ERROR;
	if (emit_unlikely(!is_quick(self, gate) || !table_knows(self, task)))
		return complete_slowly(task, status);
	line = line_of(self);
	if (emit_unlikely(!begin(self, line, gate, 3, &at)))
		return complete_slowly(task, status);
	depth = innermost_depth(&line->nest, task);
	if (depth < UNWEAVE_PRIV_NEST) {
		stamp(at, RECORD_COMPLETE + (unsigned)status);
		table_end(self, task);
		end_at_depth(self, line, gate, at + 1, depth, 0);
	} else if (emit_unlikely(line->nest.beyond)) {
		unweave_priv_exit(&self->hot, gate);
		complete_slowly(task, status);
	} else {
		stamp(at, RECORD_COMPLETE_TASK);
		emit_store(at + 1, task);
		emit_store(at + 2, status);
		table_end(self, task);
		end(self, line, gate, at + 3);
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
	bool outside = source != UNWEAVE_SOURCE_TASK;
	struct arena_line *line;
	struct arena_task *slot;
	uint64_t now, *at;

	if (emit_unlikely(!is_quick_after_leave(self, gate) || !table_knows(self, task)))
		return wake_slowly(task, source);
	line = line_of(self);
	if (emit_unlikely(!begin(self, line, gate, 3, &at)))
		return wake_slowly(task, source);
	now = stamp(at, outside ? RECORD_WAKE_FROM : RECORD_WAKE);
	emit_store(at + 1, task);
	/* Of a wake by a task the word is not part of the record, and is written over. */
	emit_store(at + 2, source);
	table_settle(self, now, gate);
	slot = table_slot(self, task);
	if (table_is(slot, task))
		table_wake(slot, now, source);
	end(self, line, gate, at + 2 + outside);
}

static EMIT_COLD void mark_slowly(uint64_t task, unsigned kind, uint64_t keyword)
{
	emit_slowly(
		&(struct emit_request){.kind = (uint8_t)kind, .keyword = keyword, .task = task});
}

/* The same function for the two frame markers; `kind` and `keyword` are constants in each. */
static inline void mark_frame(uint64_t task, unsigned kind, uint64_t keyword)
{
	struct emit_thread *self = emit_self();
	uint64_t gate = unweave_priv_gate();
	struct arena_line *line;
	uint64_t *at;

	if (emit_unlikely(!is_quick(self, gate)))
		return mark_slowly(task, kind, keyword);
	if (!emit_wants(self, task, keyword))
		return;
	line = line_of(self);
	if (emit_unlikely(!begin(self, line, gate, 1, &at)))
		return mark_slowly(task, kind, keyword);
	stamp(at, kind);
	end(self, line, gate, at + 1);
}

void unweave_priv_frame_resume(uint64_t task)
{
	mark_frame(task, RECORD_FRAME_RESUME, UNWEAVE_KEYWORD_FRAME_RESUME);
}

void unweave_priv_frame_complete(uint64_t task)
{
	mark_frame(task, RECORD_FRAME_COMPLETE, UNWEAVE_KEYWORD_FRAME_COMPLETE);
}

static EMIT_COLD uint64_t new_slowly(struct unweave_site *site, enum unweave_model model,
				     uint64_t parent, const struct unweave_stack *stack)
{
	struct emit_frames frames = stack ? frames_of_stack(stack) : (struct emit_frames){0};

	return emit_new_slowly(site, model, parent, stack ? &frames : NULL);
}

/* Nothing is recorded: the task gets its slot, and no time. The gate is closed, and opened. */
static __attribute__((noinline)) uint64_t begin_silently(struct emit_thread *self, uint64_t gate,
							 uint64_t parent, uint32_t site,
							 enum unweave_model model)
{
	uint64_t task;

	if (parent == UNWEAVE_PARENT_CURRENT)
		parent = emit_innermost(self->hot.nest);
	if (emit_likely(table_has(self) || emit_table_refill(self)))
		task = table_begin(self, &(struct table_birth){parent, 0, site, model});
	else
		task = emit_table_lone(model);
	unweave_priv_exit(&self->hot, gate);
	return task;
}

uint64_t unweave_priv_begin(struct unweave_priv_thread *hot, uint64_t gate,
			    struct unweave_site *site, enum unweave_model model, uint64_t parent)
{
	struct emit_thread *self = (struct emit_thread *)hot;
	uint32_t site_id = site ? __atomic_load_n(&site->id, __ATOMIC_RELAXED) : 0;
	uint64_t task;

	if (emit_unlikely(hot->gate != gate || (site && !site_id)))
		return emit_new_slowly(site, model, parent, NULL);
	unweave_priv_enter(hot);
	if (emit_unlikely(!self->spare || parent == UNWEAVE_PARENT_CURRENT))
		return begin_silently(self, gate, parent, site_id, model);
	task = table_begin_spare(self, &(struct table_birth){parent, 0, site_id, model});
	unweave_priv_exit(hot, gate);
	return task;
}

uint64_t unweave_priv_new(struct unweave_priv_thread *hot, uint64_t gate, struct unweave_site *site,
			  enum unweave_model model, uint64_t parent,
			  const struct unweave_stack *stack)
{
	uint32_t site_id = site ? __atomic_load_n(&site->id, __ATOMIC_RELAXED) : 0;
	uint64_t task = 0;

	if (emit_likely(!stack && (!site || site_id)))
		task = quick_new((struct emit_thread *)hot, gate, site_id, model, parent);
	return emit_likely(task) ? task : new_slowly(site, model, parent, stack);
}

/* Told in a run of the task's own, it is of the wait that comes; else of the one that is. */
static void set_waits(const struct emit_thread *self, struct arena_task *slot, uint64_t task,
		      enum unweave_wait kind, uint64_t on)
{
	const struct unweave_priv_nest *nest = self->hot.nest;
	bool events = (unweave_priv_gate() & UNWEAVE_PRIV_MODE_MASK) == ARENA_MODE_EVENTS;
	bool next = events && nest && emit_innermost(nest) == task;

	table_set(slot->awaits, on);
	table_set(slot->waits, (uint8_t)(kind | (next ? TABLE_WAITS_NEXT : 0)));
}

static EMIT_COLD void waits_slowly(uint64_t task, enum unweave_wait kind, uint64_t on)
{
	struct arena_task *slot;

	if (!emit_birth())
		return;
	slot = emit_table_slot(task);
	if (slot)
		set_waits(emit_self(), slot, task, kind, on);
}

void unweave_priv_waits(struct unweave_priv_thread *hot, uint64_t task, enum unweave_wait kind,
			uint64_t on)
{
	struct emit_thread *self = (struct emit_thread *)hot;
	struct arena_task *slot;

	if (emit_unlikely(!table_knows(self, task)))
		return waits_slowly(task, kind, on);
	slot = table_slot(self, task);
	if (table_is(slot, task))
		set_waits(self, slot, task, kind, on);
}

void unweave_priv_append(uint64_t task, const struct unweave_stack *stack)
{
	struct emit_frames frames = stack ? frames_of_stack(stack) : (struct emit_frames){0};

	if (stack)
		emit_slowly(&(struct emit_request){
			.kind = RECORD_APPEND,
			.with_task = true,
			.fields = 1,
			.keyword = UNWEAVE_KEYWORD_APPEND,
			.stack_keyword = UNWEAVE_KEYWORD_APPEND,
			.task = task,
			.frames = &frames,
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
	emit_table_name(task, name, length);
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
