/* SPDX-License-Identifier: Apache-2.0 */
/* The chain model: a session that begins, or changes, while tasks run and wait. */
#include "chain_stage.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unweave/machine.h"

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#define UNDER_TSAN __has_feature(thread_sanitizer)
#else
#define UNDER_TSAN 0
#endif

#define MOST_EVENTS (UNWEAVE_KEYWORDS_FULL & ~UNWEAVE_KEYWORDS_BOTH(UNWEAVE_KEYWORD_IDLE))

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* The session changes in the middle of a step, which then waits once more. */
static int changes(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	CHECK_EQ(unweave_set_keywords(MOST_EVENTS), 0);
	YIELD();
	ASYNC_END();
}

CALLS(above_changes, changes)
CALLS(top_changes, above_changes)

static void RuntimeAsync_ResetContext_ReplaysPendingV2Chain(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, top_changes);

	CHECK(SEQUENCE(&stage.scenario, task, KINDS_LIFE | KIND(REPLAY), CREATED, RESUMED,
		       UNWEAVE_EVENT_REPLAY, SUSPENDED, RESUMED, COMPLETED));
	/* With the function that runs: .NET's replay begins with the one that waits for it. */
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, UNWEAVE_EVENT_REPLAY, 0), CODE(changes),
		       CODE(above_changes), CODE(top_changes)));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, SUSPENDED, 0), CODE(changes),
		       CODE(above_changes), CODE(top_changes)));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, 1), CODE(changes),
		       CODE(above_changes), CODE(top_changes)));
	CHECK_EQ(scenario_nth(&stage.scenario, 0, UNWEAVE_EVENT_RESET, 1)->event.value,
		 UNWEAVE_RESET_CONFIG);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	CHECK(scenario_nests(&stage.scenario));
	stage_clear(&stage);
}

static int once(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	ASYNC_END();
}

static int changes_after_call(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	AWAIT(frame_new(once));
	CHECK_EQ(unweave_set_keywords(MOST_EVENTS), 0);
	ASYNC_END();
}

CALLS(above_after_call, changes_after_call)

/* In the middle of a chain, where what was done is not shown any more. */
static void a_replay_in_the_middle_of_a_chain_begins_with_what_runs(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, above_after_call);

	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, UNWEAVE_EVENT_REPLAY, 0),
		       CODE(changes_after_call), CODE(above_after_call)));
	CHECK(SEQUENCE(&stage.scenario, task, KINDS_FRAME | KIND(REPLAY),
		       UNWEAVE_EVENT_FRAME_RESUME, UNWEAVE_EVENT_FRAME_COMPLETE,
		       UNWEAVE_EVENT_FRAME_RESUME, UNWEAVE_EVENT_REPLAY,
		       UNWEAVE_EVENT_FRAME_COMPLETE, UNWEAVE_EVENT_FRAME_RESUME,
		       UNWEAVE_EVENT_FRAME_COMPLETE));
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

struct nested {
	struct executor *inner;
	struct task *task;
	struct unweave_box box;
	struct unweave_chain chain;
	struct frame frame;
};

/* Runs another executor inside of its own run. */
static int runs_inner(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	executor_pump(((struct nested *)me->data)->inner);
	YIELD();
	ASYNC_END();
}

static void RuntimeAsync_ResetContext_ReplaysMultipleDispatchers(void)
{
	struct nested nested = {0};
	struct frame *frame = frame_new(runs_inner);
	const struct scene *replayed;
	uint64_t outer, inner;
	struct stage stage;

	stage_open(&stage, 0, 0);
	nested.inner = executor_new(stage.runtime, 0, 0);
	nested.task = task_begin(nested.inner, frame_new(top_changes), NULL, 0);
	inner = nested.task->chain.head.task;
	frame->data = &nested;
	outer = stage_perform(&stage, frame);
	CHECK(task_is_done(nested.task));
	executor_free(nested.inner);
	stage_close(&stage);

	/* Outermost first, each with its own chain. */
	CHECK_EQ(scenario_count(&stage.scenario, 0, UNWEAVE_EVENT_REPLAY), 2);
	replayed = scenario_nth(&stage.scenario, 0, UNWEAVE_EVENT_REPLAY, 0);
	CHECK_EQ(replayed->event.task, outer);
	CHECK(STACK_IS(replayed, CODE(runs_inner)));
	replayed = scenario_nth(&stage.scenario, 0, UNWEAVE_EVENT_REPLAY, 1);
	CHECK_EQ(replayed->event.task, inner);
	CHECK(STACK_IS(replayed, CODE(changes), CODE(above_changes), CODE(top_changes)));
	CHECK(scenario_nests(&stage.scenario));
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, inner), 0);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, outer), 0);
	stage_clear(&stage);
}

