/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena/clock.h"
#include "drain/heads.h"
#include "drain/sites.h"
#include "snapshot/parts.h"
#include "unweave/callback.h"
#include "util/grow.h"

/* More frames of one chain than are ever worth showing. */
#define CHAIN_MAX 4096u

/* What the head of its chain says: that it waits, or that somebody runs it. */
static enum snapshot_rest rest_of(const struct head_subject *subject)
{
	if (heads_is_at_rest(subject))
		return SNAPSHOT_AT_REST;
	return subject->known && subject->head.task == subject->task.id && subject->head.turn % 2 &&
			       memcmp(&subject->head, &subject->again, sizeof(subject->head)) == 0
		       ? SNAPSHOT_IN_TURN
		       : SNAPSHOT_REST_UNKNOWN;
}

/*
 * Of a task that runs, those who wait for what runs, which has left the chain: a
 * thread that hangs leaves it so, and one that does not is told apart, mostly, by the second look.
 */
static int add_chain(struct snapshot *snapshot, struct snapshot_task *task,
		     const struct head_subject *subject)
{
	uint32_t start = snapshot->frame_count;
	uint32_t omitted = heads_omitted(subject);
	int r = 0;

	if (task->rest == SNAPSHOT_REST_UNKNOWN)
		return 0;
	if (task->rest == SNAPSHOT_IN_TURN)
		r = snapshot_add_frame(snapshot, 0, 0, true);
	for (uint32_t i = 0; i < subject->count && r == 0; i++) {
		if (omitted && i == HEADS_ENDS) {
			r = snapshot_add_frame(snapshot, omitted, 0, true);
			i += omitted - 1;
			continue;
		}
		r = snapshot_add_frame(snapshot, subject->frames[heads_place(i)].address,
				       subject->frames[heads_place(i)].state, false);
	}
	return r < 0 ? r : snapshot_end_chain(snapshot, task, start);
}

static int add_batch(struct snapshot *snapshot, struct heads *heads,
		     const struct attachment *attachment)
{
	heads_read(heads, attachment);
	for (uint32_t i = 0; i < heads->count; i++) {
		struct snapshot_task *tasks = grow(snapshot->tasks, snapshot->count,
						   &snapshot->capacity, 256, sizeof(*tasks));

		if (!tasks)
			return -ENOMEM;
		snapshot->tasks = tasks;
		tasks += snapshot->count++;
		*tasks = (struct snapshot_task){.task = heads->subjects[i].task,
						.rest = rest_of(&heads->subjects[i])};
		if (add_chain(snapshot, tasks, &heads->subjects[i]) < 0)
			return -ENOMEM;
	}
	heads->count = 0;
	return 0;
}

/* The tasks that have these slots, in the order of their slots. */
static int add_tasks(struct snapshot *snapshot, const struct attachment *attachment, uint32_t first,
		     uint32_t end)
{
	struct heads *heads = calloc(1, sizeof(*heads));
	int r = heads ? 0 : -ENOMEM;

	/* Another may have its number by now. */
	if (heads && snapshot->ended && !attachment->kept.read)
		heads->error = ESRCH;
	for (uint32_t i = first; i < end && r == 0; i++) {
		heads->count +=
			table_read(&attachment->table, i, &heads->subjects[heads->count].task);
		if (heads->count == HEADS_BATCH)
			r = add_batch(snapshot, heads, attachment);
	}
	if (r == 0)
		r = add_batch(snapshot, heads, attachment);
	if (heads)
		snapshot->unread = heads->error;
	free(heads);
	return r;
}

static int slot_of(const void *a, const void *b)
{
	uint32_t x = table_index(((const struct snapshot_task *)a)->task.id);
	uint32_t y = table_index(((const struct snapshot_task *)b)->task.id);

	return (x > y) - (x < y);
}

uint32_t snapshot_find(const struct snapshot *snapshot, uint64_t task)
{
	const struct snapshot_task key = {.task = {.id = task}}, *found;

	if (!snapshot->count)
		return 0;
	found = bsearch(&key, snapshot->tasks, snapshot->count, sizeof(key), slot_of);
	return found && found->task.id == task ? (uint32_t)(found - snapshot->tasks) + 1 : 0;
}

