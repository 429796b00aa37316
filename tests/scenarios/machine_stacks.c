/* SPDX-License-Identifier: Apache-2.0 */
/* The state-machine model: the chains that come out, and the anchors on the real stack. */
#include <execinfo.h>
#include <stdlib.h>

#include "machine_checks.h"

static void StateMachineAsync_ResumeAsyncCallstackEmitted(void)
{
	struct plan plan = {.depth = 2, .innermost = {.yields = 1}};
	struct scenario scenario;

	play(&plan, UNWEAVE_KEYWORD_RESUME_STACK << 32, &scenario);
	CHECK(STACK_IS(scenario_nth(&scenario, 0, RESUME, 0), LEVEL_CODE(1), LEVEL_CODE(0)));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static void StateMachineAsync_CallstackDepthMatchesChainDepth(void)
{
	check_depth(ASYNC_HEAP);
}

static void StateMachineAsync_CallstackFramesHaveDistinctMethodIds(void)
{
	check_distinct_functions(ASYNC_HEAP);
}

static void StateMachineAsync_CallstackFramesHaveDistinctStates(void)
{
	struct plan plan = {.depth = 4,
			    .levels = {{.state = 0}, {.state = 1}, {.state = 2}},
			    .innermost = {.yields = 1}};
	struct scenario scenario;

	play(&plan, 0, &scenario);
	CHECK(STATES_ARE(scenario_nth(&scenario, plan_leaf(&plan), RESUME, 0), 0, 2, 1, 0));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* Each level waits after its callee is done, and so becomes the innermost of a task of its own. */
static void StateMachineAsync_YieldAtEachLevel_CallstackShrinks(void)
{
	struct plan plan = {.depth = 4,
			    .levels = {{.yields = 1}, {.yields = 1}, {.yields = 1}},
			    .innermost = {.yields = 1}};
	struct scenario scenario;

	play(&plan, 0, &scenario);
	for (int level = 3; level >= 0; level--) {
		const struct scene *resume = scenario_nth(&scenario, plan.tasks[level], RESUME, 0);

		CHECK(SEQUENCE(&scenario, plan.tasks[level], KINDS_LIFE, CREATE, RESUME, COMPLETE));
		CHECK_EQ(resume->frame_count, level + 1);
		for (int i = 0; i <= level; i++)
			CHECK(resume->frames[i].address == (uintptr_t)LEVEL_CODE(level - i));
		/* It was created where its callee completed. */
		CHECK_EQ(scenario_nth(&scenario, plan.tasks[level], CREATE, 0)->event.other,
			 level < 3 ? plan.tasks[level + 1] : 0);
	}
	CHECK(SEQUENCE(&scenario, 0, KINDS_LIFE, CREATE, RESUME, CREATE, COMPLETE, RESUME, CREATE,
		       COMPLETE, RESUME, CREATE, COMPLETE, RESUME, COMPLETE));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static void StateMachineAsync_AppendCallstack_FiresOnLateParentRegistration(void)
{
	check_late_parent(ASYNC_HEAP);
}

/* All await before the first run; so nothing grows after it. */
static void StateMachineAsync_CompleteChain_DoesNotEmitAppendEvents(void)
{
	struct plan plan = {.depth = 4, .innermost = {.yields = 3}};
	struct scenario scenario;
	size_t resumed;

	play(&plan, 0, &scenario);
	resumed = scenario_place(&scenario, scenario_nth(&scenario, 0, RESUME, 0));
	CHECK_EQ(scenario_count(&scenario, 0, APPEND), 3);
	for (size_t n = 0; n < 3; n++)
		CHECK(scenario_place(&scenario, scenario_nth(&scenario, 0, APPEND, n)) < resumed);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static void StateMachineAsync_MethodEventCountMatchesChainDepth(void)
{
	struct plan plan = {.depth = 5, .innermost = {.yields = 1}};
	struct scenario scenario;

	play(&plan, 0, &scenario);
	CHECK_EQ(scenario_count(&scenario, plan_leaf(&plan), FRAME_RESUME), 5);
	CHECK_EQ(scenario_count(&scenario, plan_leaf(&plan), FRAME_COMPLETE), 5);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* All of it each time, though only its two ends may fit a record. */
static void check_whole_depth(unsigned depth, int yields, uint64_t keywords)
{
	struct plan plan = {.depth = depth, .innermost = {.yields = yields}};
	struct scenario scenario;

	play(&plan, keywords, &scenario);
	CHECK_EQ(scenario_count(&scenario, plan_leaf(&plan), RESUME), yields);
	for (size_t n = 0; n < (size_t)yields; n++) {
		const struct scene *resume = scenario_nth(&scenario, plan_leaf(&plan), RESUME, n);

		CHECK_EQ(scene_depth(resume), depth);
		CHECK(scene_omitted(resume) < depth - 1000 || !scene_omitted(resume));
		CHECK_EQ(resume->frames[0].address, (uintptr_t)LEVEL_CODE((depth - 1) % 8));
		CHECK_EQ(resume->frames[resume->frame_count - 1].address, (uintptr_t)LEVEL_CODE(0));
	}
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* Inverted: there is no cap. Past what a record holds, the middle is left out and counted. */
static void StateMachineAsync_CallstackDepthCappedAtMaxFrames(void)
{
	check_whole_depth(300, 2, 0);
	check_whole_depth(300, 2, UNWEAVE_KEYWORD_RESUME_STACK << 32);
	check_whole_depth(5000, 2, 0);
	check_whole_depth(5000, 2, UNWEAVE_KEYWORD_RESUME_STACK << 32);
}

/* Stacks of 200 frames, of which ten fill a chunk: each is told anew. */
static void StateMachineAsync_CallstackOverflow_PreservesFullDepth(void)
{
	check_whole_depth(200, 300, UNWEAVE_KEYWORD_RESUME_STACK << 32);
}

static void StateMachineAsync_CallstackStressWithVaryingDepths(void)
{
	struct executor *executor = executor_new(0);
	struct plan *plans = calloc(200, sizeof(*plans));
	struct async *roots[200];
	struct scenario scenario;

	scenario_begin_with(0, UNWEAVE_POLICY_BLOCK, 0);
	for (unsigned i = 0; i < 200; i++) {
		plans[i] = (struct plan){.depth = 1 + i * 37 % 120,
					 .executor = executor,
					 .innermost = {.yields = 1}};
		roots[i] = plan_call(&plans[i]);
	}
	executor_free(executor);
	for (unsigned i = 0; i < 200; i++)
		check_plan_end(&plans[i], roots[i]);
	scenario_end(&scenario);
	CHECK(scenario_is_whole(&scenario));
	for (unsigned i = 0; i < 200; i++) {
		CHECK_EQ(scene_depth(scenario_nth(&scenario, plan_leaf(&plans[i]), RESUME, 0)),
			 plans[i].depth);
		plan_fini(&plans[i]);
	}
	scenario_forget(&scenario);
	free(plans);
}

/* One body for several functions: the frames say the body, as a generic's say the shared code. */
static void StateMachineAsync_GenericChain_FramesResolveToSharedBody(void)
{
	struct plan plan = {
		.depth = 3, .levels = {{.state = 0}, {.state = 1}}, .innermost = {.yields = 1}};
	const struct scene *resume;
	struct scenario scenario;

	plan.levels[0].go = plan.levels[1].go = plan.innermost.go = level_go[5];
	play(&plan, 0, &scenario);
	resume = scenario_nth(&scenario, plan_leaf(&plan), RESUME, 0);
	CHECK(STACK_IS(resume, LEVEL_CODE(5), LEVEL_CODE(5), LEVEL_CODE(5)));
	CHECK(STATES_ARE(resume, 0, 1, 0));
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* The same, called from two sites, which tell the tasks apart. */
static void StateMachineAsync_GenericChain_FramesResolveToSharedBody_TwoSites(void)
{
	struct unweave_site *sites[2] = {UNWEAVE_SITE("of int"), UNWEAVE_SITE("of string")};
	struct plan plan = {.depth = 1, .innermost = {.yields = 1}};
	struct scenario scenario;
	struct async *calls[2];
	uint64_t seen[2];

	plan.executor = executor_new(0);
	plan.tasks = calloc(1, sizeof(*plan.tasks));
	scenario_begin(0);
	for (int i = 0; i < 2; i++) {
		calls[i] = async_new(ASYNC_HEAP, level_go[5], &plan);
		calls[i]->box.site = sites[i];
		async_start(calls[i]);
	}
	executor_free(plan.executor);
	for (int i = 0; i < 2; i++)
		async_drop(calls[i]);
	scenario_end(&scenario);
	for (size_t i = 0; i < 2; i++) {
		seen[i] = scenario_nth(&scenario, 0, CREATE, i)->event.value;
		CHECK(seen[i] != 0);
		CHECK(STACK_IS(scenario_nth(&scenario, 0, RESUME, i), LEVEL_CODE(5)));
	}
	CHECK(seen[0] != seen[1]);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

/* The anchors on this thread's real stack, the innermost first. Returns how many. */
#define PLACES_MAX 64
static int anchors_here(unsigned *places)
{
	uintptr_t first = (uintptr_t)unweave_anchors();
	void *addresses[PLACES_MAX * 24];
	int frames = backtrace(addresses, PLACES_MAX * 24);
	int count = 0;

	for (int i = 0; i < frames && count < PLACES_MAX; i++) {
		uintptr_t offset = (uintptr_t)addresses[i] - first;

		if (offset < UNWEAVE_ANCHORS * UNWEAVE_ANCHOR_BYTES)
			places[count++] = (unsigned)(offset / UNWEAVE_ANCHOR_BYTES);
	}
	return count;
}

static int climbed;

/* At level n of a chain, all those inside of it went on through anchors of their own. */
static void see_anchors(struct async *me)
{
	const struct plan *plan = me->data;
	unsigned place = plan->depth - 1 - (unsigned)me->number;
	unsigned places[PLACES_MAX];
	int count = anchors_here(places);
	uint64_t task, address = 0;

	CHECK_EQ(count, place + 1);
	for (int i = 0; i < count; i++)
		CHECK_EQ(places[i], (place - (unsigned)i) % UNWEAVE_ANCHORS);
	/* And the thread itself knows where it is. */
	CHECK_EQ(unweave_here(&task, &address, NULL, 1), me->number + 1);
	CHECK_EQ(address, (uintptr_t)me->box.link.go);
	climbed++;
}

static void check_dispatch_stack(enum async_kind kind, unsigned depth, unsigned resets)
{
	struct plan plan = {
		.depth = depth, .kind = kind, .visit = see_anchors, .innermost = {.yields = 1}};
	struct scenario scenario;

	climbed = 0;
	play(&plan, 0, &scenario);
	CHECK_EQ(climbed, depth);
	CHECK_EQ(scenario_count(&scenario, plan_leaf(&plan), RESUME), 1);
	CHECK_EQ(scenario_count(&scenario, plan_leaf(&plan), FRAME_RESUME), depth);
	CHECK_EQ(scenario_count(&scenario, plan_leaf(&plan), UNWEAVE_EVENT_ANCHOR_RESET), resets);
	scenario_forget(&scenario);
	plan_fini(&plan);
}

static void StateMachineAsync_ResumeDispatchStack(void)
{
	check_dispatch_stack(ASYNC_HEAP, 3, 0);
}

static void StateMachineAsync_PoolingResumeDispatchStack(void)
{
	check_dispatch_stack(ASYNC_POOLED, 3, 0);
}

static void StateMachineAsync_InlineCompletionClimb(void)
{
	check_dispatch_stack(ASYNC_HEAP, 40, 1);
}

int main(void)
{
	SCENARIO(StateMachineAsync_ResumeAsyncCallstackEmitted);
	SCENARIO(StateMachineAsync_CallstackDepthMatchesChainDepth);
	SCENARIO(StateMachineAsync_CallstackFramesHaveDistinctMethodIds);
	SCENARIO(StateMachineAsync_CallstackFramesHaveDistinctStates);
	SCENARIO(StateMachineAsync_YieldAtEachLevel_CallstackShrinks);
	SCENARIO(StateMachineAsync_AppendCallstack_FiresOnLateParentRegistration);
	SCENARIO(StateMachineAsync_CompleteChain_DoesNotEmitAppendEvents);
	SCENARIO(StateMachineAsync_MethodEventCountMatchesChainDepth);
	SCENARIO(StateMachineAsync_CallstackDepthCappedAtMaxFrames);
	SCENARIO(StateMachineAsync_CallstackOverflow_PreservesFullDepth);
	SCENARIO(StateMachineAsync_CallstackStressWithVaryingDepths);
	SCENARIO(StateMachineAsync_GenericChain_FramesResolveToSharedBody);
	SCENARIO(StateMachineAsync_GenericChain_FramesResolveToSharedBody_TwoSites);
	SCENARIO(StateMachineAsync_ResumeDispatchStack);
	SCENARIO(StateMachineAsync_PoolingResumeDispatchStack);
	SCENARIO(StateMachineAsync_InlineCompletionClimb);
	return check_done();
}
