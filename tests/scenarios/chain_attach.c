/* SPDX-License-Identifier: Apache-2.0 */
/* The chain model: a session that begins, or changes, while tasks run and wait. */
#include "chain_stage.h"

#include <sys/wait.h>
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
	return check_done();
}
