/* SPDX-License-Identifier: Apache-2.0 */
/* Each task waits for at most one other, so circles are found by walking on from each once. */
#include <errno.h>
#include <stdlib.h>

#include "snapshot/snapshot.h"

/* The task that a task waits for, as an index + 1; 0: none that lives, or it runs. */
static uint32_t awaited(const struct snapshot *snapshot, uint32_t task)
{
	const struct snapshot_task *waiting = &snapshot->tasks[task - 1];

	if (waiting->thread || waiting->task.waits != UNWEAVE_WAIT_TASK ||
	    waiting->task.state == ARENA_TASK_QUEUED)
		return 0;
	return snapshot_find(snapshot, waiting->task.awaits);
}

static int tell_cycle(const struct snapshot *snapshot, uint32_t first, uint32_t *tasks,
		      int (*visit)(void *data, const uint32_t *tasks, uint32_t count), void *data)
{
	uint32_t count = 0, task = first;

	do {
		tasks[count++] = task - 1;
		task = awaited(snapshot, task);
	} while (task != first);
	return visit(data, tasks, count);
}

int snapshot_cycles(const struct snapshot *snapshot,
		    int (*visit)(void *data, const uint32_t *tasks, uint32_t count), void *data)
{
	/* By which walk a task was reached; 0: by none yet. */
	uint32_t *reached = calloc(snapshot->count + 1, sizeof(*reached));
	uint32_t *tasks = calloc(snapshot->count + 1, sizeof(*tasks));
	int r = reached && tasks ? 0 : -ENOMEM;

	for (uint32_t i = 1; i <= snapshot->count && r == 0; i++) {
		uint32_t task = i;

		while (task && !reached[task]) {
			reached[task] = i;
			task = awaited(snapshot, task);
		}
		if (task && reached[task] == i)
			r = tell_cycle(snapshot, task, tasks, visit, data);
	}
	free(reached);
	free(tasks);
	return r;
}
