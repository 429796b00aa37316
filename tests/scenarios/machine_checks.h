/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for calls of every kind: on the heap, pooled, or in their caller's
 * frame. A header, since checks are counted in the file that they are in.
 */
#ifndef SCENARIOS_MACHINE_CHECKS_H
#define SCENARIOS_MACHINE_CHECKS_H

#include "machine_levels.h"

#define CREATE UNWEAVE_EVENT_CREATE
#define RESUME UNWEAVE_EVENT_RESUME
#define SUSPEND UNWEAVE_EVENT_SUSPEND
#define COMPLETE UNWEAVE_EVENT_COMPLETE
#define FRAME_RESUME UNWEAVE_EVENT_FRAME_RESUME
#define FRAME_COMPLETE UNWEAVE_EVENT_FRAME_COMPLETE
#define UNWIND UNWEAVE_EVENT_UNWIND
#define APPEND UNWEAVE_EVENT_APPEND
#define AWAIT UNWEAVE_EVENT_AWAIT
#define WAKE UNWEAVE_EVENT_WAKE

/* The end of a plan that must be done by now. */
static inline void check_plan_end(struct plan *plan, struct async *root)
{
	CHECK(promise_is_settled(&root->promise));
	CHECK_EQ(root->promise.status, plan->outcome);
	CHECK_EQ(root->promise.value, plan->depth);
	async_drop(root);
}

#define NEST_MAX 256
#define NEST_THREADS 256

/*
 * Each run ends inside of the run that it began in: what ends is innermost on its
 * thread, or was never seen to begin there. Returns the runs that never end.
 */
static inline unsigned check_nests(const struct scenario *scenario)
{
	static uint64_t nests[NEST_THREADS][NEST_MAX];
	unsigned depths[NEST_THREADS] = {0};
	unsigned open = 0;

	for (size_t i = 0; i < scenario->count; i++) {
		const struct unweave_event *event = &scenario->scenes[i].event;
		unsigned *depth = &depths[event->thread % NEST_THREADS];
		uint64_t *nest = nests[event->thread % NEST_THREADS];
		unsigned at = *depth;

		if (event->kind == RESUME || event->kind == UNWEAVE_EVENT_REPLAY)
			nest[(*depth)++ % NEST_MAX] = event->task;
		if (event->kind == UNWEAVE_EVENT_RESET)
			*depth = 0;
		if (event->kind != SUSPEND && event->kind != COMPLETE)
			continue;
		while (at && nest[at - 1] != event->task)
			at--;
		CHECK(!at || at == *depth);
		*depth -= at != 0;
	}
	for (unsigned i = 0; i < NEST_THREADS; i++)
		open += depths[i];
	return open;
}

/* Records all of it, on this thread; `keywords` 0: all. The plan is to be given to plan_fini(). */
static inline void play(struct plan *plan, uint64_t keywords, struct scenario *ret)
{
	struct executor *own = plan->executor ? NULL : executor_new(0);
	struct async *root;

	if (own)
		plan->executor = own;
	scenario_begin(keywords);
	root = plan_call(plan);
	executor_drive(plan->executor);
	check_plan_end(plan, root);
	if (own)
		plan->executor = executor_free(own);
	scenario_end(ret);
	CHECK(scenario_is_whole(ret));
}

