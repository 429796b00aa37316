/* SPDX-License-Identifier: Apache-2.0 */
/* Chains that are too deep to be written whole: both of their ends are. */
#include "encoding.h"

/*
 * What is to be read of a chain: all, or the 2047 frames of its root side, how many are left out,
 * and the innermost ones down to a multiple of 1024.
 */
static char *text_as_told(struct stacks *stacks, const struct unweave_frame *chain)
{
	uint32_t depth = chain->depth, cut = (depth - 1) / 1024 * 1024 - 1024;
	const struct unweave_frame **frames, *told;
	char *text;

	if (depth <= 4096)
		return chain_text(chain);
	frames = calloc(depth + 1, sizeof(*frames));
	for (; chain; chain = chain->awaiter)
		frames[chain->depth] = chain;
	told = stacks_push(stacks, frames[2047], cut - 2047, 0, UNWEAVE_FRAME_OMITTED);
	for (uint32_t i = cut + 1; i <= depth; i++)
		told = stacks_push(stacks, told, frames[i]->address, frames[i]->state,
				   frames[i]->kind);
	text = chain_text(told);
	free(frames);
	return text;
}

static void a_chain_too_deep_keeps_both_ends(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);
	struct unweave_event event = at(TICKS, UNWEAVE_EVENT_RESUME, 7);
	const struct unweave_frame *chain = NULL;
	struct stacks *stacks = NULL;
	char *text;

	CHECK_EQ(stacks_new(&stacks, 100000), 0);
	for (unsigned i = 1; i <= 50000; i++)
		chain = stacks_push(stacks, chain, UINT64_MAX / i, -1, UNWEAVE_FRAME_CODE);
	text = text_as_told(stacks, chain);
	event.stack = chain;
	/* Twice in one block, then in the next: it must not depend on what was told. */
	for (unsigned i = 0; i < 3; i++) {
		put(encoder, event);
		if (i == 1)
			CHECK_EQ(encoder_flush(encoder), 0);
	}
	CHECK_EQ(encoder_flush(encoder), 0);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 3);
	for (size_t i = 0; i < got.count; i++)
		CHECK_STR_EQ(got.at[i].stack, text);
	free(text);
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
	stacks_free(stacks);
}

/* An omission inside of what is left out counts for as many as it says, and 0 is not known. */
static void frames_left_out_twice_are_counted_once(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);
	const struct unweave_frame *chains[2] = {NULL};
	struct stacks *stacks = NULL;

	CHECK_EQ(stacks_new(&stacks, 20000), 0);
	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 7));
	for (unsigned known = 0; known < 2; known++) {
		for (unsigned i = 1; i <= 5000; i++)
			chains[known] = stacks_push(
				stacks, chains[known], i == 3000 ? known * 700 : 8 * i, 0,
				i == 3000 ? UNWEAVE_FRAME_OMITTED : UNWEAVE_FRAME_CODE);
		put_switch(encoder, 7, chains[known], 7, chains[known]);
	}
	CHECK_EQ(encoder_flush(encoder), 0);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 5);
	CHECK(got.count == 5 && strstr(got.at[1].stack, " ~0 "));
	/* Frames 2048 to 3072, of which one stands for 700. */
	CHECK(got.count == 5 && strstr(got.at[3].stack, " ~1724 "));
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
	stacks_free(stacks);
}

#define DEEP_STEPS 3000

/* A chain that goes up and down around the depths where what is left out changes, with branches. */
static void a_chain_too_deep_is_followed_as_it_grows_and_shrinks(void)
{
	static const uint32_t turns[] = {4090, 4100, 4096, 5130, 5119,
					 5122, 6200, 4099, 2040, 5121};
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);
	const struct unweave_frame *chain = NULL;
	char **texts = calloc(DEEP_STEPS, sizeof(*texts));
	struct stacks *stacks = NULL;
	uint64_t state = 11;
	uint32_t steps = 0, turn = 0;

	CHECK_EQ(stacks_new(&stacks, 1 << 20), 0);
	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 7));
	while (steps < DEEP_STEPS) {
		uint32_t depth = chain ? chain->depth : 0, to = turns[turn % 10];

		if (depth == to) {
			turn++;
			continue;
		}
		/* In jumps where it is far, one by one where it is near. */
		for (uint32_t i = to > depth + 40 || depth > to + 40 ? 30 : 1; i > 0; i--)
			chain = to > depth ? stacks_push(stacks, chain, 8 + random_next(&state) % 3,
							 0, UNWEAVE_FRAME_CODE)
					   : chain->awaiter;
		put_switch(encoder, 7, chain, 7, chain);
		texts[steps++] = text_as_told(stacks, chain);
	}
	CHECK_EQ(encoder_flush(encoder), 0);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 1 + 2 * DEEP_STEPS);
	for (unsigned i = 1; i < got.count; i++)
		CHECK(strcmp(got.at[i].stack, texts[(i - 1) / 2]) == 0);
	/* Most of them share what was told before: 2,000 frames each would be far more blocks. */
	CHECK(blocks.count < 8);
	for (unsigned i = 0; i < DEEP_STEPS; i++)
		free(texts[i]);
	free(texts);
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
	stacks_free(stacks);
}

/* Also where their own awaiter stands on something else than it does in them. */
static void a_chain_too_deep_has_siblings_too(void)
{
	static const unsigned depths[] = {5000, 5121, 4097};

	for (unsigned k = 0; k < 3; k++) {
		struct blocks blocks = {0};
		struct plain_events got = {0};
		struct encoder *encoder = new_encoder(&blocks);
		const struct unweave_frame *deep[3] = {NULL};
		struct stacks *stacks = NULL;
		char *texts[3];

		CHECK_EQ(stacks_new(&stacks, 20000), 0);
		for (unsigned i = 1; i <= depths[k]; i++)
			deep[0] = stacks_push(stacks, deep[0], 8 * i, 0, UNWEAVE_FRAME_CODE);
		deep[1] = stacks_push(stacks, deep[0]->awaiter, 8, 0, UNWEAVE_FRAME_CODE);
		deep[2] = stacks_push(stacks, deep[0]->awaiter->awaiter, 8, 0, UNWEAVE_FRAME_CODE);
		for (unsigned i = 0; i < 3; i++)
			texts[i] = text_as_told(stacks, deep[i]);
		put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 7));
		for (unsigned i = 0; i < 9; i++)
			put_switch(encoder, 7, deep[i % 3], 7, deep[i % 3]);
		put_switch(encoder, 7, deep[1], 7, deep[1]);
		put_switch(encoder, 7, deep[0], 7, deep[0]);
		CHECK_EQ(encoder_flush(encoder), 0);
		/* The first of those that stand on the same frame. */
		CHECK_EQ(blocks.payloads[0][blocks.at[0].raw - 2], 1);
		blocks_decode(&blocks, &got);
		CHECK_EQ(got.count, 1 + 22);
		for (unsigned i = 1; i < got.count; i++)
			CHECK_STR_EQ(got.at[i].stack, texts[i < 19 ? (i - 1) / 2 % 3 : i < 21]);
		for (unsigned i = 0; i < 3; i++)
			free(texts[i]);
		encoder_free(encoder);
		blocks_fini(&blocks);
		plain_events_fini(&got);
		stacks_free(stacks);
	}
}

int main(void)
{
	RUN(a_chain_too_deep_has_siblings_too);
	RUN(a_chain_too_deep_keeps_both_ends);
	RUN(frames_left_out_twice_are_counted_once);
	RUN(a_chain_too_deep_is_followed_as_it_grows_and_shrinks);
	return check_done();
}
