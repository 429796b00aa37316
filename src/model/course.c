/* SPDX-License-Identifier: Apache-2.0 */
#include "model/course.h"

#include <errno.h>
#include <stdlib.h>

#include "model/course_parts.h"

static int tell_created(struct model *model, struct live_task *task)
{
	if (model->live.count > model->totals.live_most)
		model->totals.live_most = model->live.count;
	return model->sink->created ? model->sink->created(model->sink->data, &task->told) : 0;
}

static struct live_task *add_task(struct model *model, uint64_t id, uint64_t time, bool before)
{
	struct live_task *task = live_add(&model->live, id);

	if (!task)
		return NULL;
	task->told.created = time;
	task->told.before = before;
	task->losses = model->losses;
	return task;
}

int course_task(struct model *model, uint64_t id, uint64_t time, struct live_task **ret)
{
	*ret = model->hint && model->hint->told.id == id ? model->hint
							 : live_find(&model->live, id);
	if (*ret || !id || live_ended(&model->live, id))
		return 0;
	*ret = add_task(model, id, time, true);
	return *ret ? tell_created(model, *ret) : -ENOMEM;
}

int course_end_task(struct model *model, struct live_task *task, uint64_t time, enum model_end end)
{
	bool inside = course_is_inside(model, task->told.created, time);
	int r = course_end_wait(model, task, time, end == MODEL_INCOMPLETE);

	task->told.ended = time;
	task->told.end = end;
	task->told.uncertain = task->losses != model->losses;
	if (r == 0 && inside && task->role & UNWEAVE_SITE_LOOP)
		r = course_tell_loop(model, task, time);
	/* It stays, so that the sink is told at least that it is dropped. */
	if (r < 0)
		return r;
	if (inside) {
		model->totals.tasks++;
		model->totals.completed += end != MODEL_INCOMPLETE;
		if (model->sink->task)
			r = model->sink->task(model->sink->data, &task->told);
	} else if (model->sink->dropped) {
		model->sink->dropped(model->sink->data, &task->told);
	}
	live_end(&model->live, task);
	return r;
}

static int on_suspend(struct model *model, struct lane *lane, const struct unweave_event *event,
		      uint32_t stack)
{
	struct lane_run *run = lane_find(lane, event->task);
	struct live_task *task;
	int r;

	if (run) {
		task = run->task;
		if (task && stack)
			task->told.stack = stack;
		r = course_end_run(model, lane, run, event->time,
				   event->flags & UNWEAVE_EVENT_TIME_UNKNOWN);
	} else if (!lane->nest_known && !live_ended(&model->live, event->task)) {
		task = live_find(&model->live, event->task);
		if (task && task->open)
			return 0;
		r = course_end_unseen_run(model, lane, event, &task);
		if (task && stack)
			task->told.stack = stack;
	} else {
		return 0;
	}
	if (r == 0 && task && !task->open && !course_stands(task))
		course_start_wait(task, event->time, task->told.stack);
	return r;
}

static int on_complete(struct model *model, struct lane *lane, const struct unweave_event *event)
{
	struct lane_run *run = lane_find(lane, event->task);
	struct live_task *task = NULL;
	int r;

	r = course_task(model, event->task, event->time, &task);
	if (r < 0)
		return r;
	/* Its place on another thread stays, for the word that the run ended there. */
	if (run && !run->task) {
		lane_remove(lane, run);
		run = NULL;
	}
	if (task)
		task->ending = true;
	if (task && task->open)
		r = course_end_runs_of(model, task, event->time, !run);
	if (r < 0 || !task)
		return r;
	return course_end_task(model, task, event->time,
			       event->value == UNWEAVE_ERROR       ? MODEL_ERROR
			       : event->value == UNWEAVE_CANCELLED ? MODEL_CANCELLED
								   : MODEL_OK);
}

/* What a task that is new, or was there before, waits for, if it does. */
static void begin_first_wait(struct model *model, struct lane *lane, struct live_task *task,
			     const struct unweave_event *event, uint32_t stack)
{
	bool before = event->kind == UNWEAVE_EVENT_TASK;

	if (course_stands(task))
		return;
	if (task->role & UNWEAVE_SITE_FIRED && !before) {
		course_fire(lane, course_loop(model, lane, event->time), task,
			    live_find(&model->live, event->other), event->time);
		return;
	}
	course_start_wait(task, event->time, stack ? stack : task->told.stack);
	task->first = !before;
	task->begin_unknown = before;
	task->at_rest = before && stack;
	task->wake_thread = event->thread;
}

