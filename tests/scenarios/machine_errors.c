/* SPDX-License-Identifier: Apache-2.0 */
/* The state-machine model: errors and cancellation. */
#include "machine_checks.h"

#define A_MINUTE UINT64_C(60000000000)

static void StateMachineAsync_HandledException_EmitsUnwindAndComplete(void)
{
	check_handled(ASYNC_HEAP);
}

static void StateMachineAsync_UnhandledException_EmitsUnwindAndComplete(void)
{
	check_unhandled(ASYNC_HEAP);
}

/* Five functions, of which the innermost fails and that at `catcher` catches; -1: none. */
static void check_method_events_with_unwind(int catcher)
{
	struct plan plan = {.depth = 5, .innermost = {.yields = 1, .ends = UNWEAVE_ERROR}};
	size_t unwound = catcher < 0 ? 5 : (size_t)(4 - catcher);
	struct scenario scenario;
	uint64_t task;

	if (catcher >= 0)
		plan.levels[catcher].catches = true;
	play(&plan, 0, &scenario);
	task = plan_leaf(&plan);
	CHECK_EQ(scenario_count(&scenario, task, FRAME_RESUME), 5);
	CHECK_EQ(scenario_count(&scenario, task, UNWIND), unwound);
	CHECK_EQ(scenario_count(&scenario, task, FRAME_COMPLETE), 5 - unwound);
	CHECK_EQ(scenario_nth(&scenario, task, UNWIND, unwound - 1)->event.value & 1, catcher >= 0);
	CHECK_EQ(scenario_simulated_depth(&scenario, task), 0);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static void StateMachineAsync_HandledException_MethodEventsWithUnwind(void)
{
	check_method_events_with_unwind(2);
}

static void StateMachineAsync_UnhandledException_MethodEventsWithUnwind(void)
{
	check_method_events_with_unwind(-1);
}

static int awaits_given(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);

	(void)context;
	if (me->step++ == 0 && async_await(me, me->data, 0))
		return 0;
	return async_end(me, async_result(me), 0);
}

/* Somebody awaits what has failed before: it gets the error, and its chain is known. */
static void StateMachineAsync_FaultedTask(void)
{
	struct plan plan = {.depth = 1, .innermost = {.yields = 1, .ends = UNWEAVE_ERROR}};
	struct scenario scenario;
	struct async *root, *late;
	const struct scene *append;

	plan.executor = executor_new(0);
	scenario_begin(0);
	root = plan_call(&plan);
	executor_drive(plan.executor);
	late = async_call(awaits_given, root);
	CHECK(promise_is_settled(&late->promise));
	CHECK_EQ(late->promise.status, UNWEAVE_ERROR);
	async_drop(late);
	check_plan_end(&plan, root);
	executor_free(plan.executor);
	scenario_end(&scenario);

	CHECK(SEQUENCE(&scenario, plan_leaf(&plan), KINDS_LIFE | KIND(UNWIND) | KIND(APPEND),
		       CREATE, RESUME, UNWIND, COMPLETE, APPEND));
	CHECK_EQ(scenario_nth(&scenario, 0, COMPLETE, 0)->event.value, UNWEAVE_ERROR);
	append = scenario_nth(&scenario, 0, APPEND, 0);
	CHECK_EQ(append->event.flags, UNWEAVE_EVENT_LATE);
	CHECK(STACK_IS(append, LEVEL_CODE(0), CODE(awaits_given)));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static void StateMachineAsync_TaskCancellation(void)
{
	struct plan plan = {
		.depth = 3, .levels = {{.catches = true}}, .innermost = {.sleep_ns = A_MINUTE}};
	struct scenario scenario;
	struct async *root;
	uint64_t task;

	plan.executor = executor_new(0);
	scenario_begin(0);
	root = plan_call(&plan);
	CHECK(executor_cancel(plan.executor, plan.leaf));
	executor_drive(plan.executor);
	check_plan_end(&plan, root);
	executor_free(plan.executor);
	scenario_end(&scenario);

	task = plan_leaf(&plan);
	CHECK_EQ(plan.outcome, UNWEAVE_OK);
	CHECK(SEQUENCE(&scenario, task, KINDS_LIFE | KINDS_FRAME | KIND(WAKE), CREATE, WAKE, RESUME,
		       FRAME_RESUME, UNWIND, FRAME_RESUME, UNWIND, FRAME_RESUME, FRAME_COMPLETE,
		       COMPLETE));
	CHECK_EQ(scenario_simulated_depth(&scenario, task), 0);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* Nobody catches it: the task itself was cancelled. */
static void a_cancellation_that_nobody_catches_is_how_the_task_ends(void)
{
	struct plan plan = {
		.depth = 2, .kind = ASYNC_EMBEDDED, .innermost = {.sleep_ns = A_MINUTE}};
	struct scenario scenario;
	struct async *root;

	plan.executor = executor_new(0);
	scenario_begin(0);
	root = plan_call(&plan);
	CHECK(executor_cancel(plan.executor, plan.leaf));
	CHECK(!executor_cancel(plan.executor, plan.leaf));
	executor_drive(plan.executor);
	check_plan_end(&plan, root);
	executor_free(plan.executor);
	scenario_end(&scenario);
	CHECK_EQ(plan.outcome, UNWEAVE_CANCELLED);
	CHECK_EQ(scenario_nth(&scenario, plan_leaf(&plan), COMPLETE, 0)->event.value,
		 UNWEAVE_CANCELLED);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* One after the other, each through its own anchor: two times 32 are crossed. */
static void an_error_unwinds_seventy_functions_one_by_one(void)
{
	struct plan plan = {.depth = 71,
			    .levels = {{.catches = true}},
			    .innermost = {.yields = 1, .ends = UNWEAVE_ERROR}};
	struct scenario scenario;
	uint64_t task;

	play(&plan, 0, &scenario);
	task = plan_leaf(&plan);
	CHECK_EQ(plan.outcome, UNWEAVE_OK);
	CHECK_EQ(scenario_count(&scenario, task, UNWIND), 70);
	CHECK_EQ(scenario_count(&scenario, task, FRAME_COMPLETE), 1);
	CHECK_EQ(scenario_count(&scenario, task, UNWEAVE_EVENT_ANCHOR_RESET), 2);
	CHECK_EQ(scenario_nth(&scenario, task, COMPLETE, 0)->event.value, UNWEAVE_OK);
	CHECK_EQ(scenario_simulated_depth(&scenario, task), 0);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

int main(void)
{
	SCENARIO(StateMachineAsync_HandledException_EmitsUnwindAndComplete);
	SCENARIO(StateMachineAsync_UnhandledException_EmitsUnwindAndComplete);
	SCENARIO(StateMachineAsync_HandledException_MethodEventsWithUnwind);
	SCENARIO(StateMachineAsync_UnhandledException_MethodEventsWithUnwind);
	SCENARIO(StateMachineAsync_FaultedTask);
	SCENARIO(StateMachineAsync_TaskCancellation);
	SCENARIO(a_cancellation_that_nobody_catches_is_how_the_task_ends);
	SCENARIO(an_error_unwinds_seventy_functions_one_by_one);
	return check_done();
}
