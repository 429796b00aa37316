/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops: they say when they wait and when they wake, and most say when they are left
 * (WOKE of none). One that runs inside of a run is over with it at the latest, and one
 * is left when its thread waits elsewhere.
 */
#include <errno.h>

#include "model/course_parts.h"
#include "util/grow.h"

/* What is known of a loop; NULL if it has ended, or there are too many. */
static struct model_loop *figures_of(const struct lane_loop *loop)
{
	return loop->id && loop->task->told.id == loop->id ? loop->task->loop : NULL;
}

/* It waited until then. */
static void end_idle(const struct model *model, struct lane_loop *loop, uint64_t end)
{
	struct model_loop *figures = figures_of(loop);

	if (figures && loop->idle <= end && course_is_inside(model, loop->idle, end))
		figures->idle += end - course_cut(model, loop->idle);
	loop->idle = 0;
}

static void end_iteration(const struct model *model, struct lane_loop *loop, uint64_t end)
{
	struct model_loop *figures = figures_of(loop);
	struct model_iteration *now = &loop->now;

	loop->woke = 0;
	/* A bad file may go back in time. */
	if (!figures || now->start > end || !course_is_inside(model, now->start, end))
		return;
	now->start = course_cut(model, now->start);
	now->ns = end - now->start;
	figures->iterations++;
	figures->busy += now->ns;
	histogram_add(&figures->iteration, now->ns);
	if (figures->iterations == 1 || now->ns > figures->worst.ns)
		figures->worst = *now;
}

/* It does something else now. */
static void close_loop(const struct model *model, struct lane_loop *loop, uint64_t end)
{
	if (loop->idle)
		end_idle(model, loop, end);
	if (loop->woke)
		end_iteration(model, loop, end);
}

/* Loops inside of runs that are over: when they were left nobody said. */
static void drop_inner(const struct model *model, struct lane *lane)
{
	for (; lane->loop_count; lane->loop_count--) {
		struct lane_loop *loop = &lane->loops[lane->loop_count - 1];

		if (loop->depth <= lane->depth)
			return;
		close_loop(model, loop, loop->last);
	}
}

static void begin_iteration(struct lane_loop *loop, uint64_t now)
{
	loop->woke = now;
	loop->last = now;
	loop->now = (struct model_iteration){.start = now};
}

static void note_thread(struct model_loop *figures, uint32_t thread)
{
	for (uint32_t i = 0; i < figures->thread_count; i++)
		if (figures->threads[i] == thread)
			return;
	if (figures->thread_count < MODEL_LOOP_THREADS)
		figures->threads[figures->thread_count++] = thread;
}

/* The task is a loop, whatever else is known of it. */
static int note_loop(struct model *model, struct lane *lane, struct live_task *task)
{
	int r = live_add_loop(&model->live, task);

	task->role |= UNWEAVE_SITE_STANDING | UNWEAVE_SITE_LOOP;
	task->loop_lane = (uint32_t)(lane - model->lanes);
	if (task->state == LIVE_WAITS)
		task->state = LIVE_UNKNOWN;
	if (task->loop)
		note_thread(task->loop, lane->thread);
	return r;
}

/*
 * The loop of an event in the lane, after the one that was there at this depth,
 * if any, came to its end; NULL in `*ret` if its task is over.
 */
static int enter_loop(struct model *model, struct lane *lane, const struct unweave_event *event,
		      struct lane_loop **ret)
{
	struct live_task *task = NULL;
	struct lane_loop *loops;
	int r = course_task(model, event->task, event->time, &task);

	*ret = NULL;
	if (r == 0 && task)
		r = note_loop(model, lane, task);
	if (r < 0 || !task)
		return r;
	loops = grow(lane->loops, lane->loop_count, &lane->loop_capacity, 4, sizeof(*loops));
	if (!loops)
		return -ENOMEM;
	lane->loops = loops;
	*ret = &loops[lane->loop_count++];
	**ret = (struct lane_loop){
		.id = event->task, .task = task, .depth = lane->depth, .last = event->time};
	return 0;
}

