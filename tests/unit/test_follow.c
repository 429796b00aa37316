/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that another tool took: what runs, by the events up to then, and the
 * logical stack that comes of it. Stacks are written in words, see splice_words.h.
 */
#include "model/follow.h"

#include "splice_words.h"
#include "unweave.h"

#define CHAIN_TASK 10u
#define MACHINE_TASK 21u
#define THREAD 1u
#define TID 4711u

static struct follow *follow;
static struct stage told;

static void begin(uint64_t keywords)
{
	follow = follow_free(follow);
	told.used = 0;
	CHECK_EQ(follow_new(&follow, exact.anchors, keywords), 0);
	CHECK_EQ(follow_thread(follow, THREAD, TID), 0);
}

/* The depth of a chain's frames counts, as in a trace. */
static const struct unweave_frame *chain_of(const char *words)
{
	uint32_t first = told.used, count;
	const struct unweave_frame *chain = stack_of(&told, words, false);

	count = told.used - first;
	for (uint32_t i = 0; i < count; i++)
		told.frames[first + i].depth = count - i;
	return chain;
}

static void tell_on(uint32_t thread, enum unweave_event_kind kind, uint64_t task, uint64_t value,
		    const char *chain)
{
	struct unweave_event event = {.kind = (uint16_t)kind,
				      .thread = thread,
				      .task = task,
				      .value = value,
				      .stack = chain ? chain_of(chain) : NULL};

	CHECK_EQ(follow_event(follow, &event), 0);
	/* What an event points to is gone with the next. */
	memset(told.frames, 0, sizeof(told.frames));
	told.used = 0;
}

static void tell(enum unweave_event_kind kind, uint64_t task, uint64_t value, const char *chain)
{
	tell_on(THREAD, kind, task, value, chain);
}

static void resume(uint64_t task, const char *chain)
{
	tell(UNWEAVE_EVENT_RESUME, task, 0, chain);
}

static void complete_frames(uint64_t task, uint32_t count)
{
	while (count--)
		tell(UNWEAVE_EVENT_FRAME_COMPLETE, task, 0, NULL);
}

static void unwind(uint64_t task, uint32_t count)
{
	tell(UNWEAVE_EVENT_UNWIND, task, (uint64_t)count << 1 | 1, NULL);
}

static const struct unweave_frame *linked(struct stage *stage, const struct samples_stack *stack)
{
	struct unweave_frame *frames = &stage->frames[stage->used];

	for (uint32_t i = 0; i < stack->count; i++)
		frames[i] = (struct unweave_frame){
			.address = stack->addresses[i],
			.state = stack->states[i],
			.kind = stack->kinds[i],
			.awaiter = i + 1 < stack->count ? &frames[i + 1] : NULL,
		};
	stage->used += stack->count;
	return stack->count ? frames : NULL;
}

static enum splice_outcome sampled(const char *native, char *words, size_t size)
{
	static struct stage stage;
	static struct splice_frame frames[FRAMES_MOST];
	struct samples_segment segments[SAMPLE_SEGMENTS_MAX];
	uint64_t addresses[64];
	struct samples_stack stack = {.addresses = addresses};
	enum splice_outcome outcome;
	uint32_t count;

	set(&stage, native, "");
	for (const struct unweave_frame *at = stage.sample.native; at; at = at->awaiter)
		addresses[stack.count++] = at->address;
	stage.sample.segment_count = follow_segments(follow, TID, &stack, segments);
	for (uint32_t i = 0; i < stage.sample.segment_count; i++)
		stage.segments[i] = (struct sample_segment){
			.task = segments[i].task, .chain = linked(&stage, &segments[i].chain)};
	outcome = splice(&exact, &stage.sample, frames, FRAMES_MOST, &count);
	say(words, size, frames, count);
	return outcome;
}

#define EXPECT(native, outcome, words)                                                             \
	do {                                                                                       \
		char found_[2048];                                                                 \
		CHECK_EQ(sampled(native, found_, sizeof(found_)), outcome);                        \
		CHECK_STR_EQ(found_, words);                                                       \
	} while (0)

