/* SPDX-License-Identifier: Apache-2.0 */
/* A living program: its events go from the recorder straight into the model. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "arena/clock.h"
#include "snapshot/snapshot.h"
#include "watch/inside.h"

#define PASS_NS UINT64_C(20000000)         /* a screen still answers */
#define FIRST_PASS_NS UINT64_C(2000000000) /* a picture without tasks from before is none */

/*
 * Events a second that are taken unasked: an event costs the program a clock read, and what its
 * caches lose, so that these cost it 1 or 2 % of a processor.
 */
#define UNASKED_RATE 1000000u
#define COUNT_NS NS_PER_S /* that they were many for a moment is no reason */

#define RATE_NS (NS_PER_S / 10) /* the last moments of a program that are too few for a rate */

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
	watch->stale = true;
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
					   .detail = UNWEAVE_DETAIL_TASKS,
					   .afresh = true};
	int r = attach_lock(watch->attachment, diag);

	return r < 0 ? r : recorder_new(&watch->recorder, watch->attachment, &options, diag);
}

void live_stop(struct watch *watch)
{
	int error = watch->error;

	if (!watch->recorder)
		return;
	watch->error = -ECANCELED;
	recorder_stop(watch->recorder);
	watch->recorder = recorder_free(watch->recorder);
	watch->error = error;
	attach_unlock(watch->attachment);
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
	watch->unasked = UNASKED_RATE;
	watch->totals.pid = attachment->pid;
	attach_program(attachment, watch->totals.program);
	watch->totals.first = watch->latest = clock_raw();
	/* Its mappings, while it is there. */
	return site_get(watch, 0) && watch_symbols(watch) ? 0 : -ENOMEM;
}

static int listen(struct watch *watch, enum watch_wish wish)
{
	int r;

	watch->wish = wish;
	watch->taken = watch->spared = 0;
	watch->note[0] = '\0';
	/* What has ended has nothing to say any more: what it left is in the table. */
	if (wish == WATCH_NO_EVENTS || !attach_is_alive(watch->attachment)) {
		note_table(watch, "nothing is recorded");
		return 0;
	}
	watch->totals.first = watch->latest = watch->counted_at = clock_raw();
	watch->totals.source = WATCH_EVENTS;
	r = model_new_fed(&watch->model, site_source(watch));
	if (r < 0)
		return r;
	model_begin(watch->model, &watch->sink);
	return record_or_not(watch);
}

int live_begin(struct watch *watch, struct attachment *attachment, enum watch_wish wish,
	       struct diag *diag)
{
	int r = begin(watch, attachment, diag);

	return r < 0 ? r : listen(watch, wish);
}

int live_listen(struct watch *watch, enum watch_wish wish)
{
	if (watch->totals.over)
		return 0;
	live_stop(watch);
	watch_forget(watch);
	return listen(watch, wish);
}

/* Whether the process has the arena mapped; false too if that cannot be seen. */
static bool has_arena(const struct attachment *attachment)
{
	unsigned long inode;
	char path[32], line[4352];
	unsigned major_number, minor_number;
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%u/maps", attachment->pid);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%*x-%*x %*s %*x %x:%x %lu", &major_number, &minor_number,
			       &inode) == 3 &&
			inode == attachment->inode && major_number == major(attachment->device) &&
			minor_number == minor(attachment->device);
	if (maps)
		fclose(maps);
	return found;
}

/*
 * Whether another program has taken the place of ours, by exec. One that knows unweave says so
 * itself; else it is seen by that the arena is not mapped any more, if it was seen before.
 */
static bool is_replaced(struct watch *watch)
{
	bool had = watch->arena_seen;

	if (atomic_load(&watch->attachment->control->life) == ARENA_REPLACED)
		return true;
	watch->arena_seen = has_arena(watch->attachment);
	return had && !watch->arena_seen && attach_is_alive(watch->attachment);
}

/* All that it said has been taken by then. */
static void note_end(struct watch *watch)
{
	bool cut = watch->attachment->cut;
	bool ended = watch->recorder ? recorder_totals(watch->recorder).drain.program_ended
				     : !attach_is_alive(watch->attachment);
	bool replaced = !cut && is_replaced(watch);

	if (watch->totals.over || (!cut && !ended && !replaced))
		return;
	watch->totals.over = true;
	snprintf(watch->note, sizeof(watch->note), "%s",
		 cut        ? "the program has cut its arena: what it does now is not known"
		 : replaced ? "the program has become another, by exec"
			    : "the program has ended");
}

/* Tasks from before are told some at each pass: there are many of those until all are known. */
static int take(struct watch *watch, uint64_t at_most_ns)
{
	uint64_t end = clock_raw() + at_most_ns, begun = clock_ticks(watch->attachment->clock);
	int r, taken = 0;

	do {
		r = recorder_pass(watch->recorder);
		taken = r < 0 ? r : taken + r;
	} while (r >= 0 && recorder_has_census(watch->recorder) && clock_raw() < end);
	if (!recorder_totals(watch->recorder).drain.program_ended)
		watch->seen_alive = recorder_ns(watch->recorder, begun);
	return taken;
}

