/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of samples: many writers, one taker, and what a hostile program may leave in it. */
#include "arena/ring.h"

#include <pthread.h>
#include <sys/mman.h>

#include "check.h"
#include "sample/take.h"
#include "util/hash.h"

#define WRITERS 4u
#define RECORDS 3000u

static struct arena_control *control;
static struct take taker;

static void make_arena(void)
{
	if (!control)
		control = mmap(NULL, ARENA_POOL_AT, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	taker = (struct take){.control = control};
	take_start_over(&taker);
}

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* What a record must say follows from its writer and its number. */
static uint64_t word_of(uint64_t writer, uint64_t number, uint64_t place)
{
	return hash_mix(writer << 40 | number << 16 | place);
}

/* A sample with one run and some stack; false if the ring is full. */
static bool write_sample(uint64_t writer, uint64_t number, uint32_t frames, uint32_t stack_words)
{
	uint64_t words = RING_HEAD_WORDS + 3 + RING_RUN_WORDS + frames + ring_states_words(frames) +
			 stack_words;
	uint64_t *at = ring_reserve(control, words);
	struct ring_sample *sample = (struct ring_sample *)at;

	if (!at)
		return false;
	sample->ticks = number;
	sample->tid = (uint32_t)writer;
	sample->registers = 3;
	sample->runs = 1;
	sample->bytes = stack_words * 8;
	at += RING_HEAD_WORDS;
	for (uint64_t i = 0; i < 3; i++)
		*at++ = word_of(writer, number, i);
	*(struct ring_run *)at = (struct ring_run){.task = number + 1, .frames = frames};
	at += RING_RUN_WORDS;
	for (uint64_t i = 0; i < frames; i++)
		at[i] = word_of(writer, number, 100 + i) | 1;
	for (uint64_t i = 0; i < frames; i++)
		((int32_t *)(at + frames))[i] = (int32_t)i - 2;
	at += frames + ring_states_words(frames);
	for (uint64_t i = 0; i < stack_words; i++)
		*at++ = word_of(writer, number, 5000 + i);
	ring_publish((uint64_t *)sample, words, RING_SAMPLE);
	return true;
}

static void check_sample(const struct taken *taken)
{
	uint64_t writer = taken->tid, number = taken->ticks, word;

	CHECK_EQ(taken->register_count, 3);
	for (uint64_t i = 0; i < 3; i++)
		CHECK(taken->registers[i] == word_of(writer, number, i));
	CHECK_EQ(taken->run_count, 1);
	CHECK_EQ(taken->runs[0].task, number + 1);
	for (uint32_t i = 0; i < taken->runs[0].count; i++) {
		CHECK(taken->runs[0].addresses[i] == (word_of(writer, number, 100 + i) | 1));
		CHECK_EQ(taken->runs[0].states[i], (int32_t)i - 2);
	}
	for (uint64_t i = 0; i < taken->bytes / 8; i++) {
		memcpy(&word, taken->stack + i * 8, 8);
		CHECK(word == word_of(writer, number, 5000 + i));
	}
}

static void *write_many(void *data)
{
	uint64_t writer = (uint64_t)(uintptr_t)data, seed = writer * 77 + 5;

	for (uint64_t number = 0; number < RECORDS; number++) {
		uint32_t frames = (uint32_t)(next(&seed) % 40);
		uint32_t words = (uint32_t)(next(&seed) % 3000);

		while (!write_sample(writer, number, frames, words))
			sched_yield();
	}
	return NULL;
}

static void what_many_threads_write_is_taken_whole_and_in_their_order(void)
{
	uint64_t expected[WRITERS + 1] = {0}, all = 0;
	pthread_t threads[WRITERS];
	struct taken taken;

	make_arena();
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, write_many, (void *)(i + 1));
	while (all < WRITERS * RECORDS) {
		enum take_result result = take_next(&taker, &taken);

		if (result == TAKE_NONE) {
			sched_yield();
			continue;
		}
		CHECK_EQ(result, TAKE_SAMPLE);
		CHECK(taken.tid >= 1 && taken.tid <= WRITERS);
		CHECK_EQ(taken.ticks, expected[taken.tid]++);
		check_sample(&taken);
		all++;
	}
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(take_next(&taker, &taken), TAKE_NONE);
	CHECK_EQ(taker.damaged, 0);
}

