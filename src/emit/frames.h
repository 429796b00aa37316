/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a stack on their way into a record: from the caller's array, or
 * from links.
 */
#ifndef EMIT_FRAMES_H
#define EMIT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena/record.h"
#include "unweave/link.h"

struct emit_frames {
	uint32_t count;
	uint32_t keep;             /* as in a record */
	bool with_states;          /* one of them is not 0 */
	struct unweave_head *head; /* to be noted there once they are told; or NULL */
	/* An array; */
	const uint64_t *addresses; /* or NULL */
	const int32_t *states;     /* or NULL */
	/* or a function that runs, if any, and links. */
	const struct unweave_priv_view *running; /* or NULL */
	struct unweave_link *links;
};

struct emit_frames frames_of_stack(const struct unweave_stack *stack);

/* The first `count` links of a chain; 0: all of them, once or twice if they are a ring. */
struct emit_frames frames_of_links(struct unweave_link *innermost, uint32_t count);

/* What the recorder was not told of a task's chain in this epoch. */
struct emit_frames frames_of_head(struct unweave_head *head, uint32_t epoch);

/*
 * A run of the task begins, or ends: for who reads the chain from outside. All
 * changes of the chain lie between an odd turn and the next even one.
 */
static inline void head_begin_turn(struct unweave_head *head)
{
	__atomic_store_n(&head->turn, head->turn | 1, __ATOMIC_RELAXED);
	/* The turn, before what the run changes. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void head_end_turn(struct unweave_head *head)
{
	__atomic_store_n(&head->turn, head->turn + (head->turn & 1), __ATOMIC_RELEASE);
}

/* What a view shows, all of it. */
struct emit_frames frames_of_view(const struct unweave_priv_view *view);

/*
 * What the recorder knows of a task's chain, as a record's `keep`. A state
 * machine's differs in its own state only, if it was told at all.
 */
static inline uint32_t head_known(const struct unweave_head *head, uint32_t epoch)
{
	if (head->epoch != epoch)
		return 0;
	return head->depth ? head->told : RECORD_KEEP_REST;
}

/* The chain that `head` has now is told. */
static inline void head_note_told(struct unweave_head *head, uint32_t epoch)
{
	head->told = head->depth;
	head->epoch = epoch;
}

/* Of a state machine, an awaiter may come any time, from another thread; with all that it says. */
static inline struct unweave_link *link_awaiter(const struct unweave_link *link)
{
	return __atomic_load_n(&link->awaiter, __ATOMIC_ACQUIRE);
}

/* Tasks that wait for each other are links in a ring: it is walked once or twice. */
struct link_walk {
	const struct unweave_link *mark;
	uint32_t steps;
};

/* The next link after `link`; NULL at the root, or where a ring has closed. */
static inline struct unweave_link *link_next(struct link_walk *walk,
					     const struct unweave_link *link)
{
	/* Brent: the mark moves on at each power of two, so a ring comes back to it. */
	if ((walk->steps & (walk->steps - 1)) == 0)
		walk->mark = link;
	walk->steps++;
	link = link_awaiter(link);
	return link == walk->mark ? NULL : (struct unweave_link *)link;
}

static inline uint64_t link_address(const struct unweave_link *link)
{
	return link->code ? (uintptr_t)link->code : (uintptr_t)link->go;
}

static inline struct unweave_link *view_rest(const struct unweave_priv_view *view)
{
	struct unweave_link *link = (struct unweave_link *)(view->rest & ~(uintptr_t)1);

	return view->rest & 1 ? link_awaiter(link) : link;
}

/* How a stack goes into a record that has room for less than all of it: its two ends. */
struct frames_plan {
	uint32_t inner;   /* frames of the innermost side: all, if it fits */
	uint32_t root;    /* frames of the root side; 0 if it fits */
	uint32_t omitted; /* frames between them */
	size_t words;     /* of the record, after its fixed words */
};

struct frames_plan frames_plan(const struct emit_frames *frames, size_t room);

/* Stores what was planned at `to`, and returns where it ends. */
uint64_t *frames_store(uint64_t *to, const struct emit_frames *frames,
		       const struct frames_plan *plan);

#endif /* EMIT_FRAMES_H */
