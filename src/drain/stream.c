/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking: the drain's side of the hand-off that arena.h describes. What the
 * words mean is the business of events.c.
 */
#include "drain/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "arena/clock.h"
#include "drain/events.h"

#define LIFE_NS 100000000 /* between two signs of life in one pass */
#define STACKS_LIMIT (4u << 20)
#define CHAINS_LIMIT (8u << 20)
#define COPY_TRIES 16
#define NUMBER_MAX (UINT64_C(1) << 56) /* of a record: more than anyone can emit */

int stream_shop_init(struct stream_shop *shop)
{
	int r;

	r = stacks_new(&shop->stacks, STACKS_LIMIT);
	if (r < 0)
		return r;
	r = chains_init(&shop->chains, CHAINS_LIMIT);
	if (r < 0)
		return r;
	shop->scratch = calloc(SCRATCH_FRAMES, sizeof(*shop->scratch));
	return shop->scratch ? 0 : -ENOMEM;
}

void stream_shop_fini(struct stream_shop *shop)
{
	while (shop->spare) {
		struct stream_words *words = shop->spare;

		shop->spare = words->next;
		free(words);
	}
	shop->stacks = stacks_free(shop->stacks);
	chains_fini(&shop->chains);
	free(shop->scratch);
	shop->scratch = NULL;
}

/* What is to be taken next, as far as it can be known before it is copied. */
struct portion {
	uint64_t taken;    /* the value that must still be there when the copy is done */
	uint64_t position; /* where it begins */
	uint64_t after;    /* where `taken` goes */
	uint64_t first;    /* number of the chunk's first record */
	struct arena_chunk *chunk;
	uint32_t index;
	uint32_t words;
	bool sealed; /* the chunk is complete: free it after */
};

enum { NOTHING, SOMETHING, NONSENSE };

/* Words published in the chunk that the thread writes to; UINT32_MAX if it is another one. */
static uint32_t words_published(const struct stream *stream, const struct stream_shop *shop,
				uint32_t index)
{
	/* A: what lies before it has been stored. */
	uint64_t at = atomic_load_explicit(&stream->shared->at, memory_order_acquire);
	uint64_t start = shop->attachment->pool_address + (uint64_t)index * ARENA_CHUNK_BYTES +
			 offsetof(struct arena_chunk, words);
	uint64_t offset = at - start;

	if (offset > ARENA_CHUNK_WORDS * 8 || offset % 8)
		return UINT32_MAX;
	return (uint32_t)(offset / 8);
}

static int find_portion(const struct stream *stream, const struct stream_shop *shop,
			struct portion *ret)
{
	uint32_t chunks = shop->attachment->chunks_max;
	struct portion p = {0};
	uint64_t next, end;

	p.taken = atomic_load_explicit(&stream->shared->taken, memory_order_acquire);
	p.position = p.taken;
	ret->taken = p.taken;
	if (!p.position)
		p.position = atomic_load_explicit(&stream->shared->start, memory_order_acquire);
	if (!p.position)
		return NOTHING;
	p.index = position_chunk(p.position);
	if (p.index >= chunks || position_word(p.position) > ARENA_CHUNK_WORDS)
		return NONSENSE;
	p.chunk = &shop->attachment->pool[p.index];
	/* With overwrite-oldest it may have just gone, or not have come back yet: look again later.
	 */
	if (atomic_load_explicit(&p.chunk->owner, memory_order_acquire) !=
	    chunk_owner(position_number(p.position), stream->line, stream->index))
		return NOTHING;

	next = atomic_load_explicit(&p.chunk->next, memory_order_acquire);
	if (!next) {
		end = words_published(stream, shop, p.index);
		if (end == UINT32_MAX) /* it was sealed after we looked, or is about to be */
			next = atomic_load_explicit(&p.chunk->next, memory_order_acquire);
		if (end == UINT32_MAX && !next)
			return NOTHING;
	}
	if (next) {
		/* B: `end` and the next chunk's header were stored before. */
		end = atomic_load_explicit(&p.chunk->end, memory_order_relaxed);
		if (position_number(next) != position_number(p.position) + 1 ||
		    position_chunk(next) >= chunks || position_word(next))
			return NONSENSE;
		p.after = next;
		p.sealed = true;
	} else {
		p.after = position_make(position_number(p.position), p.index, (uint32_t)end);
	}
	if (end > ARENA_CHUNK_WORDS || end < position_word(p.position))
		return NONSENSE;
	p.words = (uint32_t)end - position_word(p.position);
	p.first = atomic_load_explicit(&p.chunk->first, memory_order_relaxed);
	*ret = p;
	return p.words || p.sealed ? SOMETHING : NOTHING;
}

