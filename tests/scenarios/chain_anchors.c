/* SPDX-License-Identifier: Apache-2.0 */
/* The chain model: what a captured stack says of how far a run has come. */
#include "chain_stage.h"

#include <execinfo.h>
#include <stdlib.h>

#include "emit/links.h"

#define DEPTH_MOST 100

/* What each function of a run, from its beginning on, found on the stack; -1: no anchor. */
static int found_by_return[DEPTH_MOST], found_by_backtrace[DEPTH_MOST];
static unsigned found_count;

/* The number of the anchor that an address is inside of, or -1. */
static int anchor_at(const void *address)
{
	uintptr_t offset = (uintptr_t)address - (uintptr_t)unweave_anchors();

	if (offset >= (uintptr_t)UNWEAVE_ANCHORS * UNWEAVE_ANCHOR_BYTES)
		return -1;
	return (int)(offset / UNWEAVE_ANCHOR_BYTES);
}

/* The innermost anchor on the stack, as a tool would find it that knows nothing of us. */
static __attribute__((noinline)) int anchor_on_stack(void)
{
	void *addresses[64];
	int count = backtrace(addresses, 64);

	for (int i = 0; i < count; i++)
		if (anchor_at(addresses[i]) >= 0)
			return anchor_at(addresses[i]);
	return -1;
}

/* Calls itself `i` times, then waits; each notes where it goes on from. */
static int deep(struct unweave_link *link, void *context)
{
	const void *caller = __builtin_return_address(0);
	struct frame *callee;

	ASYNC_BEGIN(link, context);
	if (me->i) {
		callee = frame_new(deep);
		callee->i = me->i - 1;
		AWAIT(callee);
	} else {
		YIELD();
	}
	if (found_count < DEPTH_MOST) {
		found_by_return[found_count] = anchor_at(caller);
		found_by_backtrace[found_count++] = anchor_on_stack();
	}
	ASYNC_END();
}

static uint64_t show_deep(struct stage *stage, uint64_t depth, uint64_t keywords)
{
	struct frame *frame = frame_new(deep);
	uint64_t task;

	found_count = 0;
	frame->i = depth - 1;
	stage_open(stage, 0, keywords);
	task = stage_perform(stage, frame);
	stage_close(stage);
	return task;
}

static void check_places(unsigned depth)
{
	CHECK_EQ(found_count, depth);
	for (unsigned i = 0; i < depth && i < DEPTH_MOST; i++) {
		CHECK_EQ(found_by_return[i], i % UNWEAVE_ANCHORS);
		CHECK_EQ(found_by_backtrace[i], i % UNWEAVE_ANCHORS);
	}
}

static void RuntimeAsync_WrapperIndexMatchesCallstack(void)
{
	struct stage stage;
	uint64_t task = show_deep(&stage, 41, 0);

	check_places(41);
	/* What a reader knows: so many functions done before, so that is the anchor. */
	CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_FRAME_COMPLETE), 41);
	stage_clear(&stage);
	/* Also if nothing of it is recorded but what a sampler needs. */
	show_deep(&stage, 41, UNWEAVE_KEYWORD_RESUME_STACK);
	check_places(41);
	stage_clear(&stage);
}

static void RuntimeAsync_WrapperIndexResetEmitted(void)
{
	static const unsigned depths[] = {34, 32, 64, 95};

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		struct stage stage;
		uint64_t task = show_deep(&stage, depths[i], 0);
		size_t done = 0;

		check_places(depths[i]);
		CHECK_EQ(scenario_count(&stage.scenario, task, UNWEAVE_EVENT_ANCHOR_RESET),
			 depths[i] / 32);
		/* Right after the function that used the last of them. */
		for (size_t k = 0; k < stage.scenario.count; k++) {
			unsigned kind = stage.scenario.scenes[k].event.kind;

			done += kind == UNWEAVE_EVENT_FRAME_COMPLETE;
			if (kind == UNWEAVE_EVENT_ANCHOR_RESET)
				CHECK(done > 0 && done % 32 == 0);
		}
		stage_clear(&stage);
	}
}