/* The outermost task above `task`, of those that are linked by now; shortens the way there. */
static uint32_t outermost(uint32_t *above, uint32_t task)
{
	while (above[task]) {
		if (above[above[task]])
			above[task] = above[above[task]];
		task = above[task];
	}
	return task;
}

/* As a tree, also if a broken program says that tasks are each other's parents. */
static int link_tasks(struct snapshot *snapshot)
{
	uint32_t *above = calloc(snapshot->count + 1, sizeof(*above));
	uint32_t last_root = 0;

	if (!above)
		return -ENOMEM;
	for (uint32_t i = 1; i <= snapshot->count; i++) {
		struct snapshot_task *task = &snapshot->tasks[i - 1];
		uint32_t parent = snapshot_find(snapshot, task->task.parent);
		uint32_t *first = &snapshot->root, *last = &last_root;

		if (parent && outermost(above, parent) != i) {
			above[i] = parent;
			task->parent = parent;
			first = &snapshot->tasks[parent - 1].child;
			last = &snapshot->tasks[parent - 1].last_child;
		}
		if (*last)
			snapshot->tasks[*last - 1].sibling = i;
		else
			*first = i;
		*last = i;
	}
	free(above);
	return 0;
}

static char *text_of(struct meta_text text)
{
	return strndup(text.bytes, text.length);
}

static void free_site(struct reader_site *site)
{
	free((char *)site->name);
	free((char *)site->kind);
	free((char *)site->function);
	free((char *)site->file);
}

static int add_site(void *data, const struct meta_site *site)
{
	struct snapshot *snapshot = data;
	struct reader_site *sites = grow(snapshot->sites, snapshot->site_count,
					 &snapshot->site_capacity, 64, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	snapshot->sites = sites;
	sites += snapshot->site_count++;
	*sites = (struct reader_site){
		.id = (uint32_t)site->id,
		.line = (uint32_t)site->line,
		.name = text_of(site->name),
		.function = text_of(site->function),
		.file = text_of(site->file),
		.kind = text_of(site->kind),
		.flags = (uint32_t)site->flags,
		.under = (uint32_t)site->under,
		.code = site->code,
		.place = site->place,
	};
	return sites->name && sites->function && sites->file && sites->kind ? 0 : -ENOMEM;
}

static int by_id(const void *a, const void *b)
{
	const struct reader_site *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

const struct reader_site *snapshot_site(const struct snapshot *snapshot, uint32_t id)
{
	const struct reader_site key = {.id = id};

	return snapshot->site_count
		       ? bsearch(&key, snapshot->sites, snapshot->site_count, sizeof(key), by_id)
		       : NULL;
}

/* The chain of a site of callbacks: what waits is the callback, and why it was armed. */
static int add_site_chain(struct snapshot *snapshot, const struct reader_site *site)
{
	int r = 0;

	for (uint32_t i = 0; site && site->code && i < CHAIN_MAX && r == 0; i++) {
		r = snapshot_add_frame(snapshot, site->code, 0, false);
		/* Inside of the call that armed it. */
		if (r == 0 && site->place)
			r = snapshot_add_frame(snapshot, site->place - 1, 0, false);
		if (r == 0 && site->flags & UNWEAVE_SITE_CUT)
			r = snapshot_add_frame(snapshot, 0, 0, true);
		site = site->under ? snapshot_site(snapshot, site->under) : NULL;
	}
	return r;
}

/* Gives callbacks their chains, which all of one site share. */
static int add_causes(struct snapshot *snapshot)
{
	/* Of each site: where its chain begins, + 1, and how long it is. */
	struct {
		uint32_t chain, count;
	} *known = calloc(snapshot->site_count + 1, sizeof(*known));
	int r = known ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < snapshot->count && r == 0; i++) {
		struct snapshot_task *task = &snapshot->tasks[i];
		const struct reader_site *site = snapshot_site(snapshot, task->task.site);
		uint32_t at = site ? (uint32_t)(site - snapshot->sites) : 0;

		if (task->chain_count || !site || !site->code)
			continue;
		if (!known[at].chain) {
			known[at].chain = snapshot->frame_count + 1;
			r = add_site_chain(snapshot, site);
			known[at].count = snapshot->frame_count + 1 - known[at].chain;
		}
		task->chain = known[at].chain - 1;
		task->chain_count = known[at].count;
		task->chain_known = true;
	}
	free(known);
	return r;
}

/* When the last thing was noted that is still there. */
static uint64_t last_ticks(const struct snapshot *snapshot)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < snapshot->count; i++) {
		const struct snapshot_task *task = &snapshot->tasks[i];
		uint64_t ticks =
			task->resumed > task->task.changed ? task->resumed : task->task.changed;

		if (ticks > last)
			last = ticks;
	}
	return last;
}