static int changes_often(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	for (me->i = 0; me->i < 20; me->i++) {
		YIELD();
		CHECK_EQ(unweave_set_keywords(me->i % 2 ? UNWEAVE_KEYWORDS_FULL : MOST_EVENTS), 0);
	}
	ASYNC_END();
}

CALLS(above_often, changes_often)

static void RuntimeAsync_ResetContext_ReplayResumeCompleteBalance(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, above_often);

	/* Each run is resumed once, replayed once, and ends once. */
	CHECK_EQ(scenario_count(&stage.scenario, task, RESUMED), 20);
	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_REPLAY), 20);
	CHECK_EQ(scenario_count(&stage.scenario, task, SUSPENDED), 19);
	CHECK_EQ(scenario_count(&stage.scenario, task, COMPLETED), 1);
	CHECK(scenario_nests(&stage.scenario));
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

static int innermost_changes(struct unweave_link *link, void *context)
{
	(void)link, (void)context;
	CHECK_EQ(unweave_set_keywords(MOST_EVENTS), 0);
	return UNWEAVE_STEP_DONE;
}

/* A state machine that runs a chain to its end. */
static int box_runs_chain(struct unweave_link *link, void *context)
{
	struct unweave_box *box = (struct unweave_box *)link;
	struct nested *nested = (struct nested *)((char *)box - offsetof(struct nested, box));

	(void)context;
	unweave_chain_init(&nested->chain);
	unweave_chain_push(&nested->chain, &nested->frame.link);
	unweave_chain_start(&nested->chain, NULL, UNWEAVE_PARENT_CURRENT);
	CHECK_EQ(unweave_chain_run(&nested->chain, 0), UNWEAVE_STEP_DONE);
	unweave_box_complete(box, UNWEAVE_OK);
	return 0;
}

static int runs_box(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	unweave_box_run(&((struct nested *)me->data)->box, 0);
	ASYNC_END();
}

CALLS(unused_above, once)

static void RuntimeAsync_ResetContext_ReplaysMixedV1V2ChainInAddressOrder(void)
{
	struct nested nested = {0};
	struct frame *frame = frame_new(runs_box);
	struct stage stage;
	uint64_t outer;

	unweave_box_init(&nested.box, box_runs_chain, NULL, NULL);
	frame_init(&nested.frame, innermost_changes);
	frame->data = &nested;
	stage_open(&stage, 0, 0);
	CHECK(stage_perform(&stage, frame_new(unused_above)) != 0);
	outer = stage_perform(&stage, frame);
	stage_close(&stage);

	CHECK_EQ(scenario_count(&stage.scenario, 0, UNWEAVE_EVENT_REPLAY), 3);
	for (size_t i = 0; i < 3; i++) {
		uint64_t tasks[] = {outer, nested.box.head.task, nested.chain.head.task};
		const void *codes[] = {CODE(runs_box), CODE(box_runs_chain),
				       CODE(innermost_changes)};
		const struct scene *replayed =
			scenario_nth(&stage.scenario, 0, UNWEAVE_EVENT_REPLAY, i);

		CHECK_EQ(replayed->event.task, tasks[i]);
		CHECK(STACK_IS(replayed, codes[i]));
	}
	CHECK(scenario_nests(&stage.scenario));
	stage_clear(&stage);
}

/* One recording ends and the next begins, inside of one step. */
static int outlives(struct unweave_link *link, void *context)
{
	struct scenario *first = ((struct frame *)link)->data;

	ASYNC_BEGIN(link, context);
	YIELD();
	scenario_end(first);
	scenario_begin(0);
	ASYNC_END();
}

static int above_outlives(struct unweave_link *link, void *context)
{
	struct frame *callee;

	ASYNC_BEGIN(link, context);
	callee = frame_new(outlives);
	callee->data = me->data;
	AWAIT(callee);
	ASYNC_END();
}

