/* SPDX-License-Identifier: Apache-2.0 */
#include "splice_words.h"

static struct stage stage;
static struct splice_frame frames[FRAMES_MOST];
static uint32_t frame_count;

static enum splice_outcome spliced(const struct splice_options *options, uint32_t most)
{
	return splice(options, &stage.sample, frames, most, &frame_count);
}

/* The outcome, and the frames in words. */
#define EXPECT(options, native, chains, outcome, words)                                            \
	do {                                                                                       \
		char found_[2048];                                                                 \
		set(&stage, native, chains);                                                       \
		CHECK_EQ(spliced(options, FRAMES_MOST), outcome);                                  \
		say(found_, sizeof(found_), frames, frame_count);                                  \
		CHECK_STR_EQ(found_, words);                                                       \
	} while (0)

#define EXPECT_CUT(options, native, chains, outcome, words)                                        \
	do {                                                                                       \
		char found_[2048];                                                                 \
		set(&stage, native, chains);                                                       \
		stage.sample.flags = SAMPLE_CUT;                                                   \
		CHECK_EQ(spliced(options, FRAMES_MOST), outcome);                                  \
		say(found_, sizeof(found_), frames, frame_count);                                  \
		CHECK_STR_EQ(found_, words);                                                       \
	} while (0)

static void NoSegments_IsVerbatimPassthrough(void)
{
	EXPECT(&exact, "x y f @1 % % l m", "", SPLICE_NO_TASK, "x y f @1 % % l m");
	CHECK_EQ(frames[0].task, 0);
}

static void NoSegments_WrapperIsLeaf_IsVerbatim(void)
{
	EXPECT(&exact, "@0 % l m", "", SPLICE_NO_TASK, "@0 % l m");
}

static void NoSegments_WrapperAboveLeaf_IsVerbatim(void)
{
	EXPECT(&exact, "f @7 % l m", "", SPLICE_NO_TASK, "f @7 % l m");
}

static void NoSegments_NoWrapper_IsVerbatimPassthrough(void)
{
	EXPECT(&exact, "x l m", "", SPLICE_NO_TASK, "x l m");
}

/* Nothing of an earlier splice is left in the caller's frames, or counted with the next. */
static void StitchInto_ReusesAndClearsCallerOwnedBuffers(void)
{
	EXPECT(&exact, "x y z f @0 % m", "f g h i j", SPLICE_EXACT, "x y z f! g^ h^ i^ j^");
	EXPECT(&exact, "f @0 % m", "f g", SPLICE_EXACT, "f! g^");
	CHECK_EQ(frames[0].task, stage.segments[0].task);
	CHECK_EQ(frames[0].state, 'f' - 'a' + 1);
	EXPECT(&exact, "x m", "", SPLICE_NO_TASK, "x m");
	CHECK_EQ(frames[0].task, 0);
	CHECK_EQ(frames[0].state, 0);
	EXPECT(&exact, "", "", SPLICE_NO_TASK, "");
}

/* A task whose chain nobody knows: what is there stays where it is, anchor and dispatch too. */
static void EmptySegment_PreservesPhysicalSyncBoundaries(void)
{
	EXPECT(&exact, "x f @0 % l m", "?", SPLICE_NO_CHAIN, "x f! @0 % l m");
	EXPECT(&exact, "x l m", "?", SPLICE_NO_CHAIN, "x l m");
	EXPECT(&exact, "x f @0 % y g @1 % l m", "?/g h", SPLICE_NO_CHAIN, "x f! @0 % y g! h^");
	EXPECT(&exact, "x f @0 % y g @1 % l m", "f k/?", SPLICE_NO_CHAIN, "x f! k^ y g! @1 % l m");
}

/* The soft check: told, and spliced all the same. */
static void V2_AdjacencyMismatch_IsRecordedAsSoftDiagnostic(void)
{
	EXPECT(&exact, "x z @0 % m", "f g h", SPLICE_MISMATCH, "x z! g^ h^");
	EXPECT(&unnamed, "x z @0 % m", "f g h", SPLICE_EXACT, "x z! g^ h^");
}

