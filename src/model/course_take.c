/* SPDX-License-Identifier: Apache-2.0 */
/* What can be found out about an event before it is due. */
#include <errno.h>
#include <stdlib.h>

#include "model/course.h"
#include "util/grow.h"

/* NULL: no memory. */
static struct lane *add_lane(struct model *model, uint64_t order)
{
	struct lane *lane;
	struct lane *lanes =
		grow(model->lanes, model->lane_count, &model->lane_capacity, 16, sizeof(*lanes));

	if (!lanes)
		return NULL;
	model->lanes = lanes;
	if (map_put(&model->lane_index, order, model->lane_count) < 0)
		return NULL;
	lane = &model->lanes[model->lane_count++];
	*lane = (struct lane){.thread = (uint32_t)(order >> 1), .block = UINT64_MAX};
	return lane;
}

static struct lane *lane_of(struct model *model, const struct unweave_event *event)
{
	uint64_t order = (uint64_t)event->thread << 1 | (event->flags & UNWEAVE_EVENT_ASIDE);
	const uint32_t *found;
	struct lane *lane;

	if (model->lane_last && model->lane_order == order)
		return &model->lanes[model->lane_last - 1];
	found = map_find(&model->lane_index, order);
	lane = found ? &model->lanes[*found] : add_lane(model, order);
	if (lane) {
		model->lane_order = order;
		model->lane_last = (uint32_t)(lane - model->lanes) + 1;
	}
	return lane;
}
_Static_assert(UNWEAVE_EVENT_ASIDE == 1, "the flag is a bit of a lane's number");

int course_take(struct model *model, const struct unweave_event *event, uint64_t block,
		struct course_step *ret)
{
	struct lane *lane = lane_of(model, event);
	int64_t stack = 0;

	if (!lane)
		return -ENOMEM;
	if (event->stack && event->kind != UNWEAVE_EVENT_AWAIT)
		stack = lane_stack(lane, model->tree, event->stack, block);
	if (stack < 0)
		return -ENOMEM;
	*ret = (struct course_step){
		.event = *event,
		.stack = (uint32_t)stack,
		.lane = (uint32_t)(lane - model->lanes),
	};
	live_prefetch(&model->live, event->task);
	return 0;
}

void course_prepare(struct model *model, struct course_step *step)
{
	const uint32_t *slot;

	if (step->event.kind != UNWEAVE_EVENT_RESUME && step->event.kind != UNWEAVE_EVENT_WAKE)
		return;
	slot = map_find(&model->live.index, step->event.task);
	if (!slot)
		return;
	/* Not looked at yet, not even to see whether it is the one. */
	step->task = live_at(&model->live, *slot);
	__builtin_prefetch(&step->task->told);
	__builtin_prefetch(&step->task->state);
}
