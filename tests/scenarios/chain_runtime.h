/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small async runtime on the chain model, to exercise it: executors of any
 * number of threads, timers, and async functions that are cut by hand.
 *
 *     static int child(struct unweave_link *link, void *context)
 *     {
 *             ASYNC_BEGIN(link, context);
 *             YIELD();
 *             ASYNC_END();
 *     }
 *
 *     static int parent(struct unweave_link *link, void *context)
 *     {
 *             ASYNC_BEGIN(link, context);
 *             AWAIT(frame_new(child));
 *             SLEEP_MS(1);
 *             ASYNC_END();
 *     }
 *
 *     task_wait(task_spawn(executor, frame_new(parent), UNWEAVE_SITE("parent"), 0));
 *
 * A function is called like any other. If it has to wait it pushes its frame and
 * returns, and so does its caller: the chain comes about innermost first. Local
 * variables do not survive a wait; `me->i`, `me->k` and `me->data` do.
 */
#ifndef SCENARIOS_CHAIN_RUNTIME_H
#define SCENARIOS_CHAIN_RUNTIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "unweave/chain.h"

struct runtime;  /* all tasks, and the timers */
struct executor; /* a queue, and threads that run what is in it */

/* A call of an async function. */
struct frame {
	struct unweave_link link; /* first: links are cast to frames */
	uint32_t at;              /* the line where it goes on; 0: at its beginning */
	bool catches;             /* whether it goes on if what it waits for fails */
	bool embedded;            /* not from malloc(): its memory is somebody else's */
	enum unweave_step fault;  /* how what it waited for ended, after AWAIT_CATCH() */
	uint64_t i, k;
	void *data;
};

enum task_state { TASK_WAITS, TASK_QUEUED, TASK_RUNS, TASK_NOTIFIED, TASK_DONE };

/* Somebody who is to be woken when a task is done. */
struct waiter {
	struct waiter *next;
	struct task *task;
	uint32_t turn;
};

struct task {
	struct unweave_chain chain; /* first: the context of a step is cast to a task */
	struct runtime *runtime;
	struct executor *home;  /* where it is queued */
	struct task *next;      /* in that queue */
	struct task *next_made; /* in the list of all */
	pthread_mutex_t lock;   /* for what follows */
	enum task_state state;
	uint32_t turn; /* one more at each wait: a wake for an earlier one comes to nothing */
	bool cancelled;
	int held; /* enum unweave_source of a wake before the task had its number; -1: none */
	enum unweave_step result;
	struct waiter *waiters;
};

struct runtime *runtime_new(void);
/* All tasks must be done, all executors freed. */
struct runtime *runtime_free(struct runtime *runtime);

/* With 0 threads it runs in task_wait() and executor_pump(). `flags` are those of a run. */
struct executor *executor_new(struct runtime *runtime, unsigned threads, unsigned flags);
struct executor *executor_free(struct executor *executor);
/* Runs what is queued, on this thread, until there is nothing left. */
void executor_pump(struct executor *executor);

struct frame *frame_new(unweave_go function);
/* In memory that is the caller's, as long as the function is not done. */
struct frame *frame_init(struct frame *frame, unweave_go function);

/* A new task that begins in a queue. Borrowed: the runtime keeps it. */
struct task *task_spawn(struct executor *executor, struct frame *frame, struct unweave_site *site,
			uint64_t parent);
/* The same, of a function that is called right here: it is a task only if it waits, else NULL. */
struct task *task_begin(struct executor *executor, struct frame *frame, struct unweave_site *site,
			uint64_t parent);
/* Blocks until it is done. */
enum unweave_step task_wait(struct task *task);
/* Makes its wait fail, the present one or the next. */
void task_cancel(struct task *task);
bool task_is_done(struct task *task);

/* For the macros. `task_join` returns whether there is something to wait for. */
enum unweave_step frame_call(struct task *task, struct frame *frame);
enum unweave_step frame_wait(struct frame *frame, struct task *task);
enum unweave_step frame_end(struct frame *frame, enum unweave_step step);
void task_yield(struct task *task);
void task_hop(struct task *task, struct executor *executor);
void task_sleep_ns(struct task *task, uint64_t ns);
bool task_join(struct task *task, struct task *other);
bool task_join_any(struct task *task, struct task **others, unsigned count);

