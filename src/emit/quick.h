/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a hook in the usual case: the thread is up to date, the session
 * records the life of all tasks, the clock is the machine's own, the chunk has room.
 */
#ifndef EMIT_QUICK_H
#define EMIT_QUICK_H

#include "emit/emit.h"
#include "emit/table.h"

/* Whether the hook may go the quick way. */
static inline bool is_quick(const struct emit_thread *self, uint64_t gate)
{
	return emit_likely(self->hot.gate == gate && self->quick == gate);
}

/* The same for a hook that may come right after a run was left, and then settles that. */
static inline bool is_quick_after_leave(const struct emit_thread *self, uint64_t gate)
{
	return emit_likely(self->hot.gate == gate && self->quick_always == gate);
}

/* The thread's line in the arena: the nest is part of it, and its address is at hand. */
static inline struct arena_line *line_of(const struct emit_thread *self)
{
	return (struct arena_line *)((char *)self->hot.nest - offsetof(struct arena_line, nest));
}

/*
 * Closes the gate if the main stream has room for `words` words more, which go
 * to `*ret_at`. If it has none the gate stays open.
 */
static inline bool begin(struct emit_thread *self, struct arena_line *line, uint64_t gate,
			 size_t words, uint64_t **ret_at)
{
	uintptr_t at;

	unweave_priv_enter(&self->hot);
	at = atomic_load_explicit(&line->streams[ARENA_STREAM_MAIN].at, memory_order_relaxed);
	*ret_at = (uint64_t *)at;
	if (emit_likely(at + words * sizeof(uint64_t) <= (uintptr_t)self->main.end))
		return true;
	unweave_priv_exit(&self->hot, gate);
	return false;
}

/* Where that is: loaded again, by a hook that has too much in its registers to keep it there. */
static inline uint64_t *begun_at(const struct arena_line *line)
{
	return (uint64_t *)(uintptr_t)atomic_load_explicit(&line->streams[ARENA_STREAM_MAIN].at,
							   memory_order_relaxed);
}

/* Begins a record; returns its time. */
static inline uint64_t stamp(uint64_t *to, unsigned kind)
{
	uint64_t now = clock_ticks(CLOCK_QUICK);

	emit_store(to, record_first_word(kind, now));
	return now;
}

/* Shows all words before `at` to the drain, as emit_publish() does. */
static inline void publish(struct emit_thread *self, struct arena_line *line, uint64_t *at)
{
	self->main.tried++;
	atomic_store_explicit(&line->streams[ARENA_STREAM_MAIN].at, (uintptr_t)at,
			      memory_order_release);
}

/* Opens the gate after quick steps, with what it was before: hardly a register is in use then. */
static inline void exit_quickly(struct emit_thread *self)
{
	unweave_priv_exit(&self->hot, __atomic_load_n(&self->quick, __ATOMIC_RELAXED));
}

static inline void end(struct emit_thread *self, struct arena_line *line, uint64_t gate,
		       uint64_t *at)
{
	publish(self, line, at);
	unweave_priv_exit(&self->hot, gate);
}

/* Ends the hook with another run innermost: `task` at `depth`, or 0 if one ended there. */
static inline void end_at_depth(struct emit_thread *self, struct arena_line *line, uint64_t gate,
				uint64_t *at, unsigned depth, uint64_t task)
{
	publish(self, line, at);
	__atomic_store_n(&line->nest.tasks[depth], task, __ATOMIC_RELEASE);
	unweave_priv_exit(&self->hot, gate);
}

static inline unsigned depth_of(const struct unweave_priv_nest *nest)
{
	unsigned depth = 0;

	while (emit_unlikely(nest->tasks[depth]))
		depth++;
	return depth;
}

/* The depth of the innermost run, if that is `task`'s; else UNWEAVE_PRIV_NEST. */
static inline unsigned innermost_depth(const struct unweave_priv_nest *nest, uint64_t task)
{
	unsigned depth;

	if (emit_likely(nest->tasks[0] == task && nest->tasks[1] == 0))
		return 0;
	depth = depth_of(nest) - 1;
	/* One less than the most: there may be runs beyond that. */
	if (emit_unlikely(depth >= UNWEAVE_PRIV_NEST - 1 || nest->tasks[depth] != task))
		return UNWEAVE_PRIV_NEST;
	return depth;
}

/*
 * Whole hooks, for those who do more than one thing at a time. If something is not as usual,
 * nothing was done, and the answer is false or 0.
 */

/* Stores a RESUME, which makes `task` the run at `depth`; returns its time. */
static inline uint64_t put_resume(struct emit_thread *self, struct arena_line *line, uint64_t *at,
				  unsigned depth, uint64_t task)
{
	uint64_t now = stamp(at, RECORD_RESUME);

	emit_store(at + 1, task);
	publish(self, line, at + 2);
	__atomic_store_n(&line->nest.resumed[depth], now, __ATOMIC_RELAXED);
	__atomic_store_n(&line->nest.tasks[depth], task, __ATOMIC_RELEASE);
	return now;
}

