/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state-machine model, for the two kinds of boxes that are not allocated:
 * those that lie in their caller's frame (what a ValueTask is for) and those from
 * a pool, which are used again at once.
 */
#include "machine_checks.h"

static void StateMachineAsync_ValueTask_EventSequenceOrder(void)
{
	check_sequence_order(ASYNC_EMBEDDED);
}

static void StateMachineAsync_ValueTask_MethodEventsEmitted(void)
{
	check_method_events(ASYNC_EMBEDDED);
}

static void StateMachineAsync_ValueTask_CallstackDepthMatchesChainDepth(void)
{
	check_depth(ASYNC_EMBEDDED);
}

static void StateMachineAsync_ValueTask_CallstackFramesHaveDistinctMethodIds(void)
{
	check_distinct_functions(ASYNC_EMBEDDED);
}

static void StateMachineAsync_ValueTask_HandledException_EmitsUnwindAndComplete(void)
{
	check_handled(ASYNC_EMBEDDED);
}

static void StateMachineAsync_ValueTask_UnhandledException_EmitsUnwindAndComplete(void)
{
	check_unhandled(ASYNC_EMBEDDED);
}

static void StateMachineAsync_ValueTask_SingleThread_ChainEventsAndCallstack(void)
{
	check_single_thread(ASYNC_EMBEDDED);
}

/* However often it is called and waits, one box is enough; and each call is a task of its own. */
static void StateMachineAsync_PoolingValueTask_UsesPoolingBox(void)
{
	struct plan plan = {.depth = 1, .kind = ASYNC_POOLED, .innermost = {.yields = 1000}};
	struct scenario scenario;
	unsigned before = async_allocations();

	for (int i = 0; i < 3; i++) {
		play(&plan, 0, &scenario);
		CHECK_EQ(scenario_count(&scenario, plan_leaf(&plan), CREATE), 1);
		CHECK_EQ(scenario_count(&scenario, plan_leaf(&plan), RESUME), 1000);
		scenario_forget(&scenario);
		plan_fini(&plan);
	}
	CHECK(async_allocations() <= before + 1);
}

static void StateMachineAsync_PoolingValueTask_EventSequenceOrder(void)
{
	check_sequence_order(ASYNC_POOLED);
}

static void StateMachineAsync_PoolingValueTask_MethodEventsEmitted(void)
{
	check_method_events(ASYNC_POOLED);
}

static void StateMachineAsync_PoolingValueTask_SuspendResumeCompleteEvents(void)
{
	check_suspend_resume_complete(ASYNC_POOLED);
}

static void StateMachineAsync_PoolingValueTask_CallstackDepthMatchesChainDepth(void)
{
	check_depth(ASYNC_POOLED);
}

static void StateMachineAsync_PoolingValueTask_CallstackFramesHaveDistinctMethodIds(void)
{
	check_distinct_functions(ASYNC_POOLED);
}

static void StateMachineAsync_PoolingValueTask_HandledException_EmitsUnwindAndComplete(void)
{
	check_handled(ASYNC_POOLED);
}

static void StateMachineAsync_PoolingValueTask_UnhandledException_EmitsUnwindAndComplete(void)
{
	check_unhandled(ASYNC_POOLED);
}

static void StateMachineAsync_PoolingValueTask_ConfigureAwaitFalse(void)
{
	check_goes_on_where_it_completed(ASYNC_POOLED);
}

static void StateMachineAsync_PoolingValueTask_AppendCallstack_FiresOnLateParentRegistration(void)
{
	check_late_parent(ASYNC_POOLED);
}

static void StateMachineAsync_PoolingValueTask_SingleThread_ChainEventsAndCallstack(void)
{
	check_single_thread(ASYNC_POOLED);
}

/* With a result: in C, a promise that holds a value. */
static void StateMachineAsync_PoolingValueTaskOfT_ConfigureAwaitFalse(void)
{
	check_goes_on_where_it_completed(ASYNC_POOLED);
}

static void StateMachineAsync_PoolingValueTaskOfT_CallstackDepthMatchesChainDepth(void)
{
	check_depth(ASYNC_POOLED);
}

struct reentry {
	struct executor *executor;
	struct promise promise;
	uint64_t outer, inner;
};

/* Waits for the promise, ends, and so lets its box go, inside of whoever keeps it. */
static int keeps_waiting(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct reentry *reentry = me->data;

	(void)context;
	if (me->step++ == 0 && async_await_promise(me, &reentry->promise, 0))
		return 0;
	reentry->inner = async_task(me);
	return async_end(me, UNWEAVE_OK, 0);
}

