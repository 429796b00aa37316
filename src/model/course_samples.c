/* SPDX-License-Identifier: Apache-2.0 */
#include "model/course.h"

/* The run that a sample fell into, if it is one of the sampled thread; NULL: none is known. */
static struct lane_run *run_of(struct model *model, const struct live_task *task, uint32_t tid)
{
	struct lane *lane = task->open ? &model->lanes[task->lane] : NULL;
	const struct reader_thread *thread =
		lane ? reader_thread(model->reader, lane->thread) : NULL;

	return thread && thread->tid == tid ? lane_find(lane, task->told.id) : NULL;
}

/* A majority vote in one pass: a stack that has more than half of the time comes out. */
static void vote(struct lane_run *run, const struct sampling_sample *sample)
{
	if (run->hottest == sample->stack) {
		run->lead += sample->weight;
	} else if (run->hottest && run->lead >= sample->weight) {
		run->lead -= sample->weight;
	} else {
		run->hottest = sample->stack;
		run->lead = sample->weight - run->lead;
	}
}

/* Counts the sample for its task and run. */
static void charge(struct model *model, struct live_task *task,
		   const struct sampling_sample *sample)
{
	struct lane_run *run = run_of(model, task, sample->tid);
	bool asleep = sample->flags & SAMPLE_ASLEEP;

	if (!asleep) {
		task->told.cpu += sample->weight;
		task->told.samples++;
	}
	if (!run)
		return;
	if (asleep) {
		run->asleep += sample->weight;
	} else {
		run->cpu += sample->weight;
		run->samples++;
	}
	vote(run, sample);
}

static int on_sample(struct model *model, const struct sampling_sample *sample)
{
	struct model_totals *totals = &model->totals;
	const uint32_t *thread = map_find(&model->tids, sample->tid);
	struct model_sample told = {
		.time = sample->time,
		.weight = sample->weight,
		.tid = sample->tid,
		.thread = thread ? *thread : 0,
		.stack = sample->stack,
		.flags = sample->flags,
		.outcome = sample->outcome,
	};
	struct live_task *task = NULL;
	int r = course_task(model, sample->task, sample->time, &task);

	/* Where there are no events, this is all that says what a task is. */
	if (r >= 0 && task && !task->told.site)
		r = live_set_site(&model->live, task, &model->causes, sample->site);
	if (r < 0 || sample->time < model->from)
		return r;
	if (sample->time > totals->last)
		totals->last = sample->time;
	if (task)
		told.task = &task->told;
	totals->samples++;
	totals->in_tasks += sample->outcome != SPLICE_NO_TASK;
	totals->outcomes[sample->outcome]++;
	if (sample->flags & SAMPLE_ASLEEP)
		totals->asleep++;
	else
		totals->cpu += sample->weight;
	if (task)
		charge(model, task, sample);
	return model->sink->sample ? model->sink->sample(model->sink->data, &told) : 0;
}

int course_samples(struct model *model, uint64_t until, struct diag *diag)
{
	while (model->sampling.due < until) {
		struct sampling_sample sample;
		int r = sampling_next(&model->sampling, &sample, diag);

		if (r == 0)
			r = on_sample(model, &sample);
		if (r < 0)
			return r;
	}
	return 0;
}
