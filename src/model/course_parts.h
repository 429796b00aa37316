/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of course.h need of each other. */
#ifndef MODEL_COURSE_PARTS_H
#define MODEL_COURSE_PARTS_H

#include "model/course.h"

/* Whether any of it lies in the window. */
static inline bool course_is_inside(const struct model *model, uint64_t start, uint64_t end)
{
	return end > model->from || (end == model->from && start == end);
}

static inline uint64_t course_cut(const struct model *model, uint64_t time)
{
	return time < model->from ? model->from : time;
}

/* Whether it is only there to be called, or to call: it does not wait. */
static inline bool course_stands(const struct live_task *task)
{
	return task->role & UNWEAVE_SITE_STANDING;
}

static inline void course_start_wait(struct live_task *task, uint64_t time, uint32_t stack)
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

/* A task is over, or the trace is; no run of it goes on. -ENOMEM, or what the sink returned. */
int course_end_task(struct model *model, struct live_task *task, uint64_t time, enum model_end end);

/* Waits; those that end a piece return -ENOMEM, or what the sink returned. */
int course_end_wait(struct model *model, struct live_task *task, uint64_t end, bool end_unknown);
/* A callback is called that `standing`, or NULL, stands for: it waited since it was ready. */
void course_fire(const struct lane *lane, const struct lane_loop *loop, struct live_task *task,
		 struct live_task *standing, uint64_t now);
/* A task that waits runs now, and nobody said when it became ready: that is found out. */
void course_find_ready(const struct lane *lane, const struct lane_loop *loop,
		       struct live_task *task, uint64_t now);
int course_wake(struct model *model, const struct unweave_event *event);

/* Runs. */
int course_begin_run(struct model *model, struct lane *lane, const struct unweave_event *event,
		     uint32_t stack, bool begin_unknown);
/* Takes a run out of its nest and tells it. What the task does then is not said. */
int course_end_run(struct model *model, struct lane *lane, struct lane_run *at, uint64_t end,
		   bool end_unknown);
/* Ends runs from the innermost on, until `left` are left. */
int course_end_runs(struct model *model, struct lane *lane, uint32_t left, uint64_t end);
/* Ends the runs that a task has anywhere; its nests still have a place for each. */
int course_end_runs_of(struct model *model, struct live_task *task, uint64_t end, bool keep_place);
/* A run that began unseen, while the nest was not known; `*ret` is its task, if that is known. */
int course_end_unseen_run(struct model *model, struct lane *lane, const struct unweave_event *event,
			  struct live_task **ret);

/* Loops. A thread waits, in a loop or in none; or woke. -ENOMEM, or what the sink returned. */
int course_idle(struct model *model, struct lane *lane, const struct unweave_event *event);
int course_woke(struct model *model, struct lane *lane, const struct unweave_event *event);
/* The innermost loop that the thread is in, which woke now at the latest; NULL: none is known. */
struct lane_loop *course_loop(struct model *model, struct lane *lane, uint64_t now);
/*
 * A run begins in that loop; `ready` is 0 where it is not known. And, one is over in the lane:
 * returns whether a loop ran it.
 */
void course_loop_begin(struct model *model, const struct lane *lane, struct lane_loop *loop,
		       uint64_t ready, uint64_t now);
bool course_loop_end(struct lane *lane, const struct model_run *run);
/* Events are missing: nobody knows what loops the thread is in. */
void course_forget_loops(struct lane *lane);
/* Nothing more is said of the loops that a thread is in; `idle`: it waits until then. */
void course_end_loops(struct model *model, struct lane *lane, uint64_t end, bool idle);
/* A loop is over, or the trace is. -ENOMEM, or what the sink returned. */
int course_tell_loop(struct model *model, struct live_task *task, uint64_t end);

#endif /* MODEL_COURSE_PARTS_H */