#define WITHOUT_FRAMES                                                                             \
	(UNWEAVE_KEYWORDS_FULL &                                                                   \
	 ~UNWEAVE_KEYWORDS_BOTH(UNWEAVE_KEYWORD_FRAME_COMPLETE | UNWEAVE_KEYWORD_FRAME_RESUME))

static void V2_CompletionEvents_SplicesRemainingAncestryAndKeepsCurrentFromSync(void)
{
	begin(UNWEAVE_KEYWORDS_FULL);
	resume(CHAIN_TASK, "f g h i");
	EXPECT("x f @0 % m", SPLICE_EXACT, "x f! g^ h^ i^");
	complete_frames(CHAIN_TASK, 2);
	EXPECT("x y h @2 % m", SPLICE_EXACT, "x y h! i^");
	complete_frames(CHAIN_TASK, 1);
	EXPECT("i @3 % m", SPLICE_EXACT, "i!");
	tell(UNWEAVE_EVENT_COMPLETE, CHAIN_TASK, 0, NULL);
	EXPECT("l m", SPLICE_NO_TASK, "l m");
}

static void V2_NoCompletionEvents_UsesWrapperSlotFallback(void)
{
	begin(WITHOUT_FRAMES);
	resume(CHAIN_TASK, "f g h i");
	EXPECT("x h @2 % m", SPLICE_EXACT, "x h! i^");
	/* With no anchor to go by, nobody knows. */
	EXPECT("x m", SPLICE_NO_CHAIN, "x m");
}

static void V2_NoCompletionEvents_CountsAnchorResets(void)
{
	char chain[256] = "";

	begin(WITHOUT_FRAMES);
	for (int i = 0; i < 70; i++)
		sprintf(chain + strlen(chain), "%c ", i == 66 ? 'x' : i == 67 ? 'y' : 'a');
	strcat(chain, "z");
	resume(CHAIN_TASK, chain);
	tell(UNWEAVE_EVENT_ANCHOR_RESET, CHAIN_TASK, 0, NULL);
	tell(UNWEAVE_EVENT_ANCHOR_RESET, CHAIN_TASK, 0, NULL);
	EXPECT("x @2 % m", SPLICE_EXACT, "x! y^ a^ a^ z^");
}

/* Where the anchor's number is used, what an error took off is in it already. */
static void V2_WrapperSlot_IgnoresExceptionDeltas(void)
{
	begin(WITHOUT_FRAMES);
	resume(CHAIN_TASK, "f g h i");
	unwind(CHAIN_TASK, 2);
	EXPECT("x h @2 % m", SPLICE_EXACT, "x h! i^");
}

/* State machines have anchors here: their number instead of a match of functions. */
static void V1_OrderedMatch_CountsCompletedInlineFrames(void)
{
	begin(WITHOUT_FRAMES);
	resume(MACHINE_TASK, "f g h i");
	EXPECT("x h @2 % r g @1 % r f @0 % m", SPLICE_EXACT, "x h! i^");
	/* One function twice in the chain is no reason for doubt. */
	tell(UNWEAVE_EVENT_SUSPEND, MACHINE_TASK, 0, NULL);
	resume(MACHINE_TASK, "f f f i");
	EXPECT("x f @1 % r f @0 % m", SPLICE_EXACT, "x f! f^ i^");
}

static void V1_MethodObserved_UsesEventCount_NotStackScan(void)
{
	begin(UNWEAVE_KEYWORDS_FULL);
	resume(MACHINE_TASK, "f f f i");
	complete_frames(MACHINE_TASK, 2);
	/* The walk missed the anchors: events are enough. */
	EXPECT("x f m", SPLICE_NO_ANCHOR, "x f! i^");
	EXPECT("x f @2 % r f @0 % m", SPLICE_EXACT, "x f! i^");
}

static void V1_ExceptionUnwind_IsAddedToInlineStackScan(void)
{
	begin(WITHOUT_FRAMES);
	resume(MACHINE_TASK, "f g h i");
	unwind(MACHINE_TASK, 1);
	EXPECT("x g @1 % r f @0 % m", SPLICE_EXACT, "x g! h^ i^");
}