static void a_run_that_outlives_a_session_is_replayed_in_the_next(void)
{
	struct frame *frame = frame_new(above_outlives);
	struct scenario first = {0};
	struct stage stage;
	uint64_t task;

	frame->data = &first;
	stage_open(&stage, 0, 0);
	task = stage_perform(&stage, frame);
	stage_close(&stage);
	CHECK(SEQUENCE(&first, task, KINDS_LIFE, CREATED, RESUMED));
	CHECK(SEQUENCE(&stage.scenario, task, KINDS_LIFE | KIND(REPLAY), UNWEAVE_EVENT_REPLAY,
		       COMPLETED));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, UNWEAVE_EVENT_REPLAY, 0), CODE(outlives),
		       CODE(above_outlives)));
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	scenario_forget(&first);
	stage_clear(&stage);
}

static pthread_barrier_t barrier;

static void *call_hooks(void *data)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 10; i++)
		unweave_thread_idle();
	return data;
}

static void ignore(const struct unweave_event *event, void *data)
{
	(void)event, (void)data;
}

/* In a child, which has no arena yet. Returns what unweave_start() did. */
static int start_among_first_hooks(void)
{
	struct unweave_options options;
	pthread_t threads[4];
	int r;

	unweave_options_init(&options);
	options.listener = ignore;
	pthread_barrier_init(&barrier, NULL, 5);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, call_hooks, NULL);
	pthread_barrier_wait(&barrier);
	r = unweave_start(&options);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return r;
}

static void a_session_may_begin_while_other_threads_call_the_first_hooks(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		int status = -1;

		if (child == 0)
			_exit(start_among_first_hooks() ? 1 : 0);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
}

static int other_once(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	ASYNC_END();
}

/* Its chain changes while no stacks are recorded, but runs are. */
static int changes_unseen(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	AWAIT(frame_new(once));
	CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORDS_TASKS), 0);
	AWAIT(frame_new(other_once));
	CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORDS_FULL), 0);
	AWAIT(frame_new(other_once));
	ASYNC_END();
}

static void a_chain_that_changed_unseen_is_not_shown_as_it_was(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, changes_unseen);

	CHECK(SEQUENCE(&stage.scenario, task, KINDS_LIFE | KIND(REPLAY), CREATED, RESUMED,
		       UNWEAVE_EVENT_REPLAY, SUSPENDED, RESUMED, UNWEAVE_EVENT_REPLAY, SUSPENDED,
		       RESUMED, COMPLETED));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, 0), CODE(once),
		       CODE(changes_unseen)));
	CHECK_EQ(scenario_nth(&stage.scenario, task, UNWEAVE_EVENT_REPLAY, 0)->frame_count, 0);
	CHECK_EQ(scenario_nth(&stage.scenario, task, SUSPENDED, 0)->frame_count, 0);
	CHECK_EQ(scenario_nth(&stage.scenario, task, RESUMED, 1)->frame_count, 0);
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, UNWEAVE_EVENT_REPLAY, 1),
		       CODE(changes_unseen)));
	for (size_t i = 1; i < 3; i++)
		CHECK(STACK_IS(scenario_nth(&stage.scenario, task, i == 1 ? SUSPENDED : RESUMED, i),
			       CODE(other_once), CODE(changes_unseen)));
	stage_clear(&stage);
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
	/*
	 * First, while there is one thread to fork. Hooks find the arena through an address,
	 * which orders the two loads; ThreadSanitizer does not know such an order.
	 */
	if (!UNDER_TSAN)
		RUN(a_session_may_begin_while_other_threads_call_the_first_hooks);
	SCENARIO(RuntimeAsync_ResetContext_ReplaysPendingV2Chain);
	SCENARIO(RuntimeAsync_ResetContext_ReplaysMultipleDispatchers);
	SCENARIO(RuntimeAsync_ResetContext_ReplayResumeCompleteBalance);
	SCENARIO(RuntimeAsync_ResetContext_ReplaysMixedV1V2ChainInAddressOrder);
	RUN(a_replay_in_the_middle_of_a_chain_begins_with_what_runs);
	RUN(a_run_that_outlives_a_session_is_replayed_in_the_next);
	RUN(a_chain_that_changed_unseen_is_not_shown_as_it_was);
	RUN(attaching_in_the_middle_of_everything_shows_whole_chains);
	RUN(keywords_changed_1000_times_under_load_leave_no_wrong_chain_or_nest);
	RUN(keywords_that_leave_runs_out_change_1000_times_under_load);
	RUN(where_events_are_lost_no_chain_is_made_up);
	return check_done();
}
