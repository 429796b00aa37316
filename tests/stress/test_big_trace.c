/* SPDX-License-Identifier: Apache-2.0 */
/* A trace larger than any memory budget is read within one. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/check.h"
#include "arena/arena.h"
#include "stress.h"
#include "trace/encoder.h"
#include "trace/meta.h"
#include "trace/reader.h"
#include "trace/stacks.h"
#include "trace/writer.h"
#include "util/buffer.h"

#define THREADS 64
#define EVENTS_PER_BLOCK 16384
#define RESIDENT_MAX (UINT64_C(300) << 20)
#define MEGA 1000000u

/* A block of one thread, to be written again and again with other times and numbers. */
struct pattern {
	struct block block;
	uint8_t *payload;
};

static struct pattern patterns[THREADS];

static int keep_block(void *data, const struct block *block, const uint8_t *payload)
{
	struct pattern *pattern = data;

	if (pattern->payload)
		return 0;
	pattern->block = *block;
	pattern->payload = malloc(block->raw);
	if (!pattern->payload)
		return -1;
	memcpy(pattern->payload, payload, block->raw);
	return 0;
}

static const struct unweave_frame *some_chain(struct stacks *stacks)
{
	const struct unweave_frame *chain = NULL;

	for (uint64_t depth = stress_below(8); depth-- > 0;)
		chain = stacks_push(stacks, chain, 0x400000 + stress_below(500) * 16, 0,
				    UNWEAVE_FRAME_CODE);
	return chain;
}

/* Tasks that run and wait in turn, at times that no pattern foretells. */
static void make_pattern(struct pattern *pattern, uint32_t thread, struct stacks *stacks)
{
	struct encoder *encoder = NULL;
	struct unweave_event event = {.kind = UNWEAVE_EVENT_RESET, .time = 1};

	CHECK_EQ(encoder_new(&encoder, thread, false, 0, true, keep_block, pattern), 0);
	for (uint32_t i = 0; i < EVENTS_PER_BLOCK && !pattern->payload; i++) {
		encoder_put(encoder, &event, 1);
		event.time += 1 + stress_below(300);
		event.kind = event.kind == UNWEAVE_EVENT_RESUME ? UNWEAVE_EVENT_SUSPEND
								: UNWEAVE_EVENT_RESUME;
		if (event.kind == UNWEAVE_EVENT_RESUME)
			event.task = 2 + 2 * stress_below(1000);
		event.stack = event.kind == UNWEAVE_EVENT_SUSPEND ? some_chain(stacks) : NULL;
	}
	encoder_flush(encoder);
	encoder_free(encoder);
}

static void put_session(struct writer *writer)
{
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	struct meta_session session = {
		.pid = 1, .clock = ARENA_CLOCK_RAW, .ticks_per_s = 1000000000};
	struct block block = {.kind = BLOCK_SESSION};

	meta_session_encode(&payload, &session);
	block.raw = (uint32_t)payload.length;
	CHECK_EQ(writer_put(writer, &block, payload.bytes, NULL), 0);
	buffer_fini(&payload);
}

/* Round by round, as threads that all run write them. Returns the events. */
static uint64_t write_trace(const char *path, uint64_t bytes)
{
	struct writer *writer = NULL;
	uint64_t events = 0;
	int r = writer_new(&writer, path, NULL, NULL, NULL);

	CHECK_EQ(r, 0);
	put_session(writer);
	for (uint64_t round = 0; r == 0 && writer_bytes(writer) < bytes; round++)
		for (uint32_t i = 0; i < THREADS && r == 0; i++) {
			struct block block = patterns[i].block;
			uint64_t length = block.last - block.first;

			block.first = 1 + round * (uint64_t)EVENTS_PER_BLOCK * 300;
			block.last = block.first + length;
			block.number = round * block.events;
			r = writer_put(writer, &block, patterns[i].payload, NULL);
			events += block.events;
		}
	CHECK_EQ(r, 0);
	writer_free(writer);
	return events;
}

/* In a process of its own, whose memory nobody else uses. */
static int read_trace(const char *path, uint64_t events)
{
	struct reader *reader = NULL;
	struct unweave_event event;
	uint64_t seen = 0, time = 0;

	if (reader_open(&reader, path, NULL, NULL, NULL) < 0)
		return 2;
	while (reader_next(reader, &event, NULL) == 0) {
		if (event.time < time)
			return 3;
		time = event.time;
		seen++;
	}
	if (reader_summary(reader)->faults)
		return 4;
	reader_free(reader);
	return seen == events ? 0 : 5;
}

static void a_trace_of_gigabytes_is_read_in_bounded_memory(void)
{
	uint64_t bytes = (STRESS_SANITIZED ? 20 : stress_size(200, 2000)) * (uint64_t)MEGA;
	const char *path = stress_path("big", 0);
	struct stacks *stacks = NULL;
	uint64_t events, start;
	pid_t pid;

	CHECK_EQ(stacks_new(&stacks, 1 << 20), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		make_pattern(&patterns[i], i + 1, stacks);
	events = write_trace(path, bytes);
	for (uint32_t i = 0; i < THREADS; i++)
		free(patterns[i].payload);
	stacks_free(stacks);

	start = stress_now_ns();
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(read_trace(path, events));
	CHECK_EQ(stress_wait(pid, 200000), 0);
	printf("# %" PRIu64
	       " MB, %.1f million events of %u threads read in %.1f s, %.1f MB resident\n",
	       bytes / MEGA, (double)events / 1e6, THREADS, (double)(stress_now_ns() - start) / 1e9,
	       (double)stress_peak_of_last() / 1e6);
	CHECK(STRESS_SANITIZED || stress_peak_of_last() < RESIDENT_MAX);
	unlink(path);
}

int main(void)
{
	stress_begin(300);
	RUN(a_trace_of_gigabytes_is_read_in_bounded_memory);
	return check_done();
}
