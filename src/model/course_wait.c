/* SPDX-License-Identifier: Apache-2.0 */
/* Waits: when they begin, when they are over, and when what waits became ready. */
#include "model/course_parts.h"

/* The state machine that a task is of becomes one as it begins to wait. */
static bool is_machine(const struct live_task *task)
{
	return task->told.id & 1;
}

static int tell_wait(struct model *model, struct live_task *task, struct model_wait *wait)
{
	struct model_totals *totals = &model->totals;
	uint64_t woken = wait->woken ? wait->woken : wait->end;

	task->told.pending += woken - wait->start;
	task->told.queued += wait->end - woken;
	totals->pending += woken - wait->start;
	totals->queued += wait->end - woken;
	totals->waits++;
	return model->sink->wait ? model->sink->wait(model->sink->data, wait) : 0;
}

int course_end_wait(struct model *model, struct live_task *task, uint64_t end, bool end_unknown)
{
	struct model_wait wait = {
		.task = &task->told,
		.start = course_cut(model, task->since),
		.woken = task->woken,
		.end = end,
		.waker = task->waker,
		.source = task->source,
		.thread = task->wake_thread,
		.stack = task->stack,
		.first = task->first,
		.begin_unknown = task->begin_unknown || task->since < model->from,
		.end_unknown = end_unknown,
	};

	if (task->state != LIVE_WAITS)
		return 0;
	task->state = LIVE_UNKNOWN;
	/* Nothing is known but that it did not wait any more. */
	if (task->begin_unknown && task->since == end)
		return 0;
	if (!course_is_inside(model, task->since, end))
		return 0;
	/* It was created to run. */
	if (wait.first && !wait.woken && !is_machine(task) && !(task->role & LIVE_CALLBACK)) {
		wait.woken = task->since;
		wait.waker = task->told.parent;
		wait.source = UNWEAVE_SOURCE_TASK;
	}
	if (wait.woken)
		wait.woken = course_cut(model, wait.woken);
	return tell_wait(model, task, &wait);
}

/* When something became ready, and by what. */
struct ready {
	uint64_t time;
	uint64_t waker;
	uint32_t source;
	uint32_t thread;
};

static void set_ready(struct live_task *task, const struct ready *ready)
{
	task->woken = ready->time;
	task->waker = ready->waker;
	task->source = ready->source;
	task->wake_thread = ready->thread;
}

/* Where nobody said it: when it was due, or when the loop woke; false if that is not known. */
static bool ready_by_loop(const struct lane *lane, const struct lane_loop *loop, uint64_t now,
			  struct ready *ret)
{
	if (lane->due) {
		*ret = (struct ready){.time = now > lane->due ? now - lane->due : 0,
				      .source = UNWEAVE_SOURCE_TIMER};
		return true;
	}
	if (loop)
		*ret = (struct ready){.time = loop->woke, .source = UNWEAVE_SOURCE_OTHER};
	return loop != NULL;
}

void course_find_ready(const struct lane *lane, const struct lane_loop *loop,
		       struct live_task *task, uint64_t now)
{
	struct ready ready = {0};

	if (!ready_by_loop(lane, loop, now, &ready) && !(task->role & LIVE_CALLBACK))
		return;
	/* It was armed, or waits again, since: then there was nothing to wait for. */
	if (ready.time < task->since && task->first)
		ready = (struct ready){.waker = task->told.parent,
				       .source = UNWEAVE_SOURCE_TASK,
				       .thread = task->wake_thread};
	if (ready.time < task->since)
		ready.time = task->since;
	if (ready.time > now)
		ready.time = now;
	set_ready(task, &ready);
}

/* The wake of what stands is that of its next call. */
static bool take_wake(struct live_task *standing, struct ready *ret)
{
	if (!standing || !standing->woken)
		return false;
	*ret = (struct ready){.time = standing->woken,
			      .waker = standing->waker,
			      .source = standing->source,
			      .thread = standing->wake_thread};
	standing->woken = 0;
	return true;
}

void course_fire(const struct lane *lane, const struct lane_loop *loop, struct live_task *task,
		 struct live_task *standing, uint64_t now)
{
	struct ready ready = {.time = now, .source = UNWEAVE_SOURCE_OTHER};

	if (!take_wake(standing, &ready))
		ready_by_loop(lane, loop, now, &ready);
	if (standing && ready.time < standing->told.created)
		ready.time = standing->told.created;
	if (ready.time > now)
		ready.time = now;
	task->told.created = ready.time;
	course_start_wait(task, ready.time, task->told.stack);
	task->first = true;
	set_ready(task, &ready);
}

static void note_wake(struct live_task *task, const struct unweave_event *event)
{
	task->waker = event->other;
	task->source = (uint32_t)event->value;
	task->wake_thread = event->thread;
}

int course_wake(struct model *model, const struct unweave_event *event)
{
	struct live_task *task = NULL;
	int r = course_task(model, event->task, event->time, &task);

	if (r < 0 || !task)
		return r;
	if (event->time >= model->from) {
		model->totals.wakes++;
		task->told.wakes++;
		task->told.self_wakes += event->other == event->task;
	}
	if (course_stands(task)) {
		if (!task->woken) {
			task->woken = event->time;
			note_wake(task, event);
		}
		return 0;
	}
	if (task->state == LIVE_RUNS) {
		if (!task->woken_early)
			note_wake(task, event);
		task->woken_early = true;
		return 0;
	}
	if (task->state == LIVE_UNKNOWN) {
		course_start_wait(task, event->time, task->told.stack);
		task->begin_unknown = true;
	}
	if (!task->woken) {
		task->woken = event->time;
		note_wake(task, event);
	}
	return 0;
}
