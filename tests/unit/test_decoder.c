/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/decoder.h"

#include "streams.h"

static struct plain_event plain_of(const struct unweave_event *event)
{
	return (struct plain_event){
		.kind = event->kind,
		.flags = event->flags,
		.time = event->time,
		.task = event->task,
		.other = event->other,
		.value = event->value,
		.stack = chain_text(event->stack),
		.text = event->text ? strdup(event->text) : NULL,
	};
}

/* Decodes a block, `room` events at a time. Returns what ended it. */
static int decode(struct decoder *decoder, const struct block *block, const uint8_t *payload,
		  uint32_t room, struct plain_events *to)
{
	struct unweave_event events[64];
	uint32_t count = 0;
	uint8_t *bytes;
	int r;

	CHECK_EQ(decoder_reserve(decoder, block->raw, &bytes), 0);
	memcpy(bytes, payload, block->raw);
	r = decoder_start(decoder, block);
	while (r == 0) {
		r = decoder_fill(decoder, UINT64_MAX, events, room, &count);
		to->at = realloc(to->at, (to->count + count + 1) * sizeof(*to->at));
		for (uint32_t i = 0; i < count; i++)
			to->at[to->count++] = plain_of(&events[i]);
	}
	return r;
}

static void check_same(const struct plain_events *a, const struct plain_events *b)
{
	CHECK(a->count <= b->count);
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		const struct plain_event *x = &a->at[i], *y = &b->at[i];

		CHECK_EQ(x->kind, y->kind);
		CHECK_EQ(x->flags, y->flags);
		CHECK_EQ(x->time, y->time);
		CHECK_EQ(x->task, y->task);
		CHECK_EQ(x->other, y->other);
		CHECK_EQ(x->value, y->value);
		CHECK_STR_EQ(x->stack, y->stack);
		CHECK_STR_EQ(x->text ? x->text : "-", y->text ? y->text : "-");
	}
}

/* The blocks of one random stream, and its events if `ret_events` is not NULL. */
static void make_blocks(struct stream *stream, uint64_t seed, unsigned events, struct blocks *ret,
			struct unweave_event *ret_events)
{
	struct encoder *encoder = NULL;

	stream_init(stream, seed);
	CHECK_EQ(encoder_new(&encoder, 7, false, 0, true, blocks_take, ret), 0);
	for (unsigned i = 0; i < events; i++) {
		struct unweave_event event = stream_next(stream);

		CHECK_EQ(encoder_put(encoder, &event, 1), 0);
		if (ret_events)
			ret_events[i] = event;
	}
	CHECK_EQ(encoder_flush(encoder), 0);
	encoder_free(encoder);
}

static void gives_back_what_the_encoder_was_given(void)
{
	enum { EVENTS = 60000 };
	struct unweave_event *put = calloc(EVENTS, sizeof(*put));
	struct plain_events got = {0};
	struct decoder *decoder = NULL;
	struct blocks blocks = {0};
	struct stream stream;

	make_blocks(&stream, 1, EVENTS, &blocks, put);
	CHECK_EQ(decoder_new(&decoder), 0);
	CHECK(blocks.count > 1);
	for (size_t i = 0; i < blocks.count; i++) {
		CHECK_EQ(decode(decoder, &blocks.at[i], blocks.payloads[i], 64, &got), DECODER_END);
		CHECK_EQ(decoder->number, blocks.at[i].number + blocks.at[i].events);
		CHECK_EQ(decoder->ticks, blocks.at[i].last);
	}
	CHECK_EQ(got.count, EVENTS);
	for (size_t i = 0; i < got.count && i < EVENTS; i++)
		check_event(&got.at[i], &put[i]);
	plain_events_fini(&got);
	blocks_fini(&blocks);
	stream_fini(&stream);
	decoder_free(decoder);
	free(put);
}

static void gives_the_same_however_little_room_there_is(void)
{
	struct plain_events all = {0}, few = {0};
	struct decoder *decoder = NULL;
	struct blocks blocks = {0};
	struct stream stream;

	make_blocks(&stream, 2, 3000, &blocks, NULL);
	CHECK_EQ(decoder_new(&decoder), 0);
	CHECK_EQ(decode(decoder, &blocks.at[0], blocks.payloads[0], 64, &all), DECODER_END);
	for (uint32_t room = DECODER_ROOM_LEAST; room < 6; room++) {
		CHECK_EQ(decode(decoder, &blocks.at[0], blocks.payloads[0], room, &few),
			 DECODER_END);
		CHECK_EQ(few.count, all.count);
		check_same(&few, &all);
		plain_events_fini(&few);
	}
	plain_events_fini(&all);
	blocks_fini(&blocks);
	stream_fini(&stream);
	decoder_free(decoder);
}

