/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <stdlib.h>
#include <time.h>

static struct task *first_ready, **last_ready = &first_ready;
static struct task *timers; /* the next one first */

uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 * MS + (uint64_t)time.tv_nsec;
}

static void put_ready(struct task *task)
{
	task->next = NULL;
	*last_ready = task;
	last_ready = &task->next;
}

struct task *spawn(unweave_go inner, unweave_go outer, struct unweave_site *site)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task)
		abort();
	unweave_chain_init(&task->chain);
	unweave_link_init(&task->inner, inner, NULL, 0);
	unweave_link_init(&task->outer, outer, NULL, 0);
	unweave_chain_push(&task->chain, &task->inner);
	unweave_chain_push(&task->chain, &task->outer);
	unweave_chain_start(&task->chain, site, UNWEAVE_PARENT_CURRENT);
	put_ready(task);
	return task;
}

static int wait_again(struct task *task)
{
	unweave_chain_push(&task->chain, &task->inner);
	return UNWEAVE_STEP_SUSPENDED;
}

int wait_ns(struct task *task, uint64_t ns)
{
	struct task **at = &timers;

	task->due = now() + ns;
	while (*at && (*at)->due <= task->due)
		at = &(*at)->next;
	task->next = *at;
	*at = task;
	unweave_task_waits(task->chain.head.task, UNWEAVE_WAIT_TIMER, task->due);
	return wait_again(task);
}

int wait_for(struct task *task, enum unweave_wait kind, uint64_t on)
{
	if (kind)
		unweave_task_waits(task->chain.head.task, kind, on);
	return wait_again(task);
}

void wake(struct task *task)
{
	unweave_task_wake(task->chain.head.task, UNWEAVE_SOURCE_TASK);
	put_ready(task);
}

/* Those that are ready by now, so that timers are looked at in between. */
static void run_ready(uint64_t end)
{
	struct task **last = last_ready;
	bool more = first_ready != NULL;

	while (more && now() < end) {
		struct task *task = first_ready;

		more = &task->next != last;

		first_ready = task->next;
		if (!first_ready)
			last_ready = &first_ready;
		if (unweave_chain_run(&task->chain, 0) != UNWEAVE_STEP_SUSPENDED)
			free(task);
	}
}

static void run_timers(uint64_t end)
{
	uint64_t until = timers && timers->due < end ? timers->due : end;
	struct timespec time = {(time_t)(until / (1000 * MS)), (long)(until % (1000 * MS))};

	if (!first_ready && until > now()) {
		unweave_thread_idle();
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
	}
	while (timers && timers->due <= now()) {
		struct task *task = timers;

		timers = task->next;
		task->due = 0;
		unweave_task_wake(task->chain.head.task, UNWEAVE_SOURCE_TIMER);
		put_ready(task);
	}
}

void run_until(uint64_t end)
{
	while (now() < end) {
		run_timers(end);
		run_ready(end);
	}
}

void compute(uint64_t ns)
{
	uint64_t end = now() + ns;

	while (now() < end)
		;
}
