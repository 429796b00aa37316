/* SPDX-License-Identifier: Apache-2.0 */
/* The chain model: which events a task makes in its life, and in which order. */
#include "chain_stage.h"

static int once(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	ASYNC_END();
}

static int twice(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	YIELD();
	ASYNC_END();
}

static int never(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	ASYNC_END();
}

CALLS(middle, twice)
CALLS(outer, middle)
CALLS(calls_never, never)

static void RuntimeAsync_EventsEmitted(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, once);

	CHECK(task != 0);
	CHECK(stage.scenario.count > 0);
	CHECK(stage.scenario.blocks.of_kind[5 /* EVENTS */] >= 1);
	stage_clear(&stage);
}

static void RuntimeAsync_SuspendResumeCompleteEvents(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, twice);

	CHECK_EQ(scenario_count(&stage.scenario, task, RESUMED), 2);
	CHECK_EQ(scenario_count(&stage.scenario, task, SUSPENDED), 1);
	CHECK_EQ(scenario_count(&stage.scenario, task, COMPLETED), 1);
	CHECK_EQ(scenario_nth(&stage.scenario, task, COMPLETED, 0)->event.value, UNWEAVE_OK);
	/* Of no other task: each of the three says whose it is. */
	CHECK_EQ(scenario_count(&stage.scenario, 0, RESUMED), 2);
	stage_clear(&stage);
}

static int parent_of_once(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	me->data = task_spawn(task->home, frame_new(once), UNWEAVE_SITE("child"),
			      UNWEAVE_PARENT_CURRENT);
	AWAIT_TASK((struct task *)me->data);
	ASYNC_END();
}

static void RuntimeAsync_ContextEventIdLifecycle(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, parent_of_once);
	const struct scene *created = scenario_nth(&stage.scenario, task, CREATED, 0);
	const struct scene *child = scenario_nth(&stage.scenario, 0, CREATED, 1);

	CHECK(task > 0);
	CHECK_EQ(created->event.task, task);
	CHECK_EQ(created->event.other, 0);
	CHECK(scenario_place(&stage.scenario, created) <
	      scenario_place(&stage.scenario, scenario_nth(&stage.scenario, task, RESUMED, 0)));
	CHECK(child->event.task > 0 && child->event.task != task);
	CHECK_EQ(child->event.other, task);
	CHECK(SEQUENCE(&stage.scenario, child->event.task, KINDS_LIFE, CREATED, RESUMED, SUSPENDED,
		       RESUMED, COMPLETED));
	stage_clear(&stage);
}

static void RuntimeAsync_ResumeCompleteMethodEvents(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, outer);

	/* The innermost is resumed twice; each function is done once. */
	CHECK(SEQUENCE(&stage.scenario, task, KINDS_FRAME, UNWEAVE_EVENT_FRAME_RESUME,
		       UNWEAVE_EVENT_FRAME_RESUME, UNWEAVE_EVENT_FRAME_COMPLETE,
		       UNWEAVE_EVENT_FRAME_RESUME, UNWEAVE_EVENT_FRAME_COMPLETE,
		       UNWEAVE_EVENT_FRAME_RESUME, UNWEAVE_EVENT_FRAME_COMPLETE));
	stage_clear(&stage);
}

static void RuntimeAsync_EventSequenceOrder(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, twice);

	CHECK(SEQUENCE(&stage.scenario, task, KINDS_LIFE, CREATED, RESUMED, SUSPENDED, RESUMED,
		       COMPLETED));
	CHECK(SEQUENCE(&stage.scenario, task, KIND(WAKE) | KIND(RESUME), UNWEAVE_EVENT_WAKE,
		       RESUMED, UNWEAVE_EVENT_WAKE, RESUMED));
	stage_clear(&stage);
}

static void RuntimeAsync_CreateAsyncContextEmittedOnFirstAwait(void)
{
	struct stage stage;
	uint64_t task;

	stage_open(&stage, 0, 0);
	/* One that never waits is a call like any other. */
	CHECK_EQ(stage_perform(&stage, frame_new(calls_never)), 0);
	task = stage_perform(&stage, frame_new(twice));
	stage_close(&stage);

	CHECK_EQ(scenario_count(&stage.scenario, 0, CREATED), 1);
	CHECK_EQ(scenario_count(&stage.scenario, task, CREATED), 1);
	stage_clear(&stage);
}