static void RuntimeAsync_WrapperIndexNoResetUnder32(void)
{
	static const unsigned depths[] = {2, 31};

	for (size_t i = 0; i < 2; i++) {
		struct stage stage;

		show_deep(&stage, depths[i], 0);
		CHECK_EQ(scenario_count(&stage.scenario, 0, UNWEAVE_EVENT_ANCHOR_RESET), 0);
		stage_clear(&stage);
	}
}

/* Each is code of its own, and they lie where the header says. */
static void RuntimeAsync_MetadataMatchesWrapperMethods(void)
{
	const char *base = unweave_anchors();

	CHECK_EQ((uintptr_t)base % UNWEAVE_ANCHOR_BYTES, 0);
	for (unsigned i = 0; i < UNWEAVE_ANCHORS; i++) {
		CHECK(CODE(emit_anchors[i]) == base + (size_t)i * UNWEAVE_ANCHOR_BYTES);
		for (unsigned k = 0; k < i; k++)
			CHECK(memcmp(base + (size_t)i * UNWEAVE_ANCHOR_BYTES,
				     base + (size_t)k * UNWEAVE_ANCHOR_BYTES,
				     UNWEAVE_ANCHOR_BYTES) != 0);
	}
}

static int returns_to(struct unweave_link *link, void *context)
{
	(void)link;
	*(const void **)context = __builtin_return_address(0);
	return UNWEAVE_STEP_DONE;
}

/* Not left by a jump: the function that is called returns into the anchor. */
static void every_anchor_is_on_the_stack_of_what_it_calls(void)
{
	struct unweave_link link;

	unweave_link_init(&link, returns_to, NULL, 0);
	for (unsigned i = 0; i < 3 * UNWEAVE_ANCHORS; i++) {
		const void *address = NULL;

		CHECK_EQ(links_go(&(struct links_run){.place = i}, &link, &address),
			 UNWEAVE_STEP_DONE);
		CHECK_EQ(anchor_at(address), i % UNWEAVE_ANCHORS);
		/* Neither its first byte, nor beyond its last. */
		CHECK((uintptr_t)address % UNWEAVE_ANCHOR_BYTES != 0);
	}
}

/* An error skips anchors as it skips frames; a new run begins with the first one. */
static int catches(struct unweave_link *link, void *context)
{
	const void *caller = __builtin_return_address(0);

	ASYNC_BEGIN(link, context);
	me->catches = true;
	YIELD();
	found_by_return[found_count++] = anchor_at(caller);
	me->catches = false;
	YIELD();
	found_by_return[found_count++] = anchor_at(caller);
	ASYNC_END();
}

static void a_run_that_begins_with_an_error_counts_what_it_took_off(void)
{
	struct unweave_chain *chain;
	struct frame *frames[40];
	struct stage stage;
	struct task *task;

	found_count = 0;
	stage_open(&stage, 0, 0);
	task = task_begin(stage.executor, frame_new(catches), NULL, 0);
	chain = &task->chain;
	/* Waiting frames inside of the one that catches, as if it had awaited them. */
	for (int i = 0; i < 40; i++)
		frames[i] = frame_new(deep);
	for (int i = 0; i < 40; i++)
		frames[i]->link.awaiter = i < 39 ? &frames[i + 1]->link : chain->head.innermost;
	chain->head.innermost = &frames[0]->link;
	chain->head.depth += 40;
	unweave_chain_fail(chain, UNWEAVE_STEP_ERROR);
	CHECK_EQ(task_wait(task), UNWEAVE_STEP_DONE);
	stage_close(&stage);
	CHECK_EQ(found_count, 2);
	CHECK_EQ(found_by_return[0], 40 % UNWEAVE_ANCHORS);
	CHECK_EQ(found_by_return[1], 0);
	CHECK_EQ(scenario_count(&stage.scenario, 0, UNWEAVE_EVENT_ANCHOR_RESET), 1);
	stage_clear(&stage);
}

int main(void)
{
	SCENARIO(RuntimeAsync_WrapperIndexMatchesCallstack);
	SCENARIO(RuntimeAsync_WrapperIndexResetEmitted);
	SCENARIO(RuntimeAsync_WrapperIndexNoResetUnder32);
	SCENARIO(RuntimeAsync_MetadataMatchesWrapperMethods);
	RUN(every_anchor_is_on_the_stack_of_what_it_calls);
	RUN(a_run_that_begins_with_an_error_counts_what_it_took_off);
	return check_done();
}