static int on_create(struct model *model, struct lane *lane, const struct unweave_event *event,
		     uint32_t stack)
{
	bool before = event->kind == UNWEAVE_EVENT_TASK;
	struct live_task *task = live_find(&model->live, event->task);
	bool known = task != NULL;

	if (!event->task || (!task && live_ended(&model->live, event->task)))
		return 0;
	if (!task)
		task = add_task(model, event->task, event->time, before);
	if (!task || live_set_site(&model->live, task, &model->causes, event->value) < 0)
		return -ENOMEM;
	if (event->other)
		task->told.parent = event->other;
	if (stack && !task->told.stack)
		task->told.stack = stack;
	if (!before)
		task->told.before = false;
	if (task->state == LIVE_UNKNOWN && !model->runs_untold)
		begin_first_wait(model, lane, task, event, stack);
	return known ? 0 : tell_created(model, task);
}

static int on_name(struct model *model, const struct unweave_event *event)
{
	struct live_task *task = NULL;
	int r = course_task(model, event->task, event->time, &task);

	if (r < 0 || !task)
		return r;
	return live_set_name(task, event->text, &model->live);
}

static void on_append(struct model *model, const struct unweave_event *event, uint32_t stack)
{
	struct live_task *task = live_find(&model->live, event->task);

	if (!task || !stack)
		return;
	/* What it waits in is longer than it was known to be. */
	if (task->state == LIVE_WAITS && task->stack == task->told.stack)
		task->stack = stack;
	task->told.stack = stack;
}

static int on_reset(struct model *model, struct lane *lane, const struct unweave_event *event)
{
	int r = 0;

	if (event->value == UNWEAVE_RESET_LOSS) {
		r = course_end_runs(model, lane, 0, lane->last);
		lane->since = event->time;
	}
	lane->nest_known = true;
	lane->resetting = true;
	lane->replayed = 0;
	return r;
}

static int on_replay(struct model *model, struct lane *lane, const struct unweave_event *event,
		     uint32_t stack)
{
	int r = 0;

	if (lane->resetting && lane->replayed < lane->depth) {
		if (lane->nest[lane->replayed].id == event->task) {
			lane->replayed++;
			return 0;
		}
		r = course_end_runs(model, lane, lane->replayed, event->time);
	}
	if (r == 0)
		r = course_begin_run(model, lane, event, stack, true);
	if (r == 0 && lane->resetting)
		lane->replayed++;
	return r;
}

static int on_lost(struct model *model, struct lane *lane, const struct unweave_event *event)
{
	model->losses++;
	if (event->time >= model->from)
		model->totals.lost += event->value;
	course_forget_loops(lane);
	lane->resetting = false;
	lane->nest_known = false;
	lane->since = event->time;
	return course_end_runs(model, lane, 0, lane->last);
}

static int end_idle(struct model *model, struct lane *lane, uint64_t end)
{
	uint64_t start = course_cut(model, lane->idle);

	if (lane->depth && end > start)
		lane->nest[lane->depth - 1].idle += end - start;
	if (!model->sink->idle || !course_is_inside(model, lane->idle, end)) {
		lane->idle = 0;
		return 0;
	}
	lane->idle = 0;
	return model->sink->idle(model->sink->data, lane->thread, start, end);
}

/* What a lane needs before an event that is not one of the usual. */
static int settle_lane(struct model *model, struct lane *lane, const struct unweave_event *event)
{
	int r = 0;

	if (!lane->seen) {
		lane->seen = true;
		lane->since = event->time;
		lane->last = event->time;
	}
	if (lane->idle)
		r = end_idle(model, lane, event->time);
	if (r == 0 && lane->resetting && event->kind != UNWEAVE_EVENT_REPLAY) {
		r = course_end_runs(model, lane, lane->replayed, lane->last);
		lane->resetting = false;
	}
	return r;
}

