/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains, each stored once: a frame and what it awaits is one node, so equal
 * chains are the same pointer, and chains share their root side.
 */
#ifndef TRACE_STACKS_H
#define TRACE_STACKS_H

#include "unweave/event.h"

struct stacks;

/* At most `limit` nodes are kept. Returns -ENOMEM. */
int stacks_new(struct stacks **ret, uint32_t limit);
struct stacks *stacks_free(struct stacks *stacks);

/*
 * The chain of this frame on top of `awaiter` (NULL: it is the root). Lives as
 * long as `stacks`. NULL if it is new and there is no room.
 */
const struct unweave_frame *stacks_push(struct stacks *stacks, const struct unweave_frame *awaiter,
					uint64_t address, int32_t state, uint32_t kind);

/* The nodes one by one: those with the ids from 1 to stacks_count(). */
uint32_t stacks_count(const struct stacks *stacks);
const struct unweave_frame *stacks_at(const struct stacks *stacks, uint32_t id);

#endif /* TRACE_STACKS_H */
