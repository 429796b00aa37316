/* SPDX-License-Identifier: Apache-2.0 */
#include "chain_runtime.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct timer {
	struct timer *next; /* the soonest first */
	uint64_t at;
	struct task *task;
	uint32_t turn;
};

struct runtime {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a timer, a task that is done, or the end */
	pthread_t thread;       /* of the timers */
	struct timer *timers;
	struct task *tasks;
	bool stops;
};

struct executor {
	struct runtime *runtime;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct task *first;
	struct task **last;
	bool stops;
	unsigned flags; /* of a run */
	unsigned thread_count;
	pthread_t *threads;
};

static void *checked(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void enqueue(struct task *task)
{
	struct executor *executor = task->home;

	pthread_mutex_lock(&executor->lock);
	task->next = NULL;
	*executor->last = task;
	executor->last = &task->next;
	pthread_cond_signal(&executor->changed);
	pthread_mutex_unlock(&executor->lock);
}

static struct task *dequeue(struct executor *executor)
{
	struct task *task = executor->first;

	if (!task)
		return NULL;
	executor->first = task->next;
	if (!task->next)
		executor->last = &executor->first;
	return task;
}

/* Its number comes with the first wait of a function that was called: until then it is held. */
static void tell_wake(struct task *task, enum unweave_source source)
{
	if (task->chain.head.task)
		unweave_task_wake(task->chain.head.task, source);
	else
		task->held = (int)source;
}

/* The wait of this turn is over. One that has yet to begin ends as soon as the run has returned. */
static void wake(struct task *task, uint32_t turn, enum unweave_source source)
{
	pthread_mutex_lock(&task->lock);
	if (task->turn == turn && (task->state == TASK_WAITS || task->state == TASK_RUNS)) {
		bool waits = task->state == TASK_WAITS;

		tell_wake(task, source);
		task->state = waits ? TASK_QUEUED : TASK_NOTIFIED;
		if (waits)
			enqueue(task);
	}
	pthread_mutex_unlock(&task->lock);
}

/* Under the task's lock: whether it is to be queued at once. */
static bool settle_wait(struct task *task)
{
	bool again = task->state == TASK_NOTIFIED;

	if (task->cancelled) {
		task->cancelled = false;
		unweave_chain_fail(&task->chain, UNWEAVE_STEP_CANCELLED);
		if (!again)
			unweave_task_wake(task->chain.head.task, UNWEAVE_SOURCE_TASK);
		again = true;
	}
	task->state = again ? TASK_QUEUED : TASK_WAITS;
	return again;
}

static void settle_end(struct task *task, enum unweave_step step)
{
	struct runtime *runtime = task->runtime;
	struct waiter *waiters;

	pthread_mutex_lock(&task->lock);
	task->result = step;
	task->state = TASK_DONE;
	waiters = task->waiters;
	task->waiters = NULL;
	pthread_mutex_unlock(&task->lock);
	while (waiters) {
		struct waiter *waiter = waiters;

		waiters = waiter->next;
		wake(waiter->task, waiter->turn, UNWEAVE_SOURCE_TASK);
		free(waiter);
	}
	pthread_mutex_lock(&runtime->lock);
	pthread_cond_broadcast(&runtime->changed);
	pthread_mutex_unlock(&runtime->lock);
}

static void run(struct task *task, unsigned flags)
{
	enum unweave_step step;

	pthread_mutex_lock(&task->lock);
	task->state = TASK_RUNS;
	task->turn++;
	pthread_mutex_unlock(&task->lock);
	step = unweave_chain_run(&task->chain, flags);
	if (step != UNWEAVE_STEP_SUSPENDED) {
		settle_end(task, step);
		return;
	}
	pthread_mutex_lock(&task->lock);
	if (settle_wait(task))
		enqueue(task);
	pthread_mutex_unlock(&task->lock);
}

static void *work(void *data)
{
	struct executor *executor = data;
	struct task *task;

	pthread_mutex_lock(&executor->lock);
	for (;;) {
		while (!(task = dequeue(executor)) && !executor->stops) {
			unweave_thread_idle();
			pthread_cond_wait(&executor->changed, &executor->lock);
		}
		if (!task)
			break;
		pthread_mutex_unlock(&executor->lock);
		run(task, executor->flags);
		pthread_mutex_lock(&executor->lock);
	}
	pthread_mutex_unlock(&executor->lock);
	return NULL;
}

void executor_pump(struct executor *executor)
{
	for (;;) {
		struct task *task;

		pthread_mutex_lock(&executor->lock);
		task = dequeue(executor);
		pthread_mutex_unlock(&executor->lock);
		if (!task)
			break;
		run(task, executor->flags);
	}
	unweave_thread_idle();
}

struct executor *executor_new(struct runtime *runtime, unsigned threads, unsigned flags)
{
	struct executor *executor = checked(calloc(1, sizeof(*executor)));

	executor->runtime = runtime;
	executor->flags = flags;
	executor->last = &executor->first;
	executor->thread_count = threads;
	executor->threads = checked(calloc(threads + 1, sizeof(*executor->threads)));
	pthread_mutex_init(&executor->lock, NULL);
	condition_init(&executor->changed);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&executor->threads[i], NULL, work, executor))
			abort();
	return executor;
}

