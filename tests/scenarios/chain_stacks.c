/* SPDX-License-Identifier: Apache-2.0 */
/* The chain model: which chain a reader sees at which event. */
#include "chain_stage.h"

#include <stdlib.h>

static int twice(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	YIELD();
	ASYNC_END();
}

CALLS(level_2, twice)
CALLS(level_3, level_2)
CALLS(level_4, level_3)
CALLS(level_5, level_4)

static void RuntimeAsync_CreateCallstackDepthMatchesChain(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, level_3);

	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, CREATED, 0), CODE(twice), CODE(level_2),
		       CODE(level_3)));
	stage_clear(&stage);
}

static void RuntimeAsync_SuspendAsyncCallstackEmittedOnAwait(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, twice);

	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, SUSPENDED, 0), CODE(twice)));
	stage_clear(&stage);
}

static void RuntimeAsync_SuspendCallstackDepthMatchesChain(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, level_4);

	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, SUSPENDED, 0), CODE(twice),
		       CODE(level_2), CODE(level_3), CODE(level_4)));
	stage_clear(&stage);
}

static void RuntimeAsync_SuspendCallstackPrecedesComplete(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, level_3);
	const struct scene *suspended = scenario_nth(&stage.scenario, task, SUSPENDED, 0);
	const struct scene *completed = scenario_nth(&stage.scenario, task, COMPLETED, 0);

	CHECK_EQ(suspended->frame_count, 3);
	CHECK(scenario_place(&stage.scenario, suspended) <
	      scenario_place(&stage.scenario, completed));
	stage_clear(&stage);
}

static int waits_then_calls(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	AWAIT(frame_new(level_2));
	ASYNC_END();
}

static void RuntimeAsync_SuspendCallstackDeeperThanInitialResume(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, waits_then_calls);

	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, 0), CODE(waits_then_calls)));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, SUSPENDED, 0), CODE(twice),
		       CODE(level_2), CODE(waits_then_calls)));
	CHECK(scene_same_stack(scenario_nth(&stage.scenario, task, SUSPENDED, 0),
			       scenario_nth(&stage.scenario, task, RESUMED, 1)));
	stage_clear(&stage);
}

static void RuntimeAsync_CreateCallstackPrecedesResumeCallstack(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, level_2);
	const struct scene *created = scenario_nth(&stage.scenario, task, CREATED, 0);
	const struct scene *resumed = scenario_nth(&stage.scenario, task, RESUMED, 0);

	CHECK(created->frame_count > 0 && resumed->frame_count > 0);
	CHECK(scenario_place(&stage.scenario, created) < scenario_place(&stage.scenario, resumed));
	CHECK(created->event.time <= resumed->event.time);
	stage_clear(&stage);
}

static void RuntimeAsync_CreateAndFirstResumeCallstacksMatch(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, level_5);
	const struct scene *created = scenario_nth(&stage.scenario, task, CREATED, 0);

	CHECK_EQ(created->frame_count, 5);
	CHECK(scene_same_stack(created, scenario_nth(&stage.scenario, task, RESUMED, 0)));
	stage_clear(&stage);
}

static void RuntimeAsync_CallstackEmittedOnResume(void)
{
	struct stage stage;
	/* Only here: nothing was said of the chain before. */
	uint64_t task =
		stage_show(&stage, UNWEAVE_KEYWORD_RESUME | UNWEAVE_KEYWORD_RESUME_STACK, level_2);

	CHECK_EQ(scenario_count(&stage.scenario, task, RESUMED), 2);
	for (size_t i = 0; i < 2; i++)
		CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, i), CODE(twice),
			       CODE(level_2)));
	stage_clear(&stage);
}

static void RuntimeAsync_CallstackDepthMatchesChain(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, level_3);

	for (size_t i = 0; i < 2; i++)
		CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, i), CODE(twice),
			       CODE(level_2), CODE(level_3)));
	stage_clear(&stage);
}

static int once(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	ASYNC_END();
}

CALLS(five_2, once)
CALLS(five_3, five_2)
CALLS(five_4, five_3)
CALLS(five_5, five_4)

