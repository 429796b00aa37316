/* SPDX-License-Identifier: Apache-2.0 */
/* The state-machine model: who awaits whom, in all the ways that are no plain chain. */
#include "machine_checks.h"

#define BRANCHES 3

struct branches {
	struct executor *executor;
	struct plan plans[BRANCHES];
	struct async *roots[BRANCHES];
	bool any;
	bool yields_first;
	uint64_t task;
};

static int awaits_branches(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct branches *branches = me->data;

	(void)context;
	switch (me->step++) {
	case 0:
		if (branches->yields_first && async_yield(me, branches->executor, 0))
			return 0;
		me->step = 1;
		/* fall through */
	case 1:
		me->step = 2;
		for (int i = 0; i < BRANCHES; i++)
			branches->roots[i] = plan_call(&branches->plans[i]);
		if (branches->any ? async_await_any(me, branches->roots, BRANCHES, 7)
				  : async_await_all(me, branches->roots, BRANCHES, 7))
			return 0;
		/* fall through */
	default:
		branches->task = async_task(me);
		return async_end(me, UNWEAVE_OK, 0);
	}
}

static void run_branches(struct branches *branches, unsigned threads, struct scenario *ret)
{
	struct async *call;

	for (int i = 0; i < BRANCHES; i++) {
		branches->plans[i].depth = 1;
		branches->plans[i].innermost.yields = i + 1;
		branches->plans[i].innermost.go = level_go[i];
	}
	scenario_begin(0);
	branches->executor = executor_new(threads);
	for (int i = 0; i < BRANCHES; i++)
		branches->plans[i].executor = branches->executor;
	call = async_call(awaits_branches, branches);
	executor_free(branches->executor);
	CHECK(promise_is_settled(&call->promise));
	async_drop(call);
	scenario_end(ret);
	CHECK(scenario_is_whole(ret));
	for (int i = 0; i < BRANCHES; i++) {
		CHECK_EQ(scenario_count(ret, plan_leaf(&branches->plans[i]), CREATE), 1);
		CHECK_EQ(scenario_count(ret, plan_leaf(&branches->plans[i]), COMPLETE), 1);
		check_plan_end(&branches->plans[i], branches->roots[i]);
	}
	check_nests(ret);
}

static void forget_branches(struct branches *branches, struct scenario *scenario)
{
	scenario_forget(scenario);
	for (int i = 0; i < BRANCHES; i++)
		plan_fini(&branches->plans[i]);
}

/* The one that awaits is in the chain of each, and goes on in the run of the last. */
static void StateMachineAsync_WhenAll_TracksAllBranches(void)
{
	struct branches branches = {0};
	struct scenario scenario;

	run_branches(&branches, 0, &scenario);
	for (int i = 0; i < BRANCHES; i++)
		CHECK(STACK_IS(scenario_nth(&scenario, plan_leaf(&branches.plans[i]), APPEND, 0),
			       LEVEL_CODE(i), CODE(awaits_branches)));
	CHECK_EQ(branches.task, 0);
	CHECK_EQ(scenario_count(&scenario, plan_leaf(&branches.plans[0]), FRAME_RESUME), 1);
	CHECK_EQ(scenario_simulated_depth(&scenario, plan_leaf(&branches.plans[2])), 0);
	forget_branches(&branches, &scenario);
}

static void StateMachineAsync_WhenAll_TracksAllBranches_OnThreads(void)
{
	struct branches branches = {0};
	struct scenario scenario;

	run_branches(&branches, 3, &scenario);
	forget_branches(&branches, &scenario);
}

/* It waits once, however many it waits for. */
static void a_task_that_awaits_three_is_suspended_once(void)
{
	struct branches branches = {.yields_first = true};
	struct scenario scenario;

	run_branches(&branches, 0, &scenario);
	CHECK(SEQUENCE(&scenario, branches.task, KINDS_LIFE | KIND(WAKE), CREATE, WAKE, RESUME,
		       SUSPEND, WAKE, RESUME, COMPLETE));
	for (size_t i = 0; i < BRANCHES; i++)
		CHECK_EQ(scenario_nth(&scenario, plan_leaf(&branches.plans[i]), APPEND, 0)
				 ->event.other,
			 branches.task);
	CHECK_EQ(scenario_nth(&scenario, branches.task, WAKE, 1)->event.other,
		 plan_leaf(&branches.plans[2]));
	forget_branches(&branches, &scenario);
}