static int on_event(struct model *model, struct lane *lane, const struct unweave_event *event,
		    uint32_t stack)
{
	switch (event->kind) {
	case UNWEAVE_EVENT_RESUME:
		return course_begin_run(model, lane, event, stack, false);
	case UNWEAVE_EVENT_SUSPEND:
		return on_suspend(model, lane, event, stack);
	case UNWEAVE_EVENT_WAKE:
		return course_wake(model, event);
	case UNWEAVE_EVENT_CREATE:
	case UNWEAVE_EVENT_TASK:
		return on_create(model, lane, event, stack);
	case UNWEAVE_EVENT_COMPLETE:
		return on_complete(model, lane, event);
	case UNWEAVE_EVENT_APPEND:
		on_append(model, event, stack);
		return 0;
	case UNWEAVE_EVENT_NAME:
		return on_name(model, event);
	case UNWEAVE_EVENT_IDLE:
		return course_idle(model, lane, event);
	case UNWEAVE_EVENT_WOKE:
		return course_woke(model, lane, event);
	case UNWEAVE_EVENT_DUE:
		lane->due = event->value;
		return 0;
	case UNWEAVE_EVENT_RESET:
		return on_reset(model, lane, event);
	case UNWEAVE_EVENT_REPLAY:
		return on_replay(model, lane, event, stack);
	case UNWEAVE_EVENT_LOST:
		return on_lost(model, lane, event);
	default:
		return 0;
	}
}

/* Whether a run does anything but wake its own task again, as far as events tell. */
static void note_word(struct lane_run *run, const struct unweave_event *event)
{
	run->spoke |= event->kind != UNWEAVE_EVENT_WAKE || event->task != run->id;
}

int course_event(struct model *model, const struct course_step *step)
{
	const struct unweave_event *event = &step->event;
	struct lane *lane = &model->lanes[step->lane];
	int r = 0;

	if (__builtin_expect(!lane->seen || lane->idle || lane->resetting, 0))
		r = settle_lane(model, lane, event);
	model->hint = step->task;
	if (lane->depth && event->kind != UNWEAVE_EVENT_SUSPEND)
		note_word(&lane->nest[lane->depth - 1], event);
	if (r == 0)
		r = on_event(model, lane, event, step->stack);
	model->hint = NULL;
	lane->last = event->time;
	/* Headers may lie about the last. */
	if (event->time > model->totals.last)
		model->totals.last = event->time;
	model->totals.events += event->time >= model->from;
	return r;
}

static int by_age(const void *a, const void *b)
{
	const struct live_task *one = *(struct live_task *const *)a;
	const struct live_task *two = *(struct live_task *const *)b;

	if (one->told.created != two->told.created)
		return one->told.created < two->told.created ? -1 : 1;
	return one->told.id < two->told.id ? -1 : one->told.id > two->told.id;
}

/* Those that still live, the oldest first. */
static int end_tasks(struct model *model)
{
	uint32_t count = model->live.count, at = 0;
	struct live_task **tasks = calloc(count + 1, sizeof(struct live_task *));
	int r = 0;

	if (!tasks)
		return -ENOMEM;
	for (uint32_t i = 0; i < model->live.slot_count; i++)
		if (live_at(&model->live, i)->told.id)
			tasks[at++] = live_at(&model->live, i);
	qsort(tasks, count, sizeof(struct live_task *), by_age);
	for (uint32_t i = 0; i < count && r == 0; i++)
		r = course_end_task(model, tasks[i], model->totals.last, MODEL_INCOMPLETE);
	free(tasks);
	return r;
}

int course_end(struct model *model)
{
	uint64_t last = model->totals.last;

	model->over = true;
	for (uint32_t i = 0; i < model->lane_count; i++) {
		struct lane *lane = &model->lanes[i];
		const struct reader_thread *thread = reader_thread(model->reader, lane->thread);
		int r = course_end_runs(model, lane, 0, last);

		if (r == 0 && lane->idle && !(thread && thread->ended))
			r = end_idle(model, lane, last);
		if (r < 0)
			return r;
		course_end_loops(model, lane, last, !(thread && thread->ended));
	}
	for (unsigned cause = 0; cause <= UNWEAVE_LOSS_DAMAGE; cause++)
		model->totals.lost += reader_lost_outside(model->reader, cause);
	return end_tasks(model);
}
