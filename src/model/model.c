/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/course.h"
#include "unweave.h"
#include "util/cleanup.h"

#define PROGRESS_EVENTS 250000u /* between two words of progress */

DEFINE_FREEP(struct model, model_free)

/* Without a reader yet. */
static int make(struct model **ret, struct model_sites sites)
{
	cleanup(model_freep) struct model *model = calloc(1, sizeof(*model));

	if (!model)
		return -ENOMEM;
	model->to = UINT64_MAX;
	model->sampling.due = UINT64_MAX;
	if (live_init(&model->live) < 0 || tree_new(&model->tree) < 0 ||
	    map_init(&model->tids, UINT32_MAX) < 0 ||
	    map_init(&model->lane_index, UINT32_MAX) < 0 ||
	    causes_init(&model->causes, sites, model->tree) < 0)
		return -ENOMEM;
	*ret = take(model);
	return 0;
}

/* The threads that samples may be of. */
static int note_tids(struct model *model)
{
	for (uint32_t i = 0; i < reader_thread_count(model->reader); i++) {
		const struct reader_thread *thread = reader_thread_at(model->reader, i);
		uint32_t *known = map_find(&model->tids, thread->tid);

		/* The last one that had the number. */
		if (known)
			*known = thread->thread;
		else if (map_put(&model->tids, thread->tid, thread->thread) < 0)
			return -ENOMEM;
	}
	return 0;
}

int model_new(struct model **ret, struct reader *reader)
{
	cleanup(model_freep) struct model *model = NULL;
	const struct reader_summary *summary = reader_summary(reader);
	int r = make(&model, model_sites_of(reader));

	if (r < 0)
		return r;
	model->reader = reader;
	model->runs_untold =
		summary->session_known && summary->session.detail == UNWEAVE_DETAIL_SAMPLES;
	if (sampling_init(&model->sampling, reader, model->tree, &model->causes) < 0 ||
	    note_tids(model) < 0)
		return -ENOMEM;
	*ret = take(model);
	return 0;
}

int model_new_fed(struct model **ret, struct model_sites sites)
{
	return make(ret, sites);
}

struct model *model_free(struct model *model)
{
	if (!model)
		return NULL;
	for (uint32_t i = 0; i < model->lane_count; i++)
		lane_fini(&model->lanes[i]);
	free(model->lanes);
	map_fini(&model->lane_index);
	map_fini(&model->tids);
	live_fini(&model->live);
	sampling_fini(&model->sampling);
	causes_fini(&model->causes);
	tree_free(model->tree);
	free(model);
	return NULL;
}

void model_set_window(struct model *model, uint64_t from, uint64_t to)
{
	model->from = from;
	model->to = to;
}

void model_set_splice(struct model *model, struct splice_anchors plumbing,
		      splice_same_function same, void *data)
{
	if (plumbing.start < plumbing.end)
		model->sampling.splice.plumbing = plumbing;
	model->sampling.splice.same = same;
	model->sampling.splice.same_data = data;
}

void model_set_labels(struct model *model, model_label label, void *data)
{
	model->live.label = label;
	model->live.label_data = data;
}

void model_set_folds(struct model *model, splice_same_function surely, void *data)
{
	model->causes.surely = surely;
	model->causes.surely_data = data;
}

const struct tree *model_tree(const struct model *model)
{
	return model->tree;
}

const struct model_totals *model_totals(const struct model *model)
{
	return &model->totals;
}

struct model_task *model_task(struct model *model, uint64_t id)
{
	struct live_task *task = live_find(&model->live, id);

	return task ? &task->told : NULL;
}

/* The time that is spoken of: that of the events, and of samples beyond. */
static void find_span(struct model *model)
{
	const struct reader_summary *summary = reader_summary(model->reader);
	struct model_totals *totals = &model->totals;

	totals->first = summary->event_blocks ? summary->first : UINT64_MAX;
	totals->last = summary->last;
	if (model->sampling.due < totals->first)
		totals->first = model->sampling.due;
	if (totals->first == UINT64_MAX)
		totals->first = totals->last;
	if (totals->first < model->from)
		totals->first = model->from;
	if (totals->last > model->to)
		totals->last = model->to;
	if (totals->last < totals->first)
		totals->last = totals->first;
}