static void V2_StitchCollapsesDispatchContinuationPlumbing(void)
{
	EXPECT(&exact, "x f @2 % % % m", "f g", SPLICE_EXACT, "x f! g^");
	EXPECT(&exact, "x f @2 % % % y k @0 % m", "f g/k", SPLICE_EXACT, "x f! g^ y k!");
}

/* Between the dispatch and the function, or back: the anchor is not shown, its function is. */
static void V2_WrapperIsLeaf_DropsWrapperAndUsesSyncLayout(void)
{
	EXPECT(&exact, "@1 % m", "f g h", SPLICE_EXACT, "f! g^ h^");
	EXPECT(&exact, "@1 % y k @0 % m", "f g/k l", SPLICE_EXACT, "f! g^ y k! l^");
	EXPECT(&exact, "@1 % m", "~3 h", SPLICE_EXACT, "~3 h^");
}

/* In the dispatch, between two functions: its own frames, on top of what goes on next. */
static void V2_NoWrapperInDispatchPlumbing_UsesSyncLayout(void)
{
	EXPECT(&exact, "% % m", "f g", SPLICE_EXACT, "% % f^ g^");
	EXPECT(&exact, "c % % l m", "f g", SPLICE_EXACT, "c % % f^ g^");
	EXPECT(&exact, "% % y k @3 % m", "f g/k l", SPLICE_EXACT, "% % f^ g^ y k! l^");
	EXPECT(&unnamed, "% % y k @3 % m", "f g/k l", SPLICE_EXACT, "% % f^ g^ y k! l^");
	EXPECT_CUT(&exact, "% % m", "f g", SPLICE_EXACT, "% % f^ g^");
}

/* Boxes continue each other inside of each other: those that are done are left out. */
static void V1_CollapsesContiguousBoxInfrastructureRootwardOfDispatcher(void)
{
	EXPECT(&exact, "x h @2 % r g @1 % r f @0 % l m", "m:h i", SPLICE_EXACT, "x h! i^");
	/* One that has returned meanwhile leaves no anchor. */
	EXPECT(&exact, "x h @2 % r f @0 % y k @5 % m", "m:h i/k l", SPLICE_EXACT,
	       "x h! i^ y k! l^");
}

/* A box that shows no code of its own: what the anchor called is shown, not an address 0. */
static void V1_ZeroIpCurrentFrame_ResolvesFromSyncLeaf_NotSpliced(void)
{
	set(&stage, "x f @0 % m", "m:f g h");
	stage.frames[stage.used - 3].address = 0;
	stage.frames[stage.used - 3].state = 7;
	CHECK_EQ(spliced(&unnamed, FRAMES_MOST), SPLICE_EXACT);
	CHECK_EQ(frame_count, 4);
	CHECK_EQ(frames[1].kind, SPLICE_RUNNING);
	CHECK_EQ(frames[1].address, frame_of("f", true).address);
	CHECK_EQ(frames[1].state, 7);
	CHECK_EQ(frames[2].address, frame_of("g", false).address);
}

/* A runtime without anchors: the chain is appended, and the outcome says so. */
static void MissingBoundary_DegradesToAppendOnly_WithDiagnostic(void)
{
	EXPECT(&unnamed, "x y l m", "f g h", SPLICE_NO_ANCHOR, "x y l m g^ h^");
	/* Not even the running function is among the native frames. */
	EXPECT(&exact, "x y l m", "f g h", SPLICE_NO_ANCHOR, "x y l m f^ g^ h^");
	/* It is: then that is where the run begins. */
	EXPECT(&exact, "x f l m", "f g h", SPLICE_NO_ANCHOR, "x f! g^ h^");
}

