/* SPDX-License-Identifier: Apache-2.0 */
/* What the tasks of the picture wait for; also for each other. */
#include <errno.h>
#include <stdlib.h>

#include "util/grow.h"
#include "watch/inside.h"

const struct watch_wait *watch_waits(const struct watch *watch, uint32_t kind)
{
	return &watch->kinds[kind < WATCH_KINDS ? kind : UNWEAVE_WAIT_NONE];
}

/* The things of one kind that tasks wait for. */
struct things {
	struct watch_wait *at;
	uint32_t count, capacity;
	struct map index;
};

static int add_waiter(struct things *things, const struct watch *watch,
		      const struct watch_task *task)
{
	const uint32_t *known = map_find(&things->index, task->awaits);
	uint64_t waited = watch_in_state(watch, task);
	struct watch_wait *thing;

	if (!known) {
		thing = grow(things->at, things->count, &things->capacity, 64, sizeof(*thing));
		if (!thing)
			return -ENOMEM;
		things->at = thing;
		if (map_put(&things->index, task->awaits, things->count) < 0)
			return -ENOMEM;
		thing += things->count++;
		*thing = (struct watch_wait){.kind = task->waits,
					     .on = task->awaits,
					     .longest = WATCH_UNKNOWN,
					     .task = task->id};
	} else {
		thing = &things->at[*known];
	}
	thing->tasks++;
	if (waited != WATCH_UNKNOWN &&
	    (thing->longest == WATCH_UNKNOWN || waited > thing->longest)) {
		thing->longest = waited;
		thing->task = task->id;
	}
	return 0;
}

static int by_tasks(const void *a, const void *b)
{
	const struct watch_wait *one = a, *two = b;

	if (one->tasks != two->tasks)
		return one->tasks > two->tasks ? -1 : 1;
	if (one->longest != two->longest)
		return one->longest + 1 > two->longest + 1 ? -1 : 1;
	return one->on < two->on ? -1 : one->on > two->on;
}

int watch_waits_on(struct watch *watch, uint32_t kind, uint32_t count, struct watch_wait *rows)
{
	struct things things = {0};
	int r = map_init(&things.index, UINT32_MAX);

	for (uint32_t i = 0; i < watch->task_count && r == 0; i++)
		if (watch->tasks[i].state == WATCH_WAITING && watch->tasks[i].waits == kind)
			r = add_waiter(&things, watch, &watch->tasks[i]);
	if (r == 0 && things.count) {
		qsort(things.at, things.count, sizeof(*things.at), by_tasks);
		for (; (uint32_t)r < count && (uint32_t)r < things.count; r++)
			rows[r] = things.at[r];
	}
	free(things.at);
	map_fini(&things.index);
	return r;
}

/* The task that a task waits for, as an index + 1; 0: none that lives. */
static uint32_t awaited(const struct watch *watch, uint32_t at)
{
	const struct watch_task *task = &watch->tasks[at - 1], *other;

	if (task->state != WATCH_WAITING || task->waits != UNWEAVE_WAIT_TASK)
		return 0;
	other = watch_task_find(watch, task->awaits);
	return other ? (uint32_t)(other - watch->tasks) + 1 : 0;
}

static int tell_cycle(const struct watch *watch, uint32_t first, uint64_t *ids,
		      int (*visit)(void *data, const uint64_t *tasks, uint32_t count), void *data)
{
	uint32_t count = 0, at = first;

	do {
		ids[count++] = watch->tasks[at - 1].id;
		at = awaited(watch, at);
	} while (at != first);
	return visit(data, ids, count);
}

/* Each waits for at most one other, so circles are found by walking on from each once. */
static int walk(const struct watch *watch, uint32_t *reached, uint64_t *ids,
		int (*visit)(void *data, const uint64_t *tasks, uint32_t count), void *data)
{
	int r = 0;

	for (uint32_t i = 1; i <= watch->task_count && r == 0; i++) {
		uint32_t at = i;

		while (at && !reached[at]) {
			reached[at] = i;
			at = awaited(watch, at);
		}
		if (at && reached[at] == i)
			r = tell_cycle(watch, at, ids, visit, data);
	}
	return r;
}

int watch_cycles(struct watch *watch,
		 int (*visit)(void *data, const uint64_t *tasks, uint32_t count), void *data)
{
	uint64_t waiting = watch->kinds[UNWEAVE_WAIT_TASK].tasks;
	uint32_t *reached;
	uint64_t *ids;
	int r = -ENOMEM;

	if (!waiting)
		return 0;
	reached = calloc((size_t)watch->task_count + 1, sizeof(*reached));
	ids = calloc(waiting, sizeof(*ids));
	if (reached && ids)
		r = walk(watch, reached, ids, visit, data);
	free(reached);
	free(ids);
	return r;
}
