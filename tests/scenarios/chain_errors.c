/* SPDX-License-Identifier: Apache-2.0 */
/* The chain model: errors that take frames off a chain, and cancellation. */
#include "chain_stage.h"

static int fails(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	FAIL(UNWEAVE_STEP_ERROR);
	ASYNC_END();
}

CALLS(passes_1, fails)
CALLS(passes_2, passes_1)
CALLS(passes_3, passes_2)

/* Of four frames, the two inner ones are taken off by the error. */
static int catches(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	AWAIT_CATCH(frame_new(passes_1));
	CHECK_EQ(me->fault, UNWEAVE_STEP_ERROR);
	YIELD();
	ASYNC_END();
}

CALLS(above_catches, catches)

static int works(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	YIELD();
	ASYNC_END();
}

CALLS(works_1, works)
CALLS(works_2, works_1)

static uint64_t unwind_of(uint32_t frames, bool handled)
{
	return (uint64_t)frames << 1 | handled;
}

static void RuntimeAsync_CallstackSimulation_NormalCompletion(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, works_2);

	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_UNWIND), 0);
	stage_clear(&stage);
}

static void RuntimeAsync_CallstackSimulation_HandledException(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, above_catches);

	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	CHECK_EQ(scenario_nth(&stage.scenario, task, COMPLETED, 0)->event.value, UNWEAVE_OK);
	stage_clear(&stage);
}

static void RuntimeAsync_CallstackSimulation_UnhandledException(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, passes_3);

	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	CHECK_EQ(scenario_nth(&stage.scenario, task, COMPLETED, 0)->event.value, UNWEAVE_ERROR);
	stage_clear(&stage);
}

static void RuntimeAsync_UnhandledExceptionUnwind(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, passes_3);

	CHECK(SEQUENCE(&stage.scenario, task, KINDS_FRAME | KINDS_LIFE, CREATED, RESUMED,
		       UNWEAVE_EVENT_FRAME_RESUME, UNWEAVE_EVENT_UNWIND, COMPLETED));
	CHECK_EQ(scenario_nth(&stage.scenario, task, UNWEAVE_EVENT_UNWIND, 0)->event.value,
		 unwind_of(4, false));
	CHECK_EQ(scenario_nth(&stage.scenario, task, COMPLETED, 0)->event.value, UNWEAVE_ERROR);
	stage_clear(&stage);
}

static void RuntimeAsync_HandledExceptionUnwind(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, above_catches);

	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_UNWIND), 1);
	CHECK_EQ(scenario_nth(&stage.scenario, task, UNWEAVE_EVENT_UNWIND, 0)->event.value,
		 unwind_of(2, true));
	/* It goes on above the error, and waits there. */
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, SUSPENDED, 0), CODE(catches),
		       CODE(above_catches)));
	/* The two that failed never were done; each of the others was, once. */
	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_FRAME_COMPLETE), 2);
	stage_clear(&stage);
}

/* An error before anything was awaited is the caller's affair: no frame was in the chain. */
static int fails_at_once(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	FAIL(UNWEAVE_STEP_ERROR);
	ASYNC_END();
}

static int catches_at_once(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	AWAIT_CATCH(frame_new(fails_at_once));
	CHECK_EQ(me->fault, UNWEAVE_STEP_ERROR);
	YIELD();
	ASYNC_END();
}

static void an_error_of_a_function_that_never_waited_unwinds_nothing(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, catches_at_once);

	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_UNWIND), 0);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

/* Calls one that waits, and fails instead of waiting for it. */
static int abandons(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	CHECK_EQ(frame_call(task, frame_new(works_2)), UNWEAVE_STEP_SUSPENDED);
	FAIL(UNWEAVE_STEP_ERROR);
	ASYNC_END();
}

static int catches_abandons(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	AWAIT_CATCH(frame_new(abandons));
	CHECK_EQ(me->fault, UNWEAVE_STEP_ERROR);
	ASYNC_END();
}

static void what_a_step_had_pushed_before_it_failed_is_never_seen(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, catches_abandons);

	CHECK_EQ(scenario_nth(&stage.scenario, task, UNWEAVE_EVENT_UNWIND, 0)->event.value,
		 unwind_of(1, true));
	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_FRAME_COMPLETE), 1);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

/* Calls itself `i` times; the innermost waits, then fails. */
static int fails_deep(struct unweave_link *link, void *context)
{
	struct frame *callee;

	ASYNC_BEGIN(link, context);
	if (me->i) {
		callee = frame_new(fails_deep);
		callee->i = me->i - 1;
		AWAIT(callee);
	} else {
		YIELD();
		FAIL(UNWEAVE_STEP_ERROR);
	}
	ASYNC_END();
}

/* After `i` frames of its own, the error of `k` more is caught in the middle. */
static int catches_deep(struct unweave_link *link, void *context)
{
	struct frame *callee;

	ASYNC_BEGIN(link, context);
	callee = frame_new(fails_deep);
	callee->i = me->k - 1;
	AWAIT_CATCH(callee);
	ASYNC_END();
}

static int above_deep(struct unweave_link *link, void *context)
{
	struct frame *callee;

	ASYNC_BEGIN(link, context);
	callee = frame_new(me->i ? above_deep : catches_deep);
	callee->i = me->i - 1;
	callee->k = me->k;
	AWAIT(callee);
	ASYNC_END();
}

