/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of events for tests: random ones that look like a program gone wild,
 * a sink that keeps the blocks an encoder makes, and the comparison of what
 * went in with what the plain decoder gets out.
 */
#ifndef TESTS_STREAMS_H
#define TESTS_STREAMS_H

#include <errno.h>

#include "check.h"
#include "plain_decoder.h"
#include "trace/encoder.h"
#include "trace/stacks.h"

/* What an encoder's sink got. */
struct blocks {
	struct block *at;
	uint8_t **payloads;
	size_t count;
	int fail; /* how many to refuse, with -ENOSPC */
};

static inline int blocks_take(void *data, const struct block *block, const uint8_t *payload)
{
	struct blocks *blocks = data;

	if (blocks->fail > 0) {
		blocks->fail--;
		return -ENOSPC;
	}
	blocks->at = realloc(blocks->at, (blocks->count + 1) * sizeof(*blocks->at));
	blocks->payloads =
		realloc(blocks->payloads, (blocks->count + 1) * sizeof(*blocks->payloads));
	blocks->at[blocks->count] = *block;
	blocks->payloads[blocks->count] = malloc(block->raw);
	memcpy(blocks->payloads[blocks->count++], payload, block->raw);
	return 0;
}

static inline void blocks_fini(struct blocks *blocks)
{
	for (size_t i = 0; i < blocks->count; i++)
		free(blocks->payloads[i]);
	free(blocks->payloads);
	free(blocks->at);
	*blocks = (struct blocks){0};
}

static inline void blocks_decode(const struct blocks *blocks, struct plain_events *to)
{
	for (size_t i = 0; i < blocks->count; i++)
		CHECK(plain_decode(&blocks->at[i], blocks->payloads[i], to));
}

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

#define STREAM_CHAINS 700
#define STREAM_FANS 6
#define STREAM_FAN 40 /* more than can be named as siblings */

/* A source of events; equal seeds give equal streams. */
struct stream {
	uint64_t state;
	uint64_t time;
	struct stacks *stacks;
	const struct unweave_frame *chains[STREAM_CHAINS];         /* the first is NULL */
	const struct unweave_frame *fans[STREAM_FANS][STREAM_FAN]; /* siblings; fan 0: roots */
	uint64_t nest[64]; /* roughly: what a program would think runs */
	unsigned depth;
	bool soon; /* the next event is at the time of this SUSPEND, most likely a RESUME */
	const struct unweave_frame *last[300]; /* the chains of the tasks in stream_task() */
};

static inline void stream_init(struct stream *stream, uint64_t seed)
{
	uint64_t address = 0x55d0c0de1000;

	*stream = (struct stream){.state = seed, .time = 1 + seed % 1000};
	CHECK_EQ(stacks_new(&stream->stacks, 1 << 16), 0);
	for (unsigned i = 1; i < STREAM_CHAINS; i++) {
		const struct unweave_frame *chain =
			stream->chains[random_next(&stream->state) % (i < 30 ? i : 30)];
		uint64_t r = random_next(&stream->state);

		for (unsigned frames = 1 + r % 6; frames > 0; frames--) {
			r = random_next(&stream->state);
			address += r % 40000 - 20000;
			if (r >> 60 == 0)
				address = random_next(&stream->state);
			if (r >> 56 == 0xff)
				chain = stacks_push(stream->stacks, chain, 1 + r % 5000, 0,
						    UNWEAVE_FRAME_OMITTED);
			else
				chain = stacks_push(stream->stacks, chain, address,
						    r >> 58 & 1 ? (int32_t)(r >> 20) : 0,
						    UNWEAVE_FRAME_CODE);
		}
		stream->chains[i] = chain;
	}
	for (unsigned i = 0; i < STREAM_FANS * STREAM_FAN; i++)
		stream->fans[i / STREAM_FAN][i % STREAM_FAN] =
			stacks_push(stream->stacks, stream->chains[i / STREAM_FAN],
				    address + i * 16, 0, UNWEAVE_FRAME_CODE);
}

static inline void stream_fini(struct stream *stream)
{
	stream->stacks = stacks_free(stream->stacks);
}

/* Mostly a few hundred tasks, now and then any number at all, 0 and the largest included. */
static inline uint64_t stream_task(struct stream *stream)
{
	uint64_t r = random_next(&stream->state);

	if (r % 64 == 0)
		return random_next(&stream->state);
	if (r % 64 == 1)
		return r >> 63 ? 0 : UINT64_MAX;
	return 1000 + (r >> 8) % 300;
}

/* Half of the time the one that the task had, or had before that; else often a sibling. */
static inline const struct unweave_frame *stream_chain(struct stream *stream, uint64_t task)
{
	uint64_t r = random_next(&stream->state);
	const struct unweave_frame *chain = stream->chains[r % STREAM_CHAINS];

	if (task - 1000 >= 300)
		return r >> 60 ? chain : NULL;
	if (r >> 63)
		return stream->last[task - 1000];
	if (r >> 61)
		chain = stream->fans[task % STREAM_FANS][r % STREAM_FAN];
	if (r >> 62)
		stream->last[task - 1000] = chain;
	return chain;
}

