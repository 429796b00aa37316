/* SPDX-License-Identifier: Apache-2.0 */
#include "machine_runtime.h"

#include <pthread.h>
#include <stdlib.h>

/* Calls */

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct async *pool;
static atomic_uint allocations;

static struct async *take_from_pool(void)
{
	struct async *me;

	pthread_mutex_lock(&pool_lock);
	me = pool;
	if (me)
		pool = me->next;
	pthread_mutex_unlock(&pool_lock);
	return me;
}

static void give_to_pool(struct async *me)
{
	pthread_mutex_lock(&pool_lock);
	me->next = pool;
	pool = me;
	pthread_mutex_unlock(&pool_lock);
}

static void init(struct async *me, enum async_kind kind, unweave_go go, void *data)
{
	memset(me, 0, sizeof(*me));
	unweave_box_init(&me->box, go, NULL, NULL);
	me->box.link.state = ASYNC_BEGIN;
	promise_init(&me->promise);
	atomic_init(&me->references, 2);
	me->kind = kind;
	me->data = data;
}

struct async *async_new(enum async_kind kind, unweave_go go, void *data)
{
	struct async *me = kind == ASYNC_POOLED ? take_from_pool() : NULL;

	if (!me) {
		me = malloc(sizeof(*me));
		if (!me)
			abort();
		atomic_fetch_add(&allocations, 1);
	}
	init(me, kind, go, data);
	return me;
}

void async_embed(struct async *me, unweave_go go, void *data)
{
	init(me, ASYNC_EMBEDDED, go, data);
}

void async_start(struct async *me)
{
	me->box.link.go(&me->box.link, NULL);
}

struct async *async_call(unweave_go go, void *data)
{
	struct async *me = async_new(ASYNC_HEAP, go, data);

	async_start(me);
	return me;
}

void async_drop(struct async *me)
{
	if (!me || me->kind == ASYNC_EMBEDDED || atomic_fetch_sub(&me->references, 1) != 1)
		return;
	if (me->kind == ASYNC_POOLED)
		give_to_pool(me);
	else
		free(me);
}

unsigned async_allocations(void)
{
	return atomic_load(&allocations);
}

uint64_t async_task(const struct async *me)
{
	return __atomic_load_n(&me->box.head.task, __ATOMIC_ACQUIRE);
}

enum unweave_status async_result(const struct async *me)
{
	return me->awaited ? me->awaited->promise.status : me->fault;
}

/* Promises */

static struct waiter settled;

void promise_init(struct promise *promise)
{
	atomic_init(&promise->waiters, NULL);
}

bool promise_is_settled(const struct promise *promise)
{
	return atomic_load_explicit(&promise->waiters, memory_order_acquire) == &settled;
}

/* False if it was settled meanwhile. Else the waiter's function may go on any time. */
static bool add_waiter(struct promise *promise, struct waiter *waiter)
{
	struct waiter *first = atomic_load_explicit(&promise->waiters, memory_order_acquire);

	do {
		if (first == &settled)
			return false;
		waiter->next = first;
	} while (!atomic_compare_exchange_weak(&promise->waiters, &first, waiter));
	return true;
}

/* Takes those who await it, in the order in which they came. The promise may be gone then. */
static struct waiter *settle(struct promise *promise, enum unweave_status status, int64_t value)
{
	struct waiter *waiter, *first = NULL;

	promise->status = status;
	promise->value = value;
	waiter = atomic_exchange(&promise->waiters, &settled);
	while (waiter) {
		struct waiter *next = waiter->next;

		waiter->next = first;
		first = waiter;
		waiter = next;
	}
	return first;
}

/* Tells the recorder whom the running task wakes, as long as it is seen to run. */
static void wake_waiters(struct promise *promise)
{
	struct waiter *waiter = atomic_load_explicit(&promise->waiters, memory_order_acquire);

	for (; waiter; waiter = waiter->next) {
		uint64_t task = async_task(waiter->who);

		waiter->woken = task && atomic_load(waiter->left) == 1;
		if (waiter->woken)
			unweave_task_wake(task, UNWEAVE_SOURCE_TASK);
	}
}

static void go_on(struct async *me, struct async *child)
{
	if (me->home)
		executor_post(me->home, me);
	else if (child)
		unweave_box_continue(&me->box, &child->box);
	else
		unweave_box_run(&me->box, 0);
}

