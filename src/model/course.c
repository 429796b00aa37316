/* SPDX-License-Identifier: Apache-2.0 */
#include "model/course.h"

#include <errno.h>
#include <stdlib.h>

/* Whether any of it lies in the window. */
static bool is_inside(const struct model *model, uint64_t start, uint64_t end)
{
	return end > model->from || (end == model->from && start == end);
}

static uint64_t cut(const struct model *model, uint64_t time)
{
	return time < model->from ? model->from : time;
}

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

static int end_wait(struct model *model, struct live_task *task, uint64_t end, bool end_unknown)
{
	struct model_wait wait = {
		.task = &task->told,
		.start = cut(model, task->since),
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
	if (!is_inside(model, task->since, end))
		return 0;
	/* It was created to run. */
	if (wait.first && !wait.woken && !is_machine(task)) {
		wait.woken = task->since;
		wait.waker = task->told.parent;
		wait.source = UNWEAVE_SOURCE_TASK;
	}
	if (wait.woken)
		wait.woken = cut(model, wait.woken);
	return tell_wait(model, task, &wait);
}

static void start_wait(struct live_task *task, uint64_t time, uint32_t stack)
{
	task->state = LIVE_WAITS;
	task->since = time;
	task->stack = stack;
	task->first = false;
	task->begin_unknown = false;
	task->woken = task->woken_early ? time : 0;
	if (!task->woken_early) {
		task->waker = 0;
		task->source = 0;
		task->wake_thread = 0;
	}
	task->woken_early = false;
}

/* Takes a run out of its nest and tells it. What the task does then is not said. */
static int end_run(struct model *model, struct lane *lane, struct lane_run *at, uint64_t end,
		   bool end_unknown)
{
	struct lane_run run = *at;
	struct live_task *task = run.task;
	struct model_run told = {
		.depth = (uint32_t)(at - lane->nest),
		.thread = lane->thread,
		.start = cut(model, run.start),
		.end = end < run.start ? run.start : end,
		.inner = run.inner,
		.cpu = run.cpu,
		.asleep = run.asleep,
		.samples = run.samples,
		.hottest = run.hottest,
		.begin_unknown = run.begin_unknown || run.start < model->from,
		.end_unknown = end_unknown,
	};
	uint64_t length = told.end - told.start;

	lane_remove(lane, at);
	if (!task)
		return 0;
	if (--task->open == 0)
		task->state = LIVE_UNKNOWN;
	if (!is_inside(model, run.start, told.end))
		return 0;
	if (told.depth)
		lane->nest[told.depth - 1].inner += length;
	if (!task->open)
		task->told.busy += length;
	task->told.runs++;
	model->totals.runs++;
	model->totals.busy += length > run.inner ? length - run.inner : 0;
	told.task = &task->told;
	told.stack = task->told.stack;
	told.last = task->ending;
	return model->sink->run ? model->sink->run(model->sink->data, &told) : 0;
}

/* Ends runs from the innermost on, until `left` are left. */
static int end_runs(struct model *model, struct lane *lane, uint32_t left, uint64_t end)
{
	while (lane->depth > left) {
		int r = end_run(model, lane, &lane->nest[lane->depth - 1], end, true);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Ends the runs that a task has anywhere; its nests still have a place for each. */
static int end_runs_of(struct model *model, struct live_task *task, uint64_t end, bool keep_place)
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
		r = end_run(model, lane, &lane->nest[at], end, false);
		if (r < 0)
			return r;
		if (keep_place && lane_insert(lane, at, place.id) < 0)
			return -ENOMEM;
	}
	return 0;
}

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

/* It is over, or the trace is. */
static int end_task(struct model *model, struct live_task *task, uint64_t time, enum model_end end)
{
	int r = end_wait(model, task, time, end == MODEL_INCOMPLETE);

	if (r < 0)
		return r;
	task->told.ended = time;
	task->told.end = end;
	task->told.uncertain = task->losses != model->losses;
	if (is_inside(model, task->told.created, time)) {
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

static int begin_run(struct model *model, struct lane *lane, const struct unweave_event *event,
		     uint32_t stack, bool begin_unknown)
{
	struct live_task *task = NULL;
	struct lane_run *run;
	uint32_t index = (uint32_t)(lane - model->lanes);
	int r = course_task(model, event->task, event->time, &task);

	/* It cannot run at two places: the end of the other run has no time of its own yet. */
	if (r == 0 && task && task->open && task->lane != index)
		r = end_runs_of(model, task, event->time, true);
	if (r == 0 && task)
		r = end_wait(model, task, event->time, false);
	if (r < 0)
		return r;
	run = lane_push(lane);
	if (!run)
		return -ENOMEM;
	run->id = event->task;
	run->task = task;
	run->start = event->time;
	run->begin_unknown = begin_unknown;
	if (task) {
		task->state = LIVE_RUNS;
		task->lane = index;
		task->open++;
		task->woken_early = false;
		if (stack)
			task->told.stack = stack;
	}
	return 0;
}

/* A run that began unseen, while the nest was not known; `*ret` is its task, if that is known. */
static int end_unseen_run(struct model *model, struct lane *lane, const struct unweave_event *event,
			  struct live_task **ret)
{
	struct unweave_event begin = *event;
	int r;

	begin.time = lane->since;
	/* Not while it waited, as somebody else said. */
	if (*ret && (*ret)->state == LIVE_WAITS && (*ret)->since > begin.time)
		begin.time = (*ret)->since;
	*ret = NULL;
	r = begin_run(model, lane, &begin, 0, true);
	if (r < 0)
		return r;
	*ret = lane->nest[lane->depth - 1].task;
	return end_run(model, lane, &lane->nest[lane->depth - 1], event->time,
		       event->flags & UNWEAVE_EVENT_TIME_UNKNOWN);
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
		r = end_run(model, lane, run, event->time,
			    event->flags & UNWEAVE_EVENT_TIME_UNKNOWN);
	} else if (!lane->nest_known && !live_ended(&model->live, event->task)) {
		task = live_find(&model->live, event->task);
		if (task && task->open)
			return 0;
		r = end_unseen_run(model, lane, event, &task);
		if (task && stack)
			task->told.stack = stack;
	} else {
		return 0;
	}
	if (r == 0 && task && !task->open)
		start_wait(task, event->time, task->told.stack);
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
		r = end_runs_of(model, task, event->time, !run);
	if (r < 0 || !task)
		return r;
	return end_task(model, task, event->time,
			event->value == UNWEAVE_ERROR       ? MODEL_ERROR
			: event->value == UNWEAVE_CANCELLED ? MODEL_CANCELLED
							    : MODEL_OK);
}

static int on_create(struct model *model, const struct unweave_event *event, uint32_t stack)
{
	bool before = event->kind == UNWEAVE_EVENT_TASK;
	struct live_task *task = live_find(&model->live, event->task);
	bool known = task != NULL;

	if (!event->task || (!task && live_ended(&model->live, event->task)))
		return 0;
	if (!task)
		task = add_task(model, event->task, event->time, before);
	if (!task || live_set_site(&model->live, task, model->reader, event->value) < 0)
		return -ENOMEM;
	if (event->other)
		task->told.parent = event->other;
	if (stack && !task->told.stack)
		task->told.stack = stack;
	if (!before)
		task->told.before = false;
	if (task->state == LIVE_UNKNOWN && !model->runs_untold) {
		start_wait(task, event->time, stack);
		task->first = !before;
		task->begin_unknown = before;
		task->wake_thread = event->thread;
	}
	return known ? 0 : tell_created(model, task);
}

static void note_wake(struct live_task *task, const struct unweave_event *event)
{
	task->waker = event->other;
	task->source = (uint32_t)event->value;
	task->wake_thread = event->thread;
}

static int on_wake(struct model *model, const struct unweave_event *event)
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
	if (task->state == LIVE_RUNS) {
		if (!task->woken_early)
			note_wake(task, event);
		task->woken_early = true;
		return 0;
	}
	if (task->state == LIVE_UNKNOWN) {
		start_wait(task, event->time, task->told.stack);
		task->begin_unknown = true;
	}
	if (!task->woken) {
		task->woken = event->time;
		note_wake(task, event);
	}
	return 0;
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
		r = end_runs(model, lane, 0, lane->last);
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
		r = end_runs(model, lane, lane->replayed, event->time);
	}
	if (r == 0)
		r = begin_run(model, lane, event, stack, true);
	if (r == 0 && lane->resetting)
		lane->replayed++;
	return r;
}

