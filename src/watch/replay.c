/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace up to a moment. Forwards the model goes on from where it is; backwards the
 * trace is read anew from its beginning, which takes as long as a report of that part:
 * a copy of the model's state for some moments would be as large as all its tasks each.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "watch/inside.h"

/* Figures "in the last interval" are of so long, unless the moment was moved by less. */
#define INTERVAL_NS NS_PER_S
#define EVENTS_AT_A_TIME 4096u /* about a millisecond's */

static void copy_text(struct meta_text text, char *to, size_t room)
{
	snprintf(to, room, "%.*s", (int)(text.length < room ? text.length : room),
		 text.length ? text.bytes : "");
}

static int list_threads(struct watch *watch)
{
	for (uint32_t i = 0; i < reader_thread_count(watch->reader); i++) {
		const struct reader_thread *told = reader_thread_at(watch->reader, i);
		struct thread *thread;

		/* Tasks from before are told as if by a thread. */
		if (!told->tid)
			continue;
		thread = thread_get(&watch->threads, told->thread);
		if (!thread)
			return -ENOMEM;
		thread->told.tid = told->tid;
		snprintf(thread->told.name, sizeof(thread->told.name), "%s", told->name);
	}
	return 0;
}

/* Nothing has happened yet. */
static int start_over(struct watch *watch, struct diag *diag)
{
	int r = reader_seek(watch->reader, 0, UINT64_MAX, diag);

	watch->totals.now = watch->totals.first;
	watch->has_next = false;
	watch_forget(watch);
	if (r == 0)
		r = model_new(&watch->model, watch->reader);
	if (r < 0)
		return r;
	model_begin(watch->model, &watch->sink);
	return 0;
}

/* Whether to read on, on the way to `goal`. */
static bool goes_on(const struct watch *watch, uint64_t goal)
{
	uint64_t first = watch->totals.first;
	double share = (double)watch_passed(first, watch->next.time) /
		       (double)(goal > first ? goal - first : 1);

	return !watch->goes_on ||
	       watch->goes_on(watch->goes_on_data, share < 1 ? (unsigned)(share * 100) : 100);
}

/*
 * Takes in what happened until then, and then too; on the way to `goal`. Returns 1 if it did not
 * get there, since somebody wants it to stop.
 */
static int go_on(struct watch *watch, uint64_t until, uint64_t goal, struct diag *diag)
{
	uint64_t reached = watch->totals.now;
	bool stopped = false;
	uint32_t events = 0;
	int r = 0;

	while (r == 0) {
		if (!watch->has_next) {
			r = reader_next(watch->reader, &watch->next, diag);
			watch->has_next = r == 0;
		}
		if (r != 0 || watch->next.time > until)
			break;
		stopped = ++events % EVENTS_AT_A_TIME == 0 && !goes_on(watch, goal);
		if (stopped)
			break;
		r = model_feed(watch->model, &watch->next, reader_event_block(watch->reader));
		watch->has_next = false;
		if (watch->next.time > reached)
			reached = watch->next.time;
	}
	if (r >= 0)
		r = model_settle(watch->model);
	watch->totals.now = stopped ? reached : until;
	return r < 0 ? r : stopped;
}

/* What is counted from here on is "now". */
static void mark(struct watch *watch)
{
	watch->before = watch->counted;
	for (uint32_t i = 0; i < watch->sites.count; i++)
		watch->sites.at[i]->before = watch->sites.at[i]->counted;
	thread_mark(watch);
}

int replay_seek(struct watch *watch, uint64_t time, struct diag *diag)
{
	struct watch_totals *totals = &watch->totals;
	uint64_t from;
	int r = 0;

	time = time < totals->first ? totals->first : time > totals->last ? totals->last : time;
	if (time < totals->now || !watch->model)
		r = start_over(watch, diag);
	from = time - totals->first > INTERVAL_NS ? time - INTERVAL_NS : totals->first;
	if (r == 0 && from > totals->now)
		r = go_on(watch, from, time, diag);
	if (r < 0)
		return r;
	from = totals->now;
	mark(watch);
	if (r == 0)
		r = go_on(watch, time, time, diag);
	if (r < 0)
		return r;
	totals->interval = totals->now - from;
	totals->lost = model_totals(watch->model)->lost;
	return picture_make(watch);
}

int replay_again(struct watch *watch)
{
	uint64_t now = watch->totals.now;

	watch->model = model_free(watch->model);
	watch->task_count = 0;
	return replay_seek(watch, now, NULL);
}

int replay_begin(struct watch *watch, const char *path, struct diag *diag)
{
	const struct reader_summary *summary;
	int r = reader_open(&watch->reader, path, NULL, NULL, diag);

	if (r < 0)
		return r;
	summary = reader_summary(watch->reader);
	watch->totals.source = WATCH_TRACE;
	watch->totals.first = summary->first;
	watch->totals.last = summary->last;
	if (summary->session_known) {
		watch->totals.pid = (uint32_t)summary->session.pid;
		copy_text(summary->session.program, watch->totals.program,
			  sizeof(watch->totals.program));
		if (summary->session.detail == UNWEAVE_DETAIL_SAMPLES)
			snprintf(watch->note, sizeof(watch->note), "%s",
				 "the trace has samples only: what tasks did between them is not "
				 "known");
	}
	r = site_get(watch, 0) ? list_threads(watch) : -ENOMEM;
	return r < 0 ? r : replay_seek(watch, summary->last, diag);
}