static void a_full_ring_refuses_and_goes_on_once_there_is_room(void)
{
	struct taken taken;
	uint64_t written = 0, took = 0;

	make_arena();
	for (int round = 0; round < 5; round++) {
		while (write_sample(1, written, 3, 4000))
			written++;
		CHECK(written - took > 100);
		for (int i = 0; i < 60; i++) {
			CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
			CHECK_EQ(taken.ticks, took++);
			check_sample(&taken);
		}
	}
}

static void a_record_that_is_not_finished_holds_up_those_behind_it(void)
{
	struct taken taken;
	uint64_t *open;

	make_arena();
	write_sample(1, 0, 1, 1);
	open = ring_reserve(control, 20);
	write_sample(1, 1, 1, 1);
	CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
	CHECK_EQ(take_next(&taker, &taken), TAKE_NONE);
	memset(open, 0, 20 * 8);
	ring_publish(open, 20, RING_SAMPLE);
	CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
	CHECK_EQ(taken.run_count, 0);
	CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
	CHECK_EQ(taken.ticks, 1);
}

/* As it is when a recorder dies: it has said what it takes, and stored so many zeros. */
static void who_follows_a_recorder_that_died_goes_on(void)
{
	struct taken taken;

	for (uint64_t zeros = 0; zeros < 20; zeros++) {
		uint64_t tail, words, *late;

		make_arena();
		write_sample(1, 0, 2, 3);
		write_sample(1, 1, 2, 3);
		tail = atomic_load(&control->sampler.tail);
		words = ring_words(control)[tail % ARENA_RING_WORDS] >> 8;
		CHECK_EQ(words, 17);
		late = ring_reserve(control, RING_HEAD_WORDS);
		atomic_store(&control->sampler.taking, tail + words);
		memset(ring_words(control) + tail % ARENA_RING_WORDS, 0,
		       8 * (zeros < words ? zeros : words));
		if (zeros > words)
			atomic_store(&control->sampler.tail, tail + words);
		take_begin(&taker);
		CHECK_EQ(take_next(&taker, &taken), TAKE_NONE);
		/* Whoever was at it meanwhile has its room still. */
		((struct ring_sample *)late)->tid = 9;
		ring_publish(late, RING_HEAD_WORDS, RING_SAMPLE);
		CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
		CHECK_EQ(taken.tid, 9);
		CHECK_EQ(taker.damaged, 0);
	}
}

static void nonsense_about_what_was_being_taken_is_not_believed(void)
{
	static const uint64_t ends[] = {
		1, 5000, ARENA_RING_WORDS, ARENA_RING_WORDS + 1, UINT64_MAX, UINT64_MAX / 2};
	struct taken taken;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		make_arena();
		write_sample(1, 0, 2, 3);
		atomic_store(&control->sampler.taking,
			     atomic_load(&control->sampler.tail) + ends[i]);
		take_begin(&taker);
		take_start_over(&taker);
		CHECK(write_sample(1, 1, 2, 3));
		CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
		CHECK_EQ(taken.ticks, 1);
	}
}

/* Whatever stands there, each call is bounded, and a good record is taken again soon. */
static void a_ring_full_of_nonsense_is_survived(void)
{
	uint64_t seed = 99, *words;
	struct taken taken;

	for (int round = 0; round < 200; round++) {
		make_arena();
		words = ring_words(control);
		for (int i = 0; i < 500; i++)
			write_sample(2, (uint64_t)i, (uint32_t)(next(&seed) % 5), 10);
		for (int i = 0; i < 300; i++)
			words[next(&seed) % 12000] = next(&seed) >> next(&seed) % 64;
		if (round % 3 == 0)
			atomic_store(&control->sampler.head, next(&seed) >> next(&seed) % 64);
		for (int i = 0; i < 2000 && take_next(&taker, &taken) != TAKE_NONE; i++) {
			CHECK(taken.run_count <= RING_RUNS);
			CHECK(taken.bytes <= sizeof(taker.words));
		}
		take_start_over(&taker);
		CHECK(write_sample(3, 7, 2, 2));
		CHECK_EQ(take_next(&taker, &taken), TAKE_SAMPLE);
		CHECK_EQ(taken.tid, 3);
	}
}

int main(void)
{
	RUN(what_many_threads_write_is_taken_whole_and_in_their_order);
	RUN(a_full_ring_refuses_and_goes_on_once_there_is_room);
	RUN(a_record_that_is_not_finished_holds_up_those_behind_it);
	RUN(who_follows_a_recorder_that_died_goes_on);
	RUN(nonsense_about_what_was_being_taken_is_not_believed);
	RUN(a_ring_full_of_nonsense_is_survived);
	return check_done();
}
