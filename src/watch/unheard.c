/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that have not come to a hook since the session began, since they hang or
 * compute: what they run no event says. The records of their dispatches do, which lie on
 * their stacks; and where they have none, the head of each task's chain says whether somebody
 * runs it. Nobody can begin to do so unheard later: once all heads were looked at, it is enough
 * to look at those again.
 */
#include "drain/memory.h"
#include "unweave/link.h"
#include "watch/inside.h"

#define SLOTS_AT_A_TIME 65536u /* that are looked at for a picture of the table alone */

bool line_has_heard(const struct watch *watch, struct arena_line *line)
{
	const struct arena_config *config = &watch->attachment->control->config;
	uint64_t gate = __atomic_load_n(&config->hot.gate, __ATOMIC_RELAXED);

	return (gate & UNWEAVE_PRIV_MODE_MASK) != ARENA_MODE_OFF &&
	       atomic_load_explicit(&line->revision, memory_order_acquire) == gate >> 8;
}

/* From the innermost run on. */
static void follow(struct watch *watch, uint64_t at, uint32_t tid)
{
	struct unweave_priv_dispatch dispatch;
	int error = 0;

	for (uint32_t i = 0; at && i < UNWEAVE_PRIV_NEST && watch->unheard_count < UNHEARD_MOST;
	     i++) {
		if (!memory_read(watch->attachment, &dispatch, at, sizeof(dispatch), &error))
			return;
		watch->unheard[watch->unheard_count++] =
			(struct unheard){.task = dispatch.task, .tid = tid, .inner = i == 0};
		at = (uintptr_t)dispatch.outer;
	}
}

static void find_dispatches(struct watch *watch)
{
	struct arena_line *lines = arena_lines(watch->attachment->control);

	for (uint32_t i = 0; i < ARENA_LINES; i++) {
		if (atomic_load(&lines[i].state) != ARENA_LINE_LIVE ||
		    line_has_heard(watch, &lines[i]))
			continue;
		follow(watch, lines[i].nest.dispatch, atomic_load(&lines[i].tid));
	}
}

/* Heads that are read together. */
struct batch {
	struct {
		uint64_t task, at;
	} of[MEMORY_PIECES];
	uint32_t count;
	int error; /* why the program's memory cannot be read; 0 if it can */
};

static bool is_listed(const struct watch *watch, uint64_t task)
{
	for (uint32_t i = 0; i < watch->turn_count; i++)
		if (watch->turns[i].task == task)
			return true;
	return false;
}

/* Keeps those that are in turn. */
static void read_batch(struct watch *watch, struct batch *batch)
{
	struct iovec local[MEMORY_PIECES], remote[MEMORY_PIECES];
	struct unweave_head heads[MEMORY_PIECES];
	bool there[MEMORY_PIECES];

	for (uint32_t i = 0; i < batch->count; i++) {
		local[i] = (struct iovec){&heads[i], sizeof(heads[i])};
		remote[i] = (struct iovec){(void *)(uintptr_t)batch->of[i].at, sizeof(heads[i])};
	}
	memory_read_pieces(watch->attachment, local, remote, batch->count, there, &batch->error);
	for (uint32_t i = 0; i < batch->count && !batch->error; i++) {
		if (!there[i] || heads[i].task != batch->of[i].task || heads[i].turn % 2 == 0 ||
		    watch->turn_count == UNHEARD_MOST || is_listed(watch, heads[i].task))
			continue;
		watch->turns[watch->turn_count++] =
			(struct turn){batch->of[i].task, batch->of[i].at};
	}
	batch->count = 0;
}

/* Those that were in turn when they were last looked at. */
static void look_again(struct watch *watch)
{
	struct batch batch = {.count = watch->turn_count};

	for (uint32_t i = 0; i < batch.count; i++) {
		batch.of[i].task = watch->turns[i].task;
		batch.of[i].at = watch->turns[i].head;
	}
	watch->turn_count = 0;
	if (batch.count)
		read_batch(watch, &batch);
}
_Static_assert(UNHEARD_MOST <= MEMORY_PIECES, "they are one batch");

static void look_at_slots(struct watch *watch, uint32_t count)
{
	const struct table *table = &watch->attachment->table;
	uint32_t end = table_ready(table);
	struct batch batch = {0};

	for (; count && watch->turn_next < end && !batch.error; count--, watch->turn_next++) {
		const struct arena_task *slot = &table->tasks[watch->turn_next];
		uint64_t head = atomic_load_explicit(&slot->head, memory_order_relaxed);

		if (!head)
			continue;
		batch.of[batch.count].at = head;
		batch.of[batch.count++].task =
			atomic_load_explicit(&slot->id, memory_order_relaxed);
		if (batch.count == MEMORY_PIECES)
			read_batch(watch, &batch);
	}
	if (batch.count)
		read_batch(watch, &batch);
}

static void find_turns(struct watch *watch)
{
	look_again(watch);
	/* Without events, somebody may be in turn at any time. */
	if (!watch->model && watch->turn_next >= table_ready(&watch->attachment->table))
		watch->turn_next = 0;
	look_at_slots(watch, watch->model ? UINT32_MAX : SLOTS_AT_A_TIME);
	for (uint32_t i = 0; i < watch->turn_count && watch->unheard_count < UNHEARD_MOST; i++)
		if (!unheard_task(watch, watch->turns[i].task))
			watch->unheard[watch->unheard_count++] =
				(struct unheard){.task = watch->turns[i].task};
}

void unheard_find(struct watch *watch)
{
	watch->unheard_count = 0;
	find_dispatches(watch);
	find_turns(watch);
}

const struct unheard *unheard_task(const struct watch *watch, uint64_t task)
{
	for (uint32_t i = 0; i < watch->unheard_count; i++)
		if (watch->unheard[i].task == task)
			return &watch->unheard[i];
	return NULL;
}

const struct unheard *unheard_thread(const struct watch *watch, uint32_t tid)
{
	for (uint32_t i = 0; i < watch->unheard_count; i++)
		if (watch->unheard[i].inner && watch->unheard[i].tid == tid)
			return &watch->unheard[i];
	return NULL;
}