struct executor *executor_free(struct executor *executor)
{
	pthread_mutex_lock(&executor->lock);
	executor->stops = true;
	pthread_cond_broadcast(&executor->changed);
	pthread_mutex_unlock(&executor->lock);
	for (unsigned i = 0; i < executor->thread_count; i++)
		pthread_join(executor->threads[i], NULL);
	pthread_mutex_destroy(&executor->lock);
	pthread_cond_destroy(&executor->changed);
	free(executor->threads);
	free(executor);
	return NULL;
}

/* Waits for the first timer or a change. */
static void wait_for_timer(struct runtime *runtime)
{
	uint64_t at = runtime->timers ? runtime->timers->at : now_ns() + 1000000000;
	struct timespec until = {.tv_sec = (time_t)(at / 1000000000),
				 .tv_nsec = (long)(at % 1000000000)};

	pthread_cond_timedwait(&runtime->changed, &runtime->lock, &until);
}

static void *keep_time(void *data)
{
	struct runtime *runtime = data;

	pthread_mutex_lock(&runtime->lock);
	while (!runtime->stops) {
		struct timer *timer = runtime->timers;

		if (!timer || timer->at > now_ns()) {
			wait_for_timer(runtime);
			continue;
		}
		runtime->timers = timer->next;
		pthread_mutex_unlock(&runtime->lock);
		wake(timer->task, timer->turn, UNWEAVE_SOURCE_TIMER);
		free(timer);
		pthread_mutex_lock(&runtime->lock);
	}
	pthread_mutex_unlock(&runtime->lock);
	return NULL;
}

struct runtime *runtime_new(void)
{
	struct runtime *runtime = checked(calloc(1, sizeof(*runtime)));

	pthread_mutex_init(&runtime->lock, NULL);
	condition_init(&runtime->changed);
	if (pthread_create(&runtime->thread, NULL, keep_time, runtime))
		abort();
	return runtime;
}

struct runtime *runtime_free(struct runtime *runtime)
{
	pthread_mutex_lock(&runtime->lock);
	runtime->stops = true;
	pthread_cond_broadcast(&runtime->changed);
	pthread_mutex_unlock(&runtime->lock);
	pthread_join(runtime->thread, NULL);
	while (runtime->timers) {
		struct timer *timer = runtime->timers;

		runtime->timers = timer->next;
		free(timer);
	}
	while (runtime->tasks) {
		struct task *task = runtime->tasks;

		runtime->tasks = task->next_made;
		pthread_mutex_destroy(&task->lock);
		free(task);
	}
	pthread_mutex_destroy(&runtime->lock);
	pthread_cond_destroy(&runtime->changed);
	free(runtime);
	return NULL;
}

struct frame *frame_init(struct frame *frame, unweave_go function)
{
	*frame = (struct frame){.embedded = true};
	unweave_link_init(&frame->link, function, NULL, 0);
	return frame;
}

struct frame *frame_new(unweave_go function)
{
	struct frame *frame = frame_init(checked(malloc(sizeof(*frame))), function);

	frame->embedded = false;
	return frame;
}

static void frame_free(struct frame *frame)
{
	if (!frame->embedded)
		free(frame);
}

enum unweave_step frame_call(struct task *task, struct frame *frame)
{
	return (enum unweave_step)frame->link.go(&frame->link, &task->chain);
}

enum unweave_step frame_wait(struct frame *frame, struct task *task)
{
	unweave_chain_push(&task->chain, &frame->link);
	return UNWEAVE_STEP_SUSPENDED;
}

enum unweave_step frame_end(struct frame *frame, enum unweave_step step)
{
	frame_free(frame);
	return step;
}

static int frame_catches(const struct unweave_link *link, const struct unweave_chain *chain)
{
	(void)chain;
	return ((const struct frame *)link)->catches;
}

static void frame_unwound(struct unweave_link *link, struct unweave_chain *chain)
{
	(void)chain;
	frame_free((struct frame *)link);
}

static struct task *task_new(struct executor *executor)
{
	struct runtime *runtime = executor->runtime;
	struct task *task = checked(calloc(1, sizeof(*task)));

	unweave_chain_init(&task->chain);
	task->chain.catches = frame_catches;
	task->chain.unwound = frame_unwound;
	task->runtime = runtime;
	task->home = executor;
	task->held = -1;
	task->state = TASK_RUNS;
	pthread_mutex_init(&task->lock, NULL);
	pthread_mutex_lock(&runtime->lock);
	task->next_made = runtime->tasks;
	runtime->tasks = task;
	pthread_mutex_unlock(&runtime->lock);
	return task;
}