static void stops_at_the_bound_it_is_given(void)
{
	struct decoder *decoder = NULL;
	struct unweave_event events[64];
	struct blocks blocks = {0};
	struct stream stream;
	uint64_t bound, last = 0;
	uint32_t count, total = 0;
	uint8_t *bytes;
	int r = 0;

	make_blocks(&stream, 3, 2000, &blocks, NULL);
	CHECK_EQ(decoder_new(&decoder), 0);
	CHECK_EQ(decoder_reserve(decoder, blocks.at[0].raw, &bytes), 0);
	memcpy(bytes, blocks.payloads[0], blocks.at[0].raw);
	CHECK_EQ(decoder_start(decoder, &blocks.at[0]), 0);
	while (r == 0) {
		bound = decoder->ticks + 100;
		r = decoder_fill(decoder, bound, events, 64, &count);
		for (uint32_t i = 0; i < count; i++) {
			CHECK(events[i].time >= last && events[i].time <= bound);
			last = events[i].time;
		}
		total += count;
	}
	CHECK_EQ(r, DECODER_END);
	CHECK_EQ(total, 2000);
	blocks_fini(&blocks);
	stream_fini(&stream);
	decoder_free(decoder);
}

/* The plain decoder gives events of unknown kinds too. */
static void drop_unknown(struct plain_events *events)
{
	size_t kept = 0;

	for (size_t i = 0; i < events->count; i++) {
		if (events->at[i].kind >= UNWEAVE_EVENT_CREATE &&
		    events->at[i].kind <= UNWEAVE_EVENT_DUE) {
			events->at[kept++] = events->at[i];
		} else {
			free(events->at[i].stack);
			free(events->at[i].text);
		}
	}
	events->count = kept;
}

/* Some bytes changed, and now and then the rest cut off. */
static uint8_t *damage(struct block *block, const uint8_t *payload, uint64_t *state)
{
	uint8_t *copy = malloc(block->raw);

	memcpy(copy, payload, block->raw);
	for (unsigned n = 1 + random_next(state) % 3; n; n--) {
		uint64_t x = random_next(state);

		copy[(x >> 8) % block->raw] ^= x & 1 ? 1u << (x >> 1 & 7) : x >> 56;
	}
	if (random_next(state) % 8 == 0)
		block->raw = 1 + (uint32_t)(random_next(state) % block->raw);
	return copy;
}

/*
 * Two decoders, written apart, see the same in damaged blocks. The plain one
 * may give a bit more before it notices, and knows no limits of a number's size.
 */
static void agrees_with_the_plain_decoder_on_damaged_blocks(void)
{
	struct decoder *decoder = NULL;
	struct blocks blocks = {0};
	struct stream stream;
	uint64_t state = 4;
	unsigned bad = 0;

	make_blocks(&stream, 5, 400, &blocks, NULL);
	CHECK_EQ(decoder_new(&decoder), 0);
	for (unsigned i = 0; i < 4000; i++) {
		struct plain_events expected = {0}, got = {0};
		struct block block = blocks.at[0];
		uint8_t *payload = damage(&block, blocks.payloads[0], &state);
		bool good = plain_decode(&block, payload, &expected);
		int r = decode(decoder, &block, payload, i % 2 ? 64 : 2, &got);

		drop_unknown(&expected);
		CHECK(r == DECODER_END || (r == -EBADMSG && decoder->fault));
		if (r == DECODER_END)
			CHECK_EQ(decoder->number == block.events && decoder->ticks == block.last,
				 good);
		check_same(&got, &expected);
		if (r == DECODER_END)
			CHECK_EQ(got.count, expected.count);
		bad += r < 0;
		if (r < 0 && good)
			CHECK(strstr(decoder->fault, "out of range"));
		plain_events_fini(&got);
		plain_events_fini(&expected);
		free(payload);
	}
	CHECK(bad > 200 && bad < 3800);
	blocks_fini(&blocks);
	stream_fini(&stream);
	decoder_free(decoder);
}

/* A block with no events before `bytes`, its nest known and empty. */
static int decode_bytes(const uint8_t *bytes, size_t length, struct plain_events *to)
{
	struct block block = {.kind = BLOCK_EVENTS, .raw = (uint32_t)length + 2, .first = 100};
	struct decoder *decoder = NULL;
	uint8_t payload[256] = {1, 0};
	int r;

	memcpy(payload + 2, bytes, length);
	CHECK_EQ(decoder_new(&decoder), 0);
	r = decode(decoder, &block, payload, 64, to);
	decoder_free(decoder);
	return r;
}

#define DECODE(to, ...)                                                                            \
	decode_bytes((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), to)