static void release(struct waiter *waiter)
{
	struct async *who = waiter->who;
	struct async *child = waiter->child;
	bool embedded = who->kind == ASYNC_EMBEDDED;
	bool woken = waiter->woken;

	if (atomic_fetch_sub(waiter->left, 1) == 1) {
		if (!woken && async_task(who))
			unweave_task_wake(async_task(who), UNWEAVE_SOURCE_TASK);
		go_on(who, child);
	}
	if (!embedded)
		async_drop(who);
}

static void release_all(struct waiter *waiter)
{
	while (waiter) {
		struct waiter *next = waiter->next;

		release(waiter);
		waiter = next;
	}
}

void promise_settle(struct promise *promise, enum unweave_status status, int64_t value)
{
	wake_waiters(promise);
	release_all(settle(promise, status, value));
}

int async_end(struct async *me, enum unweave_status status, int64_t value)
{
	bool embedded = me->kind == ASYNC_EMBEDDED;

	wake_waiters(&me->promise);
	unweave_box_complete(&me->box, status);
	release_all(settle(&me->promise, status, value));
	if (!embedded)
		async_drop(me);
	return 0;
}

/* Waiting */

static void prepare(struct waiter *node, struct async *me, struct async *child, atomic_int *left)
{
	*node = (struct waiter){.who = me, .child = child, .left = left};
	if (me->kind != ASYNC_EMBEDDED)
		atomic_fetch_add(&me->references, 1);
}

bool async_await(struct async *me, struct async *child, int32_t state)
{
	return async_await_all(me, &child, 1, state);
}

/* Until the last of them: so it is in the chain of each. */
bool async_await_all(struct async *me, struct async **children, int count, int32_t state)
{
	struct async *open[ASYNC_NODES];
	int waits = 0;

	me->awaited = children[0];
	me->box.link.state = state;
	for (int i = 0; i < count; i++)
		if (promise_is_settled(&children[i]->promise))
			unweave_box_await_late(&me->box, &children[i]->box);
		else
			open[waits++] = children[i];
	if (!waits)
		return false;
	if (me->home)
		unweave_box_suspend(&me->box);
	/* One more, so that it does not go on before all are registered. */
	atomic_store(&me->left, waits + 1);
	for (int i = 0; i < waits; i++) {
		prepare(&me->nodes[i], me, open[i], &me->left);
		unweave_box_await(&me->box, &open[i]->box);
	}
	for (int i = 0; i < waits; i++)
		if (!add_waiter(&open[i]->promise, &me->nodes[i]))
			release(&me->nodes[i]);
	if (atomic_fetch_sub(&me->left, 1) == 1)
		go_on(me, me->awaited);
	return true;
}

#define REGISTERING (1 << 20)

/* Until the first of them. It is in no chain, since it goes on without the others. */
bool async_await_any(struct async *me, struct async **children, int count, int32_t state)
{
	for (int i = 0; i < count; i++) {
		if (!promise_is_settled(&children[i]->promise))
			continue;
		unweave_box_await_late(&me->box, &children[i]->box);
		return false;
	}
	me->box.link.state = state;
	me->awaited = NULL;
	atomic_store(&me->any_left, REGISTERING + 1);
	unweave_box_suspend(&me->box);
	for (int i = 0; i < count; i++) {
		prepare(&me->any_nodes[i], me, NULL, &me->any_left);
		unweave_box_watch(&me->box, &children[i]->box);
		if (!add_waiter(&children[i]->promise, &me->any_nodes[i]))
			release(&me->any_nodes[i]);
	}
	/* Those that came meanwhile left it to us. */
	if (atomic_fetch_sub(&me->any_left, REGISTERING) <= REGISTERING)
		go_on(me, NULL);
	return true;
}

bool async_await_promise(struct async *me, struct promise *promise, int32_t state)
{
	if (promise_is_settled(promise))
		return false;
	me->box.link.state = state;
	me->awaited = NULL;
	atomic_store(&me->left, 1);
	unweave_box_suspend(&me->box);
	prepare(&me->nodes[0], me, NULL, &me->left);
	if (!add_waiter(promise, &me->nodes[0]))
		release(&me->nodes[0]);
	return true;
}

bool async_await_custom(struct async *me, struct awaiter *awaiter, int32_t state)
{
	if (awaiter->is_ready(awaiter))
		return false;
	me->box.link.state = state;
	me->awaited = NULL;
	unweave_box_suspend(&me->box);
	awaiter->arm(awaiter, me);
	return true;
}

void async_go_on(struct async *me, enum unweave_source source)
{
	unweave_task_wake(async_task(me), source);
	go_on(me, NULL);
}
