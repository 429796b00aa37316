/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reader of a block has been told so far: its tasks, its stacks, and
 * the chain that each task had when it was last mentioned. The encoder's half
 * of the dictionaries that docs/format.md describes.
 */
#ifndef TRACE_TOLD_H
#define TRACE_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/mentions.h"
#include "trace/room.h"
#include "unweave/event.h"
#include "util/map.h"

/*
 * Frames; of a deeper chain both ends are kept: so many of the root side, and on
 * the innermost side from one to two steps. What is left out between them ends at
 * a multiple of a step, so that chains that differ in a few frames share the rest.
 */
#define TOLD_CHAIN_MAX 4096u
#define TOLD_ROOT (TOLD_CHAIN_MAX / 2 - 1)
#define TOLD_STEP (TOLD_CHAIN_MAX / 4)

/*
 * An entry of the stacks is its index, its number among the children of its
 * awaiter, and how many children it has itself. The last two stop at
 * FORMAT_SIBLINGS_MAX, which is one number too many for a stackref.
 */
#define TOLD_CHILD_BITS 6u
#define TOLD_CHILD_MASK ((1u << TOLD_CHILD_BITS) - 1)
_Static_assert(FORMAT_SIBLINGS_MAX <= TOLD_CHILD_MASK, "a number of children has its bits");

static inline uint32_t told_entry(uint32_t index, uint32_t number, uint32_t children)
{
	return index << 2 * TOLD_CHILD_BITS | number << TOLD_CHILD_BITS | children;
}

static inline uint32_t told_index(uint32_t entry)
{
	return entry >> 2 * TOLD_CHILD_BITS;
}

static inline uint32_t told_number(uint32_t entry)
{
	return entry >> TOLD_CHILD_BITS & TOLD_CHILD_MASK;
}

struct told {
	struct mentions tasks;
	struct map stacks; /* frame to entry */
	uint32_t entries;  /* that the reader has in its list of stacks */
	uint32_t root;     /* the entry that roots stand on: no frame, index 0 */
	uint64_t last_task;
	uint64_t last_address;
	const struct unweave_frame **path; /* TOLD_CHAIN_MAX frames, to turn a chain around */
	struct unweave_frame omission;     /* in the path, for what is left out there */
};

/* Returns -ENOMEM. */
int told_init(struct told *told);
void told_fini(struct told *told);

/* A new block: its reader knows nothing. */
void told_clear(struct told *told);

/* The stackref for that, if the reader knows the chain; see told_put_stack(). */
static inline bool told_stackref(const struct told *told, const struct unweave_frame *was,
				 const struct unweave_frame *chain, uint64_t *ret)
{
	const uint32_t *entry = chain ? map_find(&told->stacks, (uintptr_t)chain) : NULL;

	if (!entry) {
		*ret = 0;
		return !chain;
	}
	if (was && was->awaiter == chain->awaiter && told_number(*entry) < FORMAT_SIBLINGS_MAX)
		*ret = told_number(*entry) << 1 | 1;
	else
		*ret = (uint64_t)told_index(*entry) << 1;
	return true;
}

/*
 * Writes a stackref where the reader has been told `was` of the task, or NULL.
 * Frames that are new to the reader are defined by it.
 */
void told_put_stack(struct told *told, struct room *room, const struct unweave_frame *was,
		    const struct unweave_frame *chain);

/* Writes the task of a mention that was just added; its chain, as a stackref, is to follow. */
static inline uint8_t *told_put_new(struct told *told, uint8_t *at, const struct mention *mention)
{
	uint64_t delta = varint_zigzag((int64_t)(mention->task - told->last_task));

	told->last_task = mention->task;
	at = varint_put(at, delta);
	return delta ? at : varint_put(at, mention->index);
}

/* Writes a mention, which tells that the task has this chain. */
void told_put_task(struct told *told, struct room *room, uint64_t task,
		   const struct unweave_frame *chain);

#endif /* TRACE_TOLD_H */
