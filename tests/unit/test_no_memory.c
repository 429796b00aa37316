/* SPDX-License-Identifier: Apache-2.0 */
/* What writes a trace, with every single allocation failing in turn. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "failing_alloc.h"
#include "streams.h"
#include "trace/writer.h"
#include "util/buffer.h"

#define EVENTS 4000

/* The sink's own memory does not count. */
static int take_unwatched(void *data, const struct block *block, const uint8_t *payload)
{
	int r;

	alloc_watched = false;
	r = blocks_take(data, block, payload);
	alloc_watched = true;
	return r;
}

/* Every number is there once, as the event that had it or as a loss for want of memory. */
static void check_blocks(const struct blocks *blocks, const struct unweave_event *events,
			 uint64_t *lost)
{
	uint64_t number = 0;

	for (size_t i = 0; i < blocks->count; i++) {
		struct plain_events got = {0};

		CHECK_EQ(blocks->at[i].number, number);
		CHECK(plain_decode(&blocks->at[i], blocks->payloads[i], &got));
		for (size_t k = 0; k < got.count && number < EVENTS; k++) {
			if (got.at[k].kind != UNWEAVE_EVENT_LOST) {
				check_event(&got.at[k], &events[number++]);
				continue;
			}
			CHECK_EQ(got.at[k].other, UNWEAVE_LOSS_FULL);
			CHECK_EQ(got.at[k].time, events[number].time);
			number += got.at[k].value;
			*lost += got.at[k].value;
		}
		plain_events_fini(&got);
	}
	CHECK_EQ(number, EVENTS);
}

/* Returns whether an allocation failed, and adds up the events that were lost. */
static bool encode(const struct unweave_event *events, unsigned left, unsigned most, uint64_t *lost)
{
	struct encoder *encoder = NULL;
	struct blocks blocks = {0};
	uint64_t refused = 0, missing = 0;
	int r;

	alloc_watch(left, most);
	r = encoder_new(&encoder, 1, false, 0, true, take_unwatched, &blocks);
	if (r < 0) {
		alloc_watched = false;
		CHECK_EQ(r, -ENOMEM);
		CHECK(encoder == NULL);
		return true;
	}
	for (unsigned i = 0; i < EVENTS; i++) {
		r = encoder_put(encoder, &events[i], 1);
		CHECK(r == 0 || r == -ENOMEM);
		refused += r < 0;
	}
	CHECK_EQ(encoder_flush(encoder), 0);
	CHECK_EQ(encoder_number(encoder), EVENTS);
	alloc_watched = false;
	check_blocks(&blocks, events, &missing);
	CHECK_EQ(missing > 0, refused > 0);
	*lost += missing;
	encoder_free(encoder);
	blocks_fini(&blocks);
	return alloc_failed > 0;
}

static void an_encoder_without_memory_loses_events_and_says_how_many(void)
{
	struct unweave_event *events = calloc(EVENTS, sizeof(*events));
	const struct unweave_frame *deep = NULL;
	struct stream stream;
	uint64_t lost = 0;

	stream_init(&stream, 77);
	for (unsigned i = 0; i < 1000; i++)
		deep = stacks_push(stream.stacks, deep, i, 0, UNWEAVE_FRAME_CODE);
	for (unsigned i = 0; i < EVENTS;) {
		events[i] = stream_next(&stream);
		if (i % 500 == 250)
			events[i].stack = deep;
		i += events[i].kind != UNWEAVE_EVENT_LOST;
	}
	for (unsigned left = 0; encode(events, left, 1, &lost); left++)
		;
	for (unsigned left = 0; encode(events, left, 40, &lost); left++)
		;
	for (unsigned left = 0; encode(events, left, UINT_MAX, &lost); left++)
		;
	CHECK(lost > 0);
	stream_fini(&stream);
	free(events);
}

static void stacks_without_memory_keep_what_they_have(void)
{
	bool failed = true;

	for (unsigned left = 0; failed; left++) {
		const struct unweave_frame *chain = NULL, *next = NULL;
		struct stacks *stacks = NULL;

		alloc_watch(left, 1);
		if (stacks_new(&stacks, 10000) == 0) {
			for (unsigned i = 0; i < 3000; i++) {
				next = stacks_push(stacks, chain, i, 0, UNWEAVE_FRAME_CODE);
				if (!next) /* the one that failed */
					next = stacks_push(stacks, chain, i, 0, UNWEAVE_FRAME_CODE);
				CHECK(next && next->awaiter == chain);
				chain = next;
			}
			CHECK_EQ(chain->depth, 3000);
		}
		failed = alloc_failed > 0;
		alloc_watched = false;
		stacks_free(stacks);
	}
}

static void a_buffer_without_memory_is_bad(void)
{
	struct buffer buffer = BUFFER_INIT(10000);

	alloc_watch(1, 1);
	for (unsigned i = 0; i < 1000; i++)
		buffer_put_u64(&buffer, i);
	alloc_watched = false;
	CHECK(buffer.bad);
	CHECK(buffer.length > 0 && buffer.length < 8000);
	buffer_fini(&buffer);
}

static void a_writer_without_memory_says_so(void)
{
	struct writer *writer = NULL;
	struct diag diag = {0};

	alloc_watch(0, 1);
	CHECK_EQ(writer_new(&writer, "/", NULL, NULL, &diag), -ENOMEM);
	alloc_watched = false;
	CHECK_STR_EQ(diag.text, "out of memory");
}

int main(void)
{
	RUN(an_encoder_without_memory_loses_events_and_says_how_many);
	RUN(stacks_without_memory_keep_what_they_have);
	RUN(a_buffer_without_memory_is_bad);
	RUN(a_writer_without_memory_says_so);
	return check_done();
}
