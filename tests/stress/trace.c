/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/blocks.h"
#include "trace/reader.h"

#define THREADS_MAX (1u << 20)

static void on_fault(void *data, const struct reader_fault *fault)
{
	struct trace *trace = data;

	if (!trace->faults++)
		snprintf(trace->first_fault, sizeof(trace->first_fault), "offset %" PRIu64 ": %s",
			 fault->offset, fault->what);
}

/* The thread's entry, made if need be; NULL for a number that makes no sense. */
static struct trace_thread *entry(struct trace *trace, uint32_t thread)
{
	if (thread >= THREADS_MAX)
		return NULL;
	if (thread >= trace->thread_count) {
		uint32_t count = thread * 2 + 16;

		trace->threads = reallocarray(trace->threads, count, sizeof(*trace->threads));
		if (!trace->threads)
			abort();
		memset(trace->threads + trace->thread_count, 0,
		       (count - trace->thread_count) * sizeof(*trace->threads));
		trace->thread_count = count;
	}
	trace->threads[thread].thread = thread;
	return &trace->threads[thread];
}

static void note_event(struct trace *trace, const struct unweave_event *event)
{
	struct trace_thread *thread = entry(trace, event->thread);
	struct trace_stream *stream;

	/* A recorder that comes after another one finds tasks there. */
	if (!thread || event->flags & UNWEAVE_EVENT_BEFORE)
		return;
	stream = &thread->streams[event->flags & UNWEAVE_EVENT_ASIDE ? 1 : 0];
	switch (event->kind) {
	case UNWEAVE_EVENT_LOST:
		stream->lost[event->other < TRACE_CAUSES ? event->other : 0] += event->value;
		trace->lost += event->value;
		break;
	case UNWEAVE_EVENT_RESET:
	case UNWEAVE_EVENT_REPLAY:
		stream->resets++;
		break;
	default:
		stream->events++;
		trace->events++;
		break;
	}
}

/* The program's threads are called after their slots. */
static void note_names(struct trace *trace, const struct reader *reader)
{
	for (uint32_t i = 0; i < reader_thread_count(reader); i++) {
		const struct reader_thread *thread = reader_thread_at(reader, i);
		unsigned slot;

		if (sscanf(thread->name, "w%u", &slot) == 1 && slot < BOARD_THREADS)
			trace->numbers[slot] = thread->thread;
	}
}

static bool read_events(struct trace *trace, const char *path)
{
	struct reader *reader = NULL;
	struct unweave_event event;
	struct diag diag = {.text = ""};
	int r = reader_open(&reader, path, on_fault, trace, &diag);

	if (r < 0) {
		printf("# %s: %s\n", path, diag.text);
		return false;
	}
	while ((r = reader_next(reader, &event, &diag)) == 0)
		note_event(trace, &event);
	note_names(trace, reader);
	trace->closed = reader_summary(reader)->closed;
	trace->bytes = reader_summary(reader)->file_bytes;
	for (int i = 0; i < TRACE_CAUSES; i++)
		trace->lost_outside[i] = reader_lost_outside(reader, (enum unweave_loss)i);
	reader_free(reader);
	if (r < 0)
		printf("# %s: %s\n", path, diag.text);
	return r >= 0;
}

static void note_block(struct trace *trace, const struct block *block)
{
	struct trace_thread *thread = entry(trace, block->thread);
	struct trace_stream *stream;

	if (!thread || block->kind != BLOCK_EVENTS)
		return;
	stream = &thread->streams[block->flags & BLOCK_FLAG_ASIDE ? 1 : 0];
	if (!stream->blocks++)
		stream->first = block->number;
	else
		stream->gaps += block->number - stream->end;
	stream->end = block->number + block->events;
}

static bool read_blocks(struct trace *trace, const char *path)
{
	struct faults faults = {0};
	struct blocks blocks;
	struct block block;
	uint64_t offset;
	int r = blocks_open(&blocks, path, &faults, NULL);

	if (r < 0)
		return false;
	while ((r = blocks_next(&blocks, &block, &offset, NULL)) == 0)
		note_block(trace, &block);
	blocks_fini(&blocks);
	return r >= 0;
}

bool trace_read(struct trace *ret, const char *path)
{
	*ret = (struct trace){0};
	if (!read_events(ret, path) || !read_blocks(ret, path))
		return false;
	if (ret->faults)
		printf("# %s: %s\n", path, ret->first_fault);
	return true;
}

void trace_fini(struct trace *trace)
{
	free(trace->threads);
	*trace = (struct trace){0};
}

const struct trace_thread *trace_thread(const struct trace *trace, uint32_t slot)
{
	static const struct trace_thread none;
	uint32_t thread = trace->numbers[slot];

	return thread && thread < trace->thread_count ? &trace->threads[thread] : &none;
}

uint64_t trace_lost(const struct trace_stream *stream)
{
	uint64_t lost = 0;

	for (int i = 0; i < TRACE_CAUSES; i++)
		lost += stream->lost[i];
	return lost;
}

/* One stream through all traces: its numbers follow each other, and the events are so many. */
static bool stream_agrees(const struct trace *traces, unsigned count, uint32_t slot, int aside,
			  uint64_t tried, uint64_t in_flight)
{
	uint64_t number = 0, told = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct trace_stream *stream = &trace_thread(&traces[i], slot)->streams[aside];

		if (!stream->blocks)
			continue;
		if (stream->first != number) {
			printf("# thread %u.%d: trace %u begins at %" PRIu64 ", not %" PRIu64 "\n",
			       slot, aside, i, stream->first, number);
			return false;
		}
		number = stream->end;
		told += stream->events + stream->resets + trace_lost(stream);
	}
	if (number < tried || number > tried + in_flight || told != number) {
		printf("# thread %u.%d: %" PRIu64 " tried, %" PRIu64 " numbers, %" PRIu64 " told\n",
		       slot, aside, tried, number, told);
		return false;
	}
	return true;
}

/* Hooks that returned are there or lost; no more than were called are there. */
static bool hooks_agree(const struct trace *traces, unsigned count, uint32_t slot,
			const struct count *thread, uint64_t in_flight)
{
	uint64_t called = thread->hooks + thread->handled;
	uint64_t there = 0, lost = 0;

	for (unsigned i = 0; i < count; i++)
		for (int aside = 0; aside < 2; aside++) {
			const struct trace_stream *stream =
				&trace_thread(&traces[i], slot)->streams[aside];

			there += stream->events;
			lost += trace_lost(stream);
		}
	for (unsigned i = 0; i < count; i++)
		lost += traces[i].lost_outside[UNWEAVE_LOSS_REENTRY] +
			traces[i].lost_outside[UNWEAVE_LOSS_NO_THREAD];
	if (there + lost >= called && there <= called + in_flight)
		return true;
	printf("# thread %u: %" PRIu64 " called, %" PRIu64 " there, %" PRIu64 " lost\n", slot,
	       called, there, lost);
	return false;
}

bool trace_agrees(const struct trace *traces, unsigned count, const struct board *board,
		  uint64_t in_flight)
{
	uint32_t threads = atomic_load(&board->threads);
	bool good = true;

	for (uint32_t i = 0; i < threads && i < BOARD_THREADS; i++) {
		const struct count *thread = &board->counts[i];

		good &= stream_agrees(traces, count, i, 0, thread->main, in_flight);
		good &= stream_agrees(traces, count, i, 1, thread->aside, in_flight);
		good &= hooks_agree(traces, count, i, thread, in_flight ? 2 : 0);
	}
	return good;
}
