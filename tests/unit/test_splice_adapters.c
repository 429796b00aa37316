/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks that an adapter calls: what lies between the anchor and the callback
 * is left out, and why it runs follows. Site 1's callbacks were armed in x by y,
 * which was armed in z.
 */
#include "splice_words.h"

static struct stage stage;
static struct splice_frame frames[FRAMES_MOST];
static uint32_t frame_count;

static uint64_t address_of(char function)
{
	return FUNCTIONS + (uint64_t)(function - 'a') * 256;
}

static uint32_t cause(void *data, uint32_t site, const struct splice_frame **ret)
{
	static struct splice_frame behind[3];

	(void)data;
	CHECK_EQ(site, 1);
	behind[0] = (struct splice_frame){.address = address_of('x'), .kind = SPLICE_ARMED};
	behind[1] = (struct splice_frame){.address = address_of('y'), .kind = SPLICE_AWAIT};
	behind[2] = (struct splice_frame){.address = address_of('z'), .kind = SPLICE_ARMED};
	*ret = behind;
	return 3;
}

static bool is_callback(void *data, uint32_t site)
{
	(void)data;
	return site == 1;
}

/* With an adapter; with or without the names of functions. */
static struct splice_options options_of(bool named)
{
	struct splice_options options = named ? exact : unnamed;

	options.adapters[options.adapter_count++] =
		(struct splice_anchors){ADAPTERS, ADAPTERS + 0x1000};
	options.cause = cause;
	options.is_callback = is_callback;
	return options;
}

static void expect(bool named, const char *native, const char *chains, enum splice_outcome outcome,
		   const char *words)
{
	struct splice_options options = options_of(named);
	char found[2048];

	set(&stage, native, chains);
	CHECK_EQ(splice(&options, &stage.sample, frames, FRAMES_MOST, &frame_count), outcome);
	say(found, sizeof(found), frames, frame_count);
	CHECK_STR_EQ(found, words);
}

/* Both with names and without. */
static void expect_both(const char *native, const char *chains, enum splice_outcome outcome,
			const char *words)
{
	expect(true, native, chains, outcome, words);
	expect(false, native, chains, outcome, words);
}

static void a_callback_is_followed_by_why_it_runs(void)
{
	expect_both("a b f & @0 % & l m", "c:f", SPLICE_EXACT, "a b f! x+ y^ z+");
	CHECK_EQ(frames[2].state, 'f' - 'a' + 1);
	CHECK_EQ(frames[3].task, stage.segments[0].task);
	/* Without an adapter: a program that calls the hooks itself. */
	expect_both("a f @0 % m", "c:f", SPLICE_EXACT, "a f! x+ y^ z+");
}

/* What its last act calls takes its place on the stack. */
static void a_callback_that_jumped_elsewhere_is_known_by_the_chain(void)
{
	expect(true, "a g @0 % m", "c:f", SPLICE_EXACT, "a g f! x+ y^ z+");
	expect(true, "a g & @0 % & l m", "c:f", SPLICE_EXACT, "a g f! x+ y^ z+");
	/* Without names, what the anchor called is taken for the callback. */
	expect(false, "a g @0 % m", "c:f", SPLICE_EXACT, "a g! x+ y^ z+");
}

static void the_library_may_lie_between_adapter_and_callback(void)
{
	expect(true, "a f l & @0 % & l m", "c:f", SPLICE_EXACT, "a f! x+ y^ z+");
	/* Without names, what the adapter called is taken for the callback. */
	expect(false, "a f l & @0 % & l m", "c:f", SPLICE_EXACT, "a f l! x+ y^ z+");
}

static void an_adapter_on_its_way_to_the_callback_has_it_from_the_chain(void)
{
	expect_both("& @0 % & l m", "c:f", SPLICE_EXACT, "& f! x+ y^ z+");
	expect_both("% & @0 % & l m", "c:f", SPLICE_EXACT, "% & f! x+ y^ z+");
	expect(true, "a & @0 % & l m", "c:f", SPLICE_EXACT, "a f! x+ y^ z+");
}