/* It goes on without the others: so it is a task of its own, and in the chain of none. */
static void check_any(unsigned threads)
{
	struct branches branches = {.any = true};
	struct scenario scenario;

	run_branches(&branches, threads, &scenario);
	if (!threads)
		CHECK(SEQUENCE(&scenario, branches.task, KINDS_LIFE, CREATE, RESUME, COMPLETE));
	for (int i = 0; !threads && i < BRANCHES; i++) {
		const struct scene *await =
			scenario_nth(&scenario, plan_leaf(&branches.plans[i]), AWAIT, 0);

		CHECK_EQ(await->event.other, branches.task);
		CHECK(STACK_IS(await, CODE(awaits_branches)));
		CHECK(STACK_IS(
			scenario_nth(&scenario, plan_leaf(&branches.plans[i]), RESUME, (size_t)i),
			LEVEL_CODE(i)));
	}
	forget_branches(&branches, &scenario);
}

static void StateMachineAsync_WhenAny_TracksAllBranches(void)
{
	check_any(0);
}

static void StateMachineAsync_WhenAny_TracksAllBranches_OnThreads(void)
{
	check_any(3);
}

/* Awaits what it is given, maybe after a wait of its own. */
struct parent {
	struct async *child;
	struct promise *after;
	uint64_t task;
};

static int run_parent(struct async *me)
{
	struct parent *parent = me->data;

	switch (me->step++) {
	case 0:
		if (parent->after && async_await_promise(me, parent->after, 1))
			return 0;
		me->step = 1;
		/* fall through */
	case 1:
		me->step = 2;
		if (async_await(me, parent->child, 2))
			return 0;
		/* fall through */
	default:
		parent->task = async_task(me);
		return async_end(me, UNWEAVE_OK, 0);
	}
}

#define PARENT(name)                                                                               \
	static int name(struct unweave_link *link, void *context)                                  \
	{                                                                                          \
		(void)context;                                                                     \
		return run_parent(async_of(link));                                                 \
	}
PARENT(parent_a)
PARENT(parent_b)
PARENT(parent_c)

