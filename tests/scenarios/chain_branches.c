/* SPDX-License-Identifier: Apache-2.0 */
/* The chain model: several tasks, several executors, frames of other memory. */
#include "chain_stage.h"

#include <unistd.h>

#define BRANCHES 4

struct branches {
	struct task *tasks[BRANCHES];
	struct executor *other;
	pid_t thread; /* where `hops` found itself */
};

static int branch(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	SLEEP_MS(1 + 3 * me->i);
	ASYNC_END();
}

static void spawn_branches(struct branches *branches, struct task *task)
{
	for (unsigned i = 0; i < BRANCHES; i++) {
		struct frame *frame = frame_new(branch);

		frame->i = i;
		branches->tasks[i] = task_spawn(task->home, frame, UNWEAVE_SITE("branch"),
						UNWEAVE_PARENT_CURRENT);
	}
}

static int waits_for_all(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	spawn_branches(me->data, task);
	AWAIT_ALL(((struct branches *)me->data)->tasks, BRANCHES);
	ASYNC_END();
}

static int waits_for_any(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	spawn_branches(me->data, task);
	AWAIT_ANY(((struct branches *)me->data)->tasks, BRANCHES);
	ASYNC_END();
}

static void check_branches(unweave_go function, unsigned threads)
{
	struct branches branches = {0};
	struct frame *frame = frame_new(function);
	struct stage stage;
	uint64_t task;

	frame->data = &branches;
	stage_open(&stage, threads, 0);
	task = stage_perform(&stage, frame);
	for (unsigned i = 0; i < BRANCHES; i++)
		CHECK_EQ(task_wait(branches.tasks[i]), UNWEAVE_STEP_DONE);
	stage_close(&stage);

	CHECK_EQ(scenario_count(&stage.scenario, 0, CREATED), 1 + BRANCHES);
	CHECK_EQ(scenario_count(&stage.scenario, 0, COMPLETED), 1 + BRANCHES);
	for (unsigned i = 0; i < BRANCHES; i++) {
		uint64_t id = branches.tasks[i]->chain.head.task;

		CHECK_EQ(scenario_nth(&stage.scenario, id, CREATED, 0)->event.other, task);
		CHECK(SEQUENCE(&stage.scenario, id, KINDS_LIFE, CREATED, RESUMED, SUSPENDED,
			       RESUMED, SUSPENDED, RESUMED, COMPLETED));
		/* What ended its two waits: itself, then the timer. */
		CHECK_EQ(scenario_count(&stage.scenario, id, UNWEAVE_EVENT_WAKE), 2);
		CHECK_EQ(scenario_nth(&stage.scenario, id, UNWEAVE_EVENT_WAKE, 0)->event.other, id);
		CHECK_EQ(scenario_nth(&stage.scenario, id, UNWEAVE_EVENT_WAKE, 1)->event.value,
			 UNWEAVE_SOURCE_TIMER);
		CHECK_EQ(scenario_simulated_depth(&stage.scenario, id), 0);
	}
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

static void RuntimeAsync_WhenAll_TracksAllBranches(void)
{
	check_branches(waits_for_all, 0);
	check_branches(waits_for_all, 3);
}

static void RuntimeAsync_WhenAny_TracksAllBranches(void)
{
	check_branches(waits_for_any, 0);
	check_branches(waits_for_any, 3);
}

static int hops(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	HOP(((struct branches *)me->data)->other);
	((struct branches *)me->data)->thread = gettid();
	YIELD();
	ASYNC_END();
}

static int calls_hops(struct unweave_link *link, void *context)
{
	struct frame *callee;

	ASYNC_BEGIN(link, context);
	callee = frame_new(hops);
	callee->data = me->data;
	AWAIT(callee);
	ASYNC_END();
}

/* What is posted to another executor goes on there, as the same task with the same chain. */
static void check_hop(unsigned threads)
{
	struct branches branches = {0};
	struct frame *frame = frame_new(calls_hops);
	struct stage stage;
	uint64_t task;

	stage_open(&stage, 0, 0);
	branches.other = executor_new(stage.runtime, threads, 0);
	frame->data = &branches;
	task = stage_perform(&stage, frame);
	executor_free(branches.other);
	stage_close(&stage);

	CHECK(SEQUENCE(&stage.scenario, task, KINDS_LIFE, CREATED, RESUMED, SUSPENDED, RESUMED,
		       COMPLETED));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, 0), CODE(hops),
		       CODE(calls_hops)));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, SUSPENDED, 0), CODE(hops),
		       CODE(calls_hops)));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, 1), CODE(hops),
		       CODE(calls_hops)));
	CHECK(branches.thread != getpid());
	CHECK_EQ(scenario_thread(&stage.scenario,
				 scenario_nth(&stage.scenario, task, RESUMED, 0)->event.thread)
			 ->tid,
		 branches.thread);
	CHECK_EQ(scenario_thread(&stage.scenario,
				 scenario_nth(&stage.scenario, task, CREATED, 0)->event.thread)
			 ->tid,
		 getpid());
	stage_clear(&stage);
}

