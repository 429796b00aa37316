/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All tasks at one moment, each copied into a row of its own: from then on rows can
 * be put in order, counted and shown while the program goes on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "watch/inside.h"

_Static_assert((int)WATCH_UNTOLD == (int)MODEL_UNTOLD && (int)WATCH_STILL == (int)MODEL_STILL &&
		       (int)WATCH_RUNNING == (int)MODEL_RUNNING &&
		       (int)WATCH_QUEUED == (int)MODEL_QUEUED &&
		       (int)WATCH_WAITING == (int)MODEL_WAITING &&
		       (int)WATCH_STANDING == (int)MODEL_STANDING,
	       "states are the model's");

/* Room for so many rows, with nothing in them that counts. */
static int make_room(struct watch *watch, uint32_t tasks, uint32_t slots)
{
	struct watch_task *rows = watch->tasks;
	uint32_t *by_slot = watch->by_slot;

	if (tasks > watch->task_capacity) {
		rows = reallocarray(rows, tasks, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		watch->tasks = rows;
		watch->task_capacity = tasks;
	}
	if (slots > watch->slot_capacity) {
		by_slot = reallocarray(by_slot, slots, sizeof(*by_slot));
		if (!by_slot)
			return -ENOMEM;
		watch->by_slot = by_slot;
		watch->slot_capacity = slots;
	}
	if (watch->slot_capacity)
		memset(by_slot, 0, watch->slot_capacity * sizeof(*by_slot));
	watch->task_count = 0;
	map_clear(&watch->slotless);
	return 0;
}

/* So that watch_task_find() need not look far. */
int picture_index(struct watch *watch, uint32_t at)
{
	uint64_t id = watch->tasks[at].id;
	uint32_t slot = table_index(id);

	if (!slot || slot >= watch->slot_capacity || watch->by_slot[slot])
		return map_find(&watch->slotless, id) ? 0 : map_put(&watch->slotless, id, at);
	watch->by_slot[slot] = at + 1;
	return 0;
}

static void count_wait(struct watch *watch, const struct watch_task *task)
{
	struct watch_wait *kind = &watch->kinds[task->waits < WATCH_KINDS ? task->waits : 0];
	uint64_t waited = watch_in_state(watch, task);

	kind->tasks++;
	if (waited == WATCH_UNKNOWN || (kind->task && waited <= kind->longest))
		return;
	kind->longest = waited;
	kind->on = task->awaits;
	kind->task = task->id;
}

void picture_count(struct watch *watch, struct site *site, const struct watch_task *task)
{
	struct watch_site *told = &site->told;

	watch->totals.states[task->state]++;
	told->states[task->state]++;
	told->alive++;
	if (task->state == WATCH_WAITING)
		count_wait(watch, task);
	if (task->untold) {
		site->untold++;
		return;
	}
	told->busy = watch_plus(told->busy, task->busy);
	told->waited = watch_plus(told->waited, task->waited);
	told->queued = watch_plus(told->queued, task->queued);
	told->runs = watch_plus(told->runs, task->runs);
	told->wakes = watch_plus(told->wakes, task->wakes);
	told->self_wakes = watch_plus(told->self_wakes, task->self_wakes);
}

/* What its tasks did is not known as long as nothing was heard of any. */
static void end_site(struct site *site)
{
	struct watch_site *told = &site->told;

	if (!site->untold || site->untold < told->alive || site->counted.ended)
		return;
	told->busy = told->waited = told->queued = WATCH_UNKNOWN;
	told->runs = told->wakes = told->self_wakes = WATCH_UNKNOWN;
}

void picture_waits(const struct site *site, struct watch_task *task)
{
	if (task->state != WATCH_WAITING || task->waits)
		return;
	task->waits = site->waits;
	task->awaits = WATCH_UNKNOWN;
}

/* NULL: it has none. */
static const struct arena_task *slot_of(const struct watch *watch, uint64_t task)
{
	const struct table *table = &watch->attachment->table;
	const struct arena_task *slot = &table->tasks[table_index(task)];

	return table_index(task) && table_index(task) < table_ready(table) &&
			       atomic_load_explicit(&slot->id, memory_order_relaxed) == task
		       ? slot
		       : NULL;
}

/* What a task is about to wait for is no event: the table alone says it. */
static void ask_table(const struct watch *watch, struct watch_task *task)
{
	const struct arena_task *slot = slot_of(watch, task->id);

	if (!slot)
		return;
	task->waits = atomic_load_explicit(&slot->waits, memory_order_relaxed) & ~TABLE_WAITS_NEXT;
	task->awaits = atomic_load_explicit(&slot->awaits, memory_order_relaxed);
	if (task->waits >= WATCH_KINDS)
		task->waits = UNWEAVE_WAIT_NONE;
}

static int by_task(const void *a, const void *b)
{
	const struct meta_wait *one = a, *two = b;

	return one->task < two->task ? -1 : one->task > two->task;
}

/* A trace tells it of the end only. */
static void ask_trace(const struct reader *reader, struct watch_task *task)
{
	const struct reader_waits *waits = reader_waits(reader);
	const struct meta_wait key = {.task = task->id}, *found = NULL;

	if (waits && waits->count)
		found = bsearch(&key, waits->at, waits->count, sizeof(key), by_task);
	if (!found || found->kind >= WATCH_KINDS)
		return;
	task->waits = (uint8_t)found->kind;
	task->awaits = found->on;
}

static void ask_what_for(const struct watch *watch, struct watch_task *task)
{
	if (watch->attachment)
		ask_table(watch, task);
	else if (watch->totals.now == watch->totals.last)
		ask_trace(watch->reader, task);
}

/* One that was created while somebody recorded, and did not run meanwhile, has its birth noted. */
static void ask_birth(const struct watch *watch, struct watch_task *task)
{
	const struct arena_task *slot = watch->attachment ? slot_of(watch, task->id) : NULL;
	uint64_t changed = slot ? atomic_load_explicit(&slot->changed, memory_order_relaxed) : 0;

	if (!changed ||
	    (atomic_load_explicit(&slot->state, memory_order_relaxed) & 0xff) != ARENA_TASK_NEW)
		return;
	task->created = watch_ns_of(watch, changed);
	task->before = false;
}

/* It runs where nobody has heard of us: since when, and so how long, is not known. */
static void mark_unheard(const struct watch *watch, struct watch_task *task)
{
	const struct unheard *run = unheard_task(watch, task->id);

	if (!run)
		return;
	task->state = WATCH_RUNNING;
	task->thread = thread_number(&watch->threads, run->tid);
	task->since = WATCH_UNKNOWN;
	task->untold = true;
}

/* Nothing was heard of it: it is at what it has said of itself, or not known to be at anything. */
static void tell_little(const struct watch *watch, uint64_t since, struct watch_task *task)
{
	task->since = WATCH_UNKNOWN;
	ask_what_for(watch, task);
	if (!task->waits)
		return;
	task->state = WATCH_WAITING;
	task->since = since;
}

static void forget_figures(struct watch_task *task)
{
	task->busy = task->waited = task->queued = WATCH_UNKNOWN;
	task->runs = task->wakes = task->self_wakes = WATCH_UNKNOWN;
}

static bool is_told_little(const struct model_present *present)
{
	return present->state == MODEL_UNTOLD || present->state == MODEL_STILL;
}

static void fill_from_model(const struct watch *watch, const struct model_task *task, uint32_t slot,
			    struct watch_task *ret)
{
	struct model_present present;
	uint64_t passed;

	model_present(watch->model, task, &present);
	passed = present.since ? watch_passed(present.since, watch->totals.now) : 0;
	*ret = (struct watch_task){
		.id = task->id,
		.parent = task->parent,
		.created = task->created,
		.since = present.since ? present.since : WATCH_UNKNOWN,
		.busy = task->busy,
		.waited = task->pending + present.waited,
		.queued = task->queued,
		.runs = task->runs,
		.wakes = task->wakes,
		.self_wakes = task->self_wakes,
		.site = task->site ? task->site->id : 0,
		.thread = present.thread,
		.slot = slot,
		.state = (uint8_t)present.state,
		.source = (uint8_t)present.source,
		.before = task->before,
		.early = present.early,
		.untold = is_told_little(&present) && !task->runs && !task->wakes,
		.uncertain = present.uncertain,
	};
	if (task->before)
		ask_birth(watch, ret);
	if (is_told_little(&present))
		tell_little(watch, ret->since, ret);
	if (watch->unheard_count && task->before && !task->runs && present.state != MODEL_RUNNING)
		mark_unheard(watch, ret);
	if (ret->untold) {
		forget_figures(ret);
	} else if (present.state == MODEL_RUNNING) {
		ret->busy += passed;
		ret->runs++;
	} else if (present.state == MODEL_QUEUED) {
		ret->queued += passed;
	} else if (present.state == MODEL_WAITING) {
		ret->waited += passed;
		ask_what_for(watch, ret);
	}
}

/*
 * A callback that is not called waits for what it was armed for. None is called unheard if all
 * threads have come back to wait for work.
 */
static void find_waiting(const struct watch *watch, const struct site *site,
			 const struct model_task *told, struct watch_task *task)
{
	if (task->state != WATCH_UNTOLD || !watch->threads.idled || !told->before ||
	    (site->waits != UNWEAVE_WAIT_IO && site->waits != UNWEAVE_WAIT_TIMER))
		return;
	task->state = WATCH_WAITING;
	task->since = told->created;
}

/* The table knows who lives, as long as the program does. */
static bool has_ended(const struct watch *watch, uint64_t id)
{
	const struct table *table = watch->attachment ? &watch->attachment->table : NULL;
	uint32_t index = table_index(id);

	return table && !watch->totals.over && index && index < table_ready(table) &&
	       atomic_load_explicit(&table->tasks[index].id, memory_order_relaxed) != id;
}

/* Mostly the word of it is on its way. If it does not come until the next picture, it was lost. */
static int end_unseen(struct watch *watch, struct model_task *task)
{
	if (map_find(&watch->missed, task->id))
		return model_end(watch->model, task, watch->totals.now);
	return map_put(&watch->missing, task->id, 0);
}

static int add_model(struct watch *watch)
{
	for (uint32_t i = 0; i < model_slots(watch->model); i++) {
		struct model_task *task = model_slot(watch->model, i);
		struct watch_task *row = &watch->tasks[watch->task_count];
		struct site *site;

		if (!task)
			continue;
		site = site_of(watch, task);
		if (!site)
			return -ENOMEM;
		if (has_ended(watch, task->id)) {
			if (end_unseen(watch, task) < 0)
				return -ENOMEM;
			continue;
		}
		fill_from_model(watch, task, i, row);
		find_waiting(watch, site, task, row);
		picture_waits(site, row);
		if (picture_index(watch, watch->task_count++) < 0)
			return -ENOMEM;
		picture_count(watch, site, row);
	}
	return 0;
}

/* What has ended; those that live are added to it. */
static void begin_site(const struct watch *watch, struct site *site)
{
	const struct site_counts *counted = &site->counted, *before = &site->before;
	bool known = watch->model != NULL;
	struct watch_site *told = &site->told;

	told->alive = 0;
	site->untold = 0;
	memset(told->states, 0, sizeof(told->states));
	told->created = known ? counted->created : WATCH_UNKNOWN;
	told->ended = known ? counted->ended : WATCH_UNKNOWN;
	told->created_now = known ? counted->created - before->created : WATCH_UNKNOWN;
	told->ended_now = known ? counted->ended - before->ended : WATCH_UNKNOWN;
	told->busy = counted->busy;
	told->waited = counted->waited;
	told->queued = counted->queued;
	told->runs = counted->runs;
	told->wakes = counted->wakes;
	told->self_wakes = counted->self_wakes;
	told->run = site->run;
	told->wait = site->wait;
	told->queue = site->queue;
	if (!known)
		told->longest_run = WATCH_UNKNOWN;
	site->before = *counted;
}

static void begin_totals(struct watch *watch)
{
	struct watch_totals *totals = &watch->totals;
	struct map missed = watch->missed;
	bool known = watch->model != NULL;

	watch->missed = watch->missing;
	watch->missing = missed;
	map_clear(&watch->missing);

	memset(totals->states, 0, sizeof(totals->states));
	totals->created = known ? watch->counted.created : WATCH_UNKNOWN;
	totals->ended = known ? watch->counted.ended : WATCH_UNKNOWN;
	totals->created_now =
		known ? watch->counted.created - watch->before.created : WATCH_UNKNOWN;
	totals->ended_now = known ? watch->counted.ended - watch->before.ended : WATCH_UNKNOWN;
	totals->runs_now = known ? watch->counted.runs - watch->before.runs : WATCH_UNKNOWN;
	watch->before = watch->counted;
	for (uint32_t i = 0; i < WATCH_KINDS; i++)
		watch->kinds[i] = (struct watch_wait){.kind = i, .longest = WATCH_UNKNOWN};
}

int picture_make(struct watch *watch)
{
	uint32_t slots = watch->attachment ? table_ready(&watch->attachment->table) : 0;
	uint32_t tasks = watch->model ? model_slots(watch->model) : slots;
	int r = make_room(watch, tasks, watch->attachment ? slots : tasks + 1);

	watch->pictures++;
	watch->made++;
	watch->stale = false;
	if (r < 0)
		return r;
	begin_totals(watch);
	/* Of what runs in a program that has ended, it is known what was seen before. */
	if (watch->attachment && !watch->totals.over)
		unheard_find(watch);
	r = thread_refresh(watch);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < watch->sites.count; i++)
		begin_site(watch, watch->sites.at[i]);
	r = watch->model ? add_model(watch) : slots_add(watch);
	for (uint32_t i = 0; i < watch->sites.count; i++)
		end_site(watch->sites.at[i]);
	watch->totals.alive = watch->task_count;
	return r;
}

uint32_t watch_task_count(const struct watch *watch)
{
	return watch->task_count;
}

const struct watch_task *watch_task_at(const struct watch *watch, uint32_t index)
{
	return &watch->tasks[index];
}

const struct watch_task *watch_task_find(const struct watch *watch, uint64_t id)
{
	uint32_t slot = table_index(id);
	uint32_t at = id && slot < watch->slot_capacity ? watch->by_slot[slot] : 0;
	const uint32_t *slotless;

	if (at && watch->tasks[at - 1].id == id)
		return &watch->tasks[at - 1];
	slotless = map_find(&watch->slotless, id);
	return slotless ? &watch->tasks[*slotless] : NULL;
}

void watch_warn(struct watch *watch, uint32_t index, uint32_t warnings)
{
	watch->tasks[index].warnings = warnings;
	watch->pictures++;
}