static void RuntimeAsync_CreateAsyncCallstackEmittedOnFirstAwait(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, once);

	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, CREATED, 0), CODE(once)));
	stage_clear(&stage);
}

static void RuntimeAsync_NoEventsWhenDisabled(void)
{
	struct stage stage;
	uint64_t before, task;

	stage_set(&stage, 0);
	before = stage_perform(&stage, frame_new(outer));
	scenario_begin(0);
	task = stage_perform(&stage, frame_new(once));
	stage_close(&stage);
	CHECK(before && task && before != task);
	CHECK_EQ(scenario_kinds(&stage.scenario, before), 0);
	CHECK_EQ(scenario_count(&stage.scenario, task, COMPLETED), 1);
	scenario_forget(&stage.scenario);

	/* Nothing of between two recordings is in the second. */
	stage.executor = executor_new(stage.runtime, 0, 0);
	before = stage_perform(&stage, frame_new(outer));
	scenario_begin(0);
	stage_close(&stage);
	CHECK_EQ(scenario_kinds(&stage.scenario, before), 0);
	stage_clear(&stage);
}

struct gate {
	uint64_t keyword;
	uint32_t kinds;
};

static int fails(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	unweave_task_name(task->chain.head.task, "fails");
	FAIL(UNWEAVE_STEP_ERROR);
	ASYNC_END();
}

CALLS(passes_on, fails)

static int does_everything(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	AWAIT_CATCH(frame_new(passes_on));
	AWAIT(frame_new(outer));
	ASYNC_END();
}

static void RuntimeAsync_KeywordGatekeeping(void)
{
	static const struct gate gates[] = {
		{UNWEAVE_KEYWORD_CREATE, KIND(CREATE)},
		{UNWEAVE_KEYWORD_RESUME, KIND(RESUME)},
		{UNWEAVE_KEYWORD_SUSPEND, KIND(SUSPEND)},
		{UNWEAVE_KEYWORD_COMPLETE, KIND(COMPLETE)},
		{UNWEAVE_KEYWORD_WAKE, KIND(WAKE)},
		{UNWEAVE_KEYWORD_NAME, KIND(NAME)},
		{UNWEAVE_KEYWORD_IDLE, KIND(IDLE)},
		{UNWEAVE_KEYWORD_UNWIND, KIND(UNWIND)},
		{UNWEAVE_KEYWORD_CREATE | UNWEAVE_KEYWORD_CREATE_STACK, KIND(CREATE)},
		{UNWEAVE_KEYWORD_RESUME | UNWEAVE_KEYWORD_RESUME_STACK, KIND(RESUME)},
		{UNWEAVE_KEYWORD_SUSPEND | UNWEAVE_KEYWORD_SUSPEND_STACK, KIND(SUSPEND)},
		{UNWEAVE_KEYWORD_FRAME_RESUME, KIND(FRAME_RESUME)},
		{UNWEAVE_KEYWORD_FRAME_COMPLETE, KIND(FRAME_COMPLETE)},
	};
	const uint64_t stacks = UNWEAVE_KEYWORD_CREATE_STACK | UNWEAVE_KEYWORD_RESUME_STACK |
				UNWEAVE_KEYWORD_SUSPEND_STACK;

	for (size_t i = 0; i < sizeof(gates) / sizeof(gates[0]); i++) {
		struct stage stage;
		uint64_t with_stack = 0;

		stage_show(&stage, gates[i].keyword, does_everything);
		CHECK(scenario_has_only(&stage.scenario, gates[i].kinds));
		CHECK(scenario_kinds(&stage.scenario, 0) & gates[i].kinds);
		for (size_t k = 0; k < stage.scenario.count; k++)
			with_stack += stage.scenario.scenes[k].frame_count > 0;
		CHECK_EQ(with_stack > 0, (gates[i].keyword & stacks) != 0);
		stage_clear(&stage);
	}
}

/* The keyword of a stack alone is no reason to leave a run open: it stands for its event too. */
static void the_keyword_of_a_stack_alone_brings_its_event(void)
{
	static const struct gate gates[] = {
		{UNWEAVE_KEYWORD_CREATE_STACK, KIND(CREATE)},
		{UNWEAVE_KEYWORD_RESUME_STACK, KIND(RESUME)},
		{UNWEAVE_KEYWORD_SUSPEND_STACK, KIND(SUSPEND)},
	};

	for (size_t i = 0; i < sizeof(gates) / sizeof(gates[0]); i++) {
		struct stage stage;
		uint64_t task = stage_show(&stage, gates[i].keyword, does_everything);

		CHECK(scenario_has_only(&stage.scenario, gates[i].kinds));
		CHECK_EQ(scenario_kinds(&stage.scenario, task), gates[i].kinds);
		stage_clear(&stage);
	}
}