static int pass(struct watch *watch, uint64_t at_most_ns)
{
	int taken = 0;

	if (watch->recorder && !watch->totals.over)
		taken = take(watch, at_most_ns);
	if (watch->model && !watch->error)
		watch->error = model_settle(watch->model);
	return watch->error ? watch->error : taken;
}

int live_pass(struct watch *watch)
{
	return pass(watch, PASS_NS);
}

static int tell_task(struct watch *watch, const struct table_task *task)
{
	struct unweave_event event = {.kind = UNWEAVE_EVENT_TASK,
				      .task = task->id,
				      .other = task->parent,
				      .value = task->site,
				      .time = watch->latest,
				      .flags = UNWEAVE_EVENT_BEFORE};
	struct unweave_event name = {.kind = UNWEAVE_EVENT_NAME,
				     .task = task->id,
				     .text = task->name,
				     .time = watch->latest};
	int r = model_feed(watch->model, &event, 0);

	return r < 0 || !task->name[0] ? r : model_feed(watch->model, &name, 0);
}

/* Tasks that began in a loss: the table knows them. */
static int recount(struct watch *watch)
{
	const struct table *table = &watch->attachment->table;
	uint64_t lost = model_totals(watch->model)->lost;
	struct table_task task;
	int r = 0;

	if (lost == watch->totals.lost)
		return 0;
	watch->totals.lost = lost;
	for (uint32_t i = 1; i < table_ready(table) && r == 0; i++)
		if (table_read(table, i, &task) && !model_task(watch->model, task.id))
			r = tell_task(watch, &task);
	return r < 0 ? r : model_settle(watch->model);
}

/* Takes no more events if they are too many to be taken unasked. This picture has them still. */
static void spare_program(struct watch *watch)
{
	uint64_t passed = watch_passed(watch->counted_at, watch->totals.now);
	uint64_t taken, rate;

	if (!watch->recorder || watch->wish != WATCH_FEW_EVENTS || passed < COUNT_NS)
		return;
	taken = recorder_totals(watch->recorder).drain.records;
	rate = (uint64_t)((double)(taken - watch->taken) * 1e9 / (double)passed);
	watch->taken = taken;
	watch->counted_at = watch->totals.now;
	if (rate <= watch->unasked)
		return;
	watch->spared = rate;
	live_stop(watch);
}

static void go_on_by_table(struct watch *watch)
{
	char why[160];

	snprintf(why, sizeof(why),
		 "%" PRIu64 ",000 events a second are more than it takes unasked; "
		 "the key e, or --events, takes them",
		 watch->spared / 1000);
	watch->spared = 0;
	watch->wish = WATCH_NO_EVENTS;
	watch_forget(watch);
	note_table(watch, why);
}

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

/*
 * What went on when the program ended did so until then, or shortly before. Where nothing was
 * recorded here, the table says when the last thing was noted in it.
 */
static int find_end(struct watch *watch, uint64_t before)
{
	struct snapshot snapshot;
	int r;

	if (before) {
		watch->totals.now = later(before, later(watch->latest, watch->seen_alive));
		return 0;
	}
	if (watch->recorder)
		return 0;
	r = snapshot_take(&snapshot, watch->attachment);
	if (r < 0)
		return r;
	if (snapshot.ended)
		watch->ticks = snapshot.ticks;
	snapshot_fini(&snapshot);
	return 0;
}

static int set_moment(struct watch *watch, uint64_t before, const struct clock_moment *now)
{
	struct watch_totals *totals = &watch->totals;
	int r = 0;

	/* On the clock of the events: how long something lasts is to the point. */
	totals->now = watch->recorder ? recorder_ns(watch->recorder, now->ticks) : now->raw;
	watch->ticks = now->ticks;
	if (totals->over)
		r = find_end(watch, before);
	totals->last = totals->now;
	totals->interval = before ? watch_passed(before, totals->now) : 0;
	if (totals->over && totals->interval < RATE_NS)
		totals->interval = 0;
	return r;
}

int live_refresh(struct watch *watch)
{
	uint64_t before = watch->totals.now;
	struct clock_moment now = clock_measure(watch->attachment->clock);
	int r;

	/* It stays as it was last. */
	if (watch->totals.over && before)
		return 0;
	if (watch->spared)
		go_on_by_table(watch);
	/* All that was emitted until now is known then, and of what came after, some. */
	r = pass(watch, FIRST_PASS_NS);
	if (r >= 0 && watch->model)
		r = recount(watch);
	if (r < 0)
		return r;
	note_end(watch);
	if (watch->totals.over) {
		thread_keep(&watch->threads);
		if (before && !watch->stale)
			return 0;
	}
	r = set_moment(watch, before, &now);
	if (r < 0)
		return r;
	watch->totals.slotless = atomic_load(&watch->attachment->control->tasks_lost);
	r = picture_make(watch);
	spare_program(watch);
	return r;
}