/* One thread that all is posted to. */
static void RuntimeAsync_CustomSyncContext_EmitsContextEventsAndCallstack(void)
{
	check_hop(1);
}

/* Any of several. */
static void RuntimeAsync_CustomTaskScheduler_EmitsContextEventsAndCallstack(void)
{
	check_hop(3);
}

/* Frames of a pool: the same memory is a frame of one function, then of another. */
static struct frame pool[3];

static int value_inner(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	YIELD();
	ASYNC_END();
}

static int value_fails(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	FAIL(UNWEAVE_STEP_ERROR);
	ASYNC_END();
}

static int value_middle(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	AWAIT(frame_init(&pool[0], me->i ? value_fails : value_inner));
	ASYNC_END();
}

static int value_outer(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	frame_init(&pool[1], value_middle)->i = me->i;
	AWAIT(&pool[1]);
	ASYNC_END();
}

static int value_catches(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	frame_init(&pool[1], value_middle)->i = 1;
	AWAIT_CATCH(&pool[1]);
	/* At once another call in the memory of the one that failed. */
	AWAIT(frame_init(&pool[0], value_inner));
	ASYNC_END();
}

static uint64_t show_value(struct stage *stage, unweave_go function, uint64_t i)
{
	uint64_t task;

	stage_open(stage, 0, 0);
	frame_init(&pool[2], function)->i = i;
	task = stage_perform(stage, &pool[2]);
	stage_close(stage);
	return task;
}

static void RuntimeAsync_ValueTask_EventSequenceOrder(void)
{
	struct stage stage;
	uint64_t task = show_value(&stage, value_outer, 0);

	CHECK(SEQUENCE(&stage.scenario, task, KINDS_LIFE, CREATED, RESUMED, SUSPENDED, RESUMED,
		       COMPLETED));
	stage_clear(&stage);
}

static void RuntimeAsync_ValueTask_MethodEventsEmitted(void)
{
	struct stage stage;
	uint64_t task = show_value(&stage, value_outer, 0);

	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_FRAME_RESUME), 4);
	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_FRAME_COMPLETE), 3);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

static void RuntimeAsync_ValueTask_CallstackDepthMatchesChainDepth(void)
{
	struct stage stage;
	uint64_t task = show_value(&stage, value_outer, 0);

	for (size_t i = 0; i < 2; i++)
		CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, i), CODE(value_inner),
			       CODE(value_middle), CODE(value_outer)));
	stage_clear(&stage);
}

static void RuntimeAsync_ValueTask_CallstackFramesHaveDistinctMethodIds(void)
{
	struct stage stage;
	uint64_t task = show_value(&stage, value_outer, 0);
	const struct scene *resumed = scenario_nth(&stage.scenario, task, RESUMED, 0);

	CHECK_EQ(resumed->frame_count, 3);
	for (uint32_t i = 1; i < resumed->frame_count; i++)
		CHECK(resumed->frames[i].address != resumed->frames[i - 1].address);
	stage_clear(&stage);
}

static void RuntimeAsync_ValueTask_HandledException_EmitsUnwindAndComplete(void)
{
	struct stage stage;
	uint64_t task = show_value(&stage, value_catches, 0);

	CHECK_EQ(scenario_nth(&stage.scenario, task, UNWEAVE_EVENT_UNWIND, 0)->event.value,
		 2 << 1 | 1);
	CHECK_EQ(scenario_nth(&stage.scenario, task, COMPLETED, 0)->event.value, UNWEAVE_OK);
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, SUSPENDED, 0), CODE(value_inner),
		       CODE(value_catches)));
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

static void RuntimeAsync_ValueTask_UnhandledException_EmitsUnwindAndComplete(void)
{
	struct stage stage;
	uint64_t task = show_value(&stage, value_outer, 1);

	CHECK_EQ(scenario_nth(&stage.scenario, task, UNWEAVE_EVENT_UNWIND, 0)->event.value, 3 << 1);
	CHECK_EQ(scenario_nth(&stage.scenario, task, COMPLETED, 0)->event.value, UNWEAVE_ERROR);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

int main(void)
{
	SCENARIO(RuntimeAsync_WhenAll_TracksAllBranches);
	SCENARIO(RuntimeAsync_WhenAny_TracksAllBranches);
	SCENARIO(RuntimeAsync_CustomSyncContext_EmitsContextEventsAndCallstack);
	SCENARIO(RuntimeAsync_CustomTaskScheduler_EmitsContextEventsAndCallstack);
	SCENARIO(RuntimeAsync_ValueTask_EventSequenceOrder);
	SCENARIO(RuntimeAsync_ValueTask_MethodEventsEmitted);
	SCENARIO(RuntimeAsync_ValueTask_CallstackDepthMatchesChainDepth);
	SCENARIO(RuntimeAsync_ValueTask_CallstackFramesHaveDistinctMethodIds);
	SCENARIO(RuntimeAsync_ValueTask_HandledException_EmitsUnwindAndComplete);
	SCENARIO(RuntimeAsync_ValueTask_UnhandledException_EmitsUnwindAndComplete);
	return check_done();
}