/* g is what a coroutine library goes on with them through, which is the anchor's callee. */
static void a_coroutine_is_found_above_what_its_library_calls_it_through(void)
{
	expect(true, "a b f g @0 % m", "r:f h i", SPLICE_EXACT, "a b f! h^ i^");
	expect(true, "f g g @0 % m", "r:f h", SPLICE_EXACT, "f! h^");
	/* Inside of the wait of another: both anchors are of one run. */
	expect(true, "a f g @1 % l h g @0 % m", "r:f h i", SPLICE_EXACT, "a f! h^ i^");
	/* And of two. */
	expect(true, "a f g @0 % l h g @0 % m", "r:f/r:h i", SPLICE_EXACT, "a f! l h! i^");
}

/* Where a compiler makes a call of it, whoever transferred control is still on the stack. */
static void transfers_that_are_calls_are_not_shown(void)
{
	expect(true, "a f h g @0 % m", "r:f h i", SPLICE_EXACT, "a f! h^ i^");
	expect(true, "a h f h g @0 % m", "r:h i", SPLICE_EXACT, "a h! i^");
}

static void a_coroutine_that_is_not_there_is_not_made_up(void)
{
	expect(true, "a b g @0 % m", "r:f h", SPLICE_MISMATCH, "a b g! h^");
	/* In a hook that has just switched from another one. */
	expect(true, "% b g @0 % m", "r:f h", SPLICE_EXACT, "% f^ h^");
}

static void a_call_through_an_adapter_does_not_show_it(void)
{
	expect_both("a l & f & @0 % & l m", "c:f", SPLICE_EXACT, "a l f! x+ y^ z+");
	expect_both("a l & m", "", SPLICE_NO_TASK, "a l m");
	/* But what it takes itself is seen. */
	expect_both("% & f & @0 % & l m", "c:f", SPLICE_EXACT, "% & f! x+ y^ z+");
	expect_both("& m", "", SPLICE_NO_TASK, "& m");
}

static void a_dispatch_that_goes_through_an_adapter_is_left_out(void)
{
	expect_both("% & l m", "c:f", SPLICE_EXACT, "% & f^ x+ y^ z+");
}

static void a_loop_inside_of_a_callback_keeps_both(void)
{
	expect_both("a g & @0 % & l & f & @0 % & l m", "c:g/c:f", SPLICE_EXACT,
		    "a g! x+ y^ z+ l f! x+ y^ z+");
	/* About to call the inner one. */
	expect(true, "% & l & f & @0 % & l m", "c:g/c:f", SPLICE_EXACT,
	       "% & g^ x+ y^ z+ l f! x+ y^ z+");
	/* The same callback inside of itself, not called yet. */
	expect_both("& @0 % & l & f & @0 % & l m", "c:f/c:f", SPLICE_EXACT,
		    "& f! x+ y^ z+ l f! x+ y^ z+");
}

static void a_callback_that_ended_its_own_task_is_a_call_of_the_run_around(void)
{
	expect(true, "a g & @0 % & l f & @0 % & l m", "c:f", SPLICE_EXACT, "a g l f! x+ y^ z+");
}

static void a_task_of_another_model_inside_of_a_callback(void)
{
	expect_both("a h @0 % f & @0 % & l m", "h i/c:f", SPLICE_EXACT, "a h! i^ f! x+ y^ z+");
	expect_both("a f & @0 % & h @0 % m", "c:f/m:h i", SPLICE_EXACT, "a f! x+ y^ z+ h! i^");
}

static void a_runtime_without_anchors_inside_of_a_callback(void)
{
	expect(true, "a b f & @0 % & l m", "b c/c:f", SPLICE_NO_ANCHOR, "a b! c^ f! x+ y^ z+");
	expect(true, "a f & @0 % & l m", "b c/c:f", SPLICE_NO_ANCHOR, "a b^ c^ f! x+ y^ z+");
}

