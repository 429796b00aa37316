/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reader of a block has been told so far: its tasks, its stacks, and
 * the chain that each task had when it was last mentioned. The encoder's half
 * of the dictionaries that docs/format.md describes.
 */
#ifndef TRACE_TOLD_H
#define TRACE_TOLD_H

#include <stdint.h>

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

struct told {
	struct mentions tasks;
	struct map stacks; /* frame to entry, as told.c packs it */
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

/*
 * Writes a stackref where the reader has been told `was` of the task, or NULL.
 * Frames that are new to the reader are defined by it.
 */
void told_put_stack(struct told *told, struct room *room, const struct unweave_frame *was,
		    const struct unweave_frame *chain);

/* Writes a mention, which tells that the task has this chain. */
void told_put_task(struct told *told, struct room *room, uint64_t task,
		   const struct unweave_frame *chain);

#endif /* TRACE_TOLD_H */
