/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept in a source: the id of its task, in two holes of the public struct
 * which GLib clears and never touches, and two flags in bits that no id has.
 *
 *     0               attached, and not called yet
 *     RUNS            its first call is under way; without a task: not to be seen
 *     STANDS          it was called, or is of a sort that stands
 *     RUNS | STANDS   it was attached to be called once, whatever it returns
 *
 * The thread that dispatches a source is the only one to write the words, but
 * for the one that destroys it. That one leaves a source in its first call to the
 * thread that is in there. Else it takes the task by a compare-and-swap of the lower
 * half, and so does a dispatch that is the last.
 */
#ifndef ADAPTER_GLIB_STATE_H
#define ADAPTER_GLIB_STATE_H

#include <stddef.h>

#include "hooks.h"

#define RUNS 1u
#define STANDS (1u << 24)
#define FLAGS (RUNS | STANDS)
_Static_assert((FLAGS & ~UNWEAVE_TASK_SPARE) == 0, "the flags are where a task has no bits");

#if defined(__LP64__)
#define LOW 28
#define HIGH 52
_Static_assert(offsetof(GSource, ref_count) + 4 == LOW && offsetof(GSource, context) == LOW + 4,
	       "a hole");
_Static_assert(offsetof(GSource, source_id) + 4 == HIGH && offsetof(GSource, poll_fds) == HIGH + 4,
	       "another one");
#define HAVE_ROOM 1

static inline uint32_t *word(GSource *source, size_t offset)
{
	return (uint32_t *)((char *)source + offset);
}
#else
/* Each call is a task then that nothing is known of but the call. */
#define LOW 0
#define HIGH 0
#define HAVE_ROOM 0

static inline uint32_t *word(GSource *source, size_t offset)
{
	static uint32_t none;

	(void)source, (void)offset;
	return &none;
}
#endif

struct state {
	uint64_t task;
	uint32_t flags;
};

static inline struct state load(GSource *source)
{
	uint32_t low = __atomic_load_n(word(source, LOW), __ATOMIC_RELAXED);
	uint32_t high = __atomic_load_n(word(source, HIGH), __ATOMIC_RELAXED);

	return (struct state){.task = (uint64_t)high << 32 | (low & ~FLAGS), .flags = low & FLAGS};
}

static inline void store(GSource *source, uint64_t task, uint32_t flags)
{
	if (!HAVE_ROOM)
		return;
	__atomic_store_n(word(source, HIGH), (uint32_t)(task >> 32), __ATOMIC_RELAXED);
	__atomic_store_n(word(source, LOW), (uint32_t)task | flags, __ATOMIC_RELAXED);
}

/* Its first call begins: nothing else changes. */
static inline void store_runs(GSource *source, uint64_t task)
{
	if (HAVE_ROOM)
		__atomic_store_n(word(source, LOW), (uint32_t)task | RUNS, __ATOMIC_RELAXED);
}

/* Takes the task of a source that stands, or is not called: at most one thread gets it. */
static inline uint64_t take_task(GSource *source)
{
	struct state state = load(source);
	uint32_t low = (uint32_t)state.task | state.flags;

	if (!state.task || !__atomic_compare_exchange_n(word(source, LOW), &low, 0, false,
							__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return 0;
	__atomic_store_n(word(source, HIGH), 0, __ATOMIC_RELAXED);
	return state.task;
}

static inline void complete(uint64_t task, enum unweave_status status)
{
	if (task)
		unweave_callback_end(task, status);
}

#endif /* ADAPTER_GLIB_STATE_H */