static void RuntimeAsync_MethodEventCountMatchesChainDepth(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, five_5);

	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_FRAME_RESUME), 5);
	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_FRAME_COMPLETE), 5);
	stage_clear(&stage);
}

static void RuntimeAsync_CallstackFramesHaveDistinctMethodIds(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, five_5);
	const struct scene *resumed = scenario_nth(&stage.scenario, task, RESUMED, 0);

	CHECK_EQ(resumed->frame_count, 5);
	for (uint32_t i = 0; i < resumed->frame_count; i++)
		for (uint32_t k = 0; k < i; k++)
			CHECK(resumed->frames[i].address != resumed->frames[k].address);
	stage_clear(&stage);
}

static int shrinks_1(struct unweave_link *link, void *context)
{
	ASYNC_BEGIN(link, context);
	YIELD();
	ASYNC_END();
}

#define SHRINKS(name, callee)                                                                      \
	static int name(struct unweave_link *link, void *context)                                  \
	{                                                                                          \
		ASYNC_BEGIN(link, context);                                                        \
		AWAIT(frame_new(callee));                                                          \
		me->at = 1;                                                                        \
		task_yield(task);                                                                  \
		return frame_wait(me, task);                                                       \
	case 1:;                                                                                   \
		ASYNC_END();                                                                       \
	}

SHRINKS(shrinks_2, shrinks_1)
SHRINKS(shrinks_3, shrinks_2)
SHRINKS(shrinks_4, shrinks_3)

static void RuntimeAsync_YieldAtEachLevel_CallstackShrinks(void)
{
	struct stage stage;
	uint64_t task = stage_show(&stage, 0, shrinks_4);

	CHECK_EQ(scenario_count(&stage.scenario, task, RESUMED), 4);
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, 0), CODE(shrinks_1),
		       CODE(shrinks_2), CODE(shrinks_3), CODE(shrinks_4)));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, 1), CODE(shrinks_2),
		       CODE(shrinks_3), CODE(shrinks_4)));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, 2), CODE(shrinks_3),
		       CODE(shrinks_4)));
	CHECK(STACK_IS(scenario_nth(&stage.scenario, task, RESUMED, 3), CODE(shrinks_4)));
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
}

/* What the frames of a deep chain show: one address each, innermost first. */
static uint64_t *codes;

/* Calls itself `i` times, then waits `k` times. */
static int deep(struct unweave_link *link, void *context)
{
	struct frame *callee;

	ASYNC_BEGIN(link, context);
	me->link.code = (const void *)(uintptr_t)codes[me->i];
	if (me->i) {
		callee = frame_new(deep);
		callee->i = me->i - 1;
		callee->k = me->k;
		AWAIT(callee);
	} else {
		for (; me->k; me->k--)
			YIELD();
	}
	ASYNC_END();
}

static uint64_t perform_deep(struct stage *stage, uint64_t depth, size_t waits)
{
	struct frame *frame = frame_new(deep);

	frame->i = depth - 1;
	frame->k = waits;
	return stage_perform(stage, frame);
}