static void MultipleSegments_ProcessedLeafToRoot_InLockstep(void)
{
	EXPECT(&exact, "x f @1 % y k @0 % z o @9 % m", "f g/k l/o p q", SPLICE_EXACT,
	       "x f! g^ y k! l^ z o! p^ q^");
	CHECK_EQ(frames[2].task, stage.segments[0].task);
	CHECK_EQ(frames[3].task, stage.segments[1].task);
	CHECK_EQ(frames[6].task, stage.segments[2].task);
}

static void MixedV1AndV2Segments_PreserveSynchronousAndNativeBridge(void)
{
	EXPECT(&exact, "x f @1 % r e @0 % y z k @4 % m", "m:f g/k l", SPLICE_EXACT,
	       "x f! g^ y z k! l^");
}

static void MixedV2InnerAndV1Outer_PreservesUnclassifiedBridge(void)
{
	EXPECT(&exact, "x f @4 % y z k @1 % r j @0 % m", "f g/m:k l", SPLICE_EXACT,
	       "x f! g^ y z k! l^");
}

static void NestedV1Segments_PreserveUnclassifiedBridge(void)
{
	EXPECT(&exact, "x f @1 % r e @0 % y z k @1 % r j @0 % m", "m:f g/m:k l", SPLICE_EXACT,
	       "x f! g^ y z k! l^");
}

/* The same stack gives the same frames, whatever was spliced before. */
static void Trace_IsDeterministic(void)
{
	struct splice_frame before[16];

	EXPECT(&exact, "x f @1 % y k @0 % m", "f g/k l", SPLICE_EXACT, "x f! g^ y k! l^");
	memcpy(before, frames, sizeof(before));
	EXPECT(&exact, "x y z", "f g/k l", SPLICE_NO_ANCHOR, "x y z f^ g^ k^ l^");
	EXPECT(&exact, "x f @1 % y k @0 % m", "f g/k l", SPLICE_EXACT, "x f! g^ y k! l^");
	CHECK(memcmp(before, frames, frame_count * sizeof(*frames)) == 0);
}

/* Each frame says where it comes from, and whose it is. */
static void Trace_SaysWhereEachFrameComesFrom(void)
{
	EXPECT(&exact, "x f @1 % y k @0 % m", "f g/k ~3 l", SPLICE_EXACT, "x f! g^ y k! ~3 l^");
	for (uint32_t i = 0; i < frame_count; i++)
		CHECK_EQ(frames[i].task, stage.segments[i >= 3].task);
}

static void Trace_EndsWithTheRootOfTheOutermostChain(void)
{
	EXPECT(&exact, "f @0 % e l m", "f g", SPLICE_EXACT, "f! g^");
	EXPECT(&exact, "f @0 % e l m", "f", SPLICE_EXACT, "f!");
}

/* Of several things that are not as they should be the worst is told. */
static void Diagnostics_TellTheWorst(void)
{
	EXPECT(&exact, "x z @0 % y k @0 % m", "f g/?", SPLICE_NO_CHAIN, "x z! g^ y k! @0 % m");
	EXPECT_CUT(&exact, "x z @0 % y", "f g/k l", SPLICE_CUT, "x z! g^ y k^ l^");
	EXPECT_CUT(&exact, "x f @0 % y", "f g/k l", SPLICE_CUT, "x f! g^ y k^ l^");
}

static void Diagnostics_OfAnExactSpliceAreNone(void)
{
	EXPECT(&exact, "x f @31 % m", "f g", SPLICE_EXACT, "x f! g^");
}

/* The anchors of the state machine around it are enough for all three. */
static void a_dispatch_inside_of_boxes_takes_no_anchor_of_theirs(void)
{
	EXPECT(&exact, "% % y k @1 % r j @0 % z h @2 % m", "f g/m:k o/h i", SPLICE_EXACT,
	       "% % f^ g^ y k! o^ z h! i^");
}

