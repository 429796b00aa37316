/* SPDX-License-Identifier: Apache-2.0 */
/* Chains, as records change them: a record tells the frames that are new, and how many stay. */
#ifndef DRAIN_FOLLOW_H
#define DRAIN_FOLLOW_H

#include "drain/parse.h"
#include "drain/stream.h"

/* The usual change: one function waits where another one did, on the same rest. */
static inline bool follow_is_usual(const struct stream_shop *shop, const struct unweave_frame *old,
				   const struct record *record)
{
	uint64_t head = *record->stack;
	uint32_t keep = head >> 32 & 0x7fffffff;

	return old && (head & 0xffffffff) == 1 && !shop->omitting &&
	       (old->depth == keep + 1 || keep == RECORD_KEEP_REST) &&
	       record->kind != RECORD_APPEND;
}

/* The chain after a usual change. NULL if there is no room for it: then it is not known. */
static inline const struct unweave_frame *
follow_push(struct stream_shop *shop, const struct unweave_frame *old, const uint64_t *stack)
{
	int32_t state = *stack >> 63 ? (int32_t)stack[2] : 0;

	return stacks_push(shop->stacks, old->awaiter, stack[1], state, UNWEAVE_FRAME_CODE);
}

/* Any other one. */
const struct unweave_frame *follow_unusual(struct stream_shop *shop, struct chain_slot *slot,
					   uint64_t task, const struct record *record);

/*
 * Remembers, in the task's slot, the chain that it has after a record with a
 * stack. NULL if there is no room for it: then it is not known.
 */
static inline const struct unweave_frame *follow_change(struct stream_shop *shop,
							struct chain_slot *slot, uint64_t task,
							const struct record *record)
{
	const struct unweave_frame *old = chain_stack(slot), *chain;

	if (!follow_is_usual(shop, old, record))
		return follow_unusual(shop, slot, task, record);
	chain = follow_push(shop, old, record->stack);
	chain_change(slot, chain);
	return chain;
}

/* The record's stack by itself: of a task that has no chain any more, or of another one. */
const struct unweave_frame *follow_alone(struct stream_shop *shop, const struct record *record);

#endif /* DRAIN_FOLLOW_H */