static void tell_progress(struct model *model, const struct model_sink *sink, uint64_t now)
{
	const struct model_totals *totals = &model->totals;

	if (sink->progress && now > totals->first)
		sink->progress(sink->data, now - totals->first, totals->last - totals->first);
}

static int follow_step(struct model *model, const struct course_step *step, struct diag *diag)
{
	int r = 0;

	if (__builtin_expect(model->sampling.due < step->event.time, 0))
		r = course_samples(model, step->event.time, diag);
	return r < 0 ? r : course_event(model, step);
}

/* What the sink keeps of the tasks is cold, too. */
static void warn_sink(struct model *model, const struct course_step *steps, uint32_t count)
{
	const struct model_sink *sink = model->sink;

	for (uint32_t i = 0; i < count; i++)
		if (steps[i].task)
			__builtin_prefetch(steps[i].task->told.user);
	for (uint32_t i = 0; i < count && sink->soon; i++)
		if (steps[i].task && steps[i].task->told.id == steps[i].event.task)
			sink->soon(sink->data, &steps[i].task->told);
}

/*
 * Some events at a time: what is known of their tasks is cold if there are many
 * tasks, and is on its way while others are looked at.
 */
static int tell_steps(struct model *model, struct diag *diag)
{
	uint32_t count = model->step_count;
	int r;

	model->step_count = 0;
	for (uint32_t i = 0; i < count; i++)
		course_prepare(model, &model->steps[i]);
	warn_sink(model, model->steps, count);
	for (uint32_t i = 0; i < count; i++) {
		r = follow_step(model, &model->steps[i], diag);
		if (r < 0)
			return r;
	}
	model->events += count;
	if (model->events >= model->events_told + PROGRESS_EVENTS) {
		model->events_told = model->events;
		tell_progress(model, model->sink, model->steps[count - 1].event.time);
	}
	return 0;
}

/* Takes in the next event, which is told with those after it. */
static int take_event(struct model *model, const struct unweave_event *event, uint64_t block,
		      struct diag *diag)
{
	int r = course_take(model, event, block, &model->steps[model->step_count]);

	if (r < 0)
		return r;
	model->step_count++;
	/* The text stays until the next event only. */
	return model->step_count == COURSE_STEPS || event->text ? tell_steps(model, diag) : 0;
}

static int read_events(struct model *model, struct diag *diag)
{
	struct unweave_event event;
	int r;

	while ((r = reader_next(model->reader, &event, diag)) == 0) {
		r = take_event(model, &event, reader_event_block(model->reader), diag);
		if (r < 0)
			return r;
	}
	return r == READER_END ? tell_steps(model, diag) : r;
}

void model_begin(struct model *model, const struct model_sink *sink)
{
	model->sink = sink;
}

int model_feed(struct model *model, const struct unweave_event *event, uint64_t block)
{
	return take_event(model, event, block, NULL);
}

int model_settle(struct model *model)
{
	return tell_steps(model, NULL);
}

static void drop_tasks(struct model *model)
{
	const struct model_sink *sink = model->sink;

	for (uint32_t i = 0; i < model->live.slot_count && sink->dropped; i++)
		if (live_at(&model->live, i)->told.id)
			sink->dropped(sink->data, &live_at(&model->live, i)->told);
}

int model_read(struct model *model, const struct model_sink *sink, struct diag *diag)
{
	int r = reader_seek(model->reader, 0, model->to, diag);

	reader_rewind_samples(model->reader);
	model->sink = sink;
	if (r == 0)
		r = sampling_start(&model->sampling, diag);
	if (r == 0) {
		find_span(model);
		r = read_events(model, diag);
	}
	if (r == 0)
		r = course_samples(model, model->to, diag);
	if (r == 0)
		r = course_end(model);
	drop_tasks(model);
	model->sink = NULL;
	return r == -ENOMEM ? diag_set(diag, r, "out of memory") : r;
}

const char *model_end_name(enum model_end end)
{
	static const char *const names[] = {
		[MODEL_INCOMPLETE] = "incomplete",
		[MODEL_OK] = "ok",
		[MODEL_ERROR] = "error",
		[MODEL_CANCELLED] = "cancelled",
	};

	return names[end];
}