static inline unsigned stream_kind(struct stream *stream)
{
	unsigned r = random_next(&stream->state) % 100;

	if (stream->soon)
		return r < 80 ? UNWEAVE_EVENT_RESUME : UNWEAVE_EVENT_IDLE;
	if (r < 45)
		return stream->depth ? UNWEAVE_EVENT_SUSPEND : UNWEAVE_EVENT_RESUME;
	if (r < 60)
		return UNWEAVE_EVENT_RESUME;
	if (r < 96)
		return 1 + random_next(&stream->state) % UNWEAVE_EVENT_APPEND;
	return 1 + random_next(&stream->state) % UNWEAVE_EVENT_DUE;
}

static inline void stream_follow(struct stream *stream, const struct unweave_event *event)
{
	if (event->kind == UNWEAVE_EVENT_RESUME && stream->depth < 64)
		stream->nest[stream->depth++] = event->task;
	if ((event->kind == UNWEAVE_EVENT_SUSPEND || event->kind == UNWEAVE_EVENT_COMPLETE) &&
	    stream->depth)
		stream->depth--;
	if (event->kind == UNWEAVE_EVENT_RESET)
		stream->depth = 0;
	stream->soon = event->kind == UNWEAVE_EVENT_SUSPEND && random_next(&stream->state) % 4 > 0;
}

/* The values of a kind are mostly what it should have, sometimes anything. */
static inline struct unweave_event stream_next(struct stream *stream)
{
	static const char *const names[] = {"", "a", "fetch /index.html", "\xc3\xa9t\xc3\xa9"};
	struct unweave_event event = {.kind = (uint16_t)stream_kind(stream)};
	uint64_t r;

	if (!stream->soon)
		stream->time += random_next(&stream->state) % 300;
	r = random_next(&stream->state);
	if (r >> 52 == 0)
		stream->time += r;
	event.time = stream->time;

	r = random_next(&stream->state);
	event.task = stream->depth && r % 8 && event.kind != UNWEAVE_EVENT_RESUME
			     ? stream->nest[stream->depth - 1]
			     : stream_task(stream);
	if (event.kind == UNWEAVE_EVENT_WAKE || event.kind == UNWEAVE_EVENT_CREATE) {
		event.other = r & 256 && stream->depth ? stream->nest[stream->depth - 1]
			      : r & 512                ? stream_task(stream)
						       : 0;
		event.task = stream_task(stream);
	}
	if (event.kind == UNWEAVE_EVENT_IDLE && r & 1024)
		event.task = 0;
	if (r >> 60 == 0 || event.kind >= UNWEAVE_EVENT_UNWIND)
		event.value = r >> 20 & 7;
	if (r >> 58 == 1 || event.kind == UNWEAVE_EVENT_LOST)
		event.other = r >> 24 & 3;
	if (event.kind == UNWEAVE_EVENT_NAME)
		event.text = names[r >> 30 & 3];
	if (r >> 57 == 2)
		event.flags = UNWEAVE_EVENT_TIME_UNKNOWN;
	if (r >> 57 == 3)
		event.flags = (uint16_t)(r & 0xfffe);
	event.stack = stream_chain(stream, event.task);
	stream_follow(stream, &event);
	return event;
}

/* A chain as the plain decoder writes it. */
static inline char *chain_text(const struct unweave_frame *frame)
{
	char *text = malloc((frame ? frame->depth : 0) * (size_t)PLAIN_FRAME_MOST + 1);
	char *to = text;

	for (; frame; frame = frame->awaiter)
		to = plain_frame_text(to, frame->kind, frame->address, frame->state);
	*to = '\0';
	return text;
}

/* What a reader must see of the event that was put. */
static inline void check_event(const struct plain_event *got, const struct unweave_event *put)
{
	bool stack = put->kind == UNWEAVE_EVENT_CREATE || put->kind == UNWEAVE_EVENT_RESUME ||
		     put->kind == UNWEAVE_EVENT_SUSPEND || put->kind == UNWEAVE_EVENT_APPEND ||
		     put->kind == UNWEAVE_EVENT_REPLAY || put->kind == UNWEAVE_EVENT_AWAIT ||
		     put->kind == UNWEAVE_EVENT_TASK;
	char *text = chain_text(stack ? put->stack : NULL);

	CHECK_EQ(got->kind, put->kind);
	CHECK_EQ(got->time, put->time);
	CHECK_EQ(got->task, put->task);
	CHECK_EQ(got->other, put->other);
	CHECK_EQ(got->value, put->value);
	CHECK_EQ(got->flags, put->flags);
	CHECK_STR_EQ(got->stack, text);
	CHECK_EQ(got->text != NULL, put->text != NULL);
	if (got->text && put->text)
		CHECK_STR_EQ(got->text, put->text);
	free(text);
}

#endif /* TESTS_STREAMS_H */