static void check_deep_unwind(uint32_t frames, uint32_t above)
{
	struct frame *frame = frame_new(above ? above_deep : fails_deep);
	uint32_t resets = 0, before_unwind = 0;
	bool unwound = false;
	struct stage stage;
	uint64_t task;

	/* The one that catches, and the one that this begins with, are above too. */
	frame->i = above ? above - 2 : frames - 1;
	frame->k = frames;
	stage_open(&stage, 0, 0);
	task = stage_perform(&stage, frame);
	stage_close(&stage);
	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_UNWIND), 1);
	CHECK_EQ(scenario_nth(&stage.scenario, task, UNWEAVE_EVENT_UNWIND, 0)->event.value,
		 unwind_of(frames, above > 0));
	/* One reset for each multiple of 32 that was crossed, also those in one jump. */
	for (size_t i = 0; i < stage.scenario.count; i++) {
		unwound |= stage.scenario.scenes[i].event.kind == UNWEAVE_EVENT_UNWIND;
		resets += stage.scenario.scenes[i].event.kind == UNWEAVE_EVENT_ANCHOR_RESET;
		before_unwind += !unwound && resets;
	}
	CHECK_EQ(before_unwind, 0);
	CHECK_EQ(resets, (frames + above) / UNWEAVE_ANCHORS);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

static void an_unwind_over_70_frames_crosses_two_multiples_of_32(void)
{
	check_deep_unwind(70, 0);
	check_deep_unwind(70, 40);
	check_deep_unwind(64, 0);
	check_deep_unwind(63, 0);
	check_deep_unwind(31, 33);
	check_deep_unwind(31, 0);
	check_deep_unwind(1000, 5);
}

static int sleeps(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	SLEEP_MS(60000);
	ASYNC_END();
}

CALLS(calls_sleeps, sleeps)

/* Awaits a task, and ends as it did. */
static int follows(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	AWAIT_TASK((struct task *)me->data);
	FAIL(((struct task *)me->data)->result);
	ASYNC_END();
}

/* Each run ends once: nothing stays open, nothing ends twice. */
static void check_balance(const struct scenario *scenario, uint64_t task)
{
	CHECK_EQ(scenario_count(scenario, task, RESUMED),
		 scenario_count(scenario, task, SUSPENDED) +
			 scenario_count(scenario, task, COMPLETED));
	CHECK_EQ(scenario_count(scenario, task, COMPLETED), 1);
}

static void RuntimeAsync_TaskCancellation(void)
{
	struct task *inner, *outer;
	uint64_t inner_id, outer_id;
	struct frame *frame;
	struct stage stage;

	stage_open(&stage, 0, 0);
	inner = task_spawn(stage.executor, frame_new(calls_sleeps), NULL, 0);
	frame = frame_new(follows);
	frame->data = inner;
	outer = task_spawn(stage.executor, frame, NULL, 0);
	executor_pump(stage.executor);
	task_cancel(inner);
	CHECK_EQ(task_wait(outer), UNWEAVE_STEP_CANCELLED);
	inner_id = inner->chain.head.task;
	outer_id = outer->chain.head.task;
	stage_close(&stage);

	check_balance(&stage.scenario, inner_id);
	check_balance(&stage.scenario, outer_id);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(scenario_nth(&stage.scenario, i ? outer_id : inner_id, COMPLETED, 0)
				 ->event.value,
			 UNWEAVE_CANCELLED);
	/* The inner one failed inside of its wait, through both of its frames. */
	CHECK(SEQUENCE(&stage.scenario, inner_id, KINDS_LIFE | KIND(UNWIND), CREATED, RESUMED,
		       SUSPENDED, RESUMED, UNWEAVE_EVENT_UNWIND, COMPLETED));
	CHECK_EQ(scenario_nth(&stage.scenario, inner_id, UNWEAVE_EVENT_UNWIND, 0)->event.value,
		 unwind_of(2, false));
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, inner_id), 0);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, outer_id), 0);
	stage_clear(&stage);
}

static int cleans_up(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	AWAIT_CATCH(frame_new(calls_sleeps));
	CHECK_EQ(me->fault, UNWEAVE_STEP_CANCELLED);
	AWAIT(frame_new(works));
	FAIL(UNWEAVE_STEP_CANCELLED);
	ASYNC_END();
}

static void a_task_that_is_cancelled_may_wait_again_to_clean_up(void)
{
	struct stage stage;
	struct task *task;
	uint64_t id;

	stage_open(&stage, 0, 0);
	task = task_begin(stage.executor, frame_new(cleans_up), NULL, 0);
	task_cancel(task);
	CHECK_EQ(task_wait(task), UNWEAVE_STEP_CANCELLED);
	id = task->chain.head.task;
	stage_close(&stage);
	CHECK_EQ(scenario_nth(&stage.scenario, id, UNWEAVE_EVENT_UNWIND, 0)->event.value,
		 unwind_of(2, true));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, id, SUSPENDED, 0), CODE(works),
		       CODE(cleans_up)));
	check_balance(&stage.scenario, id);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, id), 0);
	stage_clear(&stage);
}

int main(void)
{
	SCENARIO(RuntimeAsync_CallstackSimulation_NormalCompletion);
	SCENARIO(RuntimeAsync_CallstackSimulation_HandledException);
	SCENARIO(RuntimeAsync_CallstackSimulation_UnhandledException);
	SCENARIO(RuntimeAsync_UnhandledExceptionUnwind);
	SCENARIO(RuntimeAsync_HandledExceptionUnwind);
	SCENARIO(RuntimeAsync_TaskCancellation);
	RUN(an_error_of_a_function_that_never_waited_unwinds_nothing);
	RUN(what_a_step_had_pushed_before_it_failed_is_never_seen);
	RUN(an_unwind_over_70_frames_crosses_two_multiples_of_32);
	RUN(a_task_that_is_cancelled_may_wait_again_to_clean_up);
	return check_done();
}
