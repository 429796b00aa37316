/* SPDX-License-Identifier: Apache-2.0 */
/* The state-machine model: sessions that begin, change and end in the middle of things. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "machine_checks.h"
#include "machine_load.h"

#define REPLAY UNWEAVE_EVENT_REPLAY
#define RESET UNWEAVE_EVENT_RESET

static int64_t changes_at = -1;

/* The session changes what it records, in the middle of a run. */
static void change_keywords(struct async *me)
{
	if (me->number == changes_at)
		CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORDS_FULL &
					      ~(uint64_t)UNWEAVE_KEYWORD_IDLE),
			 0);
}

static void check_replay(int64_t level)
{
	struct plan plan = {.depth = 3, .innermost = {.yields = 1}, .visit = change_keywords};
	const struct scene *replay;
	struct scenario scenario;
	uint64_t task;

	changes_at = level;
	play(&plan, 0, &scenario);
	task = plan_leaf(&plan);
	replay = scenario_nth(&scenario, task, REPLAY, 0);
	CHECK_EQ(scenario_count(&scenario, 0, REPLAY), 1);
	CHECK_EQ(replay->frame_count, level + 1);
	for (int64_t i = 0; i <= level; i++)
		CHECK(replay->frames[i].address == (uintptr_t)LEVEL_CODE(level - i));
	CHECK(SEQUENCE(&scenario, task, KINDS_LIFE | KIND(REPLAY), CREATE, RESUME, REPLAY,
		       COMPLETE));
	CHECK_EQ(check_nests(&scenario), 0);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* With the chain as it is then: what is done is not in it any more. */
static void StateMachineAsync_ResetContext_ReplaysPendingV1Chain(void)
{
	for (int64_t level = 0; level < 3; level++)
		check_replay(level);
}

/* Runs inside of each other. */
#define NESTED 3

struct nested {
	struct promise gates[NESTED];
	struct async boxes[NESTED];
	uint64_t tasks[NESTED];
};

static struct nested nested;

static int opens_next(struct unweave_link *link, void *context)
{
	struct async *me = async_of(link);
	long at = me - nested.boxes;

	(void)context;
	if (me->step++ == 0 && async_await_promise(me, &nested.gates[at], (int32_t)at + 1))
		return 0;
	nested.tasks[at] = async_task(me);
	if (at + 1 < NESTED)
		promise_settle(&nested.gates[at + 1], UNWEAVE_OK, 0);
	else
		CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORDS_FULL &
					      ~(uint64_t)UNWEAVE_KEYWORD_IDLE),
			 0);
	return async_end(me, UNWEAVE_OK, 0);
}

static void run_nested(struct scenario *ret)
{
	scenario_begin(0);
	for (int i = 0; i < NESTED; i++) {
		promise_init(&nested.gates[i]);
		async_embed(&nested.boxes[i], opens_next, NULL);
		async_start(&nested.boxes[i]);
	}
	promise_settle(&nested.gates[0], UNWEAVE_OK, 0);
	scenario_end(ret);
	CHECK(scenario_is_whole(ret));
}

static void StateMachineAsync_ResetContext_ReplaysMultipleDispatchers(void)
{
	struct scenario scenario;

	run_nested(&scenario);
	CHECK_EQ(scenario_count(&scenario, 0, REPLAY), NESTED);
	for (size_t i = 0; i < NESTED; i++) {
		const struct scene *replay = scenario_nth(&scenario, 0, REPLAY, i);

		CHECK_EQ(replay->event.task, nested.tasks[i]);
		CHECK(STACK_IS(replay, CODE(opens_next)));
		CHECK(STATES_ARE(replay, (int32_t)i + 1));
	}
	scenario_forget(&scenario);
}

static void StateMachineAsync_ResetContext_ReplayResumeCompleteBalance(void)
{
	struct scenario scenario;

	run_nested(&scenario);
	CHECK_EQ(check_nests(&scenario), 0);
	for (size_t i = 0; i < NESTED; i++)
		CHECK(SEQUENCE(&scenario, nested.tasks[i], KINDS_LIFE | KIND(REPLAY), CREATE,
			       RESUME, REPLAY, COMPLETE));
	scenario_forget(&scenario);
}

