/* SPDX-License-Identifier: Apache-2.0 */
#include "model/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

void lane_fini(struct lane *lane)
{
	free(lane->nest);
	free(lane->loops);
	free(lane->stacks);
	free(lane->todo);
	*lane = (struct lane){0};
}

struct lane_run *lane_push(struct lane *lane)
{
	struct lane_run *nest = grow(lane->nest, lane->depth, &lane->capacity, 4, sizeof(*nest));

	if (!nest)
		return NULL;
	lane->nest = nest;
	lane->nest[lane->depth] = (struct lane_run){0};
	return &lane->nest[lane->depth++];
}

int lane_insert(struct lane *lane, uint32_t at, uint64_t id)
{
	struct lane_run *run = lane_push(lane);

	if (!run)
		return -ENOMEM;
	run = &lane->nest[at];
	memmove(run + 1, run, (lane->depth - 1 - at) * sizeof(*run));
	*run = (struct lane_run){.id = id};
	if (lane->resetting && at < lane->replayed)
		lane->replayed++;
	return 0;
}

struct lane_run *lane_find(const struct lane *lane, uint64_t id)
{
	for (uint32_t i = lane->depth; i; i--)
		if (lane->nest[i - 1].id == id)
			return &lane->nest[i - 1];
	return NULL;
}

void lane_remove(struct lane *lane, struct lane_run *run)
{
	uint32_t behind = (uint32_t)(lane->nest + lane->depth - run) - 1;

	if (lane->resetting && run - lane->nest < lane->replayed)
		lane->replayed--;
	memmove(run, run + 1, behind * sizeof(*run));
	lane->depth--;
}

/* Room for frames up to this id; those beyond what is in use are zeros. */
static bool stacks_reserve(struct lane *lane, uint32_t id)
{
	uint32_t *stacks = grow_to(lane->stacks, id, &lane->stack_capacity, sizeof(*stacks));

	if (!stacks)
		return false;
	lane->stacks = stacks;
	return true;
}

static bool todo_add(struct lane *lane, uint32_t at, const struct unweave_frame *frame)
{
	const struct unweave_frame **todo =
		grow(lane->todo, at, &lane->todo_capacity, 64, sizeof(*todo));

	if (!todo)
		return false;
	lane->todo = todo;
	lane->todo[at] = frame;
	return true;
}

/* Those whose parents are not known yet, innermost first; `*ret_parent` is who awaits the last. */
static int64_t list_unknown(struct lane *lane, const struct unweave_frame *frame,
			    uint32_t *ret_parent)
{
	uint32_t count = 0;

	for (; frame; frame = frame->awaiter) {
		if (!stacks_reserve(lane, frame->id))
			return -1;
		if (frame->id >= lane->stack_used)
			lane->stack_used = frame->id + 1;
		if (lane->stacks[frame->id])
			break;
		if (!todo_add(lane, count++, frame))
			return -1;
	}
	*ret_parent = frame ? lane->stacks[frame->id] : 0;
	return count;
}

int64_t lane_stack_slow(struct lane *lane, struct tree *tree, const struct unweave_frame *frame,
			uint64_t block)
{
	uint32_t node = 0;
	int64_t left;

	if (lane->block != block && lane->stack_used) {
		memset(lane->stacks, 0, lane->stack_used * sizeof(*lane->stacks));
		lane->stack_used = 0;
	}
	lane->block = block;
	/* Not by recursion: a hostile chain is as deep as a block has room for. */
	for (left = list_unknown(lane, frame, &node); left > 0; left--) {
		const struct unweave_frame *at = lane->todo[left - 1];

		node = tree_child(tree, node, at->address, at->state,
				  at->kind == UNWEAVE_FRAME_OMITTED ? SPLICE_OMITTED
								    : SPLICE_AWAIT);
		if (!node)
			return -1;
		lane->stacks[at->id] = node;
	}
	return left < 0 ? left : node;
}
