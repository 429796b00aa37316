/* SPDX-License-Identifier: Apache-2.0 */
/* Executors: threads that run what is queued, and timers. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "machine_runtime.h"

#define THREADS_MAX 16
#define SECOND UINT64_C(1000000000)

struct executor {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct async *first, *last; /* to run, the first come first */
	struct async *timers;       /* the first due first */
	unsigned running;           /* calls that a thread is inside of */
	bool ending;
	unsigned threads;
	pthread_t thread[THREADS_MAX];
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void queue(struct executor *executor, struct async *me)
{
	me->next = NULL;
	if (executor->first)
		executor->last->next = me;
	else
		executor->first = me;
	executor->last = me;
	pthread_cond_broadcast(&executor->changed);
}

static void queue_due(struct executor *executor)
{
	while (executor->timers && executor->timers->due <= now()) {
		struct async *me = executor->timers;

		executor->timers = me->next;
		unweave_task_wake(async_task(me), UNWEAVE_SOURCE_TIMER);
		queue(executor, me);
	}
}

void executor_post(struct executor *executor, struct async *me)
{
	pthread_mutex_lock(&executor->lock);
	queue(executor, me);
	pthread_mutex_unlock(&executor->lock);
}

bool async_yield(struct async *me, struct executor *executor, int32_t state)
{
	me->box.link.state = state;
	me->awaited = NULL;
	unweave_box_suspend(&me->box);
	unweave_task_wake(async_task(me), UNWEAVE_SOURCE_TASK);
	executor_post(executor, me);
	return true;
}

bool async_sleep(struct async *me, struct executor *executor, uint64_t ns, int32_t state)
{
	struct async **at = &executor->timers;

	me->box.link.state = state;
	me->awaited = NULL;
	me->fault = UNWEAVE_OK;
	me->due = now() + ns;
	unweave_box_suspend(&me->box);
	pthread_mutex_lock(&executor->lock);
	while (*at && (*at)->due <= me->due)
		at = &(*at)->next;
	me->next = *at;
	*at = me;
	pthread_cond_broadcast(&executor->changed);
	pthread_mutex_unlock(&executor->lock);
	return true;
}

bool executor_cancel(struct executor *executor, struct async *me)
{
	struct async **at = &executor->timers;
	bool slept;

	pthread_mutex_lock(&executor->lock);
	while (*at && *at != me)
		at = &(*at)->next;
	slept = *at;
	if (slept) {
		*at = me->next;
		me->fault = UNWEAVE_CANCELLED;
		unweave_task_wake(async_task(me), UNWEAVE_SOURCE_TASK);
		queue(executor, me);
	}
	pthread_mutex_unlock(&executor->lock);
	return slept;
}

/* Lock held. */
static bool run_one(struct executor *executor)
{
	struct async *me;

	queue_due(executor);
	me = executor->first;
	if (!me)
		return false;
	executor->first = me->next;
	executor->running++;
	pthread_mutex_unlock(&executor->lock);
	unweave_box_run(&me->box, 0);
	pthread_mutex_lock(&executor->lock);
	executor->running--;
	pthread_cond_broadcast(&executor->changed);
	return true;
}

bool executor_step(struct executor *executor)
{
	bool ran;

	pthread_mutex_lock(&executor->lock);
	ran = run_one(executor);
	pthread_mutex_unlock(&executor->lock);
	return ran;
}

/* Until something changes, or the first timer is due. Lock held. */
static void wait_for_change(struct executor *executor)
{
	struct timespec due;

	unweave_thread_idle();
	if (!executor->timers) {
		pthread_cond_wait(&executor->changed, &executor->lock);
		return;
	}
	due.tv_sec = (time_t)(executor->timers->due / SECOND);
	due.tv_nsec = (long)(executor->timers->due % SECOND);
	pthread_cond_timedwait(&executor->changed, &executor->lock, &due);
}

static bool is_quiet(const struct executor *executor)
{
	return !executor->first && !executor->timers && !executor->running;
}

void executor_drive(struct executor *executor)
{
	pthread_mutex_lock(&executor->lock);
	while (run_one(executor) || executor->timers)
		if (!executor->first && executor->timers)
			wait_for_change(executor);
	pthread_mutex_unlock(&executor->lock);
}

static void *work(void *data)
{
	struct executor *executor = data;

	pthread_mutex_lock(&executor->lock);
	while (!executor->ending || !is_quiet(executor))
		if (!run_one(executor))
			wait_for_change(executor);
	pthread_mutex_unlock(&executor->lock);
	return NULL;
}

struct executor *executor_new(unsigned threads)
{
	struct executor *executor = calloc(1, sizeof(*executor));
	pthread_condattr_t attributes;

	if (!executor || threads > THREADS_MAX)
		abort();
	pthread_mutex_init(&executor->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&executor->changed, &attributes);
	executor->threads = threads;
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&executor->thread[i], NULL, work, executor))
			abort();
	return executor;
}

struct executor *executor_free(struct executor *executor)
{
	if (!executor->threads)
		executor_drive(executor);
	pthread_mutex_lock(&executor->lock);
	executor->ending = true;
	pthread_cond_broadcast(&executor->changed);
	pthread_mutex_unlock(&executor->lock);
	for (unsigned i = 0; i < executor->threads; i++)
		pthread_join(executor->thread[i], NULL);
	free(executor);
	return NULL;
}