/* What waits when the session begins is known with all of its chain when it goes on. */
static void a_session_may_begin_while_boxes_wait(void)
{
	struct plan plan = {.depth = 4, .innermost = {.yields = 2}};
	struct scenario scenario;
	struct async *root;

	plan.executor = executor_new(0);
	root = plan_call(&plan);
	executor_step(plan.executor);
	scenario_begin(0);
	executor_free(plan.executor);
	check_plan_end(&plan, root);
	scenario_end(&scenario);
	CHECK(SEQUENCE(&scenario, plan_leaf(&plan), KINDS_LIFE | KINDS_FRAME, RESUME, FRAME_RESUME,
		       FRAME_COMPLETE, FRAME_RESUME, FRAME_COMPLETE, FRAME_RESUME, FRAME_COMPLETE,
		       FRAME_RESUME, FRAME_COMPLETE, COMPLETE));
	CHECK(STACK_IS(scenario_nth(&scenario, 0, RESUME, 0), LEVEL_CODE(3), LEVEL_CODE(2),
		       LEVEL_CODE(1), LEVEL_CODE(0)));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static void begin_session(struct async *me)
{
	if (me->number == changes_at)
		scenario_begin(0);
}

/* The run began unseen; so it is known that its task ended, and its awaiter begins a new run. */
static void a_session_may_begin_while_a_box_runs(void)
{
	struct plan plan = {.depth = 2, .innermost = {.yields = 1}, .visit = begin_session};
	struct scenario scenario;
	struct async *root;

	changes_at = 1;
	plan.executor = executor_new(0);
	root = plan_call(&plan);
	executor_free(plan.executor);
	check_plan_end(&plan, root);
	scenario_end(&scenario);
	CHECK(SEQUENCE(&scenario, plan.tasks[1], KINDS_LIFE, COMPLETE));
	CHECK(SEQUENCE(&scenario, plan.tasks[0], KINDS_LIFE, CREATE, RESUME, COMPLETE));
	CHECK_EQ(check_nests(&scenario), 0);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static struct scenario ended;

static void end_session(struct async *me)
{
	if (me->number == changes_at)
		scenario_end(&ended);
}

/* Whatever goes on after it does so as if nobody had ever looked; and the next session works. */
static void a_session_may_end_while_a_box_runs(void)
{
	struct plan plan = {.depth = 3, .innermost = {.yields = 1}, .visit = end_session};
	struct plan next = {.depth = 3, .innermost = {.yields = 1}};
	struct scenario scenario;
	struct async *root;

	changes_at = 1;
	plan.executor = executor_new(0);
	scenario_begin(0);
	root = plan_call(&plan);
	executor_free(plan.executor);
	check_plan_end(&plan, root);
	CHECK(SEQUENCE(&ended, plan_leaf(&plan), KINDS_LIFE | KINDS_FRAME, CREATE, RESUME,
		       FRAME_RESUME, FRAME_COMPLETE, FRAME_RESUME));
	scenario_fini(&ended);
	plan_fini(&plan);
	play(&next, 0, &scenario);
	CHECK_EQ(check_nests(&scenario), 0);
	CHECK_EQ(scenario_simulated_depth(&scenario, plan_leaf(&next)), 0);
	scenario_forget(&scenario);
	plan_fini(&next);
}

static atomic_bool busy;

static void pause_us(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* Busy, but not so that the disk would be the slowest part. */
static void *keep_busy(void *data)
{
	(void)data;
	while (atomic_load(&busy)) {
		run_load(100);
		pause_us(500);
	}
	return NULL;
}

static void sessions_come_and_go_in_a_busy_program(void)
{
	struct scenario scenario;
	pthread_t thread;

	atomic_store(&busy, true);
	CHECK_EQ(pthread_create(&thread, NULL, keep_busy, NULL), 0);
	for (int i = 0; i < 20; i++) {
		scenario_begin_with(0, UNWEAVE_POLICY_BLOCK, 0);
		pause_us(5000);
		scenario_end(&scenario);
		/* Who waits for room when the session ends loses what it waits with. */
		CHECK(scenario.closed && !scenario.faults && scenario.lost <= 1);
		CHECK_EQ(scenario.lost_outside, 0);
		check_nests(&scenario);
		scenario_fini(&scenario);
	}
	atomic_store(&busy, false);
	pthread_join(thread, NULL);
}

static void keywords_change_a_thousand_times_under_load(void)
{
	struct scenario scenario;
	uint64_t keywords = 1;
	pthread_t thread;

	atomic_store(&busy, true);
	scenario_begin_with(0, UNWEAVE_POLICY_BLOCK, 0);
	CHECK_EQ(pthread_create(&thread, NULL, keep_busy, NULL), 0);
	for (int i = 0; i < 1000; i++) {
		keywords = keywords * 6364136223846793005u + 1442695040888963407u;
		CHECK_EQ(unweave_set_keywords(i % 4 ? keywords & UNWEAVE_KEYWORDS_FULL
						    : UNWEAVE_KEYWORDS_FULL),
			 0);
		pause_us(100);
	}
	atomic_store(&busy, false);
	pthread_join(thread, NULL);
	scenario_end(&scenario);
	CHECK(scenario_is_whole(&scenario));
	CHECK(scenario_count(&scenario, 0, RESET) > 100);
	scenario_fini(&scenario);
}

int main(void)
{
	SCENARIO(StateMachineAsync_ResetContext_ReplaysPendingV1Chain);
	SCENARIO(StateMachineAsync_ResetContext_ReplaysMultipleDispatchers);
	SCENARIO(StateMachineAsync_ResetContext_ReplayResumeCompleteBalance);
	SCENARIO(a_session_may_begin_while_boxes_wait);
	SCENARIO(a_session_may_begin_while_a_box_runs);
	SCENARIO(a_session_may_end_while_a_box_runs);
	SCENARIO(sessions_come_and_go_in_a_busy_program);
	SCENARIO(keywords_change_a_thousand_times_under_load);
	return check_done();
}