/* A loop that goes straight on saves a clock read; what is told is the same. */
static void a_run_that_leaves_tells_the_same(void)
{
	struct stage stage;
	uint64_t task;

	stage_set(&stage, 0);
	stage.executor = executor_free(stage.executor);
	stage.executor = executor_new(stage.runtime, 0, UNWEAVE_RUN_LEAVE);
	scenario_begin(0);
	task = stage_perform(&stage, frame_new(outer));
	stage_close(&stage);
	CHECK(SEQUENCE(&stage.scenario, task, KINDS_LIFE, CREATED, RESUMED, SUSPENDED, RESUMED,
		       COMPLETED));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, SUSPENDED, 0), CODE(twice), CODE(middle),
		       CODE(outer)));
	CHECK_EQ(scenario_nth(&stage.scenario, task, SUSPENDED, 0)->event.time,
		 scenario_nth(&stage.scenario, task, RESUMED, 1)->event.time);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

static uint64_t here[8];
static uint32_t here_count;
static uint64_t here_task;

static int looks_around(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	here_count = unweave_here(&here_task, here, NULL, 8);
	ASYNC_END();
}

/* After the one that it called is done: that is not there any more. */
static int looks_later(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	AWAIT(frame_new(looks_around));
	CHECK_EQ(here_count, 3);
	here_count = unweave_here(&here_task, here, NULL, 1);
	ASYNC_END();
}

CALLS(above_looks, looks_later)

static void a_step_finds_itself_and_those_that_wait_for_it(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, above_looks);

	/* Two frames, of which there was room for one: it is left from before otherwise. */
	CHECK_EQ(here_task, task);
	CHECK_EQ(here_count, 2);
	CHECK(here[0] == (uintptr_t)looks_later && here[1] == (uintptr_t)looks_later);
	CHECK_EQ(here[2], (uintptr_t)above_looks);
	CHECK_EQ(unweave_here(&here_task, here, NULL, 8), 0);
	CHECK_EQ(here_task, 0);
	stage_clear(&stage);
}

static int waits_20_times(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	for (me->i = 0; me->i < 20; me->i++)
		YIELD();
	ASYNC_END();
}

CALLS(any_1, waits_20_times)
CALLS(any_2, any_1)

/* Nothing binds the functions to a thread: the chain stays one task, wherever it goes on. */
static void RuntimeAsync_ConfigureAwaitFalse(void)
{
	struct stage stage;
	uint64_t task;

	stage_open(&stage, 3, 0);
	task = stage_perform(&stage, frame_new(any_2));
	stage_close(&stage);
	CHECK_EQ(scenario_count(&stage.scenario, 0, CREATED), 1);
	CHECK_EQ(scenario_count(&stage.scenario, 0, COMPLETED), 1);
	CHECK_EQ(scenario_count(&stage.scenario, task, RESUMED), 20);
	for (size_t i = 0; i < 20; i++)
		CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, i),
			       CODE(waits_20_times), CODE(any_1), CODE(any_2)));
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

int main(void)
{
	SCENARIO(RuntimeAsync_EventsEmitted);
	SCENARIO(RuntimeAsync_SuspendResumeCompleteEvents);
	SCENARIO(RuntimeAsync_ContextEventIdLifecycle);
	SCENARIO(RuntimeAsync_ResumeCompleteMethodEvents);
	SCENARIO(RuntimeAsync_EventSequenceOrder);
	SCENARIO(RuntimeAsync_CreateAsyncContextEmittedOnFirstAwait);
	SCENARIO(RuntimeAsync_CreateAsyncCallstackEmittedOnFirstAwait);
	SCENARIO(RuntimeAsync_NoEventsWhenDisabled);
	SCENARIO(RuntimeAsync_KeywordGatekeeping);
	RUN(the_keyword_of_a_stack_alone_brings_its_event);
	SCENARIO(RuntimeAsync_ConfigureAwaitFalse);
	RUN(a_run_that_leaves_tells_the_same);
	RUN(a_step_finds_itself_and_those_that_wait_for_it);
	return check_done();
}
