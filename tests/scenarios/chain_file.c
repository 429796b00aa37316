/* SPDX-License-Identifier: Apache-2.0 */
/* The chain model: how events get to the file, and what else is in it. */
#include "chain_stage.h"

#include <time.h>
#include <unistd.h>

#include "trace/format.h"

#define DELIVERY_MS 1500 /* a second, and what a busy machine takes */

static pid_t seen_thread;

static int once(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	seen_thread = gettid();
	ASYNC_END();
}

static int ten_times(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	for (me->i = 0; me->i < 10; me->i++)
		YIELD();
	ASYNC_END();
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Whether the file has it that the task completed, in time, with nobody asking for it. */
static bool is_delivered(uint64_t task)
{
	uint64_t start = now_ms();
	struct scenario scenario;
	bool there;

	do {
		sleep_ms(50);
		scenario_peek(&scenario);
		there = scenario_count(&scenario, task, COMPLETED) == 1;
		scenario_fini(&scenario);
	} while (!there && now_ms() - start < DELIVERY_MS);
	return there;
}

static void RuntimeAsync_EventBufferHeaderFormat(void)
{
	struct stage stage;

	stage_open(&stage, 2, 0);
	for (int i = 0; i < 50; i++)
		stage_perform(&stage, frame_new(ten_times));
	stage_close(&stage);
	/* The reader has checked version, sizes and hashes of every block. */
	CHECK_EQ(stage.scenario.faults, 0);
	CHECK(stage.scenario.blocks.of_kind[BLOCK_EVENTS] >= 2);
	CHECK_EQ(stage.scenario.blocks.event_numbers,
		 stage.scenario.count - stage.scenario.implied);
	CHECK_EQ(stage.scenario.blocks.out_of_order, 0);
	CHECK_EQ(stage.scenario.blocks.backwards, 0);
	CHECK_EQ(stage.scenario.blocks.of_kind[BLOCK_END], 1);
	for (size_t i = 0; i < stage.scenario.count; i++) {
		const struct unweave_event *event = &stage.scenario.scenes[i].event;

		CHECK(event->thread != 0 && event->time != 0);
		CHECK(event->flags & UNWEAVE_EVENT_BEFORE ||
		      scenario_thread(&stage.scenario, event->thread)->tid != 0);
	}
	stage_clear(&stage);
}

static void RuntimeAsync_PeriodicTimerFlush(void)
{
	struct stage stage;

	stage_open(&stage, 0, 0);
	CHECK(is_delivered(stage_perform(&stage, frame_new(once))));
	stage_close(&stage);
	stage_clear(&stage);
}

/* .NET's timer skips threads that are not idle for long enough; here a slow writer is no worse. */
static int now_and_then(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	for (me->i = 0; me->i < 40; me->i++)
		SLEEP_MS(50);
	ASYNC_END();
}

static void a_thread_that_is_never_idle_for_long_is_delivered_too(void)
{
	struct scenario scenario;
	uint64_t start, id;
	struct stage stage;
	struct task *task;
	size_t there;

	stage_open(&stage, 1, 0);
	start = now_ms();
	task = task_begin(stage.executor, frame_new(now_and_then), NULL, 0);
	id = task->chain.head.task;
	do {
		sleep_ms(50);
		scenario_peek(&scenario);
		there = scenario_count(&scenario, id, RESUMED);
		scenario_fini(&scenario);
	} while (there < 3 && now_ms() - start < DELIVERY_MS);
	CHECK(there >= 3);
	CHECK(!task_is_done(task));
	task_cancel(task);
	task_wait(task);
	stage_close(&stage);
	stage_clear(&stage);
}

static void RuntimeAsync_PeriodicTimerFlush_PreservesOwnerThreadId(void)
{
	uint64_t tasks[2];
	struct stage stage;

	stage_open(&stage, 1, 0);
	for (int i = 0; i < 2; i++) {
		tasks[i] = stage_perform(&stage, frame_new(once));
		CHECK(is_delivered(tasks[i]));
	}
	stage_close(&stage);
	CHECK(stage.scenario.blocks.of_kind[BLOCK_EVENTS] >= 4);
	for (int i = 0; i < 2; i++) {
		const struct scene *resumed = scenario_nth(&stage.scenario, tasks[i], RESUMED, 0);

		CHECK_EQ(scenario_thread(&stage.scenario, resumed->event.thread)->tid, seen_thread);
	}
	stage_clear(&stage);
}

static void *perform_once(void *data)
{
	return (void *)(uintptr_t)stage_perform(data, frame_new(once));
}

static void RuntimeAsync_DeadThreadFlush(void)
{
	pthread_t thread;
	struct stage stage;
	void *task = NULL;

	stage_open(&stage, 0, 0);
	CHECK_EQ(pthread_create(&thread, NULL, perform_once, &stage), 0);
	CHECK_EQ(pthread_join(thread, &task), 0);
	CHECK(is_delivered((uintptr_t)task));
	stage_close(&stage);
	for (size_t i = 0; i < stage.scenario.thread_count; i++)
		CHECK_EQ(stage.scenario.threads[i].ended,
			 stage.scenario.threads[i].tid == (uint32_t)seen_thread);
	stage_clear(&stage);
}

static void RuntimeAsync_NoSyncClockEventBeforeInterval(void)
{
	struct scenario before;
	struct stage stage;

	stage_open(&stage, 0, 0);
	for (int i = 0; i < 20; i++) {
		stage_perform(&stage, frame_new(once));
		sleep_ms(20);
	}
	scenario_peek(&before);
	CHECK_EQ(before.blocks.of_kind[BLOCK_CLOCK], 1);
	scenario_fini(&before);
	stage_close(&stage);
	/* One when it begins, one when it ends; the next would be after a minute. */
	CHECK_EQ(stage.scenario.blocks.of_kind[BLOCK_CLOCK], 2);
	stage_clear(&stage);
}

static void RuntimeAsync_ResetAsyncThreadContextEvent(void)
{
	struct stage stage;

	stage_open(&stage, 2, 0);
	for (int i = 0; i < 20; i++)
		stage_perform(&stage, frame_new(ten_times));
	stage_close(&stage);
	/* What a thread says first, once. */
	for (size_t i = 0; i < stage.scenario.thread_count; i++) {
		uint32_t thread = stage.scenario.threads[i].thread;
		size_t events = 0;

		for (size_t k = 0; k < stage.scenario.count; k++) {
			const struct unweave_event *event = &stage.scenario.scenes[k].event;

			if (event->thread == thread)
				CHECK_EQ(event->kind == UNWEAVE_EVENT_RESET, events++ == 0);
		}
		CHECK(events > 1);
	}
	stage_clear(&stage);
}

static void RuntimeAsync_MetadataEventEmittedOnEnable(void)
{
	struct scenario at_once;
	struct stage stage;

	stage_open(&stage, 0, UNWEAVE_KEYWORDS_TASKS);
	CHECK_EQ(unweave_flush(), 0);
	scenario_peek(&at_once);
	CHECK_EQ(at_once.blocks.of_kind[BLOCK_SESSION], 1);
	CHECK_EQ(at_once.keywords, UNWEAVE_KEYWORDS_TASKS);
	CHECK_EQ(at_once.pid, getpid());
	CHECK(at_once.ticks_per_s > 0);
	CHECK(!at_once.closed);
	scenario_fini(&at_once);
	stage_close(&stage);
	CHECK_EQ(stage.scenario.keywords, UNWEAVE_KEYWORDS_TASKS);
	stage_clear(&stage);
}

static int blocks_its_thread(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	pthread_barrier_wait(me->data);
	ASYNC_END();
}

static void RuntimeAsync_MetadataEventEmittedOnceAcrossThreads(void)
{
	struct task *tasks[8];
	pthread_barrier_t barrier;
	struct stage stage;

	pthread_barrier_init(&barrier, NULL, 8);
	stage_open(&stage, 8, 0);
	for (int i = 0; i < 8; i++) {
		struct frame *frame = frame_new(blocks_its_thread);

		frame->data = &barrier;
		tasks[i] = task_spawn(stage.executor, frame, NULL, 0);
	}
	for (int i = 0; i < 8; i++)
		CHECK_EQ(task_wait(tasks[i]), UNWEAVE_STEP_DONE);
	stage_close(&stage);
	CHECK_EQ(stage.scenario.blocks.of_kind[BLOCK_SESSION], 1);
	/* And this one, which made the tasks. */
	CHECK_EQ(stage.scenario.thread_count, 8 + 1);
	CHECK_EQ(scenario_count(&stage.scenario, 0, UNWEAVE_EVENT_RESET), 8 + 1);
	stage_clear(&stage);
	pthread_barrier_destroy(&barrier);
}

int main(void)
{
	SCENARIO(RuntimeAsync_EventBufferHeaderFormat);
	SCENARIO(RuntimeAsync_PeriodicTimerFlush);
	SCENARIO(RuntimeAsync_PeriodicTimerFlush_PreservesOwnerThreadId);
	SCENARIO(RuntimeAsync_DeadThreadFlush);
	SCENARIO(RuntimeAsync_NoSyncClockEventBeforeInterval);
	SCENARIO(RuntimeAsync_ResetAsyncThreadContextEvent);
	SCENARIO(RuntimeAsync_MetadataEventEmittedOnEnable);
	SCENARIO(RuntimeAsync_MetadataEventEmittedOnceAcrossThreads);
	RUN(a_thread_that_is_never_idle_for_long_is_delivered_too);
	return check_done();
}
