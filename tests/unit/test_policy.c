/* SPDX-License-Identifier: Apache-2.0 */
/* What happens when the buffers are full. Events are numbered, so that each gap can be measured. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "arena/clock.h"
#include "collect.h"
#include "drain/drain.h"
#include "emit/emit.h"
#include "emit/place.h"

#define CHAIN UNWEAVE_MODEL_CHAIN
#define TINY (2 * ARENA_CHUNK_BYTES)
#define EVENTS 100000

static atomic_bool drain_waits;
static atomic_bool drain_is_waiting;

static void pause_ms(long ms)
{
	struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

/* Collects, but stands still while it is told to. */
static void collect_with_pauses(const struct unweave_event *event, void *data)
{
	while (atomic_load(&drain_waits)) {
		atomic_store(&drain_is_waiting, true);
		pause_ms(1);
	}
	atomic_store(&drain_is_waiting, false);
	collect(event, data);
}

static void begin_with(unweave_listener listener, enum unweave_policy policy, size_t bytes)
{
	struct unweave_options options;

	collect_forget();
	unweave_options_init(&options);
	options.listener = listener;
	options.listener_data = &collected;
	options.policy = policy;
	options.buffer_bytes = bytes;
	CHECK_EQ(unweave_start(&options), 0);
}

static void begin(enum unweave_policy policy, size_t bytes)
{
	begin_with(collect_with_pauses, policy, bytes);
}

/* An event of two words that carries a number. */
static void emit_number(uint32_t number)
{
	unweave_frame_unwind(0, number, 0);
}

static void emit_numbers(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		emit_number(i);
}

/* Has the drain stand still in the middle of a pass. */
static void halt_drain(void)
{
	atomic_store(&drain_waits, true);
	unweave_anchor_reset(0);
	while (!atomic_load(&drain_is_waiting))
		pause_ms(1);
}

/* What a thread's stream shows of numbers that were emitted one after the other. */
struct report {
	uint32_t received;
	uint32_t next;    /* after the last one */
	uint64_t missing; /* numbers that did not come, up to the last one */
	uint64_t lost;
	uint32_t losses;
	uint32_t resets_after_loss;
	unsigned wrong; /* gaps without a loss, losses without a gap or of the wrong size */
};

/*
 * `repeats` is how many resets and replays each chunk begins with: those that
 * were overwritten with the rest are part of the count.
 */
static struct report report_of(uint32_t thread, uint32_t per_chunk, uint32_t repeats)
{
	struct report report = {0};
	uint64_t lost_here = 0;

	for (size_t i = 0; i < collected.count; i++) {
		const struct unweave_event *event = &collected.seen[i].event;
		uint32_t number = (uint32_t)(event->value >> 1);

		if (event->thread != thread)
			continue;
		if (event->kind == UNWEAVE_EVENT_LOST) {
			report.wrong += lost_here != 0;
			lost_here += event->value;
			report.losses++;
			report.lost += event->value;
		} else if (event->kind == UNWEAVE_EVENT_RESET) {
			report.resets_after_loss += event->value == UNWEAVE_RESET_LOSS;
		} else if (event->kind == UNWEAVE_EVENT_UNWIND) {
			uint64_t gap = number - report.next;
			uint64_t whole = per_chunk ? lost_here / (per_chunk + repeats) : 0;

			report.wrong += number < report.next || gap + whole * repeats != lost_here;
			report.missing += gap;
			report.next = number + 1;
			report.received++;
			lost_here = 0;
		}
	}
	return report;
}

static uint32_t only_thread(void)
{
	return collected.count ? collected.seen[0].event.thread : 0;
}

static void dropping_counts_each_event_that_found_no_room(void)
{
	struct report report;

	begin(UNWEAVE_POLICY_DROP, TINY);
	for (uint32_t round = 0; round < 5; round++) {
		halt_drain();
		emit_numbers(round * EVENTS / 5, (round + 1) * EVENTS / 5);
		atomic_store(&drain_waits, false);
		CHECK_EQ(unweave_flush(), 0);
	}
	emit_number(EVENTS);
	unweave_stop();
	report = report_of(only_thread(), 0, 0);
	CHECK_EQ(report.wrong, 0);
	CHECK(report.lost > EVENTS / 2);
	CHECK(report.losses >= 2);
	CHECK_EQ(report.received + report.lost,
		 EVENTS + 1 + 5 - collect_count(UNWEAVE_EVENT_ANCHOR_RESET));
	/* What follows a loss begins with a reset: the nest of before may be wrong. */
	CHECK_EQ(report.resets_after_loss, report.losses);
	CHECK_EQ(report.next, EVENTS + 1);
}

