/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "encoding.h"

/* Puts `count` random events, and checks what comes back, block by block. */
static void check_random(uint64_t seed, size_t count, bool aside, bool nest_known)
{
	struct unweave_event *events = calloc(count, sizeof(*events));
	struct plain_events got = {0};
	struct encoder *encoder = NULL;
	struct blocks blocks = {0};
	struct stream stream;
	uint64_t number = 100;

	stream_init(&stream, seed);
	CHECK_EQ(encoder_new(&encoder, 3, aside, number, nest_known, blocks_take, &blocks), 0);
	for (size_t i = 0; i < count; i++) {
		events[i] = stream_next(&stream);
		CHECK_EQ(encoder_put(encoder, &events[i], 1), 0);
	}
	CHECK_EQ(encoder_flush(encoder), 0);

	for (size_t i = 0; i < blocks.count; i++) {
		CHECK_EQ(blocks.at[i].number, number);
		CHECK(blocks.at[i].raw <= FORMAT_PAYLOAD_MAX);
		number += blocks.at[i].events;
	}
	CHECK_EQ(encoder_number(encoder), number);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, count);
	for (size_t i = 0; i < count && i < got.count; i++) {
		events[i].flags |= aside ? UNWEAVE_EVENT_ASIDE : 0;
		check_event(&got.at[i], &events[i]);
	}
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
	stream_fini(&stream);
	free(events);
}

static void random_events_come_back_as_they_went_in(void)
{
	for (uint64_t seed = 1; seed <= 200; seed++)
		check_random(seed, 300, false, seed & 1);
}

static void random_events_over_many_blocks_come_back_as_they_went_in(void)
{
	check_random(1001, 200000, false, true);
	check_random(1002, 100000, false, false);
}

static void events_of_an_aside_stream_carry_its_flag(void)
{
	check_random(2001, 2000, true, true);
}

/* The blocks that come of the events if so many are put in one call. */
static struct blocks encode(const struct unweave_event *events, size_t count, size_t together)
{
	struct blocks blocks = {0};
	struct encoder *encoder = new_encoder(&blocks);

	for (size_t i = 0; i < count; i += together) {
		size_t rest = count - i < together ? count - i : together;

		CHECK_EQ(encoder_put(encoder, events + i, (uint32_t)rest), 0);
	}
	CHECK_EQ(encoder_flush(encoder), 0);
	encoder_free(encoder);
	return blocks;
}

static void events_put_together_are_written_as_if_one_by_one(void)
{
	static const size_t together[] = {2, 3, 64, 150000};
	size_t count = 150000;
	struct unweave_event *events = calloc(count, sizeof(*events));
	struct stream stream;
	struct blocks single;

	stream_init(&stream, 77);
	for (size_t i = 0; i < count; i++) {
		events[i] = stream_next(&stream);
		/* Some are of a clock that goes back, now and then both halves of a pair. */
		if (i % 50 < 2 && events[i].time > 400)
			events[i].time -= 400;
	}
	single = encode(events, count, 1);
	CHECK(single.count >= 3);
	for (size_t t = 0; t < sizeof(together) / sizeof(together[0]); t++) {
		struct blocks blocks = encode(events, count, together[t]);

		CHECK_EQ(blocks.count, single.count);
		for (size_t i = 0; i < blocks.count && i < single.count; i++) {
			CHECK_EQ(memcmp(&blocks.at[i], &single.at[i], sizeof(blocks.at[i])), 0);
			CHECK_EQ(memcmp(blocks.payloads[i], single.payloads[i], single.at[i].raw),
				 0);
		}
		blocks_fini(&blocks);
	}
	blocks_fini(&single);
	stream_fini(&stream);
	free(events);
}

/* What a block holds is what went in at its numbers, whatever came before it. */
static void any_block_decodes_alone(void)
{
	size_t count = 250000, number = 0;
	struct unweave_event *events = calloc(count, sizeof(*events));
	struct blocks blocks = {0};
	struct encoder *encoder = new_encoder(&blocks);
	struct stream stream;

	stream_init(&stream, 7);
	while (number < count) {
		struct unweave_event event = stream_next(&stream);

		/* So that a number is an index. */
		if (event.kind == UNWEAVE_EVENT_LOST)
			continue;
		put(encoder, event);
		events[number++] = event;
	}
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK(blocks.count >= 4);
	for (size_t i = blocks.count; i-- > 0;) {
		struct plain_events got = {0};

		CHECK(plain_decode(&blocks.at[i], blocks.payloads[i], &got));
		CHECK_EQ(got.count, blocks.at[i].events);
		for (size_t k = 0; k < got.count && blocks.at[i].number + k < count; k++)
			check_event(&got.at[k], &events[blocks.at[i].number + k]);
		plain_events_fini(&got);
	}
	encoder_free(encoder);
	blocks_fini(&blocks);
	stream_fini(&stream);
	free(events);
}