static void skips_a_kind_it_does_not_know_but_learns_the_task_that_it_names(void)
{
	struct plain_events got = {0};

	/* OTHER, kind 99, 4 bytes: a new task 5 without a chain, and a byte more; RESUME of it. */
	CHECK_EQ(DECODE(&got, CODE_OTHER, 99, 4, OTHER_TASK, 10, 0, 77, CODE_RESUME, 0),
		 DECODER_END);
	CHECK_EQ(got.count, 1);
	CHECK_EQ(got.at[0].kind, UNWEAVE_EVENT_RESUME);
	CHECK_EQ(got.at[0].task, 5);
	plain_events_fini(&got);
}

static void reads_numbers_of_every_length_and_none_that_is_longer(void)
{
	for (unsigned bits = 0; bits < 64; bits++) {
		uint64_t value = UINT64_C(1) << bits, rest;
		uint8_t bytes[32] = {CODE_OTHER, UNWEAVE_EVENT_UNWIND, 0, OTHER_VALUE};
		struct plain_events got = {0};
		size_t length = 4;

		for (rest = value; rest >= 0x80; rest >>= 7)
			bytes[length++] = (uint8_t)(rest | 0x80);
		bytes[length++] = (uint8_t)rest;
		bytes[2] = (uint8_t)(length - 3);
		CHECK_EQ(decode_bytes(bytes, length, &got), DECODER_END);
		CHECK_EQ(got.count, 1);
		CHECK(got.count && got.at[0].value == value);
		plain_events_fini(&got);
	}
	{
		struct plain_events got = {0};

		CHECK_EQ(DECODE(&got, CODE_OTHER, UNWEAVE_EVENT_UNWIND, 11, OTHER_VALUE, 0xff, 0xff,
				0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2),
			 -EBADMSG);
		CHECK_EQ(got.count, 0);
		plain_events_fini(&got);
	}
}

static void refuses_what_refers_to_nothing(void)
{
	struct plain_events got = {0};

	CHECK_EQ(DECODE(&got, CODE_RESUME, 0), -EBADMSG);
	CHECK_EQ(DECODE(&got, CODE_SUSPEND), -EBADMSG);
	CHECK_EQ(DECODE(&got, CODE_COMPLETE), -EBADMSG);
	CHECK_EQ(DECODE(&got, CODE_SWITCH, 0), -EBADMSG);
	CHECK_EQ(DECODE(&got, CODE_FRAME_RESUME), -EBADMSG);
	/* A new task on a stack that is not there; on one whose parent is not there. */
	CHECK_EQ(DECODE(&got, CODE_RESUME_TO, 2, 4), -EBADMSG);
	CHECK_EQ(DECODE(&got, CODE_RESUME_TO, 2, 2, 3, 1, 4), -EBADMSG);
	/* A stack of more frames than there are bytes. */
	CHECK_EQ(DECODE(&got, CODE_RESUME_TO, 2, 2, 0, 0xff, 0xff, 0x7f, 4), -EBADMSG);
	/* A sibling, of a new task; and of one without a chain. */
	CHECK_EQ(DECODE(&got, CODE_RESUME_TO, 2, 1), -EBADMSG);
	CHECK_EQ(DECODE(&got, CODE_WAKE_TO, 2, 0, CODE_RESUME_TO, 0, 0, 1), -EBADMSG);
	CHECK_EQ(got.count, 1);
	plain_events_fini(&got);
	/* CREATE by a parent that was not named; by the running task, when none runs. */
	CHECK_EQ(DECODE(&got, CODE_CREATE, 2, 0, 4, 0), -EBADMSG);
	CHECK_EQ(DECODE(&got, CODE_CREATE, 2, 0, 1, 0), -EBADMSG);
	CHECK_EQ(got.count, 0);
	plain_events_fini(&got);
}

#define ROOT 2, 0, 1, 64 /* entry 1, address 8 */
#define LEAF 8, 1, 1, 64 /* entry 4, 32 on it */

/* RESUME of task 1 on entry 4, whose siblings are entries 2 and 4. Its root is the only one. */
#define SIBLINGS                                                                                   \
	CODE_RESUME_TO, 2, ROOT, CODE_SUSPEND_STACK, 4, 1, 2, 64, 64, CODE_RESUME, 0,              \
		CODE_SUSPEND_STACK, LEAF, CODE_RESUME, 0