static bool shows_codes(const struct scene *scene, uint32_t depth)
{
	if (scene->frame_count != depth)
		return false;
	for (uint32_t i = 0; i < depth; i++)
		if (scene->frames[i].address != codes[i] ||
		    scene->frames[i].kind != UNWEAVE_FRAME_CODE)
			return false;
	return true;
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void make_codes(uint32_t count)
{
	codes = calloc(count, sizeof(*codes));
	for (uint32_t i = 0; i < count; i++)
		codes[i] = random_next() | 1;
}

static void RuntimeAsync_CallstackNativeIPDeltaRoundtrip(void)
{
	static uint64_t hard[] = {
		0x401000, 0x400fff,       0x401001,          1, UINT64_MAX, 2, 0x7fff00000000,
		0x400000, 0x7ffff7ff0000, UINT64_C(1) << 63, 3, 0x401000,
	};
	const uint32_t count = sizeof(hard) / sizeof(hard[0]);
	struct stage stage;
	uint64_t task;

	codes = hard;
	stage_open(&stage, 0, 0);
	task = perform_deep(&stage, count, 2);
	stage_close(&stage);
	CHECK(shows_codes(scenario_nth(&stage.scenario, task, CREATED, 0), count));
	CHECK(shows_codes(scenario_nth(&stage.scenario, task, RESUMED, 0), count));
	CHECK(shows_codes(scenario_nth(&stage.scenario, task, SUSPENDED, 0), count));
	stage_clear(&stage);
}

#define STACKS 1200
#define STACK_DEPTH 120
#define STACK_CODES 20000

/* Chains that have nothing in common, so that they fill several blocks. */
static void RuntimeAsync_CallstackStressWithVaryingDepths(void)
{
	uint32_t depths[STACKS];
	uint64_t tasks[STACKS];
	uint64_t *pool, *shown[STACKS];
	struct stage stage;

	make_codes(STACK_CODES);
	pool = codes;
	stage_open(&stage, 0, 0);
	for (int i = 0; i < STACKS; i++) {
		depths[i] = 1 + (uint32_t)(random_next() % STACK_DEPTH);
		shown[i] = codes = pool + random_next() % (STACK_CODES - STACK_DEPTH);
		tasks[i] = perform_deep(&stage, depths[i], 2);
	}
	stage_close(&stage);
	for (int i = 0; i < STACKS; i++) {
		codes = shown[i];
		CHECK(shows_codes(scenario_nth(&stage.scenario, tasks[i], CREATED, 0), depths[i]));
		CHECK(shows_codes(scenario_nth(&stage.scenario, tasks[i], RESUMED, 1), depths[i]));
	}
	CHECK(stage.scenario.blocks.of_kind[5] >= 3);
	stage_clear(&stage);
	free(pool);
}

/* Small events until a chunk of the arena has ever less room, then a stack that needs much. */
static void RuntimeAsync_CallstackOverflowPathProducesValidFrames(void)
{
	const uint32_t depth = 1500;
	uint64_t tasks[64];
	struct stage stage;

	make_codes(depth);
	stage_open(&stage, 0, 0);
	for (uint32_t i = 0; i < 64; i++) {
		for (uint32_t k = 0; k < 5 * i; k++)
			unweave_thread_idle();
		tasks[i] = perform_deep(&stage, depth, 2);
	}
	stage_close(&stage);
	for (uint32_t i = 0; i < 64; i++) {
		CHECK(shows_codes(scenario_nth(&stage.scenario, tasks[i], CREATED, 0), depth));
		CHECK(shows_codes(scenario_nth(&stage.scenario, tasks[i], SUSPENDED, 0), depth));
	}
	CHECK_EQ(stage.scenario.blocks.out_of_order, 0);
	stage_clear(&stage);
	free(codes);
}

/* There is no such cap here. */
static void RuntimeAsync_CallstackDepthCappedAtMaxFrames(void)
{
	struct stage stage;
	uint64_t task;

	make_codes(300);
	stage_open(&stage, 0, 0);
	task = perform_deep(&stage, 300, 2);
	stage_close(&stage);
	CHECK(shows_codes(scenario_nth(&stage.scenario, task, CREATED, 0), 300));
	CHECK(shows_codes(scenario_nth(&stage.scenario, task, RESUMED, 0), 300));
	CHECK(shows_codes(scenario_nth(&stage.scenario, task, SUSPENDED, 0), 300));
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
	free(codes);
}

/* All that is shown is right, both ends are there, and what is left out is counted. */
static void check_long(const struct scene *scene, uint32_t depth, uint32_t least_inner,
		       uint32_t least_root)
{
	uint32_t inner = 0, root = 0, omissions = 0;
	uint64_t at = 0;

	for (uint32_t i = 0; i < scene->frame_count; i++) {
		const struct unweave_frame *frame = &scene->frames[i];

		if (frame->kind == UNWEAVE_FRAME_OMITTED) {
			omissions++;
			at += frame->address;
			continue;
		}
		CHECK(at < depth && frame->address == codes[at]);
		at++;
		inner += omissions == 0;
		root += omissions == 1;
	}
	CHECK_EQ(at, depth);
	CHECK_EQ(scene_depth(scene), depth);
	CHECK_EQ(omissions, 1);
	CHECK(inner >= least_inner && root >= least_root);
}

static void a_chain_of_5000_frames_keeps_both_ends_and_counts_what_is_between(void)
{
	struct stage stage;
	uint64_t task;

	make_codes(5000);
	stage_open(&stage, 0, 0);
	task = perform_deep(&stage, 5000, 2);
	stage_close(&stage);
	check_long(scenario_nth(&stage.scenario, task, CREATED, 0), 5000, 900, 900);
	check_long(scenario_nth(&stage.scenario, task, RESUMED, 0), 5000, 900, 900);
	check_long(scenario_nth(&stage.scenario, task, SUSPENDED, 0), 5000, 900, 900);
	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_FRAME_COMPLETE), 5000);
	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_ANCHOR_RESET), 5000 / 32);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
	free(codes);
}