static void a_suspend_and_a_resume_at_one_time_are_written_as_one(void)
{
	static const uint8_t expected[] = {
		1,    0,     /* the nest is known, and empty */
		0x05, 14, 0, /* RESUME_TO, +7, no chain */
		0x42, 2,  0, /* 4 later SWITCH_TO, +1, no chain */
		0x30, 0,     /* 3 later SWITCH to the first task */
	};
	struct blocks blocks = {0};
	struct encoder *encoder = new_encoder(&blocks);

	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 7));
	put(encoder, at(TICKS + 4, UNWEAVE_EVENT_SUSPEND, 7));
	put(encoder, at(TICKS + 4, UNWEAVE_EVENT_RESUME, 8));
	put(encoder, at(TICKS + 7, UNWEAVE_EVENT_SUSPEND, 8));
	put(encoder, at(TICKS + 7, UNWEAVE_EVENT_RESUME, 7));
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(blocks.count, 1);
	CHECK_EQ(blocks.at[0].events, 5);
	CHECK_EQ(blocks.at[0].raw, sizeof(expected));
	CHECK(memcmp(blocks.payloads[0], expected, sizeof(expected)) == 0);
	encoder_free(encoder);
	blocks_fini(&blocks);
}

static void a_sibling_of_the_told_chain_is_written_as_its_number(void)
{
	static const uint8_t expected[] = {
		1, 0,                   /* the nest is known, and empty */
		5, 14, 0,               /* RESUME_TO, +7, no chain */
		1, 2,  0, 2, 64, 64, 0, /* SWITCH_STACK to new frames, 8 and 16 */
		1, 6,  1, 1, 64, 0,     /* a new sibling, 24 */
		1, 1,  0,               /* sibling 0 */
		1, 3,  0,               /* sibling 1 */
		1, 2,  0,               /* entry 1, the awaiter */
		1, 6,  0,               /* entry 3: the awaiter was a root, and this is none */
		1, 8,  0, 1, 64, 0,     /* a new root, 32 */
		1, 1,  0,               /* sibling 0: the first root */
		1, 0,  0,               /* none */
		1, 6,  0,               /* entry 3: nothing has no siblings */
		2, 2,  4,               /* SWITCH_TO, +1, entry 2: nor has a new task */
		2, 0,  0, 1,            /* SWITCH_TO index 0, sibling 0 */
	};
	struct blocks blocks = {0};
	struct encoder *encoder = new_encoder(&blocks);
	const struct unweave_frame *root, *first, *second, *other;
	struct stacks *stacks = NULL;

	CHECK_EQ(stacks_new(&stacks, 10), 0);
	root = stacks_push(stacks, NULL, 8, 0, UNWEAVE_FRAME_CODE);
	first = stacks_push(stacks, root, 16, 0, UNWEAVE_FRAME_CODE);
	second = stacks_push(stacks, root, 24, 0, UNWEAVE_FRAME_CODE);
	other = stacks_push(stacks, NULL, 32, 0, UNWEAVE_FRAME_CODE);
	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 7));
	put_switch(encoder, 7, first, 7, first);
	put_switch(encoder, 7, second, 7, second);
	put_switch(encoder, 7, first, 7, first);
	put_switch(encoder, 7, second, 7, second);
	put_switch(encoder, 7, root, 7, root);
	put_switch(encoder, 7, second, 7, second);
	put_switch(encoder, 7, other, 7, other);
	put_switch(encoder, 7, root, 7, root);
	put_switch(encoder, 7, NULL, 7, NULL);
	put_switch(encoder, 7, second, 7, second);
	put_switch(encoder, 7, second, 8, first);
	put_switch(encoder, 8, first, 7, first);
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(blocks.at[0].raw, sizeof(expected));
	CHECK(memcmp(blocks.payloads[0], expected, sizeof(expected)) == 0);
	encoder_free(encoder);
	blocks_fini(&blocks);
	stacks_free(stacks);
}

