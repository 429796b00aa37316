/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a hook in the usual case: the thread is up to date, the session
 * records the life of all tasks, the clock is the machine's own, the chunk has room.
 */
#ifndef EMIT_QUICK_H
#define EMIT_QUICK_H

#include "emit/emit.h"

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

#endif /* EMIT_QUICK_H */
