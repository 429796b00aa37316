/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorder that is too slow, and small buffers: each policy, to the event.
 *
 * Every thread wakes the tasks 2, 4, 6 ..., so that the events themselves say
 * how many are missing between two of them, whatever the library counts.
 */
#include <stdlib.h>

#include "../unit/check.h"
#include "arena/arena.h"
#include "program.h"
#include "recording.h"
#include "stress.h"
#include "trace.h"
#include "trace/reader.h"

#define THREADS 4
#define BUFFER (256u << 10)
/* A chunk of wakes: with overwrite-oldest each begins with a reset. */
#define RECORDS_PER_CHUNK (ARENA_CHUNK_WORDS / 2)

/* One thread's events, as they come. */
struct sequence {
	uint64_t number; /* of the next record */
	uint64_t wakes;  /* the last that was seen */
	uint64_t lost;   /* since then, and where that began */
	uint64_t lost_at;
	uint64_t lost_hooks; /* in all */
	uint64_t wrong;
};

static struct sequence sequences[THREADS * 8]; /* by the thread's number in the trace */
static enum unweave_policy policy;
static uint64_t listened;

static uint64_t chunks_begun(uint64_t number)
{
	return (number + RECORDS_PER_CHUNK - 1) / RECORDS_PER_CHUNK;
}

/* Hooks among the records that are missing before `number`; the others are resets. */
static uint64_t hooks_lost(const struct sequence *sequence)
{
	if (policy != UNWEAVE_POLICY_OVERWRITE)
		return sequence->lost;
	return sequence->lost -
	       (chunks_begun(sequence->lost_at + sequence->lost) - chunks_begun(sequence->lost_at));
}

static void follow(struct sequence *sequence, const struct unweave_event *event)
{
	switch (event->kind) {
	case UNWEAVE_EVENT_LOST:
		if (!sequence->lost)
			sequence->lost_at = sequence->number;
		sequence->lost += event->value;
		sequence->number += event->value;
		return;
	case UNWEAVE_EVENT_WAKE:
		if (event->task != (sequence->wakes + hooks_lost(sequence) + 1) * 2)
			sequence->wrong++;
		sequence->lost_hooks += hooks_lost(sequence);
		sequence->lost = 0;
		sequence->wakes = event->task / 2;
		break;
	case UNWEAVE_EVENT_RESET:
		break;
	default:
		sequence->wrong++;
		break;
	}
	sequence->number++;
}

static void begin(enum unweave_policy chosen)
{
	memset(sequences, 0, sizeof(sequences));
	policy = chosen;
	listened = 0;
}

static void check(const struct board *board)
{
	uint64_t lost = 0, seen = 0;
	uint32_t threads = 0;

	/* All threads have called the same number of hooks, so that it does not matter which is
	 * which. */
	for (uint32_t i = 0; i < THREADS * 8; i++) {
		struct sequence *sequence = &sequences[i];

		if (!sequence->number)
			continue;
		threads++;
		CHECK_EQ(sequence->wrong, 0);
		CHECK_EQ(sequence->wakes + hooks_lost(sequence), board->counts[0].hooks);
		lost += sequence->lost_hooks + hooks_lost(sequence);
		seen += board->counts[0].hooks;
	}
	CHECK_EQ(threads, THREADS);
	printf("# %" PRIu64 " hooks, %" PRIu64 " of them lost\n", seen, lost);
	/* A drain that keeps up would prove nothing; nor would one that gets nothing. */
	CHECK(policy == UNWEAVE_POLICY_BLOCK ? lost == 0 : lost > 0);
	CHECK(lost < seen);
}

static struct program_options options_of(enum unweave_policy chosen)
{
	bool block = chosen == UNWEAVE_POLICY_BLOCK;

	return (struct program_options){
		.work = PROGRAM_WAKES,
		.threads = THREADS,
		.hooks = block ? stress_size(20000, 100000) : stress_size(200000, 2000000),
		.pause_us = 1000,
	};
}

static void follow_file(const char *path)
{
	struct reader *reader = NULL;
	struct unweave_event event;

	CHECK_EQ(reader_open(&reader, path, NULL, NULL, NULL), 0);
	while (reader && reader_next(reader, &event, NULL) == 0)
		follow(&sequences[event.thread % (THREADS * 8)], &event);
	CHECK(reader && reader_summary(reader)->closed);
	CHECK(reader && reader_summary(reader)->faults == 0);
	reader_free(reader);
}