static void a_loss_that_nothing_follows_is_counted_at_the_end(void)
{
	struct report report;

	begin(UNWEAVE_POLICY_DROP, TINY);
	emit_number(0);
	CHECK_EQ(unweave_flush(), 0);
	halt_drain();
	emit_numbers(1, EVENTS);
	atomic_store(&drain_waits, false);
	unweave_stop();
	report = report_of(only_thread(), 0, 0);
	CHECK_EQ(report.received + report.lost, EVENTS);
	CHECK_EQ(report.losses, 1);
	CHECK_EQ(collected.seen[collected.count - 1].event.kind, UNWEAVE_EVENT_LOST);
	CHECK_EQ(collected.seen[collected.count - 1].event.other, UNWEAVE_LOSS_FULL);

	/* The next session does not count it again. */
	begin(UNWEAVE_POLICY_DROP, TINY);
	emit_number(0);
	unweave_stop();
	CHECK_EQ(collect_lost(), 0);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_UNWIND), 1);
}

static void after_a_loss_the_runs_of_the_thread_are_replayed(void)
{
	uint64_t outer, inner;
	size_t at = 0;

	begin(UNWEAVE_POLICY_DROP, TINY);
	outer = unweave_task_new(NULL, CHAIN, 0, NULL);
	inner = unweave_task_new(NULL, CHAIN, 0, NULL);
	unweave_task_resume(outer);
	CHECK_EQ(unweave_flush(), 0);
	halt_drain();
	emit_numbers(0, EVENTS);
	unweave_task_resume(inner);
	atomic_store(&drain_waits, false);
	CHECK_EQ(unweave_flush(), 0);
	unweave_task_wake(outer, UNWEAVE_SOURCE_TASK);
	unweave_task_suspend(inner);
	unweave_task_suspend(outer);
	unweave_stop();

	while (at < collected.count && collected.seen[at].event.kind != UNWEAVE_EVENT_LOST)
		at++;
	CHECK_EQ(collected.count - at, 7);
	if (collected.count - at != 7)
		return;
	CHECK_EQ(collected.seen[at + 1].event.kind, UNWEAVE_EVENT_RESET);
	CHECK_EQ(collected.seen[at + 1].event.value, UNWEAVE_RESET_LOSS);
	CHECK_EQ(collected.seen[at + 2].event.kind, UNWEAVE_EVENT_REPLAY);
	CHECK_EQ(collected.seen[at + 2].event.task, outer);
	CHECK_EQ(collected.seen[at + 3].event.task, inner);
	CHECK_EQ(collected.seen[at + 4].event.other, inner);
	CHECK_EQ(collected.seen[at + 5].event.task, inner);
	CHECK_EQ(collected.seen[at + 6].event.task, outer);
}

static void overwriting_keeps_the_newest_and_counts_the_rest(void)
{
	uint32_t per_chunk = (ARENA_CHUNK_WORDS - 2) / 2;
	struct report report;

	begin(UNWEAVE_POLICY_OVERWRITE, TINY);
	emit_number(0);
	CHECK_EQ(unweave_flush(), 0);
	halt_drain();
	emit_numbers(1, EVENTS);
	atomic_store(&drain_waits, false);
	CHECK_EQ(unweave_flush(), 0);
	report = report_of(only_thread(), per_chunk, 1);
	CHECK_EQ(report.next, EVENTS);
	CHECK_EQ(report.received + report.missing, EVENTS);
	CHECK_EQ(report.wrong, 0);
	CHECK_EQ(report.losses, 1);
	/* Of the two chunks, one at least is there in full. */
	CHECK(report.received > per_chunk);

	/* And with a drain that goes on, as fast as it can. */
	emit_numbers(EVENTS, 20 * EVENTS);
	unweave_stop();
	report = report_of(only_thread(), per_chunk, 1);
	CHECK_EQ(report.next, 20 * EVENTS);
	CHECK_EQ(report.received + report.missing, 20 * EVENTS);
	CHECK_EQ(report.wrong, 0);
}