/* Closes what goes on at the depth of the lane, or deeper. */
static void leave_loop(const struct model *model, struct lane *lane, uint64_t now)
{
	drop_inner(model, lane);
	if (lane->loop_count && lane->loops[lane->loop_count - 1].depth == lane->depth)
		close_loop(model, &lane->loops[--lane->loop_count], now);
}

int course_idle(struct model *model, struct lane *lane, const struct unweave_event *event)
{
	struct lane_loop *loop = NULL;
	int r = 0;

	lane->idle = event->time;
	lane->due = 0;
	leave_loop(model, lane, event->time);
	if (event->task)
		r = enter_loop(model, lane, event, &loop);
	if (loop)
		loop->idle = event->time;
	return r;
}

int course_woke(struct model *model, struct lane *lane, const struct unweave_event *event)
{
	struct lane_loop *loop = NULL;
	int r = 0;

	lane->due = 0;
	leave_loop(model, lane, event->time);
	if (event->task)
		r = enter_loop(model, lane, event, &loop);
	if (!loop)
		return r;
	begin_iteration(loop, event->time);
	/* Who woke it has done so. */
	loop->task->woken = 0;
	return r;
}

struct lane_loop *course_loop(struct model *model, struct lane *lane, uint64_t now)
{
	struct lane_loop *loop;

	drop_inner(model, lane);
	loop = lane->loop_count ? &lane->loops[lane->loop_count - 1] : NULL;
	if (loop && loop->idle) {
		end_idle(model, loop, now);
		begin_iteration(loop, now);
	}
	return loop;
}

/* It was ready while the longest run of the iteration still went on. */
static void note_waited(struct model_iteration *iteration, uint64_t ready)
{
	iteration->ready += ready < iteration->run_end;
}

void course_loop_begin(struct model *model, const struct lane *lane, struct lane_loop *loop,
		       uint64_t ready, uint64_t now)
{
	struct model_loop *figures = figures_of(loop);

	loop->last = now;
	if (!figures || loop->depth != lane->depth || !ready || now < model->from)
		return;
	histogram_add(&figures->lag, now > ready ? now - ready : 0);
	note_waited(&loop->now, ready);
	note_waited(&figures->worst, ready);
}

bool course_loop_end(struct lane *lane, const struct model_run *run)
{
	struct lane_loop *loop = &lane->loops[lane->loop_count - 1];
	struct model_iteration *now;
	struct model_loop *figures;

	/* Those inside of the run are dropped when their lane is next looked at. */
	while (loop->depth > run->depth && loop > lane->loops)
		loop--;
	if (loop->depth != run->depth)
		return false;
	loop->last = run->end;
	figures = figures_of(loop);
	if (!figures)
		return true;
	figures->runs++;
	figures->running += run->end - run->start;
	now = &loop->now;
	now->runs++;
	if (now->task && run->end - run->start <= now->run_ns)
		return true;
	now->ready = 0;
	now->task = run->task->id;
	now->site = run->task->site;
	now->stack = run->stack;
	now->run_ns = run->end - run->start;
	now->run_end = run->end;
	return true;
}

void course_forget_loops(struct lane *lane)
{
	lane->loop_count = 0;
	lane->due = 0;
}

void course_end_loops(struct model *model, struct lane *lane, uint64_t end, bool idle)
{
	drop_inner(model, lane);
	for (; lane->loop_count; lane->loop_count--) {
		struct lane_loop *loop = &lane->loops[lane->loop_count - 1];

		close_loop(model, loop, loop->idle && idle ? end : loop->last);
	}
}

int course_tell_loop(struct model *model, struct live_task *task, uint64_t end)
{
	int r = live_add_loop(&model->live, task);
	struct lane *lane;

	if (r < 0 || !task->loop)
		return r;
	lane = task->loop_lane < model->lane_count ? &model->lanes[task->loop_lane] : NULL;
	for (uint32_t i = 0; lane && i < lane->loop_count; i++) {
		struct lane_loop *loop = &lane->loops[i];

		if (loop->id != task->told.id)
			continue;
		close_loop(model, loop, loop->idle ? end : loop->last);
		loop->id = 0;
	}
	return model->sink->loop ? model->sink->loop(model->sink->data, task->loop) : 0;
}
