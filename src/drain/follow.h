/* SPDX-License-Identifier: Apache-2.0 */
/* Chains, as records change them: a record tells the frames that are new, and how many stay. */
#ifndef DRAIN_FOLLOW_H
#define DRAIN_FOLLOW_H

#include "drain/parse.h"
#include "drain/stream.h"

/*
 * Remembers, in the task's slot, the chain that it has after a record with a
 * stack. NULL if there is no room for it: then it is not known.
 */
const struct unweave_frame *follow_change(struct stream_shop *shop, struct chain_slot *slot,
					  uint64_t task, const struct record *record);

/* The record's stack by itself: of a task that has no chain any more, or of another one. */
const struct unweave_frame *follow_alone(struct stream_shop *shop, const struct record *record);

#endif /* DRAIN_FOLLOW_H */