static void copy_words(uint64_t *to, const uint64_t *from, uint32_t count)
{
#pragma GCC unroll 8
	for (uint32_t i = 0; i < count; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

static struct stream_words *get_words(struct stream_shop *shop)
{
	struct stream_words *words = shop->spare;

	if (words)
		shop->spare = words->next;
	else
		words = malloc(sizeof(*words));
	return words;
}

static void put_words(struct stream_shop *shop, struct stream_words *words)
{
	if (!words)
		return;
	words->next = shop->spare;
	shop->spare = words;
}

static void release(struct stream_shop *shop, uint32_t chunk)
{
	chunk_release(shop->attachment->control, shop->attachment->pool, chunk);
	shop->freed++;
}

/* Copies the words, then takes them by moving `taken`; false if the thread was quicker. */
static bool take(const struct stream *stream, struct stream_shop *shop, struct portion *p)
{
	struct stream_words *words = stream->words;

	copy_words(words->words, p->chunk->words + position_word(p->position), p->words);
	words->copied = clock_ticks(shop->attachment->clock);
	words->at = words->count = 0;
	words->parsed = words->decoded = 0;
	/* D: the copy is complete before the move. */
	atomic_thread_fence(memory_order_acquire);
	if (!atomic_compare_exchange_strong_explicit(&stream->shared->taken, &p->taken, p->after,
						     memory_order_acq_rel, memory_order_acquire))
		return false;
	words->count = p->words;
	shop->words += p->words;
	if (p->sealed)
		release(shop, p->index);
	return true;
}

/* Tells of records that are known to be missing before the number `number`. */
static int note_gap(struct stream *stream, struct stream_shop *shop, uint64_t number)
{
	uint64_t orphaned = stream->orphaned;
	int r = 0;

	stream->orphaned = 0;
	if (orphaned)
		r = events_lost(stream, shop, orphaned, UNWEAVE_LOSS_RECORDER);
	if (r < 0 || number <= stream->number)
		return r;
	if (number > NUMBER_MAX) {
		shop->damaged++;
		return 0;
	}
	return events_lost(stream, shop, number - stream->number, UNWEAVE_LOSS_FULL);
}

/* What is missing before the words that were just copied. */
static int begin_words(struct stream *stream, struct stream_shop *shop, const struct portion *p)
{
	const struct stream_words *words = stream->words;
	uint64_t first = words->words[0], ticks = record_ticks(first);

	/* What is missing before the first record that we see is told at its time. */
	if (!stream->time && words->count && !record_is_untimed(first & 0x7f))
		stream->time = ticks < words->copied ? ticks : words->copied;
	return note_gap(stream, shop, position_word(p->position) ? 0 : p->first);
}

/* Who waits for a chunk must not think us dead because a listener takes its time. */
static void show_life(struct arena_config *config)
{
	uint64_t now = clock_monotonic();

	/* Seldom: every hook reads this cache line. */
	if (now - atomic_load_explicit(&config->heartbeat, memory_order_relaxed) > LIFE_NS)
		atomic_store_explicit(&config->heartbeat, now, memory_order_relaxed);
}

/* Copies until there are words. Returns whether there are, or what the sink returned. */
static int fetch(struct stream *stream, struct stream_shop *shop)
{
	struct portion portion;
	int r;

	/* No chunk is empty, so this comes to an end even if the program has gone mad. */
	for (uint32_t i = 0; i <= shop->attachment->chunks_max; i++) {
		r = find_portion(stream, shop, &portion);
		if (r == NOTHING)
			break;
		if (r == NONSENSE) {
			/* The thread took its chunk back while we looked. */
			if (atomic_load(&stream->shared->taken) != portion.taken)
				continue;
			/* Only a program that writes into its arena at random comes here. */
			shop->damaged++;
			break;
		}
		if (!take(stream, shop, &portion))
			continue;
		show_life(&shop->attachment->control->config);
		r = begin_words(stream, shop, &portion);
		if (r < 0)
			return r;
		if (stream->words->count)
			return 1;
	}
	return 0;
}

int stream_refill(struct stream *stream, struct stream_shop *shop)
{
	int r = 1;

	if (!stream->words) {
		struct portion portion;

		/* Most threads say nothing in most passes: they need no buffer. */
		if (find_portion(stream, shop, &portion) == NOTHING)
			return 0;
		stream->words = get_words(shop);
		if (!stream->words)
			return -ENOMEM;
		stream->words->at = stream->words->count = 0;
		stream->words->parsed = stream->words->decoded = 0;
	}
	if (!stream_words_left(stream->words))
		r = fetch(stream, shop);
	if (!stream_words_left(stream->words)) {
		put_words(shop, stream->words);
		stream->words = NULL;
		return r < 0 ? r : 0;
	}
	stream->due.ticks = events_due(stream);
	return r < 0 ? r : 1;
}

/* Records in the stream before `taken`; 0 if that cannot be said. */
static uint64_t count_before(const struct stream *stream, const struct stream_shop *shop,
			     struct stream_words *copy)
{
	const struct arena_chunk *chunk;
	uint64_t taken, first;
	uint32_t word;

	/* With overwrite-oldest the thread may move on meanwhile: as D. */
	for (int tries = 0; tries < COPY_TRIES; tries++) {
		taken = atomic_load_explicit(&stream->shared->taken, memory_order_acquire);
		word = position_word(taken);
		if (!taken || position_chunk(taken) >= shop->attachment->chunks_max ||
		    word > ARENA_CHUNK_WORDS)
			break;
		chunk = &shop->attachment->pool[position_chunk(taken)];
		if (atomic_load_explicit(&chunk->owner, memory_order_acquire) !=
		    chunk_owner(position_number(taken), stream->line, stream->index))
			break;
		copy_words(copy->words, chunk->words, word);
		first = atomic_load_explicit(&chunk->first, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&stream->shared->taken, memory_order_relaxed) == taken)
			return first + events_count(copy->words, word);
	}
	return 0;
}

uint64_t stream_number_taken(const struct stream *stream, struct stream_shop *shop)
{
	/* If in doubt: what is missing before the next chunk, that chunk's first number will say.
	 */
	uint64_t written = atomic_load_explicit(&stream->shared->written, memory_order_relaxed);
	struct stream_words *copy = get_words(shop);
	uint64_t number;

	if (!copy)
		return written;
	number = count_before(stream, shop, copy);
	put_words(shop, copy);
	return number ? number : written;
}

void stream_open(struct stream *stream, struct stream_shop *shop, bool gated)
{
	uint64_t written = atomic_load_explicit(&stream->shared->written, memory_order_relaxed);

	uint64_t taken;

	if (written > NUMBER_MAX) {
		shop->damaged++;
		written = 0;
	}
	taken = gated ? written : stream_number_taken(stream, shop);
	stream->gated = gated;
	stream->number = written;
	stream->sent = written;
	if (taken > written && taken <= NUMBER_MAX)
		stream->orphaned = taken - written;
	/* The first record of a thread is a reset: nothing is missing before it. */
	stream->nest_known = taken == 0;
}

void stream_close(struct stream *stream, struct stream_shop *shop)
{
	put_words(shop, stream->words);
	stream->words = NULL;
	free(stream->nest);
	stream->nest = NULL;
	stream->capacity = 0;
	stream->depth = 0;
}

/* Frees every chunk of the stream from `taken` on: there is no thread that would use them. */
static void release_rest(struct stream *stream, struct stream_shop *shop)
{
	uint64_t position = atomic_load(&stream->shared->taken);
	uint32_t chunks = shop->attachment->chunks_max;

	if (!position)
		position = atomic_load(&stream->shared->start);
	for (uint32_t i = 0; position && i < chunks; i++) {
		uint32_t index = position_chunk(position);
		struct arena_chunk *chunk;

		if (index >= chunks)
			break;
		chunk = &shop->attachment->pool[index];
		if (atomic_load(&chunk->owner) !=
		    chunk_owner(position_number(position), stream->line, stream->index))
			break;
		position = atomic_load(&chunk->next);
		release(shop, index);
	}
}

int stream_settle(struct stream *stream, struct stream_shop *shop)
{
	uint64_t tried = atomic_load_explicit(&stream->shared->attempts, memory_order_acquire);
	int r;

	r = events_end(stream, shop);
	if (!stream->time)
		stream->time = clock_ticks(shop->attachment->clock);
	return r < 0 ? r : note_gap(stream, shop, tried);
}

void stream_note_written(struct stream *stream)
{
	atomic_store(&stream->shared->written, stream->number);
}

void stream_clear(struct stream *stream, struct stream_shop *shop)
{
	release_rest(stream, shop);
	/* `written` is the last: a recorder that comes in between finds that nothing is missing. */
	atomic_store(&stream->shared->at, 0);
	atomic_store(&stream->shared->attempts, 0);
	atomic_store(&stream->shared->taken, 0);
	atomic_store(&stream->shared->start, 0);
	atomic_store(&stream->shared->written, 0);
}
