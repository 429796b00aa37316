/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A busy program: on three threads, functions from the heap and from the pool
 * await each other in all ways at once.
 */
#ifndef SCENARIOS_MACHINE_LOAD_H
#define SCENARIOS_MACHINE_LOAD_H

#include "machine_runtime.h"

struct load {
	struct executor *executor;
	int64_t calls;
	atomic_uint seed;
};

static uint32_t draw(struct load *load, uint32_t limit)
{
	uint32_t x = atomic_fetch_add(&load->seed, 0x9e3779b9u);

	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	return (x ^ x >> 16) % limit;
}

static int waits_a_little(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct load *load = me->data;

	(void)context;
	if (me->step < me->number) {
		me->step++;
		if (draw(load, 4))
			async_yield(me, load->executor, (int32_t)me->step);
		else
			async_sleep(me, load->executor, draw(load, 50000), (int32_t)me->step);
		return 0;
	}
	return async_end(me, draw(load, 5) ? UNWEAVE_OK : UNWEAVE_ERROR, 0);
}

static struct async *call_some(struct load *load, unweave_go go)
{
	struct async *me = async_new(draw(load, 2) ? ASYNC_POOLED : ASYNC_HEAP, go, load);

	me->number = draw(load, 3);
	async_start(me);
	return me;
}

/* Awaits what another awaits too, maybe from another thread, before or after it is done. */
static int shares(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct load *load = me->data;

	(void)context;
	switch (me->step++) {
	case 0:
		if (draw(load, 2) && async_yield(me, load->executor, 0))
			return 0;
		me->step = 1;
		/* fall through */
	case 1:
		me->step = 2;
		if (async_await(me, me->callee, 1))
			return 0;
		/* fall through */
	default:
		async_drop(me->callee);
		return async_end(me, UNWEAVE_OK, 0);
	}
}

static struct async *share(struct load *load, struct async *child)
{
	struct async *me = async_new(ASYNC_POOLED, shares, load);

	atomic_fetch_add(&child->references, 1);
	me->callee = child;
	async_start(me);
	return me;
}

/* Two that it awaits: both, then either, then one and somebody who awaits that too. */
static bool await_two(struct async *me, struct load *load)
{
	me->callees[0] = call_some(load, waits_a_little);
	me->callees[1] =
		me->step == 2 ? share(load, me->callees[0]) : call_some(load, waits_a_little);
	return me->step == 1 ? async_await_any(me, me->callees, 2, 1)
			     : async_await_all(me, me->callees, 2, 1);
}

static int does_something(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);

	(void)context;
	for (; me->step < 3; me->step++) {
		if (!me->callees[0] && await_two(me, me->data))
			return 0;
		for (int i = 0; i < 2; i++)
			async_drop(me->callees[i]);
		me->callees[0] = NULL;
	}
	return async_end(me, UNWEAVE_OK, 0);
}

static int starts_many(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct load *load = me->data;

	(void)context;
	if (me->step++ == 0 && async_yield(me, load->executor, 1))
		return 0;
	for (int64_t i = 0; i < load->calls / 4; i++)
		async_drop(call_some(load, does_something));
	return async_end(me, UNWEAVE_OK, 0);
}

/* Makes so many calls, which call others, and returns when all are done. */
static inline void run_load(int64_t calls)
{
	struct load load = {.executor = executor_new(3), .calls = calls};

	for (int i = 0; i < 4; i++)
		async_drop(call_some(&load, starts_many));
	executor_free(load.executor);
}

#endif /* SCENARIOS_MACHINE_LOAD_H */
