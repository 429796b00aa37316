/* SPDX-License-Identifier: Apache-2.0 */
/* The state-machine model: what the life of a task looks like, and what keywords choose of it. */
#include <pthread.h>

#include "machine_checks.h"

static void StateMachineAsync_EventsEmitted(void)
{
	struct plan plan = {.depth = 2, .innermost = {.yields = 1}};
	struct scenario scenario;

	play(&plan, 0, &scenario);
	CHECK(scenario.count > 0);
	CHECK(scenario.blocks.of_kind[1] + scenario.blocks.event_numbers > 0);
	CHECK_EQ(scenario_kinds(&scenario, plan_leaf(&plan)),
		 KINDS_LIFE - KIND(SUSPEND) + KIND(WAKE) + KIND(APPEND) + KIND(FRAME_RESUME) +
			 KIND(FRAME_COMPLETE));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* Not when it is called: at its first wait, with the function that waits. */
static void StateMachineAsync_CreateAsyncContextEmittedOnFirstAwait(void)
{
	struct plan plan = {.depth = 1, .innermost = {.yields = 2}};
	struct plan quick = {.depth = 3};
	const struct scene *create;
	struct scenario scenario;

	play(&plan, 0, &scenario);
	create = scenario_nth(&scenario, 0, CREATE, 0);
	CHECK_EQ(scenario_count(&scenario, 0, CREATE), 1);
	CHECK(create->event.task != 0);
	CHECK_EQ(create->event.other, 0);
	CHECK(STACK_IS(create, LEVEL_CODE(0)));
	CHECK(scenario_place(&scenario, create) <
	      scenario_place(&scenario, scenario_nth(&scenario, 0, RESUME, 0)));
	scenario_forget(&scenario);
	plan_fini(&plan);

	/* Functions that never wait are no tasks at all. */
	play(&quick, 0, &scenario);
	CHECK(scenario_has_only(&scenario, 0));
	scenario_forget(&scenario);
	plan_fini(&quick);
}

static void StateMachineAsync_EventSequenceOrder(void)
{
	check_sequence_order(ASYNC_HEAP);
}

static void StateMachineAsync_SuspendResumeCompleteEvents(void)
{
	check_suspend_resume_complete(ASYNC_HEAP);
}

static void StateMachineAsync_ResumeCompleteMethodEvents(void)
{
	check_method_events(ASYNC_HEAP);
}

static void StateMachineAsync_ConfigureAwaitFalse(void)
{
	check_goes_on_where_it_completed(ASYNC_HEAP);
}

static void StateMachineAsync_SingleThread_ChainEventsAndCallstack(void)
{
	check_single_thread(ASYNC_HEAP);
}

/* A function that waits for promises, one after the other. */
struct promised {
	struct executor *executor;
	struct promise promises[2];
	int waits;
	uint64_t task;
};

static int awaits_promises(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct promised *promised = me->data;

	(void)context;
	while (me->step < promised->waits) {
		int64_t n = me->step++;

		if (async_await_promise(me, &promised->promises[n], (int32_t)n))
			return 0;
	}
	promised->task = async_task(me);
	return async_end(me, UNWEAVE_OK, 0);
}

static struct promised promise_some(int waits)
{
	struct promised promised = {.waits = waits};

	for (int i = 0; i < waits; i++)
		promise_init(&promised.promises[i]);
	return promised;
}

/* Right where the promise is kept, which is no task's run here. */
static void StateMachineAsync_InlineResume_CompletesWithoutSuspend(void)
{
	struct promised promised = promise_some(1);
	struct scenario scenario;
	struct async *call;

	scenario_begin(0);
	call = async_call(awaits_promises, &promised);
	promise_settle(&promised.promises[0], UNWEAVE_OK, 0);
	CHECK(promise_is_settled(&call->promise));
	async_drop(call);
	scenario_end(&scenario);
	CHECK(SEQUENCE(&scenario, promised.task, KINDS_LIFE, CREATE, RESUME, COMPLETE));
	scenario_forget(&scenario);
}

static void StateMachineAsync_InlineResume_ReSuspends(void)
{
	struct promised promised = promise_some(2);
	struct scenario scenario;
	struct async *call;

	scenario_begin(0);
	call = async_call(awaits_promises, &promised);
	promise_settle(&promised.promises[0], UNWEAVE_OK, 0);
	promise_settle(&promised.promises[1], UNWEAVE_OK, 0);
	CHECK(promise_is_settled(&call->promise));
	async_drop(call);
	scenario_end(&scenario);
	CHECK(SEQUENCE(&scenario, promised.task, KINDS_LIFE, CREATE, RESUME, SUSPEND, RESUME,
		       COMPLETE));
	CHECK(STATES_ARE(scenario_nth(&scenario, promised.task, SUSPEND, 0), 1));
	scenario_forget(&scenario);
}

/* The same on the threads of an executor, whichever they are. */
static void StateMachineAsync_PoolResume_ReSuspends(void)
{
	struct plan plan = {.depth = 1, .innermost = {.yields = 5}};
	struct scenario scenario;
	struct async *root;

	scenario_begin(0);
	plan.executor = executor_new(2);
	root = plan_call(&plan);
	executor_free(plan.executor);
	check_plan_end(&plan, root);
	scenario_end(&scenario);
	CHECK(SEQUENCE(&scenario, plan_leaf(&plan), KINDS_LIFE, CREATE, RESUME, SUSPEND, RESUME,
		       SUSPEND, RESUME, SUSPEND, RESUME, SUSPEND, RESUME, COMPLETE));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static void *settle_first(void *data)
{
	struct promised *promised = data;

	promise_settle(&promised->promises[0], UNWEAVE_OK, 0);
	return NULL;
}

/* Waits in one thread, goes on in another that has nothing to do with any executor. */
static int waits_then_yields(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct promised *promised = me->data;

	(void)context;
	switch (me->step++) {
	case 0:
		if (async_await_promise(me, &promised->promises[0], 0))
			return 0;
		/* fall through */
	case 1:
		me->step = 2;
		if (async_yield(me, promised->executor, 1))
			return 0;
		/* fall through */
	default:
		promised->task = async_task(me);
		return async_end(me, UNWEAVE_OK, 0);
	}
}

static void StateMachineAsync_WaitThenYield_BalancesResumeAndComplete(void)
{
	struct promised promised = promise_some(1);
	struct scenario scenario;
	struct async *call;
	pthread_t thread;

	scenario_begin(0);
	promised.executor = executor_new(1);
	call = async_call(waits_then_yields, &promised);
	CHECK_EQ(pthread_create(&thread, NULL, settle_first, &promised), 0);
	pthread_join(thread, NULL);
	executor_free(promised.executor);
	CHECK(promise_is_settled(&call->promise));
	async_drop(call);
	scenario_end(&scenario);
	CHECK(SEQUENCE(&scenario, promised.task, KINDS_LIFE, CREATE, RESUME, SUSPEND, RESUME,
		       COMPLETE));
	CHECK(scenario_nth(&scenario, promised.task, RESUME, 0)->event.thread !=
	      scenario_nth(&scenario, promised.task, RESUME, 1)->event.thread);
	scenario_forget(&scenario);
}

/* Each goes on in its home, whatever thread its callee completed on: so each is a task. */
static void check_home(unsigned threads)
{
	struct plan plan = {.depth = 2, .innermost = {.sleep_ns = 20000000}};
	const struct scene *resume;
	struct scenario scenario;
	struct executor *home;
	struct async *root;

	scenario_begin(0);
	home = executor_new(threads);
	plan.executor = executor_new(1);
	plan.home = home;
	root = plan_call(&plan);
	plan.executor = executor_free(plan.executor);
	executor_free(home);
	check_plan_end(&plan, root);
	scenario_end(&scenario);

	CHECK(scenario_is_whole(&scenario));
	CHECK(plan.tasks[0] && plan.tasks[0] != plan.tasks[1]);
	for (int i = 0; i < 2; i++)
		CHECK(SEQUENCE(&scenario, plan.tasks[i], KINDS_LIFE, CREATE, RESUME, COMPLETE));
	/* The callee still has both in its chain. */
	resume = scenario_nth(&scenario, plan.tasks[1], APPEND, 0);
	CHECK(STACK_IS(resume, LEVEL_CODE(1), LEVEL_CODE(0)));
	CHECK_EQ(resume->event.other, plan.tasks[0]);
	CHECK(STACK_IS(scenario_nth(&scenario, plan.tasks[0], RESUME, 0), LEVEL_CODE(0)));
	CHECK_EQ(scenario_nth(&scenario, plan.tasks[0], WAKE, 0)->event.other, plan.tasks[1]);
	CHECK(scenario_nth(&scenario, plan.tasks[0], RESUME, 0)->event.thread !=
	      scenario_nth(&scenario, plan.tasks[1], RESUME, 0)->event.thread);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* A synchronisation context is an executor that one thread drives, here this one. */
static void StateMachineAsync_CustomSyncContext_EmitsContextEventsAndCallstack(void)
{
	check_home(0);
}

/* A task scheduler is an executor with threads of its own. */
static void StateMachineAsync_CustomTaskScheduler_EmitsContextEventsAndCallstack(void)
{
	check_home(2);
}

/* An awaiter of somebody's own. */
struct my_awaiter {
	struct awaiter awaiter;
	struct async *who;
	uint64_t task;
};

static bool never_ready(struct awaiter *awaiter)
{
	(void)awaiter;
	return false;
}

static void keep_who(struct awaiter *awaiter, struct async *who)
{
	((struct my_awaiter *)awaiter)->who = who;
}

static int awaits_mine(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	struct my_awaiter *mine = me->data;

	(void)context;
	if (me->step++ == 0 && async_await_custom(me, &mine->awaiter, 3))
		return 0;
	mine->task = async_task(me);
	return async_end(me, UNWEAVE_OK, 0);
}

/* What goes on right there is its own dispatcher; else it goes on by way of its home. */
static void check_custom_awaiter(enum async_kind kind, bool right_there)
{
	struct my_awaiter mine = {.awaiter = {.is_ready = never_ready, .arm = keep_who}};
	struct executor *home = executor_new(0);
	struct scenario scenario;
	struct async *call;

	scenario_begin(0);
	call = async_new(kind, awaits_mine, &mine);
	call->home = right_there ? NULL : home;
	async_start(call);
	async_go_on(mine.who, UNWEAVE_SOURCE_IO);
	CHECK_EQ(promise_is_settled(&call->promise), right_there);
	executor_free(home);
	CHECK(promise_is_settled(&call->promise));
	async_drop(call);
	scenario_end(&scenario);
	CHECK(SEQUENCE(&scenario, mine.task, KINDS_LIFE | KIND(WAKE), CREATE, WAKE, RESUME,
		       COMPLETE));
	CHECK_EQ(scenario_nth(&scenario, mine.task, WAKE, 0)->event.value, UNWEAVE_SOURCE_IO);
	CHECK(STACK_IS(scenario_nth(&scenario, mine.task, RESUME, 0), CODE(awaits_mine)));
	CHECK(STATES_ARE(scenario_nth(&scenario, mine.task, RESUME, 0), 3));
	scenario_forget(&scenario);
}

static void StateMachineAsync_CustomAwaiter_EmitsCreateResumeComplete(void)
{
	check_custom_awaiter(ASYNC_HEAP, false);
}

static void StateMachineAsync_CustomAwaiter_EmitsCreateResumeComplete_Critical(void)
{
	check_custom_awaiter(ASYNC_HEAP, true);
}

static void StateMachineAsync_CustomAwaiter_EmitsCreateResumeComplete_Pooling(void)
{
	check_custom_awaiter(ASYNC_POOLED, false);
}

static void StateMachineAsync_CustomAwaiter_EmitsCreateResumeComplete_PoolingCritical(void)
{
	check_custom_awaiter(ASYNC_POOLED, true);
}

static void StateMachineAsync_NoEventsWhenDisabled(void)
{
	struct plan before = {.depth = 3, .innermost = {.yields = 3}};
	struct plan after = {.depth = 1, .innermost = {.yields = 1}};
	struct scenario scenario;
	struct async *root;

	before.executor = executor_new(0);
	root = plan_call(&before);
	executor_drive(before.executor);
	check_plan_end(&before, root);
	executor_free(before.executor);
	/* Nothing of what was before is in the trace of what comes after. */
	play(&after, 0, &scenario);
	CHECK(SEQUENCE(&scenario, 0, KINDS_LIFE, CREATE, RESUME, COMPLETE));
	CHECK_EQ(scenario_kinds(&scenario, plan_leaf(&before)), 0);
	scenario_forget(&scenario);
	plan_fini(&before);
	plan_fini(&after);
}

/* Everything happens; one thing is asked for. */
static void check_keyword(uint64_t keyword, uint32_t kinds, unsigned expected)
{
	struct plan plan = {.depth = 3,
			    .levels = {[1] = {.yields = 1, .catches = true}},
			    .innermost = {.yields = 2, .ends = UNWEAVE_ERROR}};
	struct scenario scenario;

	play(&plan, keyword << 32, &scenario);
	CHECK(scenario_has_only(&scenario, kinds));
	CHECK_EQ(scenario_kinds(&scenario, 0) & kinds, kinds);
	for (unsigned kind = 1; kind < 32; kind++)
		if (kinds == UINT32_C(1) << kind)
			CHECK_EQ(scenario_count(&scenario, 0, (enum unweave_event_kind)kind),
				 expected);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static void StateMachineAsync_KeywordGatekeeping_Create(void)
{
	check_keyword(UNWEAVE_KEYWORD_CREATE, KIND(CREATE), 2);
}

static void StateMachineAsync_KeywordGatekeeping_Resume(void)
{
	check_keyword(UNWEAVE_KEYWORD_RESUME, KIND(RESUME), 3);
}

static void StateMachineAsync_KeywordGatekeeping_Suspend(void)
{
	check_keyword(UNWEAVE_KEYWORD_SUSPEND, KIND(SUSPEND), 1);
}

static void StateMachineAsync_KeywordGatekeeping_Complete(void)
{
	check_keyword(UNWEAVE_KEYWORD_COMPLETE, KIND(COMPLETE), 2);
}

static void StateMachineAsync_KeywordGatekeeping_Unwind(void)
{
	check_keyword(UNWEAVE_KEYWORD_UNWIND, KIND(UNWIND), 1);
}

/* With the event that it is part of; parents that come are an event of their own. */
static void StateMachineAsync_KeywordGatekeeping_ResumeCallstack(void)
{
	check_keyword(UNWEAVE_KEYWORD_RESUME_STACK, KIND(RESUME), 3);
	check_keyword(UNWEAVE_KEYWORD_APPEND, KIND(APPEND), 2);
}

static void StateMachineAsync_KeywordGatekeeping_ResumeMethod(void)
{
	check_keyword(UNWEAVE_KEYWORD_FRAME_RESUME, KIND(FRAME_RESUME), 5);
}

static void StateMachineAsync_KeywordGatekeeping_CompleteMethod(void)
{
	check_keyword(UNWEAVE_KEYWORD_FRAME_COMPLETE, KIND(FRAME_COMPLETE), 2);
}

/* Without the stacks of suspensions, a resume has all to tell: also that the state changed. */
static void a_resume_alone_still_has_the_right_states(void)
{
	struct promised promised = promise_some(2);
	struct scenario scenario;
	struct async *call;

	scenario_begin((UNWEAVE_KEYWORD_RESUME | UNWEAVE_KEYWORD_RESUME_STACK) << 32);
	call = async_call(awaits_promises, &promised);
	promise_settle(&promised.promises[0], UNWEAVE_OK, 0);
	promise_settle(&promised.promises[1], UNWEAVE_OK, 0);
	async_drop(call);
	scenario_end(&scenario);
	CHECK(STATES_ARE(scenario_nth(&scenario, promised.task, RESUME, 0), 0));
	CHECK(STATES_ARE(scenario_nth(&scenario, promised.task, RESUME, 1), 1));
	scenario_forget(&scenario);
}

int main(void)
{
	SCENARIO(StateMachineAsync_EventsEmitted);
	SCENARIO(StateMachineAsync_CreateAsyncContextEmittedOnFirstAwait);
	SCENARIO(StateMachineAsync_EventSequenceOrder);
	SCENARIO(StateMachineAsync_SuspendResumeCompleteEvents);
	SCENARIO(StateMachineAsync_InlineResume_CompletesWithoutSuspend);
	SCENARIO(StateMachineAsync_InlineResume_ReSuspends);
	SCENARIO(StateMachineAsync_PoolResume_ReSuspends);
	SCENARIO(StateMachineAsync_ResumeCompleteMethodEvents);
	SCENARIO(StateMachineAsync_WaitThenYield_BalancesResumeAndComplete);
	SCENARIO(StateMachineAsync_ConfigureAwaitFalse);
	SCENARIO(StateMachineAsync_SingleThread_ChainEventsAndCallstack);
	SCENARIO(StateMachineAsync_CustomSyncContext_EmitsContextEventsAndCallstack);
	SCENARIO(StateMachineAsync_CustomTaskScheduler_EmitsContextEventsAndCallstack);
	SCENARIO(StateMachineAsync_CustomAwaiter_EmitsCreateResumeComplete);
	SCENARIO(StateMachineAsync_CustomAwaiter_EmitsCreateResumeComplete_Critical);
	SCENARIO(StateMachineAsync_CustomAwaiter_EmitsCreateResumeComplete_Pooling);
	SCENARIO(StateMachineAsync_CustomAwaiter_EmitsCreateResumeComplete_PoolingCritical);
	SCENARIO(StateMachineAsync_NoEventsWhenDisabled);
	SCENARIO(StateMachineAsync_KeywordGatekeeping_Create);
	SCENARIO(StateMachineAsync_KeywordGatekeeping_Resume);
	SCENARIO(StateMachineAsync_KeywordGatekeeping_Suspend);
	SCENARIO(StateMachineAsync_KeywordGatekeeping_Complete);
	SCENARIO(StateMachineAsync_KeywordGatekeeping_Unwind);
	SCENARIO(StateMachineAsync_KeywordGatekeeping_ResumeCallstack);
	SCENARIO(StateMachineAsync_KeywordGatekeeping_ResumeMethod);
	SCENARIO(StateMachineAsync_KeywordGatekeeping_CompleteMethod);
	SCENARIO(a_resume_alone_still_has_the_right_states);
	return check_done();
}