static void a_sibling_is_the_child_of_its_number_of_the_same_awaiter(void)
{
	static const struct {
		uint8_t ref;
		const char *stack; /* NULL: there is none */
	} cases[] = {
		{1, "10 8 "}, {3, "20 8 "}, {5, NULL},    {7, NULL},       {63, NULL},
		{65, NULL},   {2, "8 "},    {4, "10 8 "}, {6, "18 10 8 "}, {8, "20 8 "},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plain_events got = {0};
		int r;

		/* First alone, then in a SWITCH, which another function reads. */
		r = DECODE(&got, SIBLINGS, CODE_SUSPEND_STACK, cases[i].ref);
		CHECK_EQ(r, cases[i].stack ? DECODER_END : -EBADMSG);
		CHECK_EQ(got.count, cases[i].stack ? 6 : 5);
		if (got.count == 6)
			CHECK_STR_EQ(got.at[5].stack, cases[i].stack);
		plain_events_fini(&got);
		r = DECODE(&got, SIBLINGS, CODE_SWITCH_STACK, cases[i].ref, 0, CODE_IDLE);
		CHECK_EQ(r, cases[i].stack ? DECODER_END : -EBADMSG);
		CHECK_EQ(got.count, cases[i].stack ? 8 : 5);
		if (got.count == 8) {
			CHECK_STR_EQ(got.at[5].stack, cases[i].stack);
			CHECK_STR_EQ(got.at[6].stack, cases[i].stack);
		}
		plain_events_fini(&got);
	}
}

/* Between two blocks nothing is kept. */
static void a_root_has_the_roots_of_its_block_as_siblings(void)
{
	struct plain_events got = {0};

	/* Roots 8 and 16. From the second to the first, to the second, and to a third. */
	CHECK_EQ(DECODE(&got, CODE_RESUME_TO, 2, ROOT, CODE_SWITCH_STACK, 4, 0, 1, 64, 0,
			CODE_SWITCH_STACK, 1, 0, CODE_SWITCH_STACK, 3, 0, CODE_SWITCH_STACK, 5, 0),
		 -EBADMSG);
	CHECK_EQ(got.count, 7);
	if (got.count == 7) {
		CHECK_STR_EQ(got.at[2].stack, "10 ");
		CHECK_STR_EQ(got.at[4].stack, "8 ");
		CHECK_STR_EQ(got.at[6].stack, "10 ");
	}
	plain_events_fini(&got);
}

/* Forty, so that the table of them grows, and ends before they do. */
static void of_many_siblings_the_first_32_have_a_number(void)
{
	struct plain_events got = {0};
	uint8_t bytes[254] = {CODE_RESUME_TO, 2, ROOT};
	size_t length = 6, start;

	for (unsigned i = 0; i < 40; i++) {
		const uint8_t leaf[] = {CODE_SWITCH_STACK, (uint8_t)(2 * (2 + i)), 1, 1, 64, 0};

		memcpy(bytes + length, leaf, sizeof(leaf));
		length += sizeof(leaf);
	}
	start = length;
	for (unsigned number = 0; number < 40; number++) {
		char text[20];
		int r;

		length = start;
		bytes[length++] = CODE_SUSPEND_STACK;
		bytes[length++] = (uint8_t)(number << 1 | 1);
		r = decode_bytes(bytes, length, &got);
		CHECK_EQ(r, number < 32 ? DECODER_END : -EBADMSG);
		CHECK_EQ(got.count, number < 32 ? 82 : 81);
		snprintf(text, sizeof(text), "%x 8 ", 16 + 8 * number);
		if (got.count == 82)
			CHECK_STR_EQ(got.at[81].stack, text);
		plain_events_fini(&got);
	}
}

static void a_nest_deeper_than_the_payload_is_refused(void)
{
	struct block block = {.kind = BLOCK_EVENTS, .raw = 6};
	uint8_t payload[] = {1, 0xff, 0xff, 0xff, 0xff, 0x0f};
	struct plain_events got = {0};
	struct decoder *decoder = NULL;

	CHECK_EQ(decoder_new(&decoder), 0);
	CHECK_EQ(decode(decoder, &block, payload, 64, &got), -EBADMSG);
	decoder_free(decoder);
	plain_events_fini(&got);
}

static void an_empty_payload_is_refused_also_as_the_first(void)
{
	struct block block = {.kind = BLOCK_EVENTS};
	struct plain_events got = {0};
	struct decoder *decoder = NULL;

	CHECK_EQ(decoder_new(&decoder), 0);
	CHECK_EQ(decode(decoder, &block, (const uint8_t *)"", 64, &got), -EBADMSG);
	decoder_free(decoder);
	plain_events_fini(&got);
}

int main(void)
{
	RUN(gives_back_what_the_encoder_was_given);
	RUN(gives_the_same_however_little_room_there_is);
	RUN(stops_at_the_bound_it_is_given);
	RUN(agrees_with_the_plain_decoder_on_damaged_blocks);
	RUN(skips_a_kind_it_does_not_know_but_learns_the_task_that_it_names);
	RUN(reads_numbers_of_every_length_and_none_that_is_longer);
	RUN(refuses_what_refers_to_nothing);
	RUN(a_sibling_is_the_child_of_its_number_of_the_same_awaiter);
	RUN(a_root_has_the_roots_of_its_block_as_siblings);
	RUN(of_many_siblings_the_first_32_have_a_number);
	RUN(a_nest_deeper_than_the_payload_is_refused);
	RUN(an_empty_payload_is_refused_also_as_the_first);
	return check_done();
}
