/* SPDX-License-Identifier: Apache-2.0 */
/* The chain model: sessions that begin, change and lose events while many tasks run. */
#include "chain_stage.h"

#include <stdatomic.h>
#include <time.h>

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static atomic_bool quits;

static int turns(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	/* A while each, or two threads fill the buffers faster than they are drained. */
	if (me->i % 2)
		SLEEP_MS(1);
	else
		YIELD();
	ASYNC_END();
}

static int loops(struct unweave_link *link, void *context)
{
	struct frame *callee;

	ASYNC_BEGIN(link, context);
	while (!atomic_load(&quits)) {
		callee = frame_new(turns);
		callee->i = me->i++;
		AWAIT(callee);
	}
	ASYNC_END();
}

CALLS(above_loops, loops)

static int sleeps(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	SLEEP_MS(150);
	ASYNC_END();
}

CALLS(above_sleeps, sleeps)

/* In one step, from before a session begins until it is well under way. */
static int long_step(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	while (!atomic_load(&quits))
		sleep_ms(1);
	ASYNC_END();
}

CALLS(above_long_step, long_step)

#define LOOPS 6

static void attaching_in_the_middle_of_everything_shows_whole_chains(void)
{
	struct task *tasks[LOOPS], *sleeper, *runner;
	const struct scene *resumed;
	struct stage stage;

	atomic_store(&quits, false);
	stage_set(&stage, 4);
	for (int i = 0; i < LOOPS; i++)
		tasks[i] = task_spawn(stage.executor, frame_new(above_loops), NULL, 0);
	sleeper = task_begin(stage.executor, frame_new(above_sleeps), NULL, 0);
	runner = task_begin(stage.executor, frame_new(above_long_step), NULL, 0);
	sleep_ms(20);
	scenario_begin(0);
	sleep_ms(60);
	atomic_store(&quits, true);
	for (int i = 0; i < LOOPS; i++)
		CHECK_EQ(task_wait(tasks[i]), UNWEAVE_STEP_DONE);
	CHECK_EQ(task_wait(sleeper), UNWEAVE_STEP_DONE);
	CHECK_EQ(task_wait(runner), UNWEAVE_STEP_DONE);
	stage_close(&stage);

	CHECK(scenario_nests(&stage.scenario));
	CHECK_EQ(scenario_count(&stage.scenario, 0, CREATED), 0);
	for (int i = 0; i < LOOPS; i++) {
		uint64_t task = tasks[i]->chain.head.task;
		size_t count = scenario_count(&stage.scenario, task, RESUMED);

		CHECK(count > 2);
		for (size_t k = 0; k < count; k++) {
			resumed = scenario_nth(&stage.scenario, task, RESUMED, k);
			/* A run of which the first function ran before is resumed after that. */
			CHECK(STACK_IS(resumed, CODE(turns), CODE(loops), CODE(above_loops)) ||
			      (k == 0 && STACK_IS(resumed, CODE(loops), CODE(above_loops))));
		}
		CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	}
	/* It waited when the session began, and all is known when it goes on. */
	CHECK(SEQUENCE(&stage.scenario, sleeper->chain.head.task, KINDS_LIFE, RESUMED, COMPLETED));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, sleeper->chain.head.task, RESUMED, 0),
		       CODE(sleeps), CODE(above_sleeps)));
	/* Its step began unseen; what comes after it is seen. */
	CHECK(SEQUENCE(&stage.scenario, runner->chain.head.task, KINDS_LIFE, RESUMED, COMPLETED));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, runner->chain.head.task, RESUMED, 0),
		       CODE(above_long_step)));
	stage_clear(&stage);
}

/*
 * Whether it is a loop's chain, at any time. Right after a change, a thread that was
 * inside a hook may say that frames are left out; what it does say must be right.
 */
