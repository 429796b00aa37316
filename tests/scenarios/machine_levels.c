/* SPDX-License-Identifier: Apache-2.0 */
#include "machine_levels.h"

#include <stdlib.h>

static const struct level *level_of(const struct plan *plan, int64_t number)
{
	if (number + 1 == plan->depth)
		return &plan->innermost;
	return &plan->levels[number < 8 ? number : 7];
}

static struct async *new_level(struct plan *plan, int64_t number)
{
	unweave_go go = level_of(plan, number)->go;
	struct async *me;

	if (!go)
		go = level_go[number % 8];
	if (plan->kind == ASYNC_EMBEDDED) {
		me = &plan->calls[number];
		async_embed(me, go, plan);
	} else {
		me = async_new(plan->kind, go, plan);
	}
	me->number = number;
	me->home = plan->home;
	if (number + 1 == plan->depth)
		plan->leaf = me;
	return me;
}

static int end_level(struct async *me, enum unweave_status status)
{
	struct plan *plan = me->data;

	if (plan->visit)
		plan->visit(me);
	plan->tasks[me->number] = async_task(me);
	if (me->number == 0) {
		plan->outcome = status;
		plan->value = me->promise.value + 1;
	}
	return async_end(me, status, me->promise.value + 1);
}

/* Calls the next level. Returns whether to wait for it. */
static bool call_next(struct async *me, const struct level *level)
{
	me->callee = new_level(me->data, me->number + 1);
	async_start(me->callee);
	return async_await(me, me->callee, level->state);
}

static enum unweave_status callee_result(struct async *me)
{
	enum unweave_status status = async_result(me);

	me->promise.value = me->callee->promise.value;
	async_drop(me->callee);
	me->awaited = NULL;
	return status;
}

/* The body of all levels. `step` is how far it has come. */
static int run_level(struct async *me)
{
	const struct plan *plan = me->data;
	const struct level *level = level_of(plan, me->number);
	bool is_leaf = me->number + 1 == plan->depth;
	enum unweave_status status = UNWEAVE_OK;

	switch (me->step) {
	case 0:
		me->step = 1;
		if (!is_leaf && call_next(me, level))
			return 0;
		/* fall through */
	case 1:
		if (!is_leaf)
			status = callee_result(me);
		if (status && !level->catches)
			return end_level(me, status);
		me->step = 2;
	}
	while (me->step < 2 + level->yields) {
		me->step++;
		if (async_yield(me, plan->executor, is_leaf ? level->state : level->state + 1))
			return 0;
	}
	if (level->sleep_ns && me->step == 2 + level->yields) {
		me->step++;
		if (async_sleep(me, plan->executor, level->sleep_ns, level->state))
			return 0;
	}
	return end_level(me, me->fault ? me->fault : level->ends);
}

#define LEVEL(n)                                                                                   \
	static int level_##n(struct unweave_link *link, void *context)                             \
	{                                                                                          \
		(void)context;                                                                     \
		return run_level(async_of(link));                                                  \
	}
LEVEL(0)
LEVEL(1)
LEVEL(2)
LEVEL(3)
LEVEL(4)
LEVEL(5)
LEVEL(6)
LEVEL(7)

const unweave_go level_go[8] = {level_0, level_1, level_2, level_3,
				level_4, level_5, level_6, level_7};

struct async *plan_call(struct plan *plan)
{
	struct async *root;

	if (plan->depth > LEVELS_MAX)
		abort();
	plan->tasks = calloc(plan->depth, sizeof(*plan->tasks));
	plan->calls = calloc(plan->depth, sizeof(*plan->calls));
	if (!plan->tasks || !plan->calls)
		abort();
	root = new_level(plan, 0);
	async_start(root);
	return root;
}

void plan_fini(struct plan *plan)
{
	free(plan->tasks);
	free(plan->calls);
}

uint64_t plan_leaf(const struct plan *plan)
{
	return plan->tasks[plan->depth - 1];
}