/* One is done, and the next is about to go on inside of it. */
static void between_two_boxes_is_what_goes_on_next(void)
{
	EXPECT(&exact, "c % % r f @0 % l m", "m:g h", SPLICE_EXACT, "c % % g^ h^");
	EXPECT(&exact, "% r f @0 % y k @3 % m", "m:g h/k l", SPLICE_EXACT, "% g^ h^ y k! l^");
	/* In a hook that the function itself calls, it is that one which runs. */
	EXPECT(&exact, "% r f @0 % l m", "m:f g", SPLICE_EXACT, "% r f! g^");
}

/* A box that waits has ended its run, and returns through the function that ran it. */
static void functions_on_their_way_out_are_calls_of_the_run_around(void)
{
	EXPECT(&exact, "% r f @1 % s g @0 % y k @3 % m", "k l", SPLICE_EXACT, "% r f s g y k! l^");
	EXPECT(&exact, "x z @0 % m", "f g", SPLICE_MISMATCH, "x z! g^");
}

static void a_cut_stack_gets_the_whole_chain(void)
{
	EXPECT_CUT(&exact, "x y", "f g", SPLICE_CUT, "x y f^ g^");
	EXPECT_CUT(&unnamed, "x y", "f g", SPLICE_CUT, "x y f^ g^");
	/* The running function is there already. */
	EXPECT_CUT(&exact, "x f", "f g", SPLICE_CUT, "x f! g^");
	EXPECT_CUT(&exact, "x f %", "f g", SPLICE_CUT, "x f! g^");
	EXPECT_CUT(&exact, "x f @1", "f g", SPLICE_EXACT, "x f! g^");
}

static void a_sample_without_native_frames_is_its_chains(void)
{
	EXPECT(&exact, "", "f g/k", SPLICE_CUT, "f^ g^ k^");
	EXPECT(&exact, "", "?", SPLICE_NO_CHAIN, "");
}

static void a_function_that_awaits_itself_is_not_mistaken(void)
{
	EXPECT(&exact, "f f f @3 % m", "f f f g", SPLICE_EXACT, "f f f! f^ f^ g^");
}

static void a_walk_with_a_gap_takes_the_function_from_the_chain(void)
{
	EXPECT(&exact, "x ~0 @1 % m", "f g", SPLICE_EXACT, "x ~0 f! g^");
	/* What was sampled is that function itself. */
	EXPECT(&exact, "f ~0 @1 % m", "f g", SPLICE_EXACT, "f! g^");
	EXPECT(&unnamed, "f ~0 @1 % m", "f g", SPLICE_EXACT, "f ~0 f! g^");
}

static void a_runtime_without_anchors_inside_of_one_with(void)
{
	EXPECT(&exact, "x f y k @0 % m", "f g/k l", SPLICE_NO_ANCHOR, "x f! g^ y k! l^");
	EXPECT(&unnamed, "x f y k @0 % m", "f g/k l", SPLICE_NO_ANCHOR, "x f y k! g^ m l^");
	EXPECT(&exact, "x k @0 % y f m", "k l/f g", SPLICE_NO_ANCHOR, "x k! l^ y f! g^");
}

/* Boxes 33 to 0 inside of each other, in a run inside of another. */
static void a_climb_over_more_boxes_than_anchors_stays_one_run(void)
{
	char native[1024] = "x h";

	for (int place = 33; place >= 0; place--)
		sprintf(native + strlen(native), " @%d %% e", place % 32);
	strcat(native, " y k @1 % r j @0 % m");
	EXPECT(&exact, native, "m:h i/m:k l", SPLICE_EXACT, "x h! i^ e y k! l^");
	strcpy(native, "x h");
	for (int place = 33; place >= 0; place--)
		sprintf(native + strlen(native), " @%d %% e", place % 32);
	EXPECT(&exact, native, "m:h i", SPLICE_EXACT, "x h! i^");
}