static bool is_loops_chain(const struct scene *scene)
{
	const void *const chain[] = {CODE(turns), CODE(loops), CODE(above_loops)};
	uint64_t depth = scene_depth(scene);

	if (depth > 3)
		return false;
	for (uint32_t i = 0, at = 3 - (uint32_t)depth; i < scene->frame_count; i++) {
		if (scene->frames[i].kind == UNWEAVE_FRAME_OMITTED)
			return i + 1 == scene->frame_count;
		if (scene->frames[i].address != (uintptr_t)chain[at++])
			return false;
	}
	return true;
}

#define CHANGES 1000

static void keywords_changed_1000_times_under_load_leave_no_wrong_chain_or_nest(void)
{
	static const uint64_t keywords[] = {
		UNWEAVE_KEYWORDS_FULL,
		UNWEAVE_KEYWORDS_TASKS,
		UNWEAVE_KEYWORDS_TASKS | UNWEAVE_KEYWORD_RESUME_STACK,
		UNWEAVE_KEYWORDS_TASKS | UNWEAVE_KEYWORD_SUSPEND_STACK,
		UNWEAVE_KEYWORDS_BOTH(UNWEAVE_KEYWORD_RESUME | UNWEAVE_KEYWORD_SUSPEND |
				      UNWEAVE_KEYWORD_COMPLETE),
	};
	struct task *tasks[LOOPS];
	struct stage stage;
	size_t wrong = 0;

	atomic_store(&quits, false);
	stage_open(&stage, 3, 0);
	for (int i = 0; i < LOOPS; i++)
		tasks[i] = task_spawn(stage.executor, frame_new(above_loops), NULL, 0);
	for (int i = 0; i < CHANGES; i++)
		CHECK_EQ(unweave_set_keywords(keywords[i % 5]), 0);
	CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORDS_FULL), 0);
	atomic_store(&quits, true);
	for (int i = 0; i < LOOPS; i++)
		CHECK_EQ(task_wait(tasks[i]), UNWEAVE_STEP_DONE);
	stage_close(&stage);

	CHECK(scenario_nests(&stage.scenario));
	CHECK_EQ(scenario_count(&stage.scenario, 0, COMPLETED), LOOPS);
	CHECK_EQ(stage.scenario.blocks.of_kind[1 /* SESSION */], CHANGES + 2);
	CHECK(scenario_count(&stage.scenario, 0, UNWEAVE_EVENT_RESET) > 10);
	for (size_t i = 0; i < stage.scenario.count; i++)
		wrong += !is_loops_chain(&stage.scenario.scenes[i]);
	CHECK_EQ(wrong, 0);
	stage_clear(&stage);
}

static void keywords_that_leave_runs_out_change_1000_times_under_load(void)
{
	static const uint64_t keywords[] = {
		UNWEAVE_KEYWORD_WAKE,           UNWEAVE_KEYWORDS_FULL,
		UNWEAVE_KEYWORD_RESUME_STACK,   UNWEAVE_KEYWORD_SUSPEND,
		UNWEAVE_KEYWORD_FRAME_COMPLETE, UNWEAVE_KEYWORDS_TASKS,
	};
	struct task *tasks[LOOPS];
	struct stage stage;
	size_t wrong = 0;

	atomic_store(&quits, false);
	stage_open(&stage, 3, 0);
	for (int i = 0; i < LOOPS; i++)
		tasks[i] = task_spawn(stage.executor, frame_new(above_loops), NULL, 0);
	for (int i = 0; i < CHANGES; i++)
		CHECK_EQ(unweave_set_keywords(keywords[i % 6]), 0);
	CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORDS_FULL), 0);
	sleep_ms(20);
	atomic_store(&quits, true);
	for (int i = 0; i < LOOPS; i++)
		CHECK_EQ(task_wait(tasks[i]), UNWEAVE_STEP_DONE);
	stage_close(&stage);
	/* After the last change all is right again, whatever was left out before. */
	for (int i = 0; i < LOOPS; i++) {
		uint64_t task = tasks[i]->chain.head.task;
		size_t count = scenario_count(&stage.scenario, task, RESUMED);
		const struct scene *last = scenario_nth(&stage.scenario, task, RESUMED, count - 1);

		CHECK(STACK_IS(last, CODE(turns), CODE(loops), CODE(above_loops)));
		CHECK_EQ(scenario_count(&stage.scenario, task, COMPLETED), 1);
	}
	for (size_t i = 0; i < stage.scenario.count; i++)
		wrong += !is_loops_chain(&stage.scenario.scenes[i]);
	CHECK_EQ(wrong, 0);
	stage_clear(&stage);
}