static inline bool quick_resume(struct emit_thread *self, uint64_t gate, uint64_t task)
{
	struct arena_line *line;
	unsigned depth;
	uint64_t now, *at;

	if (emit_unlikely(!is_quick_after_leave(self, gate)))
		return false;
	/* The end of the run writes there. Never loaded here: with many tasks it is cold. */
	table_prefetch(self, task);
	line = line_of(self);
	depth = depth_of(&line->nest);
	if (emit_unlikely(depth == UNWEAVE_PRIV_NEST || !begin(self, line, gate, 2, &at)))
		return false;
	now = put_resume(self, line, at, depth, task);
	/* Last, when hardly a register is in use. */
	table_settle(self, now, gate);
	unweave_priv_exit(&self->hot, gate);
	return true;
}

/*
 * Closes the gate of a thread that is up to date, for two words to `*ret_at`, if it runs nothing
 * and has no run to settle. All that is looked up inside, since a signal handler may leave a run
 * of its own at any time.
 */
static inline bool begin_first_run(struct emit_thread *self, uint64_t gate, uint64_t **ret_at)
{
	struct arena_line *line = line_of(self);

	if (emit_unlikely(!begin(self, line, gate, 2, ret_at)))
		return false;
	if (emit_likely(self->quick == gate && !line->nest.tasks[0]))
		return true;
	unweave_priv_exit(&self->hot, gate);
	return false;
}

/* Stores a CREATE but its first word, and opens the gate. The thread has a slot. Returns the task.
 */
static inline uint64_t put_create(struct emit_thread *self, struct arena_line *line, uint64_t *at,
				  const struct table_birth *birth)
{
	uint64_t task = table_begin(self, birth);

	emit_store(at + 1, task);
	emit_store(at + 2, birth->parent);
	emit_store(at + 3, birth->site);
	publish(self, line, at + 4);
	exit_quickly(self);
	return task;
}

/* A new task; its id. */
static inline uint64_t quick_new(struct emit_thread *self, uint64_t gate, uint32_t site,
				 enum unweave_model model, uint64_t parent)
{
	struct arena_line *line;
	uint64_t now, *at;

	if (emit_unlikely(!is_quick(self, gate)))
		return 0;
	line = line_of(self);
	if (emit_unlikely(!begin(self, line, gate, 4, &at)))
		return 0;
	now = stamp(at, RECORD_CREATE);
	if (emit_unlikely(!table_has(self))) {
		unweave_priv_exit(&self->hot, gate);
		return 0;
	}
	if (parent == UNWEAVE_PARENT_CURRENT)
		parent = emit_innermost(&line->nest);
	return put_create(self, line, at, &(struct table_birth){parent, now, site, model});
}

/* The innermost run's task is done, at the time of the thread's next event. */
static inline bool quick_end(struct emit_thread *self, uint64_t gate, uint64_t task,
			     enum unweave_status status)
{
	struct arena_line *line;
	unsigned depth;
	uint64_t *at;

	if (emit_unlikely(!is_quick(self, gate) || !table_knows(self, task) ||
			  (unsigned)status > UNWEAVE_CANCELLED))
		return false;
	line = line_of(self);
	depth = innermost_depth(&line->nest, task);
	if (emit_unlikely(depth == UNWEAVE_PRIV_NEST || !begin(self, line, gate, 1, &at)))
		return false;
	emit_store(at, record_first_word(RECORD_END + (unsigned)status, 0));
	table_end(self, task);
	end_at_depth(self, line, gate, at + 1, depth, 0);
	return true;
}

/* The same, with success, of the thread's only run, if it leaves no slots to be passed on. */
static inline __attribute__((always_inline)) bool quick_end_first(struct emit_thread *self,
								  uint64_t gate, uint64_t task)
{
	struct arena_line *line;
	uint64_t *at;

	if (emit_unlikely(!is_quick(self, gate) || !table_knows(self, task) ||
			  self->frees >= TABLE_KEEP_MOST))
		return false;
	line = line_of(self);
	if (emit_unlikely(line->nest.tasks[0] != task || line->nest.tasks[1] ||
			  !begin(self, line, gate, 1, &at)))
		return false;
	emit_store(at, record_first_word(RECORD_END + UNWEAVE_OK, 0));
	if (self->spare)
		table_shelve(self);
	table_end_spare(self, task);
	end_at_depth(self, line, gate, at + 1, 0, 0);
	return true;
}

#endif /* EMIT_QUICK_H */