static void a_cause_that_finds_no_room_is_an_omission(void)
{
	struct splice_options options = options_of(true);
	char found[256];

	set(&stage, "a f & @0 % & l m", "c:f");
	CHECK_EQ(splice(&options, &stage.sample, frames, 3, &frame_count), SPLICE_EXACT);
	say(found, sizeof(found), frames, frame_count);
	CHECK_STR_EQ(found, "a f! ~3");
}

static uint64_t seed = 1;

static uint32_t below(uint32_t limit)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % limit);
}

static void add(char *to, const char *word)
{
	if (*to && to[strlen(to) - 1] != '/' && to[strlen(to) - 1] != ':')
		strcat(to, " ");
	strcat(to, word);
}

static void add_function(char *native, char *words, const char *mark)
{
	char word[2] = {(char)('a' + below(20)), 0};

	add(native, word);
	add(words, word);
	strcat(words, mark);
}

/* One callback that runs, in a loop that the one around it runs. */
static void add_run(char *native, char *chains, char *words)
{
	strcat(chains, *chains ? "/c:" : "c:");
	for (uint32_t i = below(4); i; i--) {
		add_function(native, words, "");
		if (below(2))
			add(native, "&");
	}
	add_function(native, words, "!");
	add(chains, (char[]){words[strlen(words) - 2], 0});
	for (uint32_t i = 1 + below(2); i; i--)
		add(native, "&");
	add(native, "@0");
	add(native, "%");
	if (below(2))
		add(native, "&");
	add(words, "x+ y^ z+");
}

static void logical_stacks_come_out_as_they_were_made(void)
{
	for (uint32_t round = 0; round < 5000 && !check_failed; round++) {
		char native[1024] = "", chains[1024] = "", words[1024] = "";

		for (uint32_t runs = 1 + below(3); runs; runs--)
			add_run(native, chains, words);
		add(native, "u v");
		expect_both(native, chains, SPLICE_EXACT, words);
		if (check_failed)
			printf("# round %u: %s with %s\n", round, native, chains);
	}
}

/* Whatever it is given: it ends, and says no more frames than it may. */
static void nonsense_is_spliced_within_bounds(void)
{
	static const char *const natives[] = {"a", "b", "&", "&", "@0", "%", "~1"};
	static const char *const parts[] = {"a ", "b ", "/c:", "/m:", "?/", "/c:a"};

	for (uint32_t round = 0; round < 20000; round++) {
		struct splice_options options = options_of(below(2));
		char native[1024] = "", chains[1024] = "";
		uint32_t most = below(12);

		for (uint32_t i = below(20); i > 0; i--)
			add(native, natives[below(7)]);
		for (uint32_t i = below(12); i > 0; i--)
			strcat(chains, parts[below(6)]);
		set(&stage, native, chains);
		frames[most].address = 12345;
		CHECK(splice(&options, &stage.sample, frames, most, &frame_count) <
		      SPLICE_OUTCOMES);
		CHECK(frame_count <= most);
		CHECK_EQ(frames[most].address, 12345);
	}
}

int main(void)
{
	RUN(a_callback_is_followed_by_why_it_runs);
	RUN(a_callback_that_jumped_elsewhere_is_known_by_the_chain);
	RUN(the_library_may_lie_between_adapter_and_callback);
	RUN(an_adapter_on_its_way_to_the_callback_has_it_from_the_chain);
	RUN(a_coroutine_is_found_above_what_its_library_calls_it_through);
	RUN(transfers_that_are_calls_are_not_shown);
	RUN(a_coroutine_that_is_not_there_is_not_made_up);
	RUN(a_call_through_an_adapter_does_not_show_it);
	RUN(a_dispatch_that_goes_through_an_adapter_is_left_out);
	RUN(a_loop_inside_of_a_callback_keeps_both);
	RUN(a_callback_that_ended_its_own_task_is_a_call_of_the_run_around);
	RUN(a_task_of_another_model_inside_of_a_callback);
	RUN(a_runtime_without_anchors_inside_of_a_callback);
	RUN(a_cause_that_finds_no_room_is_an_omission);
	RUN(logical_stacks_come_out_as_they_were_made);
	RUN(nonsense_is_spliced_within_bounds);
	return check_done();
}