struct writer_thread {
	pthread_t thread;
	uint32_t number; /* of the thread within the trace, from its first event */
	uint32_t from, to;
	_Atomic uint32_t done;
	atomic_bool go;
};

static void *write_numbers(void *data)
{
	struct writer_thread *writer = data;

	/* Has its chunk before the others take them all. */
	emit_number(writer->from++);
	while (!atomic_load(&writer->go))
		pause_ms(1);
	for (uint32_t i = writer->from; i < writer->to; i++) {
		emit_number(i);
		atomic_store_explicit(&writer->done, i + 1, memory_order_release);
	}
	return NULL;
}

static void each_thread_overwrites_its_own_chunks_only(void)
{
	enum { THREADS = 4 };
	static struct writer_thread writers[THREADS];
	uint32_t per_chunk = (ARENA_CHUNK_WORDS - 2) / 2;
	uint32_t seen = 0;

	begin(UNWEAVE_POLICY_OVERWRITE, THREADS * TINY);
	for (int i = 0; i < THREADS; i++) {
		writers[i] = (struct writer_thread){.to = EVENTS};
		pthread_create(&writers[i].thread, NULL, write_numbers, &writers[i]);
	}
	pause_ms(50);
	for (int i = 0; i < THREADS; i++)
		atomic_store(&writers[i].go, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(writers[i].thread, NULL);
	unweave_stop();
	for (uint32_t thread = 1; thread < 1000; thread++) {
		struct report report = report_of(thread, per_chunk, 1);

		if (!report.received)
			continue;
		seen++;
		CHECK_EQ(report.next, EVENTS);
		CHECK_EQ(report.received + report.missing, EVENTS);
		CHECK_EQ(report.wrong, 0);
	}
	CHECK_EQ(seen, THREADS);
}

static void collect_slowly(const struct unweave_event *event, void *data)
{
	if (collected.count % 500 == 0)
		pause_ms(1);
	collect(event, data);
}

static void blocking_loses_nothing(void)
{
	struct report report;

	begin_with(collect_slowly, UNWEAVE_POLICY_BLOCK, TINY);
	emit_numbers(0, EVENTS);
	unweave_stop();
	report = report_of(only_thread(), 0, 0);
	CHECK_EQ(report.received, EVENTS);
	CHECK_EQ(report.wrong, 0);
	CHECK_EQ(collect_lost(), 0);
}

static void changed_keywords_do_not_make_a_waiting_thread_lose(void)
{
	static struct writer_thread writer;

	begin_with(collect_slowly, UNWEAVE_POLICY_BLOCK, TINY);
	writer = (struct writer_thread){.to = EVENTS, .go = true};
	pthread_create(&writer.thread, NULL, write_numbers, &writer);
	for (int i = 0; i < 50; i++)
		CHECK_EQ(unweave_set_keywords(UNWEAVE_KEYWORDS_FULL), 0);
	pthread_join(writer.thread, NULL);
	unweave_stop();
	CHECK_EQ(collect_lost(), 0);
	CHECK_EQ(collect_count(UNWEAVE_EVENT_UNWIND), EVENTS);
}

/* A recorder that takes nothing: a session by hand on the process's own arena. */
static int take_nothing(void *data, struct stream *stream, const struct unweave_event *events,
			uint32_t count)
{
	(void)data;
	(void)stream;
	(void)events;
	(void)count;
	return 0;
}

static int note_no_thread(void *data, uint32_t thread, uint32_t tid, const char *name, bool ended)
{
	(void)data;
	(void)thread;
	(void)tid;
	(void)name;
	(void)ended;
	return 0;
}

static int note_no_site(void *data, const struct meta_site *site)
{
	(void)data;
	(void)site;
	return 0;
}

static int note_no_end(void *data, struct stream *stream)
{
	(void)data;
	(void)stream;
	return 0;
}

struct hand_session {
	struct attachment attachment;
	struct drain *drain;
};

static void hand_begin_with(struct hand_session *session, enum unweave_policy policy, size_t bytes)
{
	struct drain_options options = {.policy = policy, .buffer_bytes = bytes};
	struct drain_sink sink = {.thread = note_no_thread,
				  .site = note_no_site,
				  .events = take_nothing,
				  .end = note_no_end};

	CHECK(emit_birth());
	CHECK_EQ(attach_own(&session->attachment, emit_process.control, place_file(), NULL), 0);
	CHECK_EQ(attach_lock(&session->attachment, NULL), 0);
	CHECK_EQ(drain_new(&session->drain, &session->attachment, &options, &sink, NULL), 0);
}

static void hand_begin(struct hand_session *session, enum unweave_policy policy)
{
	hand_begin_with(session, policy, TINY);
}

static void hand_end(struct hand_session *session)
{
	CHECK(drain_stop(session->drain) >= 0);
	session->drain = drain_free(session->drain);
	attach_fini(&session->attachment);
}

static void wait_until_stuck(struct writer_thread *writer, struct hand_session *session)
{
	uint32_t before;

	do {
		before = atomic_load(&writer->done);
		atomic_store(&session->attachment.control->config.heartbeat, clock_monotonic());
		pause_ms(50);
	} while (atomic_load(&writer->done) != before);
	CHECK(before < writer->to);
}

static void a_waiting_thread_is_let_go_when_the_recorder_shows_no_life(void)
{
	static struct writer_thread writer;
	struct hand_session session;
	uint64_t start;

	hand_begin(&session, UNWEAVE_POLICY_BLOCK);
	/* Few enough that the wait for each of them is not the test. */
	writer = (struct writer_thread){.to = 2 * ARENA_CHUNK_WORDS, .go = true};
	pthread_create(&writer.thread, NULL, write_numbers, &writer);
	wait_until_stuck(&writer, &session);
	start = clock_monotonic();
	pthread_join(writer.thread, NULL);
	CHECK(clock_monotonic() - start < UINT64_C(5000000000));
	CHECK_EQ(atomic_load(&writer.done), writer.to);
	hand_end(&session);
}

static void a_waiting_thread_is_let_go_when_the_session_ends(void)
{
	static struct writer_thread writer;
	struct hand_session session;
	uint64_t start;

	hand_begin(&session, UNWEAVE_POLICY_BLOCK);
	writer = (struct writer_thread){.to = EVENTS, .go = true};
	pthread_create(&writer.thread, NULL, write_numbers, &writer);
	wait_until_stuck(&writer, &session);
	start = clock_monotonic();
	hand_end(&session);
	pthread_join(writer.thread, NULL);
	CHECK(clock_monotonic() - start < UINT64_C(900000000));
	CHECK_EQ(atomic_load(&writer.done), EVENTS);
}

static pthread_barrier_t all_done;

static void *write_and_stay(void *data)
{
	write_numbers(data);
	pthread_barrier_wait(&all_done);
	return NULL;
}

/* Idle threads hold the chunks. Those that have one go on in it; the others lose, and do not hang.
 */
static void check_more_threads_than_chunks(enum unweave_policy policy)
{
	enum { THREADS = 6, EACH = 5000 };
	static struct writer_thread writers[THREADS];
	uint64_t start = clock_monotonic();
	uint32_t whole = 0;

	begin(policy, TINY);
	pthread_barrier_init(&all_done, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		writers[i] = (struct writer_thread){.to = EACH, .go = true};
		pthread_create(&writers[i].thread, NULL, write_and_stay, &writers[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(writers[i].thread, NULL);
	unweave_stop();
	pthread_barrier_destroy(&all_done);
	CHECK(clock_monotonic() - start < UINT64_C(5000000000));
	CHECK_EQ(collect_count(UNWEAVE_EVENT_UNWIND) + collect_lost(), THREADS * EACH);
	for (uint32_t thread = 1; thread < 10000; thread++)
		whole += report_of(thread, 0, 0).received == EACH;
	if (policy == UNWEAVE_POLICY_BLOCK)
		CHECK(whole >= 1);
}

static void more_threads_than_chunks_lose_but_do_not_hang(void)
{
	check_more_threads_than_chunks(UNWEAVE_POLICY_DROP);
	check_more_threads_than_chunks(UNWEAVE_POLICY_BLOCK);
}

/* With two chunks a thread gets no more than those, whatever an earlier session had. */
static void the_buffers_are_no_larger_than_asked_for(void)
{
	struct hand_session session;
	uint32_t owned = 0;

	begin(UNWEAVE_POLICY_DROP, 0);
	emit_numbers(0, 200000);
	unweave_stop();
	hand_begin(&session, UNWEAVE_POLICY_DROP);
	emit_numbers(0, EVENTS);
	for (uint32_t i = 0; i < session.attachment.chunks_max; i++)
		owned += atomic_load(&session.attachment.pool[i].owner) != 0;
	/* One may be left from the session before. */
	CHECK(owned <= 3);
	CHECK(owned >= 2);
	hand_end(&session);
}

#define ROOM 32u /* chunks */

/* Fills so many chunks some ms after the last pass; returns how long to wait after the next. */
static uint64_t pause_after(struct hand_session *session, uint32_t chunks, long ms)
{
	pause_ms(ms);
	emit_numbers(0, chunks * (uint32_t)ARENA_CHUNK_WORDS / 2);
	CHECK(drain_pass(session->drain) >= 0);
	return drain_pause_ns(session->drain);
}

static void the_sooner_the_buffers_are_full_the_sooner_is_the_next_pass(void)
{
	const uint64_t ms = 1000000;
	struct hand_session session;
	uint64_t start, pause;

	hand_begin_with(&session, UNWEAVE_POLICY_DROP, ROOM * ARENA_CHUNK_BYTES);
	do
		CHECK(drain_pass(session.drain) >= 0);
	while (drain_has_census(session.drain));
	CHECK_EQ(pause_after(&session, 0, 0), 20 * ms);
	CHECK_EQ(pause_after(&session, ROOM / 8, 500), 50 * ms);
	start = clock_monotonic();
	pause = pause_after(&session, ROOM / 2, 40);
	CHECK(pause >= 5 * ms);
	CHECK(pause <= (clock_monotonic() - start) / 3 + ms);
	/* However long that took. */
	CHECK_EQ(pause_after(&session, ROOM - 2, 500), ms);
	CHECK_EQ(pause_after(&session, 2 * ROOM, 500), ms);
	CHECK_EQ(pause_after(&session, 0, 0), 20 * ms);
	hand_end(&session);
}

static void *fill_a_chunk_and_wait(void *data)
{
	emit_numbers(0, 10);
	pthread_barrier_wait(data);
	pthread_barrier_wait(data);
	return NULL;
}

/* Threads that are silent hold a chunk each: what is left is soon full. */
static void chunks_that_threads_hold_are_no_room(void)
{
	pthread_t threads[ROOM - 3];
	struct hand_session session;
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, ROOM - 2);
	hand_begin_with(&session, UNWEAVE_POLICY_DROP, ROOM * ARENA_CHUNK_BYTES);
	for (uint32_t i = 0; i < ROOM - 3; i++)
		pthread_create(&threads[i], NULL, fill_a_chunk_and_wait, &barrier);
	pthread_barrier_wait(&barrier);
	do
		CHECK(drain_pass(session.drain) >= 0);
	while (drain_has_census(session.drain));
	CHECK_EQ(pause_after(&session, 0, 0), 20 * UINT64_C(1000000));
	CHECK_EQ(pause_after(&session, 2, 500), 1000000);
	pthread_barrier_wait(&barrier);
	for (uint32_t i = 0; i < ROOM - 3; i++)
		pthread_join(threads[i], NULL);
	hand_end(&session);
	pthread_barrier_destroy(&barrier);
}

int main(void)
{
	RUN(dropping_counts_each_event_that_found_no_room);
	RUN(a_loss_that_nothing_follows_is_counted_at_the_end);
	RUN(after_a_loss_the_runs_of_the_thread_are_replayed);
	RUN(overwriting_keeps_the_newest_and_counts_the_rest);
	RUN(each_thread_overwrites_its_own_chunks_only);
	RUN(blocking_loses_nothing);
	RUN(changed_keywords_do_not_make_a_waiting_thread_lose);
	RUN(a_waiting_thread_is_let_go_when_the_recorder_shows_no_life);
	RUN(a_waiting_thread_is_let_go_when_the_session_ends);
	RUN(more_threads_than_chunks_lose_but_do_not_hang);
	RUN(the_buffers_are_no_larger_than_asked_for);
	RUN(the_sooner_the_buffers_are_full_the_sooner_is_the_next_pass);
	RUN(chunks_that_threads_hold_are_no_room);
	collect_forget();
	return check_done();
}
