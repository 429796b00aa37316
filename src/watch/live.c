/* SPDX-License-Identifier: Apache-2.0 */
/* A living program: its events go from the recorder straight into the model. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "arena/clock.h"
#include "watch/inside.h"

static void on_event(const struct unweave_event *event, void *data)
{
	struct watch *watch = data;
	struct unweave_event told = *event;
	int r;

	if (watch->error)
		return;
	/* What was there before is told meanwhile: it was so when nothing else was known yet. */
	if (told.flags & UNWEAVE_EVENT_BEFORE)
		told.time = watch->totals.first;
	else if (told.time < watch->latest)
		told.time = watch->latest;
	else
		watch->latest = told.time;
	/* All frames are of one table, for as long as the recorder lives: one block. */
	r = model_feed(watch->model, &told, 0);
	if (r < 0)
		watch->error = r;
}

static void on_thread(void *data, uint32_t number, uint32_t tid, const char *name, bool ended)
{
	struct watch *watch = data;
	struct thread *thread;

	/* Those that were there before are told as if by a thread. */
	if (!tid)
		return;
	thread = thread_get(&watch->threads, number);
	if (!thread) {
		watch->error = -ENOMEM;
		return;
	}
	thread->told.tid = tid;
	thread->told.ended = ended;
	snprintf(thread->told.name, sizeof(thread->told.name), "%s", name);
}

static int begin_recording(struct watch *watch, struct diag *diag)
{
	struct recorder_options options = {.listener = on_event,
					   .thread = on_thread,
					   .listener_data = watch,
					   .detail = UNWEAVE_DETAIL_TASKS};
	int r = attach_lock(watch->attachment, diag);

	return r < 0 ? r : recorder_new(&watch->recorder, watch->attachment, &options, diag);
}

static void note_table(struct watch *watch, const char *why)
{
	watch->totals.source = WATCH_TABLE;
	snprintf(watch->note, sizeof(watch->note), "only what the task table says is known: %s",
		 why);
}

/* Where nothing can be recorded there is still the table. */
static int record_or_not(struct watch *watch)
{
	struct diag diag = {.text = "out of memory"};
	int r = begin_recording(watch, &diag);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		watch->model = model_free(watch->model);
		note_table(watch, diag.text);
	}
	return 0;
}

static int begin(struct watch *watch, struct attachment *attachment, struct diag *diag)
{
	watch->attachment = attachment;
	watch->ticks_per_s = clock_rate(attachment->clock);
	if (!watch->ticks_per_s)
		return diag_set(diag, -EBADMSG, "the program's clock stands still");
	watch->totals.pid = attachment->pid;
	attach_program(attachment, watch->totals.program);
	watch->totals.first = watch->latest = clock_raw();
	/* Its mappings, while it is there. */
	return site_get(watch, 0) && watch_symbols(watch) ? 0 : -ENOMEM;
}

int live_begin(struct watch *watch, struct attachment *attachment, bool record, struct diag *diag)
{
	int r = begin(watch, attachment, diag);

	if (r < 0)
		return r;
	if (!record) {
		note_table(watch, "nothing is recorded");
		return 0;
	}
	watch->totals.source = WATCH_EVENTS;
	r = model_new_fed(&watch->model, site_source(watch));
	if (r < 0)
		return r;
	model_begin(watch->model, &watch->sink);
	return record_or_not(watch);
}

/* The program has ended, or is another: once all that it said has been taken. */
static void look_after(struct watch *watch)
{
	struct drain_totals totals = {0};

	if (watch->recorder) {
		totals = recorder_totals(watch->recorder).drain;
		watch->totals.over = totals.program_ended;
	} else {
		totals.replaced = atomic_load(&watch->attachment->control->life) == ARENA_REPLACED;
		watch->totals.over = !attach_is_alive(watch->attachment);
	}
	if (watch->attachment->cut) {
		watch->totals.over = true;
		snprintf(watch->note, sizeof(watch->note), "%s",
			 "the program has cut its arena: what it does now is not known");
	} else if (watch->totals.over) {
		snprintf(watch->note, sizeof(watch->note), "%s",
			 totals.replaced ? "the program has become another, by exec"
					 : "the program has ended");
	}
}

int live_pass(struct watch *watch)
{
	int taken = 0;

	if (watch->recorder && !watch->totals.over)
		taken = recorder_pass(watch->recorder);
	if (watch->model && !watch->error)
		watch->error = model_settle(watch->model);
	look_after(watch);
	return watch->error ? watch->error : taken;
}

int live_refresh(struct watch *watch)
{
	uint64_t before = watch->totals.now;
	struct clock_moment now = clock_measure(watch->attachment->clock);
	int r;

	/* All that was emitted until now is known then, and of what came after, some. */
	r = live_pass(watch);
	if (r < 0)
		return r;
	/* Nothing goes on in a program that has ended. */
	if (!watch->totals.over || !before) {
		watch->totals.now = watch->totals.last = now.raw;
		watch->ticks = now.ticks;
	}
	watch->totals.interval = before ? watch_passed(before, watch->totals.now) : 0;
	watch->totals.slotless = atomic_load(&watch->attachment->control->tasks_lost);
	watch->totals.lost = watch->model ? model_totals(watch->model)->lost : 0;
	return picture_make(watch);
}
