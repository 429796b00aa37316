/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/waits.h"

#include "arena/clock.h"
#include "trace/meta.h"
#include "unweave.h"

struct collection {
	struct buffer entries;
	uint64_t count;
	uint64_t left_out;
};

static void add(struct collection *to, const struct table_task *task)
{
	struct meta_wait wait = {.task = task->id, .kind = task->waits, .on = task->awaits};

	if (to->count == WAITS_MOST) {
		to->left_out++;
		return;
	}
	to->count++;
	meta_wait_encode(&to->entries, &wait);
}

/* The tasks that wait for something of these kinds: bits, by enum unweave_wait. */
static void add_all(const struct table *table, uint32_t kinds, struct collection *to)
{
	uint32_t end = table_ready(table);
	struct table_task task;

	for (uint32_t i = 1; i < end; i++) {
		uint8_t waits = atomic_load_explicit(&table->tasks[i].waits, memory_order_relaxed);

		/* Most say nothing, and are not worth a copy. */
		if (waits && table_read(table, i, &task) && task.state == ARENA_TASK_WAITING &&
		    kinds >> task.waits % 32 & 1)
			add(to, &task);
	}
}

void waits_collect(const struct table *table, struct buffer *payload)
{
	struct collection all = {.entries = BUFFER_INIT(WAITS_MOST * META_WAIT_BYTES)};

	add_all(table, 1u << UNWEAVE_WAIT_TASK, &all);
	add_all(table, 1u << UNWEAVE_WAIT_LOCK | 1u << UNWEAVE_WAIT_TIMER, &all);
	buffer_put_varint(payload, clock_monotonic());
	buffer_put_varint(payload, all.left_out);
	buffer_put_varint(payload, all.count);
	buffer_put(payload, all.entries.bytes, all.entries.length);
	payload->bad |= all.entries.bad;
	buffer_fini(&all.entries);
}
