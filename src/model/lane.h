/* SPDX-License-Identifier: Apache-2.0 */
/* One stream of a trace as it is read: the runs that it is inside of, and its chains. */
#ifndef MODEL_LANE_H
#define MODEL_LANE_H

#include "model/live.h"

/* A run that has not ended. */
struct lane_run {
	uint64_t id;            /* its task */
	struct live_task *task; /* NULL: unknown, or it goes on elsewhere already */
	uint64_t start;
	uint64_t inner;
	uint64_t idle;
	uint64_t cpu;
	uint64_t asleep;
	uint64_t lead; /* ns, of `hottest` */
	uint32_t samples;
	uint32_t hottest; /* by majority vote */
	uint32_t stack;   /* its task's chain when it began */
	bool begin_unknown;
	bool self_woken; /* its task had woken itself */
	bool spoke;      /* something was told in it: a task, a frame, a wake of another */
};

/* A loop that a thread is in. Those of one thread are inside of each other, by their depths. */
struct lane_loop {
	uint64_t id;            /* its task; 0: it is over */
	struct live_task *task; /* while that has this id */
	uint32_t depth;         /* runs around it */
	uint64_t idle;          /* since then it waits; 0: it does not */
	uint64_t woke;          /* since then it is in an iteration; 0: it is not */
	uint64_t last;          /* when it was last seen to do something */
	struct model_iteration now;
};

struct lane {
	uint32_t thread;
	struct lane_run *nest; /* outermost first */
	uint32_t depth;
	uint32_t capacity;
	bool seen;       /* it had an event */
	bool nest_known; /* whoever is not in the nest does not run here */
	bool resetting;  /* after a reset: the first `replayed` runs were said to go on */
	uint32_t replayed;
	uint64_t since; /* from then on nothing is missing */
	uint64_t last;  /* time of its last event */
	uint64_t idle;  /* since then it waits for something to do; 0: it does not */
	uint64_t due;   /* ns that what is resumed next is late; 0: nobody said */

	struct lane_loop *loops; /* outermost first */
	uint32_t loop_count;
	uint32_t loop_capacity;

	/* Frame id to tree, for the frames of one block. */
	uint64_t block;
	uint32_t *stacks;
	uint32_t stack_capacity;
	uint32_t stack_used; /* beyond are zeros */
	const struct unweave_frame **todo;
	uint32_t todo_capacity;
};

void lane_fini(struct lane *lane);

/* NULL: no memory. */
struct lane_run *lane_push(struct lane *lane);
/* Puts a run without a task where one was taken out: its end is still to be told. -ENOMEM. */
int lane_insert(struct lane *lane, uint32_t at, uint64_t id);
/* The run of `id` that is innermost; NULL: there is none. */
struct lane_run *lane_find(const struct lane *lane, uint64_t id);
/* Takes a run out, from wherever it is. */
void lane_remove(struct lane *lane, struct lane_run *run);

/* Where in the tree the chain is. 0: there is none; -1: no memory. */
int64_t lane_stack_slow(struct lane *lane, struct tree *tree, const struct unweave_frame *frame,
			uint64_t block);

static inline int64_t lane_stack(struct lane *lane, struct tree *tree,
				 const struct unweave_frame *frame, uint64_t block)
{
	if (!frame)
		return 0;
	if (__builtin_expect(lane->block == block && frame->id < lane->stack_used &&
				     lane->stacks[frame->id],
			     1))
		return lane->stacks[frame->id];
	return lane_stack_slow(lane, tree, frame, block);
}

#endif /* MODEL_LANE_H */
