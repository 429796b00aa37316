/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that end in all the ways there are, and go on emitting while they do. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "hand.h"

#define CHAIN UNWEAVE_MODEL_CHAIN

/* ThreadSanitizer takes leave of a thread before its last destructors, and stands no cancelling. */
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#define UNDER_TSAN __has_feature(thread_sanitizer)
#else
#define UNDER_TSAN 0
#endif

static struct hand hand;

static void pause_ms(long ms)
{
	struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

static uint32_t lines_in_use(void)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < ARENA_LINES; i++)
		used += atomic_load(&arena_lines(emit_process.control)[i].state) != ARENA_LINE_FREE;
	return used;
}

static void run(void *(*function)(void *), void *data)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, function, data), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *emit_three(void *data)
{
	uint64_t task = unweave_task_new(NULL, CHAIN, 0, NULL);

	(void)data;
	unweave_task_resume(task);
	unweave_task_complete(task, UNWEAVE_OK);
	return NULL;
}

static void ten_thousand_threads_use_the_same_lines_again(void)
{
	uint32_t most = 0;

	hand_begin(&hand, UNWEAVE_POLICY_DROP, 0);
	for (int i = 0; i < 10000; i++) {
		run(emit_three, NULL);
		if (i % 100 == 99) {
			uint32_t used = lines_in_use();

			most = used > most ? used : most;
			CHECK(drain_pass(hand.drain) >= 0);
		}
	}
	hand_end(&hand);
	CHECK_EQ(hand.events, 30000);
	CHECK_EQ(hand.lost, 0);
	CHECK_EQ(hand.threads, 10000);
	CHECK(most <= 101);
	CHECK(lines_in_use() <= 1);
}

/* Nobody drains meanwhile: past the number of lines, events are counted as those of no thread. */
static void more_threads_than_lines_are_counted(void)
{
	hand_begin(&hand, UNWEAVE_POLICY_DROP, 32 << 20);
	for (uint32_t i = 0; i < ARENA_LINES + 100; i++)
		run(emit_three, NULL);
	hand_end(&hand);
	CHECK_EQ(hand_accounted(&hand), 3 * (ARENA_LINES + 100));
	CHECK(hand.totals.orphans >= 300);
	CHECK(lines_in_use() <= 1);
}

/* Task ids alone leave no line behind, whether or not a drain ever comes. */
static void *make_one_task(void *data)
{
	(void)data;
	unweave_task_new(NULL, CHAIN, 0, NULL);
	return NULL;
}

static void a_thread_that_never_emitted_frees_its_line_itself(void)
{
	uint32_t before = lines_in_use();

	for (int i = 0; i < 3000; i++)
		run(make_one_task, NULL);
	CHECK_EQ(lines_in_use(), before);
}

/* Key destructors run in rounds; this one asks for another round each time, to come after ours. */
static pthread_key_t late_key;
static atomic_uint late_events;

static void emit_late(void *data)
{
	uintptr_t rounds = (uintptr_t)data;

	unweave_thread_idle();
	atomic_fetch_add(&late_events, 1);
	if (rounds > 1)
		pthread_setspecific(late_key, (void *)(rounds - 1));
}

static void *emit_with_destructors(void *rounds)
{
	unweave_thread_idle();
	pthread_setspecific(late_key, rounds);
	return NULL;
}

static void hooks_in_destructors_are_recorded_to_the_last(void)
{
	uint32_t lines;

	CHECK_EQ(pthread_key_create(&late_key, emit_late), 0);
	hand_begin(&hand, UNWEAVE_POLICY_DROP, 0);
	CHECK(drain_pass(hand.drain) >= 0);
	lines = lines_in_use();
	for (uintptr_t rounds = 1; rounds <= (UNDER_TSAN ? 1 : 4); rounds++)
		for (int i = 0; i < 20; i++)
			run(emit_with_destructors, (void *)rounds);
	/* After the last round nobody says that the thread has ended: the drain finds out. */
	pause_ms(1100);
	CHECK(drain_pass(hand.drain) >= 0);
	CHECK_EQ(lines_in_use(), lines);
	hand_end(&hand);
	CHECK_EQ(hand.events, (UNDER_TSAN ? 20 : 80) + atomic_load(&late_events));
	CHECK_EQ(atomic_load(&late_events), UNDER_TSAN ? 20 : 200);
	CHECK_EQ(hand.lost, 0);
	pthread_key_delete(late_key);
}

static _Atomic uint64_t emitted;
static atomic_uint running;

static void count_up(void *count)
{
	atomic_fetch_add(&emitted, *(volatile uint64_t *)count);
}

static void *emit_until_cancelled(void *asynchronously)
{
	volatile uint64_t count = 0;

	/* One that is known before anything can happen to it. */
	unweave_frame_unwind(0, (uint32_t)count++, 0);
	if (asynchronously)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cleanup_push(count_up, (void *)&count);
	atomic_fetch_add(&running, 1);
	for (;;) {
		unweave_frame_unwind(0, (uint32_t)count, 0);
		count++;
		if (!asynchronously)
			pthread_testcancel();
	}
	pthread_cleanup_pop(1);
	return NULL;
}

static void cancel_many(bool asynchronously)
{
	enum { MANY = 50 };

	atomic_store(&emitted, 0);
	for (int i = 0; i < MANY; i++) {
		pthread_t thread;

		atomic_store(&running, 0);
		pthread_create(&thread, NULL, emit_until_cancelled, asynchronously ? "yes" : NULL);
		while (!atomic_load(&running))
			sched_yield();
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		CHECK(drain_pass(hand.drain) >= 0);
	}
}