static void V1_ExceptionBeforeInlineCompletion_AlignsPastUnwoundFrame(void)
{
	begin(WITHOUT_FRAMES);
	resume(MACHINE_TASK, "f g h i");
	unwind(MACHINE_TASK, 1);
	EXPECT("x h @2 % r g @1 % r f @0 % m", SPLICE_EXACT, "x h! i^");
}

/* The same for a function that nobody can name. */
static void V1_UnresolvedExceptionBeforeInlineCompletion_AlignsPastUnwoundFrame(void)
{
	begin(WITHOUT_FRAMES);
	resume(MACHINE_TASK, "~1 g h i");
	unwind(MACHINE_TASK, 1);
	EXPECT("x h @2 % r g @1 % r ~1 @0 % m", SPLICE_EXACT, "x h! i^");
}

static void V1_MethodObservedPlusException_CombinesBothMechanisms(void)
{
	begin(UNWEAVE_KEYWORDS_FULL);
	resume(MACHINE_TASK, "f g h i j");
	complete_frames(MACHINE_TASK, 1);
	unwind(MACHINE_TASK, 2);
	EXPECT("x i @3 % r f @0 % m", SPLICE_EXACT, "x i! j^");
}

static void MixedV1AndV2Segments_ApplyCompletionHistoryIndependently(void)
{
	begin(UNWEAVE_KEYWORDS_FULL);
	resume(CHAIN_TASK, "f g h i");
	complete_frames(CHAIN_TASK, 2);
	resume(MACHINE_TASK, "p q r s");
	complete_frames(MACHINE_TASK, 1);
	EXPECT("x q @1 % e p @0 % y h @2 % m", SPLICE_EXACT, "x q! r^ s^ y h! i^");
	unwind(MACHINE_TASK, 1);
	EXPECT("x r @2 % e p @0 % y h @2 % m", SPLICE_EXACT, "x r! s^ y h! i^");
	tell(UNWEAVE_EVENT_COMPLETE, MACHINE_TASK, 0, NULL);
	complete_frames(CHAIN_TASK, 1);
	EXPECT("x i @3 % m", SPLICE_EXACT, "x i!");
}

/* A chain of coroutines: the number of an anchor says how many are inside of each other. */
static void resume_routines(const char *words)
{
	struct unweave_event event = {.kind = UNWEAVE_EVENT_RESUME,
				      .thread = THREAD,
				      .task = MACHINE_TASK,
				      .stack = chain_of(words)};

	for (uint32_t i = 0; i < told.used; i++)
		told.frames[i].state |= UNWEAVE_STATE_LINE;
	CHECK_EQ(follow_event(follow, &event), 0);
	told.used = 0;
}

static void coroutines_go_on_without_another_anchor(void)
{
	begin(UNWEAVE_KEYWORDS_FULL);
	resume_routines("f h i");
	EXPECT("x f g @0 % m", SPLICE_EXACT, "x f! h^ i^");
	complete_frames(MACHINE_TASK, 1);
	tell(UNWEAVE_EVENT_FRAME_RESUME, MACHINE_TASK, 0, NULL);
	EXPECT("x h g @0 % m", SPLICE_EXACT, "x h! i^");
	/* A call, of what nobody knows until it waits; and its end. */
	tell(UNWEAVE_EVENT_FRAME_RESUME, MACHINE_TASK, 0, NULL);
	EXPECT("x k g @0 % m", SPLICE_NO_CHAIN, "x k g! @0 % m");
	complete_frames(MACHINE_TASK, 1);
	tell(UNWEAVE_EVENT_FRAME_RESUME, MACHINE_TASK, 0, NULL);
	EXPECT("x h g @0 % m", SPLICE_EXACT, "x h! i^");
	unwind(MACHINE_TASK, 1);
	tell(UNWEAVE_EVENT_FRAME_RESUME, MACHINE_TASK, 0, NULL);
	EXPECT("x i g @1 % h g @0 % m", SPLICE_EXACT, "x i!");
}

static void an_event_that_is_as_old_as_the_sample_is_told_by_the_anchor(void)
{
	begin(UNWEAVE_KEYWORDS_FULL);
	resume(CHAIN_TASK, "f g h i");
	complete_frames(CHAIN_TASK, 1);
	EXPECT("f @0 % m", SPLICE_EXACT, "f! g^ h^ i^");
	EXPECT("h @2 % m", SPLICE_EXACT, "h! i^");
}