static void siblings_are_numbered_afresh_in_each_block(void)
{
	static const char *const expected[] = {"8 ", "10 ", "8 ", "10 "};
	struct blocks blocks = {0};
	struct encoder *encoder = new_encoder(&blocks);
	const struct unweave_frame *roots[2];
	struct stacks *stacks = NULL;

	CHECK_EQ(stacks_new(&stacks, 10), 0);
	for (unsigned i = 0; i < 2; i++)
		roots[i] = stacks_push(stacks, NULL, 8 + 8 * i, 0, UNWEAVE_FRAME_CODE);
	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 7));
	for (unsigned block = 0; block < 3; block++) {
		struct plain_events got = {0};

		CHECK_EQ(encoder_flush(encoder), 0);
		for (unsigned i = 0; i < 4; i++)
			put_switch(encoder, 7, roots[i % 2], 7, roots[i % 2]);
		CHECK_EQ(encoder_flush(encoder), 0);
		CHECK_EQ(blocks.count, block + 2);
		/* SWITCH_STACK, sibling 1, index 0. */
		CHECK_EQ(blocks.payloads[block + 1][blocks.at[block + 1].raw - 2], 3);
		CHECK(plain_decode(&blocks.at[block + 1], blocks.payloads[block + 1], &got));
		CHECK_EQ(got.count, 8);
		for (unsigned i = 0; i < got.count; i++)
			CHECK_STR_EQ(got.at[i].stack, expected[i / 2]);
		plain_events_fini(&got);
	}
	encoder_free(encoder);
	blocks_fini(&blocks);
	stacks_free(stacks);
}

/* So a reader need not keep more of them. */
static void only_the_first_32_siblings_are_written_as_their_number(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);
	const struct unweave_frame *root, *chains[40];
	struct stacks *stacks = NULL;
	const uint8_t *again;

	CHECK_EQ(stacks_new(&stacks, 100), 0);
	root = stacks_push(stacks, NULL, 0x1000, 0, UNWEAVE_FRAME_CODE);
	for (unsigned i = 0; i < 40; i++)
		chains[i] = stacks_push(stacks, root, 0x1000 + 8 * i, 0, UNWEAVE_FRAME_CODE);
	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 7));
	for (unsigned i = 0; i < 80; i++)
		put_switch(encoder, 7, chains[i % 40], 7, chains[i % 40]);
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(blocks.count, 1);
	/* The second time each is three bytes: SWITCH_STACK, the stackref and index 0. */
	again = blocks.payloads[0] + blocks.at[0].raw - 3 * 40;
	for (unsigned i = 0; i < 40; i++)
		CHECK_EQ(again[3 * i + 1], i < 32 ? i << 1 | 1 : (i + 2) << 1);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 1 + 160);
	for (unsigned i = 1; i < got.count; i++) {
		char *text = chain_text(chains[(i - 1) / 2 % 40]);

		CHECK_STR_EQ(got.at[i].stack, text);
		free(text);
	}
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
	stacks_free(stacks);
}

static void a_suspend_that_waits_is_counted_and_flushed(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);

	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 7));
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(encoder_first(encoder), 0);
	put(encoder, at(TICKS + 4, UNWEAVE_EVENT_SUSPEND, 7));
	CHECK_EQ(encoder_first(encoder), TICKS + 4);
	CHECK_EQ(encoder_number(encoder), 2);
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(encoder_number(encoder), 2);
	CHECK_EQ(blocks.count, 2);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 2);
	CHECK_EQ(got.at[1].kind, UNWEAVE_EVENT_SUSPEND);
	CHECK_EQ(got.at[1].task, 7);
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
}

static void time_is_raised_to_that_of_the_event_before(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);

	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 7));
	put(encoder, at(TICKS - 400, UNWEAVE_EVENT_SUSPEND, 7));
	put(encoder, at(TICKS - 300, UNWEAVE_EVENT_RESUME, 8));
	CHECK_EQ(encoder_flush(encoder), 0);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 3);
	for (size_t i = 0; i < got.count; i++)
		CHECK_EQ(got.at[i].time, TICKS);
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
}

static void a_gap_too_long_for_a_head_starts_a_block(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);

	put(encoder, at(0, UNWEAVE_EVENT_RESUME, 7));
	put(encoder, at((UINT64_C(1) << 60) - 1, UNWEAVE_EVENT_IDLE, 0));
	put(encoder, at((UINT64_C(1) << 61) - 1, UNWEAVE_EVENT_SUSPEND, 7));
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(blocks.count, 2);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 3);
	CHECK_EQ(got.at[1].time, (UINT64_C(1) << 60) - 1);
	CHECK_EQ(got.at[2].time, (UINT64_C(1) << 61) - 1);
	CHECK_EQ(got.at[2].kind, UNWEAVE_EVENT_SUSPEND);
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
}