#define ASYNC_BEGIN(link, context)                                                                 \
	struct frame *me = (struct frame *)(link);                                                 \
	struct task *task = (context);                                                             \
	(void)task;                                                                                \
	switch (me->at) {                                                                          \
	case 0:

#define ASYNC_END()                                                                                \
	}                                                                                          \
	return frame_end(me, UNWEAVE_STEP_DONE)

#define FAIL(step) return frame_end(me, step)

/* Waits for whatever was arranged. */
#define SUSPEND()                                                                                  \
	do {                                                                                       \
		me->at = __LINE__;                                                                 \
		return frame_wait(me, task);                                                       \
	case __LINE__:;                                                                            \
	} while (0)

#define YIELD()                                                                                    \
	do {                                                                                       \
		me->at = __LINE__;                                                                 \
		task_yield(task);                                                                  \
		return frame_wait(me, task);                                                       \
	case __LINE__:;                                                                            \
	} while (0)

#define SLEEP_MS(ms)                                                                               \
	do {                                                                                       \
		me->at = __LINE__;                                                                 \
		task_sleep_ns(task, UINT64_C(1000000) * (ms));                                     \
		return frame_wait(me, task);                                                       \
	case __LINE__:;                                                                            \
	} while (0)

/* Goes on on another executor. */
#define HOP(executor)                                                                              \
	do {                                                                                       \
		me->at = __LINE__;                                                                 \
		task_hop(task, executor);                                                          \
		return frame_wait(me, task);                                                       \
	case __LINE__:;                                                                            \
	} while (0)

#define AWAIT(callee)                                                                              \
	do {                                                                                       \
		enum unweave_step step_ = (me->at = __LINE__, frame_call(task, callee));           \
                                                                                                   \
		if (step_ == UNWEAVE_STEP_SUSPENDED)                                               \
			return frame_wait(me, task);                                               \
		if (step_ != UNWEAVE_STEP_DONE)                                                    \
			return frame_end(me, step_);                                               \
		__attribute__((fallthrough));                                                      \
	case __LINE__:;                                                                            \
	} while (0)

/* Goes on after an error too, which is in `me->fault` then. */
#define AWAIT_CATCH(callee)                                                                        \
	do {                                                                                       \
		enum unweave_step step_ =                                                          \
			(me->at = __LINE__, me->catches = true, frame_call(task, callee));         \
                                                                                                   \
		if (step_ == UNWEAVE_STEP_SUSPENDED)                                               \
			return frame_wait(me, task);                                               \
		task->chain.fault = step_;                                                         \
		__attribute__((fallthrough));                                                      \
	case __LINE__:                                                                             \
		me->catches = false;                                                               \
		me->fault = (enum unweave_step)task->chain.fault;                                  \
		task->chain.fault = UNWEAVE_STEP_DONE;                                             \
	} while (0)

#define AWAIT_TASK(other)                                                                          \
	do {                                                                                       \
		me->at = __LINE__;                                                                 \
		if (task_join(task, other))                                                        \
			return frame_wait(me, task);                                               \
		__attribute__((fallthrough));                                                      \
	case __LINE__:;                                                                            \
	} while (0)

/* `me->i` counts those that are done. */
#define AWAIT_ALL(tasks, count)                                                                    \
	do {                                                                                       \
		me->at = __LINE__;                                                                 \
		me->i = 0;                                                                         \
		__attribute__((fallthrough));                                                      \
	case __LINE__:                                                                             \
		for (; me->i < (count); me->i++)                                                   \
			if (task_join(task, (tasks)[me->i]))                                       \
				return frame_wait(me, task);                                       \
	} while (0)

#define AWAIT_ANY(tasks, count)                                                                    \
	do {                                                                                       \
		me->at = __LINE__;                                                                 \
		if (task_join_any(task, tasks, count))                                             \
			return frame_wait(me, task);                                               \
		__attribute__((fallthrough));                                                      \
	case __LINE__:;                                                                            \
	} while (0)

#endif /* SCENARIOS_CHAIN_RUNTIME_H */
