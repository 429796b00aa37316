/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: their begin and their end, in the nests of their threads. */
#include <errno.h>

#include "model/course_parts.h"

/*
 * Where a run was most of the time. By the wall clock it is sampled all the time; where most
 * of it has no samples nobody knows.
 */
static uint32_t hottest_of(const struct model *model, const struct lane_run *run, uint64_t own)
{
	/* One that is fed has no reader, and no samples. */
	const struct meta_sampler *sampler = model->reader ? reader_sampler(model->reader) : NULL;
	bool by_wall = sampler && sampler->driver == SAMPLER_WALL;

	return by_wall && run->cpu + run->asleep < own / 2 ? 0 : run->hottest;
}

int course_end_run(struct model *model, struct lane *lane, struct lane_run *at, uint64_t end,
		   bool end_unknown)
{
	struct lane_run run = *at;
	struct live_task *task = run.task;
	struct model_run told = {
		.depth = (uint32_t)(at - lane->nest),
		.thread = lane->thread,
		.start = course_cut(model, run.start),
		.end = end < run.start ? run.start : end,
		.inner = run.inner,
		.idle = run.idle,
		.cpu = run.cpu,
		.samples = run.samples,
		.begin_unknown = run.begin_unknown || run.start < model->from,
		.end_unknown = end_unknown,
		.open = model->over,
	};
	uint64_t length = told.end - told.start;
	uint64_t own = length > run.inner ? length - run.inner : 0;

	/* A sample stands for a period, of which a short run is but a part. */
	told.asleep = run.asleep < own ? run.asleep : own;
	told.hottest = hottest_of(model, &run, own);
	lane_remove(lane, at);
	if (!task)
		return 0;
	if (--task->open == 0)
		task->state = LIVE_UNKNOWN;
	if (!course_is_inside(model, run.start, told.end))
		return 0;
	if (told.depth)
		lane->nest[told.depth - 1].inner += length;
	if (!task->open)
		task->told.busy += length;
	task->told.runs++;
	model->totals.runs++;
	model->totals.busy += own;
	told.task = &task->told;
	told.stack = task->told.stack;
	told.last = task->ending;
	told.empty = run.self_woken && !run.spoke && !told.last && told.stack == run.stack;
	task->told.empty_runs += told.empty;
	if (lane->loop_count)
		told.in_loop = course_loop_end(lane, &told);
	return model->sink->run ? model->sink->run(model->sink->data, &told) : 0;
}

int course_end_runs(struct model *model, struct lane *lane, uint32_t left, uint64_t end)
{
	while (lane->depth > left) {
		int r = course_end_run(model, lane, &lane->nest[lane->depth - 1], end, true);

		if (r < 0)
			return r;
	}
	return 0;
}

int course_end_runs_of(struct model *model, struct live_task *task, uint64_t end, bool keep_place)
{
	while (task->open) {
		struct lane *lane = &model->lanes[task->lane];
		uint32_t at = lane->depth - 1;
		struct lane_run place;
		int r;

		/* There are as many as `open` says. */
		while (lane->nest[at].task != task)
			at--;
		place = lane->nest[at];
		r = course_end_run(model, lane, &lane->nest[at], end, false);
		if (r < 0)
			return r;
		if (keep_place && lane_insert(lane, at, place.id) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What a loop, or a word of when it was due, says of a task that runs now. */
static __attribute__((noinline)) void note_ready(struct model *model, struct lane *lane,
						 struct live_task *task, uint64_t now)
{
	struct lane_loop *loop = course_loop(model, lane, now);
	bool waits = task && task->state == LIVE_WAITS;

	if (waits && !task->woken)
		course_find_ready(lane, loop, task, now);
	lane->due = 0;
	if (loop)
		course_loop_begin(model, lane, loop, waits ? task->woken : 0, now);
}

int course_begin_run(struct model *model, struct lane *lane, const struct unweave_event *event,
		     uint32_t stack, bool begin_unknown)
{
	struct live_task *task = NULL;
	struct lane_run *run;
	bool self_woken;
	uint32_t index = (uint32_t)(lane - model->lanes);
	int r = course_task(model, event->task, event->time, &task);

	/* It cannot run at two places: the end of the other run has no time of its own yet. */
	if (r == 0 && task && task->open && task->lane != index)
		r = course_end_runs_of(model, task, event->time, true);
	if (__builtin_expect(lane->loop_count || lane->due || (task && task->role), 0) &&
	    !begin_unknown)
		note_ready(model, lane, task, event->time);
	self_woken = task && task->state == LIVE_WAITS && task->woken && task->waker == event->task;
	if (r == 0 && task)
		r = course_end_wait(model, task, event->time, false);
	if (r < 0)
		return r;
	run = lane_push(lane);
	if (!run)
		return -ENOMEM;
	run->id = event->task;
	run->task = task;
	run->start = event->time;
	run->begin_unknown = begin_unknown;
	run->self_woken = self_woken;
	if (task) {
		task->state = LIVE_RUNS;
		task->lane = index;
		task->open++;
		task->woken_early = false;
		if (stack)
			task->told.stack = stack;
		run->stack = task->told.stack;
	}
	return 0;
}

int course_end_unseen_run(struct model *model, struct lane *lane, const struct unweave_event *event,
			  struct live_task **ret)
{
	struct unweave_event begin = *event;
	int r;

	begin.time = lane->since;
	/* Not while it waited, as somebody else said. */
	if (*ret && (*ret)->state == LIVE_WAITS && (*ret)->since > begin.time)
		begin.time = (*ret)->since;
	*ret = NULL;
	r = course_begin_run(model, lane, &begin, 0, true);
	if (r < 0)
		return r;
	*ret = lane->nest[lane->depth - 1].task;
	return course_end_run(model, lane, &lane->nest[lane->depth - 1], event->time,
			      event->flags & UNWEAVE_EVENT_TIME_UNKNOWN);
}