static void a_run_that_a_new_block_begins_inside_of_ends_there(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);

	for (unsigned task = 0; task < 4; task++)
		put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, task));
	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 2));
	CHECK_EQ(encoder_flush(encoder), 0);
	for (unsigned i = 0; i < 5; i++)
		put(encoder, at(TICKS + 1, UNWEAVE_EVENT_COMPLETE, i == 0 ? 2 : 4 - i));
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(blocks.count, 2);
	/* Prelude: known, 5 deep, tasks 0 1 2 3 2; then COMPLETE without a word more. */
	CHECK_EQ(blocks.at[1].raw, 2 + 3 + 3 * 2 + 3 + 5);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 10);
	CHECK_EQ(got.at[9].kind, UNWEAVE_EVENT_COMPLETE);
	CHECK_EQ(got.at[9].task, 0);
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
}

/* Its chain must find an entry, though an OTHER could leave task 0 unsaid. */
static void a_run_of_task_0_has_a_chain_of_its_own(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);
	struct unweave_event event = at(TICKS, UNWEAVE_EVENT_RESUME, 0);
	struct stacks *stacks = NULL;

	CHECK_EQ(stacks_new(&stacks, 10), 0);
	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 5));
	put(encoder, at(TICKS, UNWEAVE_EVENT_SUSPEND, 5));
	event.flags = UNWEAVE_EVENT_TIME_UNKNOWN;
	put(encoder, event);
	event = at(TICKS, UNWEAVE_EVENT_SUSPEND, 0);
	event.stack = stacks_push(stacks, NULL, 0x1000, 0, UNWEAVE_FRAME_CODE);
	put(encoder, event);
	event.kind = UNWEAVE_EVENT_RESUME;
	event.task = 5;
	put(encoder, event);
	event.task = 0;
	put(encoder, event);
	CHECK_EQ(encoder_flush(encoder), 0);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 6);
	CHECK_EQ(got.at[2].flags, UNWEAVE_EVENT_TIME_UNKNOWN);
	CHECK_STR_EQ(got.at[3].stack, "1000 ");
	CHECK_STR_EQ(got.at[4].stack, "1000 ");
	CHECK_STR_EQ(got.at[5].stack, "1000 ");
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
	stacks_free(stacks);
}

static void a_nest_too_deep_is_unknown_until_the_next_reset(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);
	uint64_t task;

	for (task = 1; task <= 5000; task++)
		put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, task));
	while (--task > 0)
		put(encoder, at(TICKS, UNWEAVE_EVENT_SUSPEND, task));
	put(encoder, at(TICKS, UNWEAVE_EVENT_RESET, 0));
	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 9));
	put(encoder, at(TICKS, UNWEAVE_EVENT_FRAME_RESUME, 9));
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(blocks.count, 2);
	CHECK_EQ(blocks.at[0].events, 4096);
	CHECK_EQ(blocks.payloads[1][0], 0);
	CHECK_EQ(blocks.payloads[1][blocks.at[1].raw - 1], CODE_FRAME_RESUME);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 10003);
	for (size_t i = 0; i < got.count && i < 10000; i++)
		CHECK_EQ(got.at[i].task, i < 5000 ? i + 1 : 10000 - i);
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
}

static void a_name_is_cut_at_4096_bytes(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);
	struct unweave_event event = at(TICKS, UNWEAVE_EVENT_NAME, 7);
	char text[6000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	event.text = text;
	put(encoder, event);
	CHECK_EQ(encoder_flush(encoder), 0);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 1);
	CHECK_EQ(strlen(got.at[0].text), 4096);
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
}

/* Two chains of the greatest length in one record, which may come at any fill of a block. */
static void the_largest_record_fits_a_fresh_block(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);
	struct stacks *stacks = NULL;
	uint64_t state = 5;

	CHECK_EQ(stacks_new(&stacks, 1 << 20), 0);
	for (unsigned task = 0; task < 4095; task++)
		put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, random_next(&state)));
	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 1));
	for (unsigned i = 0; i < 12; i++) {
		struct unweave_event event =
			at(TICKS + i, i % 2 ? UNWEAVE_EVENT_RESUME : UNWEAVE_EVENT_SUSPEND, 1);

		event.time = TICKS + i / 2;
		for (unsigned k = 0; k < 4096; k++)
			event.stack = stacks_push(stacks, event.stack, random_next(&state),
						  INT32_MIN + (int32_t)k, UNWEAVE_FRAME_CODE);
		put(encoder, event);
	}
	CHECK_EQ(encoder_flush(encoder), 0);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 4096 + 12);
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
	stacks_free(stacks);
}

