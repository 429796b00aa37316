/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/take.h"

#include <string.h>

void take_start_over(struct take *take)
{
	struct arena_sampler *sampler = &take->control->sampler;
	uint64_t head = atomic_load(&sampler->head);

	memset(ring_words(take->control), 0, (size_t)ARENA_RING_WORDS * 8);
	atomic_store(&sampler->taking, 0);
	atomic_store(&sampler->tail, head);
}

/* Takes one run's words; false if there are not enough. */
static bool take_run(const uint64_t **at, const uint64_t *end, struct take_run *ret)
{
	const struct ring_run *run = (const struct ring_run *)*at;
	uint32_t frames, count = 0;

	if ((size_t)(end - *at) < RING_RUN_WORDS)
		return false;
	frames = run->frames & ~RING_RUN_CUT;
	*at += RING_RUN_WORDS;
	if (frames > RING_CHAIN || (size_t)(end - *at) < frames + ring_states_words(frames))
		return false;
	*ret = (struct take_run){.task = run->task,
				 .site = run->site,
				 .addresses = *at,
				 .states = (const int32_t *)(*at + frames),
				 .cut = run->frames & RING_RUN_CUT};
	/* It may have got shorter while it was copied. */
	while (count < frames && ret->addresses[count])
		count++;
	ret->count = count;
	*at += frames + ring_states_words(frames);
	return true;
}

bool take_parse(const uint64_t *words, uint64_t count, struct taken *ret)
{
	const struct ring_sample *sample = (const struct ring_sample *)words;
	const uint64_t *at = words + RING_HEAD_WORDS, *end = words + count;

	if (count < RING_HEAD_WORDS || sample->registers > RING_REGISTERS ||
	    sample->runs > RING_RUNS || (size_t)(end - at) < sample->registers)
		return false;
	*ret = (struct taken){.ticks = sample->ticks,
			      .tid = sample->tid,
			      .more = sample->more,
			      .asked = sample->asked,
			      .runs_cut = sample->runs_cut,
			      .stack_cut = sample->stack_cut != 0,
			      .registers = at,
			      .register_count = sample->registers,
			      .run_count = sample->runs,
			      .sp = sample->sp};
	at += sample->registers;
	for (uint32_t i = 0; i < ret->run_count; i++)
		if (!take_run(&at, end, &ret->runs[i]))
			return false;
	if (sample->bytes > (uint64_t)(end - at) * 8)
		return false;
	ret->stack = (const uint8_t *)at;
	ret->bytes = sample->bytes;
	return true;
}

/* Fills words at `tail` with zeros, and gives them back. For an heir, says before what it does. */
static void give_back(struct take *take, uint64_t tail, uint64_t words)
{
	struct arena_sampler *sampler = &take->control->sampler;

	atomic_store_explicit(&sampler->taking, tail + words, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	memset(ring_words(take->control) + tail % ARENA_RING_WORDS, 0, words * 8);
	/* H */
	atomic_store_explicit(&sampler->tail, tail + words, memory_order_release);
}

/* Whether so many words at `tail` can be a record, or padding. */
static bool fits(const struct take *take, uint64_t tail, uint64_t words)
{
	uint64_t head = atomic_load_explicit(&take->control->sampler.head, memory_order_relaxed);

	return words && words <= ARENA_RING_WORDS - tail % ARENA_RING_WORDS && words <= head - tail;
}

void take_begin(struct take *take)
{
	struct arena_sampler *sampler = &take->control->sampler;
	uint64_t tail = atomic_load(&sampler->tail), taking = atomic_load(&sampler->taking);
	struct taken taken;

	if (taking > tail && fits(take, tail, taking - tail))
		give_back(take, tail, taking - tail);
	/* It holds less than this even if there are writers at it. */
	for (uint64_t i = 0; i < ARENA_RING_WORDS / RING_HEAD_WORDS; i++)
		if (take_next(take, &taken) == TAKE_NONE)
			break;
}

/* Copies the record at `tail`, and gives its room back. Returns its words; 0 if it has no end. */
static uint64_t take_words(struct take *take, uint64_t header)
{
	uint64_t tail = atomic_load_explicit(&take->control->sampler.tail, memory_order_relaxed);
	uint64_t words = header >> 8;

	if (!fits(take, tail, words))
		return 0;
	if ((header & 0xff) == RING_SAMPLE) {
		if (words > TAKE_WORDS_MAX)
			return 0;
		memcpy(take->words, ring_words(take->control) + tail % ARENA_RING_WORDS, words * 8);
	}
	give_back(take, tail, words);
	return words;
}

enum take_result take_next(struct take *take, struct taken *ret)
{
	struct arena_sampler *sampler = &take->control->sampler;

	for (;;) {
		uint64_t tail = atomic_load_explicit(&sampler->tail, memory_order_relaxed);
		uint64_t *record = ring_words(take->control) + tail % ARENA_RING_WORDS, words;
		/* Pairs with G. */
		uint64_t header = __atomic_load_n(record, __ATOMIC_ACQUIRE);

		if (!header || tail == atomic_load_explicit(&sampler->head, memory_order_acquire))
			return TAKE_NONE;
		words = take_words(take, header);
		if (words && (header & 0xff) == RING_PADDING)
			continue;
		if (words && (header & 0xff) == RING_SAMPLE &&
		    take_parse(take->words, words, ret)) {
			take->count = words;
			return TAKE_SAMPLE;
		}
		take->damaged++;
		if (!words)
			take_start_over(take);
		return TAKE_DAMAGE;
	}
}