static inline void check_sequence_order(enum async_kind kind)
{
	struct plan plan = {.depth = 1, .kind = kind, .innermost = {.yields = 1}};
	struct scenario scenario;

	play(&plan, 0, &scenario);
	CHECK(SEQUENCE(&scenario, 0, KINDS_LIFE, CREATE, RESUME, COMPLETE));
	CHECK_EQ(scenario_count(&scenario, 0, SUSPEND), 0);
	CHECK_EQ(scenario_nth(&scenario, 0, COMPLETE, 0)->event.task, plan_leaf(&plan));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static inline void check_method_events(enum async_kind kind)
{
	struct plan plan = {.depth = 3, .kind = kind, .innermost = {.yields = 1}};
	struct scenario scenario;

	play(&plan, 0, &scenario);
	CHECK(SEQUENCE(&scenario, plan_leaf(&plan), KINDS_LIFE | KINDS_FRAME, CREATE, RESUME,
		       FRAME_RESUME, FRAME_COMPLETE, FRAME_RESUME, FRAME_COMPLETE, FRAME_RESUME,
		       FRAME_COMPLETE, COMPLETE));
	CHECK_EQ(scenario_simulated_depth(&scenario, plan_leaf(&plan)), 0);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static inline void check_depth(enum async_kind kind)
{
	struct plan plan = {.depth = 4, .kind = kind, .innermost = {.yields = 1}};
	struct scenario scenario;

	play(&plan, 0, &scenario);
	CHECK(STACK_IS(scenario_nth(&scenario, plan_leaf(&plan), RESUME, 0), LEVEL_CODE(3),
		       LEVEL_CODE(2), LEVEL_CODE(1), LEVEL_CODE(0)));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static inline void check_distinct_functions(enum async_kind kind)
{
	struct plan plan = {.depth = 6, .kind = kind, .innermost = {.yields = 2}};
	const struct scene *resume;
	struct scenario scenario;

	play(&plan, 0, &scenario);
	for (size_t n = 0; n < 2; n++) {
		resume = scenario_nth(&scenario, plan_leaf(&plan), RESUME, n);
		CHECK_EQ(resume->frame_count, 6);
		for (uint32_t i = 0; i < resume->frame_count; i++)
			for (uint32_t j = 0; j < i; j++)
				CHECK(resume->frames[i].address != resume->frames[j].address);
	}
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static inline void check_suspend_resume_complete(enum async_kind kind)
{
	struct plan plan = {.depth = 1, .kind = kind, .innermost = {.yields = 3}};
	struct scenario scenario;

	play(&plan, 0, &scenario);
	CHECK(SEQUENCE(&scenario, plan_leaf(&plan), KINDS_LIFE, CREATE, RESUME, SUSPEND, RESUME,
		       SUSPEND, RESUME, COMPLETE));
	CHECK_EQ(scenario_count(&scenario, 0, RESUME),
		 scenario_count(&scenario, 0, SUSPEND) + scenario_count(&scenario, 0, COMPLETE));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* The error takes two functions off; the third catches it. */
static inline void check_handled(enum async_kind kind)
{
	struct plan plan = {.depth = 3,
			    .kind = kind,
			    .levels = {{.catches = true}},
			    .innermost = {.yields = 1, .ends = UNWEAVE_ERROR}};
	struct scenario scenario;
	uint64_t task;

	play(&plan, 0, &scenario);
	task = plan_leaf(&plan);
	CHECK_EQ(plan.outcome, UNWEAVE_OK);
	CHECK(SEQUENCE(&scenario, task, KINDS_LIFE | KINDS_FRAME, CREATE, RESUME, FRAME_RESUME,
		       UNWIND, FRAME_RESUME, UNWIND, FRAME_RESUME, FRAME_COMPLETE, COMPLETE));
	CHECK_EQ(scenario_nth(&scenario, task, UNWIND, 0)->event.value, 1 << 1 | 1);
	CHECK_EQ(scenario_nth(&scenario, task, UNWIND, 1)->event.value, 1 << 1 | 1);
	CHECK_EQ(scenario_nth(&scenario, task, COMPLETE, 0)->event.value, UNWEAVE_OK);
	CHECK_EQ(scenario_simulated_depth(&scenario, task), 0);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static inline void check_unhandled(enum async_kind kind)
{
	struct plan plan = {
		.depth = 3, .kind = kind, .innermost = {.yields = 1, .ends = UNWEAVE_ERROR}};
	struct scenario scenario;
	uint64_t task;

	play(&plan, 0, &scenario);
	task = plan_leaf(&plan);
	CHECK_EQ(plan.outcome, UNWEAVE_ERROR);
	CHECK(SEQUENCE(&scenario, task, KINDS_LIFE | KINDS_FRAME, CREATE, RESUME, FRAME_RESUME,
		       UNWIND, FRAME_RESUME, UNWIND, FRAME_RESUME, UNWIND, COMPLETE));
	CHECK_EQ(scenario_nth(&scenario, task, UNWIND, 1)->event.value, 1 << 1 | 1);
	CHECK_EQ(scenario_nth(&scenario, task, UNWIND, 2)->event.value, 1 << 1);
	CHECK_EQ(scenario_nth(&scenario, task, COMPLETE, 0)->event.value, UNWEAVE_ERROR);
	CHECK_EQ(scenario_simulated_depth(&scenario, task), 0);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* No home to go back to: the whole chain goes on in the run of its innermost. */
static inline void check_goes_on_where_it_completed(enum async_kind kind)
{
	struct plan plan = {.depth = 3, .kind = kind, .innermost = {.yields = 1}};
	struct scenario scenario;

	play(&plan, 0, &scenario);
	CHECK_EQ(scenario_count(&scenario, 0, CREATE), 1);
	CHECK_EQ(scenario_count(&scenario, 0, COMPLETE), 1);
	CHECK_EQ(plan.tasks[0], 0);
	CHECK_EQ(plan.tasks[1], 0);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

struct late {
	struct async *child;
	struct promise *gate;
};

/* Awaits what somebody else has called, and maybe only after a wait of its own. */
static inline int late_parent(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct late *late = me->data;

	(void)context;
	switch (me->step++) {
	case 0:
		if (late->gate && async_await_promise(me, late->gate, 4))
			return 0;
		me->step++;
		/* fall through */
	case 1:
		if (async_await(me, late->child, 5))
			return 0;
		/* fall through */
	default:
		return async_end(me, async_result(me), 0);
	}
}

/* A parent that comes after the child's first run: the chain grows, and says so. */
static inline void check_late_parent(enum async_kind kind)
{
	struct plan plan = {.depth = 2, .kind = kind, .innermost = {.yields = 2}};
	struct scenario scenario;
	struct async *root, *parent;
	struct late late = {0};
	const struct scene *append;

	plan.executor = executor_new(0);
	scenario_begin(0);
	root = plan_call(&plan);
	executor_step(plan.executor);
	late.child = root;
	parent = async_new(kind == ASYNC_POOLED ? ASYNC_POOLED : ASYNC_HEAP, late_parent, &late);
	async_start(parent);
	executor_drive(plan.executor);
	check_plan_end(&plan, root);
	CHECK(promise_is_settled(&parent->promise));
	async_drop(parent);
	executor_free(plan.executor);
	scenario_end(&scenario);

	append = scenario_nth(&scenario, plan_leaf(&plan), APPEND, 1);
	CHECK_EQ(scenario_count(&scenario, plan_leaf(&plan), APPEND), 2);
	CHECK(STACK_IS(append, LEVEL_CODE(1), LEVEL_CODE(0), CODE(late_parent)));
	CHECK(STATES_ARE(append, 0, 0, 5));
	CHECK_EQ(append->event.flags, 0);
	CHECK(STACK_IS(scenario_nth(&scenario, plan_leaf(&plan), RESUME, 0), LEVEL_CODE(1),
		       LEVEL_CODE(0)));
	CHECK(STACK_IS(scenario_nth(&scenario, plan_leaf(&plan), RESUME, 1), LEVEL_CODE(1),
		       LEVEL_CODE(0), CODE(late_parent)));
	CHECK_EQ(scenario_count(&scenario, plan_leaf(&plan), FRAME_COMPLETE), 3);
	CHECK_EQ(scenario_simulated_depth(&scenario, plan_leaf(&plan)), 0);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* All of it on one thread, whose nest is empty again after each run. */
static inline void check_single_thread(enum async_kind kind)
{
	struct plan plan = {.depth = 3, .kind = kind, .innermost = {.yields = 2}};
	struct scenario scenario;

	play(&plan, 0, &scenario);
	/* A session that begins late enough to find the task already made says so on its own. */
	for (size_t i = 0; i < scenario.count; i++)
		CHECK(scenario.scenes[i].event.thread == scenario.scenes[0].event.thread ||
		      scenario.scenes[i].event.kind == UNWEAVE_EVENT_TASK);
	CHECK(SEQUENCE(&scenario, 0, KINDS_LIFE, CREATE, RESUME, SUSPEND, RESUME, COMPLETE));
	for (size_t n = 0; n < 2; n++)
		CHECK(STACK_IS(scenario_nth(&scenario, 0, RESUME, n), LEVEL_CODE(2), LEVEL_CODE(1),
			       LEVEL_CODE(0)));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

#endif /* SCENARIOS_MACHINE_CHECKS_H */