/* .NET loses it: the reader still gets the whole chain. */
static void a_parent_that_comes_after_completion_is_told_late(void)
{
	struct plan plan = {.depth = 1, .innermost = {.yields = 1}};
	struct parent late = {0}, grand = {0};
	struct scenario scenario;
	struct async *child, *parent, *top;
	struct promise after;
	const struct scene *append;

	promise_init(&after);
	plan.executor = executor_new(0);
	scenario_begin(0);
	child = plan_call(&plan);
	late = (struct parent){.child = child, .after = &after};
	parent = async_call(parent_a, &late);
	grand.child = parent;
	top = async_call(parent_b, &grand);
	executor_free(plan.executor);
	promise_settle(&after, UNWEAVE_OK, 0);
	check_plan_end(&plan, child);
	CHECK(promise_is_settled(&top->promise));
	async_drop(parent);
	async_drop(top);
	scenario_end(&scenario);

	append = scenario_nth(&scenario, plan_leaf(&plan), APPEND, 0);
	CHECK_EQ(append->event.flags, UNWEAVE_EVENT_LATE);
	CHECK_EQ(append->event.other, late.task);
	CHECK(STACK_IS(append, LEVEL_CODE(0), CODE(parent_a), CODE(parent_b)));
	CHECK(STATES_ARE(append, 0, 2, 2));
	CHECK(scenario_place(&scenario, append) >
	      scenario_place(&scenario, scenario_nth(&scenario, plan_leaf(&plan), COMPLETE, 0)));
	/* It did not wait, so its run went on. */
	CHECK(SEQUENCE(&scenario, late.task, KINDS_LIFE, CREATE, RESUME, COMPLETE));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static void fan_in_of_three_awaiters_records_all_of_them(void)
{
	static const unweave_go functions[3] = {parent_a, parent_b, parent_c};
	struct plan plan = {.depth = 1, .innermost = {.yields = 2}};
	struct parent parents[3] = {0};
	struct async *calls[3], *child;
	struct scenario scenario;
	uint64_t task;

	plan.executor = executor_new(0);
	scenario_begin(0);
	child = plan_call(&plan);
	for (int i = 0; i < 3; i++) {
		/* The second comes when the child has run already. */
		if (i == 1)
			executor_step(plan.executor);
		parents[i].child = child;
		calls[i] = async_call(functions[i], &parents[i]);
	}
	executor_free(plan.executor);
	check_plan_end(&plan, child);
	for (int i = 0; i < 3; i++) {
		CHECK(promise_is_settled(&calls[i]->promise));
		async_drop(calls[i]);
	}
	scenario_end(&scenario);

	task = plan_leaf(&plan);
	CHECK(STACK_IS(scenario_nth(&scenario, task, APPEND, 0), LEVEL_CODE(0), CODE(parent_a)));
	CHECK(STACK_IS(scenario_nth(&scenario, task, AWAIT, 0), CODE(parent_b)));
	CHECK(STACK_IS(scenario_nth(&scenario, task, AWAIT, 1), CODE(parent_c)));
	CHECK_EQ(scenario_count(&scenario, task, APPEND) + scenario_count(&scenario, task, AWAIT),
		 3);
	/* The first goes on inside; the others are tasks of their own. */
	CHECK(SEQUENCE(&scenario, task, KINDS_LIFE | KIND(FRAME_RESUME), CREATE, RESUME,
		       FRAME_RESUME, SUSPEND, RESUME, FRAME_RESUME, FRAME_RESUME, COMPLETE));
	CHECK_EQ(scenario_simulated_depth(&scenario, task), 0);
	CHECK_EQ(parents[0].task, 0);
	for (int i = 1; i < 3; i++) {
		CHECK(SEQUENCE(&scenario, parents[i].task, KINDS_LIFE, CREATE, RESUME, COMPLETE));
		CHECK(STACK_IS(scenario_nth(&scenario, parents[i].task, RESUME, 0),
			       CODE(functions[i])));
	}
	check_nests(&scenario);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* Whoever awaits one that awaits beside the chain is beside it too. */
static void a_parent_of_a_second_awaiter_is_not_taken_into_the_chain(void)
{
	struct plan plan = {.depth = 1, .innermost = {.yields = 1}};
	struct parent parents[3] = {0};
	struct async *calls[3], *child;
	struct scenario scenario;
	uint64_t task;

	plan.executor = executor_new(0);
	scenario_begin(0);
	child = plan_call(&plan);
	parents[0].child = parents[1].child = child;
	calls[0] = async_call(parent_a, &parents[0]);
	calls[1] = async_call(parent_b, &parents[1]);
	parents[2].child = calls[1];
	calls[2] = async_call(parent_c, &parents[2]);
	executor_free(plan.executor);
	check_plan_end(&plan, child);
	for (int i = 0; i < 3; i++)
		async_drop(calls[i]);
	scenario_end(&scenario);
	task = plan_leaf(&plan);
	CHECK(STACK_IS(scenario_nth(&scenario, task, RESUME, 0), LEVEL_CODE(0), CODE(parent_a)));
	CHECK(STACK_IS(scenario_nth(&scenario, task, AWAIT, 1), CODE(parent_c)));
	/* The second goes on as a task, whose chain has both. */
	CHECK(STACK_IS(scenario_nth(&scenario, 0, RESUME, 1), CODE(parent_b), CODE(parent_c)));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static struct parent visiting;
static struct async *visiting_call;
static int64_t visited_level;

/* Somebody begins to await the function that runs right now. */
static void begin_to_await(struct async *me)
{
	if (me->number != visited_level)
		return;
	visiting = (struct parent){.child = me};
	visiting_call = async_call(parent_a, &visiting);
}

/* Of `depth` functions the outermost is awaited only while it runs. */
static void check_parent_while_running(unsigned depth)
{
	struct plan plan = {.depth = depth, .innermost = {.yields = 1}, .visit = begin_to_await};
	const struct scene *append;
	struct scenario scenario;
	uint64_t task;

	visited_level = 0;
	play(&plan, 0, &scenario);
	CHECK(promise_is_settled(&visiting_call->promise));
	async_drop(visiting_call);
	task = plan_leaf(&plan);
	append = scenario_nth(&scenario, task, APPEND, depth - 1);
	if (depth == 1)
		CHECK(STACK_IS(append, LEVEL_CODE(0), CODE(parent_a)));
	else
		CHECK(STACK_IS(append, LEVEL_CODE(1), LEVEL_CODE(0), CODE(parent_a)));
	CHECK(scenario_place(&scenario, append) >
	      scenario_place(&scenario, scenario_nth(&scenario, task, RESUME, 0)));
	CHECK_EQ(scenario_count(&scenario, task, FRAME_COMPLETE), depth + 1);
	CHECK_EQ(scenario_count(&scenario, 0, COMPLETE), 1);
	/* The chain after an APPEND is whole: those that are done are in it. */
	CHECK_EQ(scenario_simulated_depth(&scenario, task), depth - 1);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static void a_parent_may_come_while_its_child_runs(void)
{
	check_parent_while_running(1);
}

/* The child is no task itself, but goes on in the run of one. */
static void a_parent_may_come_while_its_child_goes_on_inside_another_run(void)
{
	check_parent_while_running(2);
}

/* It has an awaiter already, which is in the chain. */
static void a_second_parent_may_come_while_its_child_runs(void)
{
	struct plan plan = {.depth = 2, .innermost = {.yields = 1}, .visit = begin_to_await};
	struct scenario scenario;

	visited_level = 1;
	play(&plan, 0, &scenario);
	CHECK(promise_is_settled(&visiting_call->promise));
	async_drop(visiting_call);
	CHECK(STACK_IS(scenario_nth(&scenario, plan_leaf(&plan), AWAIT, 0), CODE(parent_a)));
	CHECK(SEQUENCE(&scenario, visiting.task, KINDS_LIFE, CREATE, RESUME, COMPLETE));
	check_nests(&scenario);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* Calls one thing after the other; so it is in the chain of one task, then of another. */
static int awaits_two(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct branches *branches = me->data;

	(void)context;
	while (me->step < 2) {
		int64_t n = me->step++;

		branches->roots[n] = plan_call(&branches->plans[n]);
		if (async_await(me, branches->roots[n], (int32_t)n))
			return 0;
	}
	return async_end(me, UNWEAVE_OK, 0);
}

static void a_late_parent_is_told_to_the_task_that_is_waited_for_now(void)
{
	struct branches branches = {.executor = executor_new(0)};
	struct parent middle = {0}, late = {0};
	struct scenario scenario;
	struct async *call, *calls[2];
	uint64_t tasks[2];

	for (int i = 0; i < 2; i++)
		branches.plans[i] = (struct plan){.depth = 1,
						  .executor = branches.executor,
						  .innermost = {.yields = 1, .go = level_go[i]}};
	scenario_begin(0);
	call = async_call(awaits_two, &branches);
	middle.child = call;
	calls[0] = async_call(parent_a, &middle);
	executor_step(branches.executor);
	late.child = calls[0];
	calls[1] = async_call(parent_b, &late);
	executor_free(branches.executor);
	CHECK(promise_is_settled(&calls[1]->promise));
	scenario_end(&scenario);
	for (int i = 0; i < 2; i++) {
		tasks[i] = plan_leaf(&branches.plans[i]);
		check_plan_end(&branches.plans[i], branches.roots[i]);
		async_drop(calls[i]);
	}
	async_drop(call);
	/* The first task was done when the parent came. */
	CHECK(SEQUENCE(&scenario, tasks[0], KINDS_LIFE | KIND(APPEND), CREATE, APPEND, APPEND,
		       RESUME, COMPLETE));
	CHECK(STACK_IS(scenario_nth(&scenario, tasks[1], RESUME, 0), LEVEL_CODE(1),
		       CODE(awaits_two), CODE(parent_a), CODE(parent_b)));
	CHECK_EQ(scenario_simulated_depth(&scenario, tasks[1]), 0);
	scenario_forget(&scenario);
	for (int i = 0; i < 2; i++)
		plan_fini(&branches.plans[i]);
}

/* Three tasks: the innermost is waited for by the middle one, whose own parent comes late. */
static void a_task_that_waited_for_another_knows_the_parents_that_came_meanwhile(void)
{
	struct plan plan = {.depth = 1, .innermost = {.yields = 1}};
	struct parent middle = {0}, late = {0};
	struct async *child, *calls[2];
	struct scenario scenario;
	struct promise after;

	promise_init(&after);
	plan.executor = executor_new(0);
	scenario_begin(0);
	child = plan_call(&plan);
	middle = (struct parent){.child = child, .after = &after};
	calls[0] = async_call(parent_a, &middle);
	promise_settle(&after, UNWEAVE_OK, 0);
	late.child = calls[0];
	calls[1] = async_call(parent_b, &late);
	executor_free(plan.executor);
	check_plan_end(&plan, child);
	scenario_end(&scenario);
	CHECK(SEQUENCE(&scenario, middle.task, KINDS_LIFE, CREATE, RESUME, SUSPEND, RESUME,
		       COMPLETE));
	CHECK(STACK_IS(scenario_nth(&scenario, plan_leaf(&plan), RESUME, 0), LEVEL_CODE(0),
		       CODE(parent_a), CODE(parent_b)));
	CHECK(STACK_IS(scenario_nth(&scenario, middle.task, RESUME, 1), CODE(parent_a),
		       CODE(parent_b)));
	CHECK_EQ(scenario_nth(&scenario, middle.task, WAKE, 1)->event.other, plan_leaf(&plan));
	for (int i = 0; i < 2; i++)
		async_drop(calls[i]);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* They will never go on; but nobody who looks at their chains must wait with them. */
static void tasks_that_wait_for_each_other_in_a_ring_hang_nothing(void)
{
	static const unweave_go functions[3] = {parent_a, parent_b, parent_c};
	struct parent parents[3] = {0};
	struct scenario scenario;
	struct promise after;
	struct async ring[3], outside;
	struct parent more;

	promise_init(&after);
	scenario_begin(0);
	for (int i = 0; i < 3; i++) {
		parents[i] = (struct parent){.child = &ring[(i + 1) % 3], .after = &after};
		async_embed(&ring[i], functions[i], &parents[i]);
		async_start(&ring[i]);
	}
	promise_settle(&after, UNWEAVE_OK, 0);
	/* One more who waits for all of them, through one. */
	more = (struct parent){.child = &ring[0]};
	async_embed(&outside, parent_a, &more);
	async_start(&outside);
	unweave_set_keywords(UNWEAVE_KEYWORDS_FULL);
	scenario_end(&scenario);
	CHECK(scenario_is_whole(&scenario));
	for (int i = 0; i < 3; i++) {
		CHECK(SEQUENCE(&scenario, async_task(&ring[i]), KINDS_LIFE, CREATE, RESUME,
			       SUSPEND));
		CHECK(scenario_count(&scenario, async_task(&ring[i]), APPEND) >= 1);
	}
	scenario_forget(&scenario);
}

int main(void)
{
	SCENARIO(StateMachineAsync_WhenAll_TracksAllBranches);
	SCENARIO(StateMachineAsync_WhenAll_TracksAllBranches_OnThreads);
	SCENARIO(StateMachineAsync_WhenAny_TracksAllBranches);
	SCENARIO(StateMachineAsync_WhenAny_TracksAllBranches_OnThreads);
	SCENARIO(a_task_that_awaits_three_is_suspended_once);
	SCENARIO(a_parent_that_comes_after_completion_is_told_late);
	SCENARIO(fan_in_of_three_awaiters_records_all_of_them);
	SCENARIO(a_parent_of_a_second_awaiter_is_not_taken_into_the_chain);
	SCENARIO(a_parent_may_come_while_its_child_runs);
	SCENARIO(a_parent_may_come_while_its_child_goes_on_inside_another_run);
	SCENARIO(a_second_parent_may_come_while_its_child_runs);
	SCENARIO(a_late_parent_is_told_to_the_task_that_is_waited_for_now);
	SCENARIO(a_task_that_waited_for_another_knows_the_parents_that_came_meanwhile);
	SCENARIO(tasks_that_wait_for_each_other_in_a_ring_hang_nothing);
	return check_done();
}
