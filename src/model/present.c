/* SPDX-License-Identifier: Apache-2.0 */
#include "model/present.h"

#include "model/course_parts.h"

static const struct live_task *live_of(const struct model_task *task)
{
	return (const struct live_task *)task;
}
_Static_assert(offsetof(struct live_task, told) == 0, "what a sink sees is the first of a task");

uint32_t model_slots(const struct model *model)
{
	return model->live.slot_count;
}

struct model_task *model_slot(const struct model *model, uint32_t slot)
{
	struct live_task *task = live_at(&model->live, slot);

	return task->told.id ? &task->told : NULL;
}

const char *model_own_name(const struct model_task *task)
{
	return live_of(task)->name;
}

/* Since when a task runs: its outermost run. */
static void tell_run(const struct lane *lane, const struct live_task *task,
		     struct model_present *ret)
{
	ret->state = MODEL_RUNNING;
	ret->thread = lane->thread;
	for (uint32_t i = 0; i < lane->depth; i++)
		if (lane->nest[i].task == task) {
			ret->since = lane->nest[i].start;
			ret->early = lane->nest[i].begin_unknown;
			return;
		}
}

/* A task that was created to run is queued from then on: see course_end_wait(). */
static bool is_queued_at_once(const struct live_task *task)
{
	return task->first && !(task->told.id & 1) && !(task->role & LIVE_CALLBACK);
}

static void tell_wait(const struct live_task *task, struct model_present *ret)
{
	uint64_t woken = task->woken;

	if (!woken && is_queued_at_once(task))
		woken = task->since;
	ret->state = woken ? MODEL_QUEUED : MODEL_WAITING;
	/* It was there before: that it waits was a guess, which only its chain can confirm. */
	if (!woken && task->begin_unknown) {
		ret->state = task->at_rest ? MODEL_STILL : MODEL_UNTOLD;
		ret->early = true;
	}
	ret->since = woken ? woken : task->since;
	ret->waited = woken > task->since ? woken - task->since : 0;
	ret->source = task->woken ? task->source : UNWEAVE_SOURCE_TASK;
}

void model_present(const struct model *model, const struct model_task *told,
		   struct model_present *ret)
{
	const struct live_task *task = live_of(told);

	*ret = (struct model_present){.uncertain = task->losses != model->losses};
	if (task->state == LIVE_RUNS) {
		tell_run(&model->lanes[task->lane], task, ret);
	} else if (course_stands(task)) {
		ret->state = MODEL_STANDING;
		ret->since = told->created;
		ret->early = told->before;
	} else if (task->state == LIVE_WAITS) {
		tell_wait(task, ret);
	}
}

int model_end(struct model *model, struct model_task *told, uint64_t time)
{
	struct live_task *task = (struct live_task *)told;
	int r = task->open ? course_end_runs_of(model, task, time, true) : 0;

	return r < 0 ? r : course_end_task(model, task, time, MODEL_INCOMPLETE);
}

uint32_t model_lanes(const struct model *model)
{
	return model->lane_count;
}

void model_lane(const struct model *model, uint32_t index, struct model_lane *ret)
{
	const struct lane *lane = &model->lanes[index];

	*ret = (struct model_lane){.thread = lane->thread, .idle = lane->idle};
	if (lane->depth) {
		ret->task = lane->nest[lane->depth - 1].id;
		ret->start = lane->nest[lane->depth - 1].start;
		ret->early = lane->nest[lane->depth - 1].begin_unknown;
		ret->outer = lane->nest[0].start;
	}
	if (lane->loop_count)
		ret->loop = lane->loops[lane->loop_count - 1].id;
}

const struct model_loop *model_loop(const struct model *model, uint64_t id)
{
	const struct live_task *task = live_find(&model->live, id);

	return task ? task->loop : NULL;
}