static void a_late_parent_joins_the_chain_of_what_runs(void)
{
	begin(UNWEAVE_KEYWORDS_FULL);
	resume(MACHINE_TASK, "f");
	EXPECT("f @0 % m", SPLICE_EXACT, "f!");
	tell_on(THREAD + 1, UNWEAVE_EVENT_APPEND, MACHINE_TASK, 0, "f g h");
	EXPECT("f @0 % m", SPLICE_EXACT, "f! g^ h^");
	complete_frames(MACHINE_TASK, 1);
	EXPECT("g @1 % e f @0 % m", SPLICE_EXACT, "g! h^");
}

static void a_run_that_began_earlier_goes_by_events_alone(void)
{
	begin(UNWEAVE_KEYWORDS_FULL);
	tell(UNWEAVE_EVENT_RESET, 0, 0, NULL);
	tell(UNWEAVE_EVENT_REPLAY, CHAIN_TASK, 0, "h i j");
	EXPECT("h @7 % m", SPLICE_EXACT, "h! i^ j^");
	complete_frames(CHAIN_TASK, 1);
	EXPECT("i @8 % m", SPLICE_EXACT, "i! j^");
	begin(WITHOUT_FRAMES);
	tell(UNWEAVE_EVENT_REPLAY, CHAIN_TASK, 0, "h i j");
	EXPECT("h @7 % m", SPLICE_NO_CHAIN, "h! @7 % m");
}

static void after_a_loss_nobody_says_what_runs(void)
{
	begin(UNWEAVE_KEYWORDS_FULL);
	resume(CHAIN_TASK, "f g");
	CHECK(!follow_lost(follow, TID));
	tell(UNWEAVE_EVENT_LOST, 0, 100, NULL);
	CHECK(follow_lost(follow, TID));
	EXPECT("f @0 % m", SPLICE_NO_TASK, "f @0 % m");
	tell(UNWEAVE_EVENT_RESET, 0, 0, NULL);
	CHECK(!follow_lost(follow, TID));
	resume(CHAIN_TASK, "f g");
	EXPECT("f @0 % m", SPLICE_EXACT, "f! g^");
}

static void what_a_signal_handler_told_aside_changes_nothing(void)
{
	struct unweave_event event = {.kind = UNWEAVE_EVENT_RESUME,
				      .thread = THREAD,
				      .task = 66,
				      .flags = UNWEAVE_EVENT_ASIDE};

	begin(UNWEAVE_KEYWORDS_FULL);
	resume(CHAIN_TASK, "f g");
	CHECK_EQ(follow_event(follow, &event), 0);
	EXPECT("f @0 % m", SPLICE_EXACT, "f! g^");
}

static void a_thread_id_that_comes_again_is_the_new_thread(void)
{
	begin(UNWEAVE_KEYWORDS_FULL);
	resume(CHAIN_TASK, "f g");
	CHECK_EQ(follow_thread(follow, THREAD + 1, TID), 0);
	EXPECT("x m", SPLICE_NO_TASK, "x m");
	tell_on(THREAD + 1, UNWEAVE_EVENT_RESUME, 12, 0, "k");
	EXPECT("k @0 % m", SPLICE_EXACT, "k!");
}

static void more_frames_done_than_the_chain_has_leave_the_last(void)
{
	begin(UNWEAVE_KEYWORDS_FULL);
	resume(CHAIN_TASK, "f g");
	complete_frames(CHAIN_TASK, 2);
	EXPECT("% % m", SPLICE_EXACT, "% % g^");
	tell(UNWEAVE_EVENT_SUSPEND, CHAIN_TASK, 0, NULL);
	resume(CHAIN_TASK, "f ~3 i");
	complete_frames(CHAIN_TASK, 2);
	EXPECT("g @2 % m", SPLICE_EXACT, "g! ~1 i^");
	complete_frames(CHAIN_TASK, 2);
	EXPECT("i @4 % m", SPLICE_EXACT, "i!");
}