static void a_chain_that_begins_with_an_omission_keeps_it(void)
{
	EXPECT(&exact, "x f @0 % m", "~0 g", SPLICE_EXACT, "x f! ~0 g^");
	EXPECT(&exact, "x f @0 % m", "~1 g", SPLICE_EXACT, "x f! g^");
	EXPECT(&exact, "x f @0 % m", "~5 g", SPLICE_EXACT, "x f! ~4 g^");
}

static void frames_without_room_are_left_out_at_the_root(void)
{
	char found[256];

	set(&stage, "x f @0 % m", "f g h i j");
	CHECK_EQ(spliced(&exact, 4), SPLICE_EXACT);
	say(found, sizeof(found), frames, frame_count);
	CHECK_STR_EQ(found, "x f! g^ ~3");
	CHECK_EQ(spliced(&exact, 6), SPLICE_EXACT);
	say(found, sizeof(found), frames, frame_count);
	CHECK_STR_EQ(found, "x f! g^ h^ i^ j^");
	set(&stage, "x f @0 % m", "f g ~9 i j");
	CHECK_EQ(spliced(&exact, 4), SPLICE_EXACT);
	say(found, sizeof(found), frames, frame_count);
	CHECK_STR_EQ(found, "x f! g^ ~11");
	set(&stage, "x f @0 % m", "f g ~0 i j");
	CHECK_EQ(spliced(&exact, 3), SPLICE_EXACT);
	say(found, sizeof(found), frames, frame_count);
	CHECK_STR_EQ(found, "x f! ~0");
	CHECK_EQ(spliced(&exact, 0), SPLICE_EXACT);
	CHECK_EQ(frame_count, 0);
}

static uint64_t seed;

static uint32_t below(uint32_t limit)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % limit);
}

static void add(char *to, char mark, uint32_t value)
{
	if (*to)
		strcat(to, " ");
	if (mark == '@')
		sprintf(to + strlen(to), "@%u", value % 32);
	else
		sprintf(to + strlen(to), "%c", mark ? mark : (char)('a' + value));
}

/* Some native frames that belong to nobody in particular. */
static void add_bridge(char *native, char *words)
{
	for (uint32_t i = below(4); i > 0; i--) {
		uint32_t function = below(26);

		add(native, 0, function);
		add(words, 0, function);
	}
}

/* One run, as it lies on the stack, and as it is to come out. */
static void add_run(char *native, char *chains, char *words, bool last)
{
	bool machine = below(2);
	uint32_t depth = 1 + below(8), place = below(machine ? 12 : 80);

	if (*chains)
		strcat(chains, "/");
	if (machine)
		strcat(chains, "m:");
	for (uint32_t i = 0; i < depth; i++) {
		uint32_t function = below(26);

		if (i)
			strcat(chains, " ");
		sprintf(chains + strlen(chains), "%c", (char)('a' + function));
		if (!i)
			add(native, 0, function);
		add(words, 0, function);
		strcat(words, i ? "^" : "!");
	}
	add(native, '@', place);
	add(native, '%', 0);
	/* Boxes that are done, but not off the stack. */
	while (machine && place) {
		place -= 1 + below(place);
		add(native, 0, below(26));
		add(native, '@', place);
		add(native, '%', 0);
	}
	if (below(2))
		add(native, '%', 0);
	if (last)
		for (uint32_t i = below(3); i > 0; i--)
			add(native, 0, below(26));
}

static void logical_stacks_come_out_as_they_were_made(void)
{
	for (uint32_t round = 0; round < 20000; round++) {
		char native[1024] = "", chains[1024] = "", words[1024] = "";
		uint32_t runs = 1 + below(3);

		seed = round;
		for (uint32_t i = 0; i < runs; i++) {
			add_bridge(native, words);
			add_run(native, chains, words, i + 1 == runs);
		}
		EXPECT(&exact, native, chains, SPLICE_EXACT, words);
		EXPECT(&unnamed, native, chains, SPLICE_EXACT, words);
		if (check_failed) {
			printf("# round %u: %s with %s\n", round, native, chains);
			return;
		}
	}
}