/* One frame at a time, with a wait at each: no record is long, but the chain is. */
static int grows(struct unweave_link *link, void *context)
{
	struct frame *callee;

	ASYNC_BEGIN(link, context);
	me->link.code = (const void *)(uintptr_t)codes[me->i];
	YIELD();
	if (me->i) {
		callee = frame_new(grows);
		callee->i = me->i - 1;
		AWAIT(callee);
	}
	ASYNC_END();
}

static void a_chain_that_grew_to_5000_frames_is_told_with_both_ends(void)
{
	struct frame *frame = frame_new(grows);
	struct stage stage;
	uint64_t task;

	make_codes(5000);
	stage_open(&stage, 0, 0);
	frame->i = 4999;
	task = stage_perform(&stage, frame);
	stage_close(&stage);
	CHECK_EQ(scenario_count(&stage.scenario, task, RESUMED), 5000);
	/* The root frame has the last of the codes: the chain is the same, seen from there. */
	check_long(scenario_nth(&stage.scenario, task, RESUMED, 4999), 5000, 1000, 2000);
	check_long(scenario_nth(&stage.scenario, task, SUSPENDED, 4998), 5000, 1000, 2000);
	CHECK_EQ(scene_depth(scenario_nth(&stage.scenario, task, RESUMED, 4500)), 4501);
	CHECK_EQ(scene_omitted(scenario_nth(&stage.scenario, task, RESUMED, 4000)), 0);
	CHECK_EQ(scenario_simulated_depth(&stage.scenario, task), 0);
	stage_clear(&stage);
	free(codes);
}

int main(void)
{
	SCENARIO(RuntimeAsync_CreateCallstackDepthMatchesChain);
	SCENARIO(RuntimeAsync_SuspendAsyncCallstackEmittedOnAwait);
	SCENARIO(RuntimeAsync_SuspendCallstackDepthMatchesChain);
	SCENARIO(RuntimeAsync_SuspendCallstackPrecedesComplete);
	SCENARIO(RuntimeAsync_SuspendCallstackDeeperThanInitialResume);
	SCENARIO(RuntimeAsync_CreateCallstackPrecedesResumeCallstack);
	SCENARIO(RuntimeAsync_CreateAndFirstResumeCallstacksMatch);
	SCENARIO(RuntimeAsync_CallstackEmittedOnResume);
	SCENARIO(RuntimeAsync_CallstackDepthMatchesChain);
	SCENARIO(RuntimeAsync_MethodEventCountMatchesChainDepth);
	SCENARIO(RuntimeAsync_CallstackFramesHaveDistinctMethodIds);
	SCENARIO(RuntimeAsync_YieldAtEachLevel_CallstackShrinks);
	SCENARIO(RuntimeAsync_CallstackNativeIPDeltaRoundtrip);
	SCENARIO(RuntimeAsync_CallstackStressWithVaryingDepths);
	SCENARIO(RuntimeAsync_CallstackOverflowPathProducesValidFrames);
	SCENARIO(RuntimeAsync_CallstackDepthCappedAtMaxFrames);
	RUN(a_chain_of_5000_frames_keeps_both_ends_and_counts_what_is_between);
	RUN(a_chain_that_grew_to_5000_frames_is_told_with_both_ends);
	return check_done();
}
