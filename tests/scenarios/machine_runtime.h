/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small runtime of the state-machine model, for the scenarios: eager functions
 * cut into states by hand, each call in a box; promises that several may await;
 * executors with timers. It is written as a runtime that uses unweave would be.
 *
 *     static int sum(struct unweave_link *link, void *context)
 *     {
 *             struct async *me = async_of(link);
 *
 *             switch (link->state) {
 *             case ASYNC_BEGIN:
 *                     me->callee = async_call(fetch, me->data);
 *                     if (async_await(me, me->callee, 0))
 *                             return 0;
 *                     // fall through
 *             case 0:
 *                     return async_end(me, async_result(me), 0);
 *             }
 *     }
 *
 * A function that is told that it waits must return at once, and touch nothing:
 * it may go on elsewhere already, and be gone.
 */
#ifndef SCENARIOS_MACHINE_RUNTIME_H
#define SCENARIOS_MACHINE_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unweave/machine.h"

#define ASYNC_BEGIN (-1) /* the state of a function that was not cut yet */
#define ASYNC_NODES 8    /* calls that one can await together */

struct async;
struct executor;

/* Somebody who awaits a promise. Part of that one, so nothing is allocated to wait. */
struct waiter {
	struct waiter *next;
	struct async *who;
	struct async *child; /* whose promise it is; NULL: of nobody's */
	atomic_int *left;    /* promises to come before it goes on */
	bool woken;          /* the recorder was told so */
};

/* A result to come. Settled once; then whoever awaits it goes on. */
struct promise {
	_Atomic(struct waiter *) waiters; /* the newest first; or that it is settled */
	enum unweave_status status;
	int64_t value;
};

enum async_kind {
	ASYNC_HEAP,
	ASYNC_POOLED,   /* from a list of free ones, used again at once */
	ASYNC_EMBEDDED, /* part of its caller's frame, gone when that goes on */
};

/* A call of a function. */
struct async {
	struct unweave_box box;
	struct promise promise;
	struct waiter nodes[ASYNC_NODES];
	struct waiter any_nodes[ASYNC_NODES]; /* stay in use: so one wait for any in a call */
	atomic_int left;                      /* of the promises that it awaits now */
	atomic_int any_left;
	atomic_int references; /* one of the call, one of its handle, one a node in use */
	enum async_kind kind;
	enum unweave_status fault; /* what it goes on with after a wait for something outside */
	struct executor *home;     /* goes on there after each wait; NULL: wherever that is over */
	struct async *awaited;     /* the last one */
	struct async *next;        /* in a queue, or in the pool */
	uint64_t due;              /* in a list of timers */
	/* The function's own. */
	void *data;
	int64_t number;
	int64_t step;
	struct async *callee;
	struct async *callees[ASYNC_NODES];
};

static inline struct async *async_of(struct unweave_link *link)
{
	return (struct async *)link;
}

/* A call that has not begun. Its handle is the caller's: async_drop() it. */
struct async *async_new(enum async_kind kind, unweave_go go, void *data);
/* The same in the caller's memory, which needs no async_drop(). */
void async_embed(struct async *me, unweave_go go, void *data);
/* Runs it until it first waits. */
void async_start(struct async *me);
struct async *async_call(unweave_go go, void *data);
void async_drop(struct async *me);
/* Boxes that came from the heap so far. */
unsigned async_allocations(void);
/* The task that the call has become; 0: it never waited. */
uint64_t async_task(const struct async *me);

/*
 * What a function may wait for. `state` is where it goes on. Each returns true
 * if it waits; false: there is nothing to wait for, go on.
 */
bool async_await(struct async *me, struct async *child, int32_t state);
bool async_await_all(struct async *me, struct async **children, int count, int32_t state);
bool async_await_any(struct async *me, struct async **children, int count, int32_t state);
bool async_await_promise(struct async *me, struct promise *promise, int32_t state);
bool async_yield(struct async *me, struct executor *executor, int32_t state);
bool async_sleep(struct async *me, struct executor *executor, uint64_t ns, int32_t state);

/* Anything else: `arm` is told whom to go on with, by async_go_on(), once it is over. */
struct awaiter {
	bool (*is_ready)(struct awaiter *awaiter);
	void (*arm)(struct awaiter *awaiter, struct async *who);
};
bool async_await_custom(struct async *me, struct awaiter *awaiter, int32_t state);
/* Goes on with one that waited for something outside: on its home, or right here. */
void async_go_on(struct async *me, enum unweave_source source);

/* How what it awaited last has ended. */
enum unweave_status async_result(const struct async *me);

/* Ends the call, and goes on with whoever awaits it. Returns 0, for `go`. */
int async_end(struct async *me, enum unweave_status status, int64_t value);

/* A promise of nobody's. */
void promise_init(struct promise *promise);
void promise_settle(struct promise *promise, enum unweave_status status, int64_t value);
bool promise_is_settled(const struct promise *promise);

/* With `threads` 0, the caller is its only thread, in executor_drive(). */
struct executor *executor_new(unsigned threads);
/* Waits until nothing is queued or timed, and its threads have ended. */
struct executor *executor_free(struct executor *executor);
/* Runs all that is queued or timed, and all that comes of it. */
void executor_drive(struct executor *executor);
/* Runs at most one of those that are queued. Returns whether there was one. */
bool executor_step(struct executor *executor);
/* The next calls to run begin after this one: no queue jumping. */
void executor_post(struct executor *executor, struct async *me);
/* Ends a sleep early, with UNWEAVE_CANCELLED. Returns whether it slept. */
bool executor_cancel(struct executor *executor, struct async *me);

#endif /* SCENARIOS_MACHINE_RUNTIME_H */