/* Sites from 1 on are callbacks a, b, …; 100 is none. */
static uint64_t callback_of(void *data, uint64_t site)
{
	(void)data;
	return site < 26 ? FUNCTIONS + (site - 1) * 256 : 0;
}

static void a_callback_is_its_own_chain(void)
{
	begin(WITHOUT_FRAMES);
	follow_set_code(follow, callback_of, NULL);
	tell(UNWEAVE_EVENT_CREATE, 40, 6, NULL);
	tell(UNWEAVE_EVENT_CREATE, 42, 100, NULL);
	resume(40, NULL);
	EXPECT("x f @0 % m", SPLICE_EXACT, "x f!");
	/* Also where the walk did not come to its anchor. */
	EXPECT("x f", SPLICE_NO_ANCHOR, "x f!");
	tell(UNWEAVE_EVENT_SUSPEND, 40, 0, NULL);
	EXPECT("m", SPLICE_NO_TASK, "m");
	resume(42, NULL);
	EXPECT("x f @0 % m", SPLICE_NO_CHAIN, "x f! @0 % m");
	tell(UNWEAVE_EVENT_COMPLETE, 42, 0, NULL);
	tell(UNWEAVE_EVENT_COMPLETE, 40, 0, NULL);
	/* It began to run before it was said what it is. */
	tell(UNWEAVE_EVENT_REPLAY, 44, 0, NULL);
	tell_on(2, UNWEAVE_EVENT_TASK, 44, 7, NULL);
	EXPECT("x g @0 % m", SPLICE_EXACT, "x g!");
	resume(CHAIN_TASK, "h i");
	EXPECT("x h @0 % g @0 % m", SPLICE_EXACT, "x h! i^ g!");
}

static void callbacks_that_ended_are_forgotten(void)
{
	begin(WITHOUT_FRAMES);
	follow_set_code(follow, callback_of, NULL);
	tell(UNWEAVE_EVENT_CREATE, 6, 6, NULL);
	for (uint64_t task = 100; task < 60000; task += 2) {
		tell(UNWEAVE_EVENT_CREATE, task, 7, NULL);
		tell(UNWEAVE_EVENT_COMPLETE, task, 0, NULL);
	}
	resume(6, NULL);
	EXPECT("x f @0 % m", SPLICE_EXACT, "x f!");
	tell(UNWEAVE_EVENT_SUSPEND, 6, 0, NULL);
	resume(100, NULL);
	EXPECT("x g @0 % m", SPLICE_NO_CHAIN, "x g! @0 % m");
}

int main(void)
{
	RUN(a_callback_is_its_own_chain);
	RUN(callbacks_that_ended_are_forgotten);
	RUN(V2_CompletionEvents_SplicesRemainingAncestryAndKeepsCurrentFromSync);
	RUN(V2_NoCompletionEvents_UsesWrapperSlotFallback);
	RUN(V2_NoCompletionEvents_CountsAnchorResets);
	RUN(V2_WrapperSlot_IgnoresExceptionDeltas);
	RUN(V1_OrderedMatch_CountsCompletedInlineFrames);
	RUN(V1_MethodObserved_UsesEventCount_NotStackScan);
	RUN(V1_ExceptionUnwind_IsAddedToInlineStackScan);
	RUN(V1_ExceptionBeforeInlineCompletion_AlignsPastUnwoundFrame);
	RUN(V1_UnresolvedExceptionBeforeInlineCompletion_AlignsPastUnwoundFrame);
	RUN(V1_MethodObservedPlusException_CombinesBothMechanisms);
	RUN(MixedV1AndV2Segments_ApplyCompletionHistoryIndependently);
	RUN(coroutines_go_on_without_another_anchor);
	RUN(an_event_that_is_as_old_as_the_sample_is_told_by_the_anchor);
	RUN(a_late_parent_joins_the_chain_of_what_runs);
	RUN(a_run_that_began_earlier_goes_by_events_alone);
	RUN(after_a_loss_nobody_says_what_runs);
	RUN(what_a_signal_handler_told_aside_changes_nothing);
	RUN(a_thread_id_that_comes_again_is_the_new_thread);
	RUN(more_frames_done_than_the_chain_has_leave_the_last);
	follow_free(follow);
	return check_done();
}