static void look_at_session(struct snapshot *snapshot, const struct arena_control *control)
{
	uint64_t gate = __atomic_load_n(&control->config.hot.gate, __ATOMIC_RELAXED);

	snapshot->recorded = (gate & UNWEAVE_PRIV_MODE_MASK) == ARENA_MODE_EVENTS;
	snapshot->begun = atomic_load_explicit(&control->session.begun, memory_order_relaxed);
}

static int take_slots(struct snapshot *snapshot, const struct attachment *attachment,
		      uint32_t first, uint32_t end)
{
	uint32_t seen = 0;
	int r;

	snapshot->ended = !attach_is_alive(attachment);
	snapshot->ticks_per_s = clock_rate(attachment->clock);
	look_at_session(snapshot, attachment->control);
	r = add_tasks(snapshot, attachment, first, end);
	if (r == 0)
		r = running_find(snapshot, attachment);
	if (r == 0)
		r = sites_tell(attachment, &seen, add_site, snapshot);
	if (r < 0)
		return r;
	snapshot->ticks = snapshot->ended ? last_ticks(snapshot) : clock_ticks(attachment->clock);
	if (snapshot->site_count)
		qsort(snapshot->sites, snapshot->site_count, sizeof(*snapshot->sites), by_id);
	r = add_causes(snapshot);
	return r < 0 ? r : link_tasks(snapshot);
}

static int take(struct snapshot *ret, const struct attachment *attachment, uint32_t first,
		uint32_t end)
{
	int r;

	*ret = (struct snapshot){0};
	r = map_init(&ret->chains, UINT32_MAX);
	if (r == 0)
		r = take_slots(ret, attachment, first, end);
	map_fini(&ret->chains);
	if (r < 0)
		snapshot_fini(ret);
	return r;
}

int snapshot_take(struct snapshot *ret, const struct attachment *attachment)
{
	return take(ret, attachment, 1, table_ready(&attachment->table));
}

int snapshot_take_task(struct snapshot *ret, const struct attachment *attachment, uint64_t task)
{
	uint32_t slot = table_index(task);
	int r = take(ret, attachment, slot, slot + 1);

	/* Another has its place by now. */
	if (r == 0 && ret->count && ret->tasks[0].task.id != task)
		ret->count = 0;
	return r;
}

void snapshot_fini(struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->site_count; i++)
		free_site(&snapshot->sites[i]);
	free(snapshot->sites);
	free(snapshot->tasks);
	free(snapshot->frames);
	*snapshot = (struct snapshot){0};
}

/* Whether the slot's state and times are of this session. */
static bool is_up_to_date(const struct snapshot *snapshot, const struct snapshot_task *task)
{
	return snapshot->recorded && task->task.changed && task->task.changed >= snapshot->begun;
}

enum snapshot_state snapshot_state(const struct snapshot *snapshot,
				   const struct snapshot_task *task)
{
	if (task->thread || task->rest == SNAPSHOT_IN_TURN)
		return SNAPSHOT_RUNNING;
	if (is_up_to_date(snapshot, task))
		return task->task.state == ARENA_TASK_QUEUED    ? SNAPSHOT_QUEUED
		       : task->task.state == ARENA_TASK_WAITING ? SNAPSHOT_WAITING
								: SNAPSHOT_NEW;
	return task->rest == SNAPSHOT_AT_REST ? SNAPSHOT_SUSPENDED : SNAPSHOT_UNKNOWN;
}

uint64_t snapshot_since(const struct snapshot *snapshot, const struct snapshot_task *task)
{
	if (task->thread)
		return task->resumed;
	return is_up_to_date(snapshot, task) ? task->task.changed : 0;
}

uint64_t snapshot_ns_since(const struct snapshot *snapshot, uint64_t ticks)
{
	uint64_t passed = ticks < snapshot->ticks ? snapshot->ticks - ticks : 0;

	if (!snapshot->ticks_per_s)
		return 0;
	return (uint64_t)((unsigned __int128)passed * 1000000000 / snapshot->ticks_per_s);
}
