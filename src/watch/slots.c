/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a program by its task table alone. What tasks did, only a session with events
 * notes there, whoever's it is: without one it is known that they live, and little more.
 */
#include <errno.h>

#include "unweave/callback.h"
#include "watch/inside.h"

/* What was noted in the session that is under way. */
struct session {
	bool recorded;  /* there is one, with events */
	uint64_t begun; /* ticks: states from before are old */
};

static struct session session_of(const struct watch *watch)
{
	struct arena_control *control = watch->attachment->control;
	uint64_t gate = __atomic_load_n(&control->config.hot.gate, __ATOMIC_RELAXED);

	return (struct session){.recorded = (gate & UNWEAVE_PRIV_MODE_MASK) == ARENA_MODE_EVENTS,
				.begun = atomic_load(&control->session.begun)};
}

/* A task that does not say that it waits may still say for what. */
static enum watch_state state_of(const struct table_task *task, const struct reader_site *site,
				 bool fresh)
{
	if (site && site->flags & UNWEAVE_SITE_STANDING)
		return WATCH_STANDING;
	if (fresh && task->state == ARENA_TASK_QUEUED)
		return WATCH_QUEUED;
	if ((fresh && task->state == ARENA_TASK_WAITING) || task->waits != UNWEAVE_WAIT_NONE)
		return WATCH_WAITING;
	return fresh ? WATCH_STILL : WATCH_UNTOLD;
}

static void fill(const struct watch *watch, const struct session *session,
		 const struct table_task *task, const struct reader_site *site,
		 struct watch_task *ret)
{
	bool fresh = session->recorded && task->changed && task->changed >= session->begun;
	bool born = task->changed && task->state == ARENA_TASK_NEW; /* then */
	uint64_t busy = (uint64_t)((unsigned __int128)task->busy * NS_PER_S / watch->ticks_per_s);

	*ret = (struct watch_task){
		.id = task->id,
		.parent = task->parent,
		.created = born ? watch_ns_of(watch, task->changed) : WATCH_UNKNOWN,
		.since = fresh ? watch_ns_of(watch, task->changed) : WATCH_UNKNOWN,
		.busy = session->recorded ? busy : WATCH_UNKNOWN,
		.waited = WATCH_UNKNOWN,
		.queued = WATCH_UNKNOWN,
		.runs = session->recorded ? task->runs : WATCH_UNKNOWN,
		.wakes = WATCH_UNKNOWN,
		.self_wakes = WATCH_UNKNOWN,
		.awaits = task->awaits,
		.site = task->site,
		.slot = table_index(task->id),
		.state = (uint8_t)state_of(task, site, fresh),
		.waits = task->waits < WATCH_KINDS ? task->waits : UNWEAVE_WAIT_NONE,
		.source = task->source,
		.before = !born,
	};
}

static void mark_nest(struct watch *watch, const struct unweave_priv_nest *nest, uint32_t thread)
{
	for (uint32_t i = 0; i < UNWEAVE_PRIV_NEST && nest->tasks[i]; i++) {
		struct watch_task *task =
			(struct watch_task *)watch_task_find(watch, nest->tasks[i]);

		if (!task || task->state == WATCH_RUNNING)
			continue;
		task->state = WATCH_RUNNING;
		task->thread = thread;
		task->since =
			nest->resumed[i] ? watch_ns_of(watch, nest->resumed[i]) : WATCH_UNKNOWN;
	}
}

static void mark_unheard(struct watch *watch)
{
	for (uint32_t i = 0; i < watch->unheard_count; i++) {
		struct watch_task *task =
			(struct watch_task *)watch_task_find(watch, watch->unheard[i].task);

		if (!task || task->state == WATCH_RUNNING)
			continue;
		task->state = WATCH_RUNNING;
		task->since = WATCH_UNKNOWN;
		task->thread = thread_number(&watch->threads, watch->unheard[i].tid);
	}
}

/* That tasks run, the lines of the threads say. */
static void mark_running(struct watch *watch)
{
	struct arena_line *lines = arena_lines(watch->attachment->control);

	for (uint32_t i = 0; i < ARENA_LINES; i++) {
		struct unweave_priv_nest nest;

		if (atomic_load(&lines[i].state) != ARENA_LINE_LIVE ||
		    !line_has_heard(watch, &lines[i]))
			continue;
		nest = lines[i].nest;
		mark_nest(watch, &nest, atomic_load(&lines[i].serial));
	}
	mark_unheard(watch);
}

int slots_add(struct watch *watch)
{
	const struct table *table = &watch->attachment->table;
	struct session session = session_of(watch);
	struct table_task task;

	for (uint32_t i = 1, end = watch->task_capacity; i < end; i++) {
		struct watch_task *row = &watch->tasks[watch->task_count];
		struct site *site;

		if (!table_read(table, i, &task))
			continue;
		site = site_get(watch, task.site);
		if (!site)
			return -ENOMEM;
		fill(watch, &session, &task, site->told.site, row);
		picture_waits(site, row);
		if (picture_index(watch, watch->task_count++) < 0)
			return -ENOMEM;
	}
	mark_running(watch);
	for (uint32_t i = 0; i < watch->task_count; i++)
		picture_count(watch, site_get(watch, watch->tasks[i].site), &watch->tasks[i]);
	return 0;
}