static void record_slowly(enum unweave_policy chosen, const char *name)
{
	struct program_options options = options_of(chosen);
	const char *path = stress_path(name, 0);
	struct recording recording;
	struct program program;

	begin(chosen);
	program_start(&program, &options);
	CHECK(recording_start(
		&recording, program.pid,
		&(struct recording_options){
			.path = path, .policy = chosen, .buffer_bytes = BUFFER, .pause_ms = 200}));
	CHECK(program_finish(&program, 60000));
	CHECK(recording_finish(&recording, 20000));
	follow_file(path);
	check(program.board);
	recording_fini(&recording);
	program_fini(&program);
}

static void a_slow_recorder_counts_what_was_dropped(void)
{
	record_slowly(UNWEAVE_POLICY_DROP, "drop");
}

static void a_slow_recorder_counts_what_was_overwritten(void)
{
	record_slowly(UNWEAVE_POLICY_OVERWRITE, "overwrite");
}

static void a_slow_recorder_that_threads_wait_for_gets_everything(void)
{
	record_slowly(UNWEAVE_POLICY_BLOCK, "block");
}

static void on_event(const struct unweave_event *event, void *data)
{
	(void)data;
	follow(&sequences[event->thread % (THREADS * 8)], event);
	if (++listened % 4096 == 0)
		stress_sleep_us(20000);
}

static void listen_slowly(enum unweave_policy chosen)
{
	struct program_options options = options_of(chosen);
	struct board *board = stress_share(sizeof(*board));
	struct unweave_options session;

	begin(chosen);
	unweave_options_init(&session);
	session.listener = on_event;
	session.policy = chosen;
	session.buffer_bytes = BUFFER;
	CHECK_EQ(unweave_start(&session), 0);
	program_run(board, &options);
	unweave_stop();
	check(board);
}

static void a_slow_listener_counts_what_was_dropped(void)
{
	listen_slowly(UNWEAVE_POLICY_DROP);
}

static void a_slow_listener_counts_what_was_overwritten(void)
{
	listen_slowly(UNWEAVE_POLICY_OVERWRITE);
}

static void a_slow_listener_that_threads_wait_for_gets_everything(void)
{
	listen_slowly(UNWEAVE_POLICY_BLOCK);
}

/* A listener that holds the drain up from its first event on, until it is let go. */
struct gate {
	_Atomic bool closed;
	_Atomic bool entered;
	uint64_t wakes, others, lost;
	bool lost_before_wake;
};

static void wait_at_gate(const struct unweave_event *event, void *data)
{
	struct gate *gate = data;

	atomic_store(&gate->entered, true);
	while (atomic_load(&gate->closed))
		stress_sleep_us(100);
	switch (event->kind) {
	case UNWEAVE_EVENT_WAKE:
		gate->wakes++;
		gate->lost_before_wake |= gate->lost > 0;
		break;
	case UNWEAVE_EVENT_LOST:
		gate->lost += event->value;
		break;
	case UNWEAVE_EVENT_RESET:
		break;
	default:
		gate->others++;
		break;
	}
}

/*
 * Two chunks: the first is full, the second has room for a wake but not for a
 * long stack. What comes after that in the same chunk would take its number.
 */
static void a_record_that_finds_no_room_is_missing_where_it_was(void)
{
	static uint64_t addresses[1800];
	struct unweave_stack stack = {.addresses = addresses, .count = 1800};
	struct unweave_options session;
	struct gate gate = {.closed = true};
	uint64_t wakes = RECORDS_PER_CHUNK * 3 / 2;

	unweave_options_init(&session);
	session.listener = wait_at_gate;
	session.listener_data = &gate;
	session.buffer_bytes = 2 * ARENA_CHUNK_BYTES;
	CHECK_EQ(unweave_start(&session), 0);
	unweave_task_wake(2, UNWEAVE_SOURCE_TASK);
	while (!atomic_load(&gate.entered))
		stress_sleep_us(100);
	for (uint64_t i = 1; i < wakes; i++)
		unweave_task_wake(2, UNWEAVE_SOURCE_TASK);
	unweave_task_append(2, &stack);
	unweave_task_wake(2, UNWEAVE_SOURCE_TASK);
	atomic_store(&gate.closed, false);
	unweave_stop();
	CHECK_EQ(gate.wakes, wakes);
	CHECK_EQ(gate.others, 0);
	CHECK_EQ(gate.lost, 2);
	CHECK(!gate.lost_before_wake);
}

int main(void)
{
	stress_begin(240);
	RUN(a_slow_recorder_counts_what_was_dropped);
	RUN(a_slow_recorder_counts_what_was_overwritten);
	RUN(a_slow_recorder_that_threads_wait_for_gets_everything);
	RUN(a_slow_listener_counts_what_was_dropped);
	RUN(a_slow_listener_counts_what_was_overwritten);
	RUN(a_slow_listener_that_threads_wait_for_gets_everything);
	RUN(a_record_that_finds_no_room_is_missing_where_it_was);
	return check_done();
}