static void blocks_that_cannot_be_written_become_a_loss(void)
{
	struct blocks blocks = {0};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);

	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 7));
	CHECK_EQ(encoder_flush(encoder), 0);
	/* The block with two events, then the attempt to say so with the next one. */
	blocks.fail = 2;
	put(encoder, at(TICKS + 1, UNWEAVE_EVENT_FRAME_RESUME, 7));
	put(encoder, at(TICKS + 2, UNWEAVE_EVENT_FRAME_RESUME, 7));
	CHECK_EQ(encoder_flush(encoder), -ENOSPC);
	put(encoder, at(TICKS + 3, UNWEAVE_EVENT_FRAME_RESUME, 7));
	CHECK_EQ(encoder_flush(encoder), -ENOSPC);
	put(encoder, at(TICKS + 4, UNWEAVE_EVENT_SUSPEND, 7));
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(encoder_number(encoder), 5);

	CHECK_EQ(blocks.count, 3);
	CHECK_EQ(blocks.at[1].number, 1);
	CHECK_EQ(blocks.at[1].events, 3);
	CHECK_EQ(blocks.at[2].number, 4);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 3);
	CHECK_EQ(got.at[1].kind, UNWEAVE_EVENT_LOST);
	CHECK_EQ(got.at[1].time, TICKS + 1);
	CHECK_EQ(got.at[1].value, 3);
	CHECK_EQ(got.at[1].other, UNWEAVE_LOSS_DISK);
	/* The nest was not lost with them. */
	CHECK_EQ(got.at[2].kind, UNWEAVE_EVENT_SUSPEND);
	CHECK_EQ(blocks.payloads[2][blocks.at[2].raw - 1], CODE_SUSPEND);
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
}

static void a_loss_at_the_end_is_said_by_a_later_flush(void)
{
	struct blocks blocks = {.fail = 2};
	struct plain_events got = {0};
	struct encoder *encoder = new_encoder(&blocks);

	put(encoder, at(TICKS, UNWEAVE_EVENT_RESUME, 7));
	CHECK_EQ(encoder_flush(encoder), -ENOSPC);
	CHECK_EQ(encoder_flush(encoder), -ENOSPC);
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(blocks.count, 1);
	blocks_decode(&blocks, &got);
	CHECK_EQ(got.count, 1);
	CHECK_EQ(got.at[0].kind, UNWEAVE_EVENT_LOST);
	CHECK_EQ(got.numbers, 1);
	encoder_free(encoder);
	blocks_fini(&blocks);
	plain_events_fini(&got);
}

static void losses_count_as_many_numbers_as_they_say(void)
{
	struct blocks blocks = {0};
	struct encoder *encoder = new_encoder(&blocks);
	struct unweave_event lost = at(TICKS, UNWEAVE_EVENT_LOST, 0);

	lost.value = 1000000;
	put(encoder, lost);
	CHECK_EQ(encoder_number(encoder), 1000000);
	put(encoder, at(TICKS, UNWEAVE_EVENT_IDLE, 0));
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(blocks.at[0].number, 0);
	CHECK_EQ(blocks.at[0].events, 1000001);
	encoder_free(encoder);
	blocks_fini(&blocks);
}

int main(void)
{
	RUN(random_events_come_back_as_they_went_in);
	RUN(random_events_over_many_blocks_come_back_as_they_went_in);
	RUN(events_of_an_aside_stream_carry_its_flag);
	RUN(events_put_together_are_written_as_if_one_by_one);
	RUN(any_block_decodes_alone);
	RUN(a_suspend_and_a_resume_at_one_time_are_written_as_one);
	RUN(a_sibling_of_the_told_chain_is_written_as_its_number);
	RUN(siblings_are_numbered_afresh_in_each_block);
	RUN(only_the_first_32_siblings_are_written_as_their_number);
	RUN(a_suspend_that_waits_is_counted_and_flushed);
	RUN(time_is_raised_to_that_of_the_event_before);
	RUN(a_gap_too_long_for_a_head_starts_a_block);
	RUN(a_run_that_a_new_block_begins_inside_of_ends_there);
	RUN(a_run_of_task_0_has_a_chain_of_its_own);
	RUN(a_nest_too_deep_is_unknown_until_the_next_reset);
	RUN(a_name_is_cut_at_4096_bytes);
	RUN(the_largest_record_fits_a_fresh_block);
	RUN(blocks_that_cannot_be_written_become_a_loss);
	RUN(a_loss_at_the_end_is_said_by_a_later_flush);
	RUN(losses_count_as_many_numbers_as_they_say);
	return check_done();
}