/* Whatever it is given: it ends, and says no more frames than it may. */
static void nonsense_is_spliced_within_bounds(void)
{
	for (uint32_t round = 0; round < 20000; round++) {
		char native[1024] = "", chains[1024] = "";
		uint32_t most = below(12);

		seed = round + 77;
		for (uint32_t i = below(20); i > 0; i--)
			add(native, "\0\0\0@%@"[below(6)], below(64));
		for (uint32_t i = below(12); i > 0; i--)
			strcat(chains,
			       (const char *[]){"a ", "b ", "~2 ", "/", "/m:", "?/"}[below(6)]);
		set(&stage, native, chains);
		stage.sample.flags = below(2) ? SAMPLE_CUT : 0;
		frames[most].address = 12345;
		CHECK(spliced(below(2) ? &exact : &unnamed, most) < SPLICE_OUTCOMES);
		CHECK(frame_count <= most);
		CHECK_EQ(frames[most].address, 12345);
	}
}

int main(void)
{
	RUN(NoSegments_IsVerbatimPassthrough);
	RUN(NoSegments_WrapperIsLeaf_IsVerbatim);
	RUN(NoSegments_WrapperAboveLeaf_IsVerbatim);
	RUN(NoSegments_NoWrapper_IsVerbatimPassthrough);
	RUN(StitchInto_ReusesAndClearsCallerOwnedBuffers);
	RUN(EmptySegment_PreservesPhysicalSyncBoundaries);
	RUN(V2_AdjacencyMismatch_IsRecordedAsSoftDiagnostic);
	RUN(V2_StitchCollapsesDispatchContinuationPlumbing);
	RUN(V2_WrapperIsLeaf_DropsWrapperAndUsesSyncLayout);
	RUN(V2_NoWrapperInDispatchPlumbing_UsesSyncLayout);
	RUN(V1_CollapsesContiguousBoxInfrastructureRootwardOfDispatcher);
	RUN(V1_ZeroIpCurrentFrame_ResolvesFromSyncLeaf_NotSpliced);
	RUN(MissingBoundary_DegradesToAppendOnly_WithDiagnostic);
	RUN(MultipleSegments_ProcessedLeafToRoot_InLockstep);
	RUN(MixedV1AndV2Segments_PreserveSynchronousAndNativeBridge);
	RUN(MixedV2InnerAndV1Outer_PreservesUnclassifiedBridge);
	RUN(NestedV1Segments_PreserveUnclassifiedBridge);
	RUN(Trace_IsDeterministic);
	RUN(Trace_SaysWhereEachFrameComesFrom);
	RUN(Trace_EndsWithTheRootOfTheOutermostChain);
	RUN(Diagnostics_TellTheWorst);
	RUN(Diagnostics_OfAnExactSpliceAreNone);
	RUN(a_dispatch_inside_of_boxes_takes_no_anchor_of_theirs);
	RUN(between_two_boxes_is_what_goes_on_next);
	RUN(functions_on_their_way_out_are_calls_of_the_run_around);
	RUN(a_cut_stack_gets_the_whole_chain);
	RUN(a_sample_without_native_frames_is_its_chains);
	RUN(a_function_that_awaits_itself_is_not_mistaken);
	RUN(a_walk_with_a_gap_takes_the_function_from_the_chain);
	RUN(a_runtime_without_anchors_inside_of_one_with);
	RUN(a_climb_over_more_boxes_than_anchors_stays_one_run);
	RUN(a_chain_that_begins_with_an_omission_keeps_it);
	RUN(frames_without_room_are_left_out_at_the_root);
	RUN(logical_stacks_come_out_as_they_were_made);
	RUN(nonsense_is_spliced_within_bounds);
	return check_done();
}
