/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What really happened: each thread writes down, as it does something, which
 * events that must make, with chains as the arrays that the executor keeps.
 */
#include "random.h"

#include <stdlib.h>
#include <string.h>

static void *grown(void *array, uint32_t *capacity, uint32_t count, size_t size)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity ? 2 * *capacity : 16;
	array = reallocarray(array, *capacity, size);
	if (!array)
		abort();
	return array;
}

void known_push(struct known_chain *chain, struct known_frame frame)
{
	chain->frames = grown(chain->frames, &chain->capacity, chain->count, sizeof(frame));
	chain->frames[chain->count++] = frame;
}

void known_join(struct known_chain *chain, const struct known_chain *inner)
{
	for (uint32_t i = 0; i < inner->count; i++)
		known_push(chain, inner->frames[i]);
}

void known_append(struct known_chain *chain, const struct known_chain *more)
{
	struct known_chain whole = {0};

	known_join(&whole, more);
	known_join(&whole, chain);
	known_fini(chain);
	*chain = whole;
}

void known_fini(struct known_chain *chain)
{
	free(chain->frames);
	*chain = (struct known_chain){0};
}

struct expected *saw(struct worker *worker, uint32_t kind, uint64_t task)
{
	struct expected *expected;

	worker->log =
		grown(worker->log, &worker->log_capacity, worker->log_count, sizeof(*worker->log));
	expected = &worker->log[worker->log_count++];
	*expected =
		(struct expected){.kind = kind, .task = task, .text = "", .op = worker->next_op};
	return expected;
}

void saw_stack(struct expected *expected, const struct known_chain *chain)
{
	if (!chain->count)
		return;
	expected->frames = calloc(chain->count, sizeof(*expected->frames));
	if (!expected->frames)
		abort();
	expected->frame_count = chain->count;
	for (uint32_t i = 0; i < chain->count; i++)
		expected->frames[i] = chain->frames[chain->count - 1 - i];
}

uint64_t innermost_task(const struct worker *worker)
{
	return worker->nest_count ? worker->nest[worker->nest_count - 1] : 0;
}

void saw_create(struct worker *worker, uint64_t task, uint64_t parent,
		const struct unweave_site *site, const struct known_chain *chain)
{
	struct expected *expected = saw(worker, UNWEAVE_EVENT_CREATE, task);

	expected->other = parent == UNWEAVE_PARENT_CURRENT ? innermost_task(worker) : parent;
	expected->site = site;
	saw_stack(expected, chain);
}

void saw_resume(struct worker *worker, uint64_t task, const struct known_chain *chain)
{
	saw_stack(saw(worker, UNWEAVE_EVENT_RESUME, task), chain);
	worker->nest[worker->nest_count++] = task;
}

/* A run that ends is the innermost, or there is none of this task. */
static void pop(struct worker *worker, uint64_t task)
{
	if (innermost_task(worker) == task && task)
		worker->nest_count--;
}

void saw_suspend(struct worker *worker, uint64_t task, const struct known_chain *chain, bool left)
{
	struct expected *expected = saw(worker, UNWEAVE_EVENT_SUSPEND, task);

	expected->left = left;
	saw_stack(expected, chain);
	pop(worker, task);
}

void saw_complete(struct worker *worker, uint64_t task, enum unweave_status status)
{
	saw(worker, UNWEAVE_EVENT_COMPLETE, task)->value = status;
	pop(worker, task);
}

void saw_unwind(struct worker *worker, uint32_t frames, bool handled)
{
	saw(worker, UNWEAVE_EVENT_UNWIND, innermost_task(worker))->value =
		(uint64_t)frames << 1 | handled;
}

void saw_places(struct worker *worker, struct run *run, uint32_t functions)
{
	for (; functions; functions--)
		if (++run->place % 32 == 0)
			saw(worker, UNWEAVE_EVENT_ANCHOR_RESET, innermost_task(worker));
}