/* As fast as it goes, through buffers that hold next to nothing. The states say which turn it is.
 */
static int hurries(struct unweave_link *link, void *context)
{
	struct frame *callee;

	ASYNC_BEGIN(link, context);
	for (me->i = 1; me->i < 20000; me->i++) {
		callee = frame_new(turns);
		callee->link.state = me->link.state = (int32_t)me->i;
		AWAIT(callee);
	}
	ASYNC_END();
}

CALLS(above_hurries, hurries)

/* Whether all that it shows is of one turn, and of a later one than `*turn` if it is resumed. */
static bool is_hurry(const struct scene *scene, int32_t *turn)
{
	const void *const chain[] = {CODE(turns), CODE(hurries), CODE(above_hurries)};
	uint32_t at = scene->frame_count && scene->frames[0].address == (uintptr_t)turns ? 0 : 2;
	int32_t now = scene->frame_count ? scene->frames[0].state : 0;

	for (uint32_t i = 0; i < scene->frame_count; i++, at++) {
		const struct unweave_frame *frame = &scene->frames[i];

		/* Nothing is known further out, perhaps not even how much. */
		if (frame->kind == UNWEAVE_FRAME_OMITTED)
			break;
		if (at > 2 || frame->address != (uintptr_t)chain[at] ||
		    frame->state != (at < 2 ? now : 0))
			return false;
	}
	if (scene->event.kind != UNWEAVE_EVENT_RESUME || !now)
		return true;
	if (now <= *turn)
		return false;
	*turn = now;
	return true;
}

static void check_losses(enum unweave_policy policy)
{
	struct task *tasks[LOOPS];
	size_t wrong = 0, turns_seen = 0;
	struct stage stage;

	stage_set(&stage, 2);
	scenario_begin_with(0, policy, 64 << 10);
	for (int i = 0; i < LOOPS; i++)
		tasks[i] = task_spawn(stage.executor, frame_new(above_hurries), NULL, 0);
	for (int i = 0; i < LOOPS; i++)
		while (!task_is_done(tasks[i])) {
			sleep_ms(1);
			CHECK_EQ(unweave_flush(), 0);
		}
	stage.executor = executor_free(stage.executor);
	scenario_end(&stage.scenario);
	CHECK(stage.scenario.closed && !stage.scenario.faults);
	CHECK(stage.scenario.lost > 0);
	for (int i = 0; i < LOOPS; i++) {
		int32_t turn = 0;

		for (size_t k = 0; k < stage.scenario.count; k++)
			if (stage.scenario.scenes[k].event.task == tasks[i]->chain.head.task)
				wrong += !is_hurry(&stage.scenario.scenes[k], &turn);
		turns_seen += turn > 0;
	}
	CHECK(turns_seen > 0);
	CHECK_EQ(wrong, 0);
	stage_clear(&stage);
}

static void where_events_are_lost_no_chain_is_made_up(void)
{
	check_losses(UNWEAVE_POLICY_DROP);
	check_losses(UNWEAVE_POLICY_OVERWRITE);
}

int main(void)
{
	RUN(attaching_in_the_middle_of_everything_shows_whole_chains);
	RUN(keywords_changed_1000_times_under_load_leave_no_wrong_chain_or_nest);
	RUN(keywords_that_leave_runs_out_change_1000_times_under_load);
	RUN(where_events_are_lost_no_chain_is_made_up);
	return check_done();
}