struct task *task_spawn(struct executor *executor, struct frame *frame, struct unweave_site *site,
			uint64_t parent)
{
	struct task *task = task_new(executor);

	unweave_chain_push(&task->chain, &frame->link);
	unweave_chain_start(&task->chain, site, parent);
	pthread_mutex_lock(&task->lock);
	task->state = TASK_QUEUED;
	enqueue(task);
	pthread_mutex_unlock(&task->lock);
	return task;
}

struct task *task_begin(struct executor *executor, struct frame *frame, struct unweave_site *site,
			uint64_t parent)
{
	struct task *task = task_new(executor);
	enum unweave_step step = frame_call(task, frame);

	if (step != UNWEAVE_STEP_SUSPENDED) {
		settle_end(task, step);
		return NULL;
	}
	pthread_mutex_lock(&task->lock);
	unweave_chain_start(&task->chain, site, parent);
	if (task->held >= 0)
		unweave_task_wake(task->chain.head.task, (enum unweave_source)task->held);
	if (settle_wait(task))
		enqueue(task);
	pthread_mutex_unlock(&task->lock);
	return task;
}

bool task_is_done(struct task *task)
{
	bool done;

	pthread_mutex_lock(&task->lock);
	done = task->state == TASK_DONE;
	pthread_mutex_unlock(&task->lock);
	return done;
}

/* On an executor without threads this thread is the one. */
static void wait_in_executor(struct task *task, struct executor *executor)
{
	struct timespec until;

	for (executor_pump(executor); !task_is_done(task); executor_pump(executor)) {
		pthread_mutex_lock(&executor->lock);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += 5000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (!executor->first)
			pthread_cond_timedwait(&executor->changed, &executor->lock, &until);
		pthread_mutex_unlock(&executor->lock);
	}
}

enum unweave_step task_wait(struct task *task)
{
	struct runtime *runtime = task->runtime;
	struct executor *executor;

	pthread_mutex_lock(&task->lock);
	executor = task->home;
	pthread_mutex_unlock(&task->lock);
	if (executor->thread_count == 0)
		wait_in_executor(task, executor);
	pthread_mutex_lock(&runtime->lock);
	while (!task_is_done(task))
		pthread_cond_wait(&runtime->changed, &runtime->lock);
	pthread_mutex_unlock(&runtime->lock);
	return task->result;
}

void task_cancel(struct task *task)
{
	pthread_mutex_lock(&task->lock);
	if (task->state == TASK_WAITS) {
		unweave_chain_fail(&task->chain, UNWEAVE_STEP_CANCELLED);
		unweave_task_wake(task->chain.head.task, UNWEAVE_SOURCE_TASK);
		task->state = TASK_QUEUED;
		enqueue(task);
	} else if (task->state == TASK_QUEUED) {
		unweave_chain_fail(&task->chain, UNWEAVE_STEP_CANCELLED);
	} else if (task->state != TASK_DONE) {
		task->cancelled = true;
	}
	pthread_mutex_unlock(&task->lock);
}

void task_yield(struct task *task)
{
	wake(task, task->turn, UNWEAVE_SOURCE_TASK);
}

void task_hop(struct task *task, struct executor *executor)
{
	pthread_mutex_lock(&task->lock);
	task->home = executor;
	pthread_mutex_unlock(&task->lock);
	task_yield(task);
}

void task_sleep_ns(struct task *task, uint64_t ns)
{
	struct runtime *runtime = task->runtime;
	struct timer *timer = checked(calloc(1, sizeof(*timer)));
	struct timer **at;

	timer->at = now_ns() + ns;
	timer->task = task;
	timer->turn = task->turn;
	pthread_mutex_lock(&runtime->lock);
	for (at = &runtime->timers; *at && (*at)->at <= timer->at; at = &(*at)->next)
		;
	timer->next = *at;
	*at = timer;
	pthread_cond_broadcast(&runtime->changed);
	pthread_mutex_unlock(&runtime->lock);
}

bool task_join(struct task *task, struct task *other)
{
	bool wait;

	pthread_mutex_lock(&other->lock);
	wait = other->state != TASK_DONE;
	if (wait) {
		struct waiter *waiter = checked(calloc(1, sizeof(*waiter)));

		*waiter = (struct waiter){.next = other->waiters, .task = task, .turn = task->turn};
		other->waiters = waiter;
	}
	pthread_mutex_unlock(&other->lock);
	return wait;
}

bool task_join_any(struct task *task, struct task **others, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!task_join(task, others[i])) {
			/* Those before it must not end what the task waits for next. */
			pthread_mutex_lock(&task->lock);
			task->turn++;
			pthread_mutex_unlock(&task->lock);
			return false;
		}
	return true;
}