static void a_cancelled_thread_is_recorded_up_to_its_end(void)
{
	hand_begin(&hand, UNWEAVE_POLICY_DROP, 0);
	cancel_many(false);
	hand_end(&hand);
	CHECK_EQ(hand.events + hand.lost, atomic_load(&emitted));
	CHECK_EQ(hand.threads, 50);
	CHECK(lines_in_use() <= 1);
}

static void a_thread_may_be_cancelled_in_the_middle_of_a_hook(void)
{
	hand_begin(&hand, UNWEAVE_POLICY_DROP, 0);
	cancel_many(true);
	hand_end(&hand);
	/* The last one of each was perhaps emitted, and not counted by the thread. */
	CHECK(hand.events + hand.lost >= atomic_load(&emitted));
	CHECK(hand.events + hand.lost <= atomic_load(&emitted) + 50);
	CHECK_EQ(hand.threads, 50);
	CHECK(lines_in_use() <= 1);
}

/* A thread that waits for a chunk is at a point where it could be cancelled, but for us. */
static void a_waiting_hook_is_no_cancellation_point(void)
{
	pthread_t thread;

	hand_begin(&hand, UNWEAVE_POLICY_BLOCK, 2 * ARENA_CHUNK_BYTES);
	atomic_store(&emitted, 0);
	atomic_store(&running, 0);
	pthread_create(&thread, NULL, emit_until_cancelled, NULL);
	pause_ms(100);
	pthread_cancel(thread);
	pause_ms(50);
	CHECK(drain_pass(hand.drain) >= 0);
	pthread_join(thread, NULL);
	hand_end(&hand);
	CHECK_EQ(hand.events + hand.lost, atomic_load(&emitted));
}

#define LIVE 256

static pthread_barrier_t gathered;

static void *emit_among_many(void *data)
{
	(void)data;
	pthread_barrier_wait(&gathered);
	for (int i = 0; i < 100; i++)
		unweave_thread_idle();
	pthread_barrier_wait(&gathered);
	return NULL;
}

static void many_threads_live_at_once(void)
{
	static pthread_t threads[LIVE];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	pthread_barrier_init(&gathered, NULL, LIVE);
	hand_begin(&hand, UNWEAVE_POLICY_DROP, 0);
	for (int i = 0; i < LIVE; i++)
		CHECK_EQ(pthread_create(&threads[i], &small, emit_among_many, NULL), 0);
	for (int i = 0; i < LIVE; i++)
		pthread_join(threads[i], NULL);
	hand_end(&hand);
	CHECK_EQ(hand.events, LIVE * 100);
	CHECK_EQ(hand.threads, LIVE);
	CHECK_EQ(hand.lost, 0);
	pthread_attr_destroy(&small);
}

/*
 * The first hook of the process is many threads' first hook at once. Nobody records, so
 * what the others did while one of them made the arena is missed by nobody.
 */
static void the_first_hooks_of_many_threads_make_one_arena(void)
{
	static pthread_t threads[LIVE];

	pthread_barrier_init(&gathered, NULL, 16);
	for (int i = 0; i < 16; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, emit_among_many, NULL), 0);
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
	CHECK(emit_process.control != NULL);
	CHECK(strstr(unweave_status(), "arena in"));
	CHECK_EQ(atomic_load(&emit_process.control->orphans), 0);
}

/* Out of memory, say: the drain goes on with the next pass. */
static void what_the_sink_refuses_is_lost_and_counted(void)
{
	enum { PAIRS = 5000 };
	uint64_t task;
	int failed = 0;

	hand_begin(&hand, UNWEAVE_POLICY_DROP, 0);
	task = unweave_task_new(NULL, CHAIN, 0, NULL);
	CHECK(drain_pass(hand.drain) >= 0);
	for (int i = 0; i < PAIRS; i++) {
		unweave_task_resume(task);
		unweave_task_suspend(task);
		if (i % 100 == 0)
			unweave_task_name(task, "refused");
	}
	hand.refuse = 7;
	for (int i = 0; i < 20; i++)
		failed += drain_pass(hand.drain) == -ENOMEM;
	CHECK_EQ(failed, 7);
	unweave_task_complete(task, UNWEAVE_OK);
	hand_end(&hand);
	CHECK(hand.refused > 0);
	CHECK_EQ(hand.lost, hand.refused);
	CHECK_EQ(hand.totals.lost, hand.refused);
	CHECK_EQ(hand_accounted(&hand), 1 + 2 * PAIRS + PAIRS / 100 + 1);
}

int main(void)
{
	RUN(the_first_hooks_of_many_threads_make_one_arena);
	RUN(ten_thousand_threads_use_the_same_lines_again);
	RUN(more_threads_than_lines_are_counted);
	RUN(a_thread_that_never_emitted_frees_its_line_itself);
	RUN(hooks_in_destructors_are_recorded_to_the_last);
	if (!UNDER_TSAN) {
		RUN(a_cancelled_thread_is_recorded_up_to_its_end);
		RUN(a_thread_may_be_cancelled_in_the_middle_of_a_hook);
		RUN(a_waiting_hook_is_no_cancellation_point);
	}
	RUN(what_the_sink_refuses_is_lost_and_counted);
	RUN(many_threads_live_at_once);
	return check_done();
}