/* Calls another pooled function that is done at once: what that completes is not this one. */
static int is_done_at_once(struct unweave_link *link, void *context)
{
	(void)context;
	return async_end(async_of(link), UNWEAVE_OK, 0);
}

static int keeps_the_promise(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct reentry *reentry = me->data;
	struct async *other;

	(void)context;
	if (me->step++ == 0 && async_yield(me, reentry->executor, 0))
		return 0;
	promise_settle(&reentry->promise, UNWEAVE_OK, 0);
	/* The box that was let go above, again. */
	other = async_new(ASYNC_POOLED, is_done_at_once, NULL);
	async_start(other);
	async_drop(other);
	reentry->outer = async_task(me);
	return async_end(me, UNWEAVE_OK, 0);
}

static void StateMachineAsync_PoolingValueTask_InlineReentrantCompletion(void)
{
	struct reentry reentry = {.executor = executor_new(0)};
	struct async *waits, *keeps;
	struct scenario scenario;

	promise_init(&reentry.promise);
	scenario_begin(0);
	waits = async_new(ASYNC_POOLED, keeps_waiting, &reentry);
	async_start(waits);
	keeps = async_new(ASYNC_POOLED, keeps_the_promise, &reentry);
	async_start(keeps);
	async_drop(waits);
	async_drop(keeps);
	executor_free(reentry.executor);
	scenario_end(&scenario);

	CHECK(SEQUENCE(&scenario, reentry.inner, KINDS_LIFE | KINDS_FRAME, CREATE, RESUME,
		       FRAME_RESUME, FRAME_COMPLETE, COMPLETE));
	CHECK(SEQUENCE(&scenario, reentry.outer, KINDS_LIFE | KINDS_FRAME, CREATE, RESUME,
		       FRAME_RESUME, FRAME_COMPLETE, COMPLETE));
	/* The inner run lies within the outer one. */
	CHECK(SEQUENCE(&scenario, 0, KIND(RESUME) | KIND(COMPLETE), RESUME, RESUME, COMPLETE,
		       COMPLETE));
	CHECK_EQ(scenario_nth(&scenario, 0, RESUME, 0)->event.task, reentry.outer);
	CHECK_EQ(scenario_nth(&scenario, 0, COMPLETE, 0)->event.task, reentry.inner);
	CHECK_EQ(scenario_nth(&scenario, reentry.inner, WAKE, 0)->event.other, reentry.outer);
	scenario_forget(&scenario);
}

int main(void)
{
	SCENARIO(StateMachineAsync_ValueTask_EventSequenceOrder);
	SCENARIO(StateMachineAsync_ValueTask_MethodEventsEmitted);
	SCENARIO(StateMachineAsync_ValueTask_CallstackDepthMatchesChainDepth);
	SCENARIO(StateMachineAsync_ValueTask_CallstackFramesHaveDistinctMethodIds);
	SCENARIO(StateMachineAsync_ValueTask_HandledException_EmitsUnwindAndComplete);
	SCENARIO(StateMachineAsync_ValueTask_UnhandledException_EmitsUnwindAndComplete);
	SCENARIO(StateMachineAsync_ValueTask_SingleThread_ChainEventsAndCallstack);
	SCENARIO(StateMachineAsync_PoolingValueTask_UsesPoolingBox);
	SCENARIO(StateMachineAsync_PoolingValueTask_EventSequenceOrder);
	SCENARIO(StateMachineAsync_PoolingValueTask_MethodEventsEmitted);
	SCENARIO(StateMachineAsync_PoolingValueTask_SuspendResumeCompleteEvents);
	SCENARIO(StateMachineAsync_PoolingValueTask_CallstackDepthMatchesChainDepth);
	SCENARIO(StateMachineAsync_PoolingValueTask_CallstackFramesHaveDistinctMethodIds);
	SCENARIO(StateMachineAsync_PoolingValueTask_HandledException_EmitsUnwindAndComplete);
	SCENARIO(StateMachineAsync_PoolingValueTask_UnhandledException_EmitsUnwindAndComplete);
	SCENARIO(StateMachineAsync_PoolingValueTask_ConfigureAwaitFalse);
	SCENARIO(StateMachineAsync_PoolingValueTask_AppendCallstack_FiresOnLateParentRegistration);
	SCENARIO(StateMachineAsync_PoolingValueTask_SingleThread_ChainEventsAndCallstack);
	SCENARIO(StateMachineAsync_PoolingValueTask_InlineReentrantCompletion);
	SCENARIO(StateMachineAsync_PoolingValueTaskOfT_ConfigureAwaitFalse);
	SCENARIO(StateMachineAsync_PoolingValueTaskOfT_CallstackDepthMatchesChainDepth);
	return check_done();
}