static int on_lost(struct model *model, struct lane *lane, const struct unweave_event *event)
{
	model->losses++;
	if (event->time >= model->from)
		model->totals.lost += event->value;
	lane->resetting = false;
	lane->nest_known = false;
	lane->since = event->time;
	return end_runs(model, lane, 0, lane->last);
}

static int end_idle(struct model *model, struct lane *lane, uint64_t end)
{
	uint64_t start = cut(model, lane->idle);

	if (!model->sink->idle || !is_inside(model, lane->idle, end)) {
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
		r = end_runs(model, lane, lane->replayed, lane->last);
		lane->resetting = false;
	}
	return r;
}

static int on_event(struct model *model, struct lane *lane, const struct unweave_event *event,
		    uint32_t stack)
{
	switch (event->kind) {
	case UNWEAVE_EVENT_RESUME:
		return begin_run(model, lane, event, stack, false);
	case UNWEAVE_EVENT_SUSPEND:
		return on_suspend(model, lane, event, stack);
	case UNWEAVE_EVENT_WAKE:
		return on_wake(model, event);
	case UNWEAVE_EVENT_CREATE:
	case UNWEAVE_EVENT_TASK:
		return on_create(model, event, stack);
	case UNWEAVE_EVENT_COMPLETE:
		return on_complete(model, lane, event);
	case UNWEAVE_EVENT_APPEND:
		on_append(model, event, stack);
		return 0;
	case UNWEAVE_EVENT_NAME:
		return on_name(model, event);
	case UNWEAVE_EVENT_IDLE:
		lane->idle = event->time;
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

int course_event(struct model *model, const struct course_step *step)
{
	const struct unweave_event *event = &step->event;
	struct lane *lane = &model->lanes[step->lane];
	int r = 0;

	if (__builtin_expect(!lane->seen || lane->idle || lane->resetting, 0))
		r = settle_lane(model, lane, event);
	model->hint = step->task;
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
		r = end_task(model, tasks[i], model->totals.last, MODEL_INCOMPLETE);
	free(tasks);
	return r;
}

int course_end(struct model *model)
{
	uint64_t last = model->totals.last;

	for (uint32_t i = 0; i < model->lane_count; i++) {
		struct lane *lane = &model->lanes[i];
		const struct reader_thread *thread = reader_thread(model->reader, lane->thread);
		int r = end_runs(model, lane, 0, last);

		if (r == 0 && lane->idle && !(thread && thread->ended))
			r = end_idle(model, lane, last);
		if (r < 0)
			return r;
	}
	for (unsigned cause = 0; cause <= UNWEAVE_LOSS_DAMAGE; cause++)
		model->totals.lost += reader_lost_outside(model->reader, cause);
	return end_tasks(model);
}
