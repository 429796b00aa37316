/* SPDX-License-Identifier: Apache-2.0 */
/* Where a thread gets room: chunks, by the session's policy. */
#include "emit/emit.h"

#include <limits.h>
#include <pthread.h>
#include <time.h>

/* Without a sign of life from the drain for this long, nobody waits for it. */
#define HEARTBEAT_STALE_NS UINT64_C(1000000000)
#define FIRST_CHUNK_TURNS 1000 /* of 100 us */

static uint64_t stream_owner(const struct emit_thread *self, const struct emit_stream *stream,
			     uint32_t number)
{
	return chunk_owner(number, self->index, stream->index);
}

/*
 * Takes a free chunk for the stream's next number. Low ones first: they were in
 * use last, and are still in the cache. The hint only says where to look.
 */
static struct arena_chunk *claim(struct emit_thread *self, struct emit_stream *stream)
{
	struct arena_control *control = emit_process.control;
	uint32_t chunks = atomic_load_explicit(&control->config.chunks, memory_order_acquire);
	uint64_t owner = stream_owner(self, stream, stream->number + 1);

	for (uint32_t group = 0; group * 64 < chunks; group++) {
		_Atomic uint64_t *hints = &control->hints[group];
		uint64_t hint = atomic_load_explicit(hints, memory_order_relaxed);

		/* An earlier session may have had more. */
		if (chunks - group * 64 < 64)
			hint &= (UINT64_C(1) << (chunks % 64)) - 1;
		while (hint) {
			uint32_t bit = (uint32_t)__builtin_ctzll(hint);
			struct arena_chunk *chunk = &emit_process.pool[group * 64 + bit];
			uint64_t nobody = 0;

			/*
			 * Clear the hint first: a release that comes later sets it again. Acquire
			 * keeps the swap after it; otherwise a chunk that is freed in between
			 * would be free without a hint, for good.
			 */
			atomic_fetch_and_explicit(hints, ~(UINT64_C(1) << bit),
						  memory_order_acquire);
			/* Pairs with C: what the drain read here, it has read. */
			if (atomic_compare_exchange_strong_explicit(&chunk->owner, &nobody, owner,
								    memory_order_acquire,
								    memory_order_relaxed))
				return chunk;
			hint &= hint - 1;
		}
	}
	return NULL;
}

/* The position that follows `position`, whose chunk `oldest` is about to be overwritten. */
static uint64_t position_after(const struct emit_stream *stream, const struct arena_chunk *oldest,
			       uint64_t position)
{
	/* The thread itself wrote `next`: relaxed will do. */
	if (oldest != stream->chunk)
		return atomic_load_explicit(&oldest->next, memory_order_relaxed);
	return position_make(stream->number + 1, position_chunk(position), 0);
}

/* Takes the stream's own oldest chunk away from the drain. NULL if it has none. */
static struct arena_chunk *overwrite(struct emit_thread *self, struct emit_stream *stream)
{
	struct arena_stream *shared = stream->shared;
	uint64_t owner = stream_owner(self, stream, stream->number + 1);
	uint64_t taken = atomic_load_explicit(&shared->taken, memory_order_acquire);

	/* For a drain that finds us dead between the move and the new header. */
	atomic_store_explicit(&shared->attempts, stream->tried, memory_order_relaxed);
	while (stream->chunk) {
		uint64_t oldest =
			taken ? taken : atomic_load_explicit(&shared->start, memory_order_relaxed);
		struct arena_chunk *chunk = &emit_process.pool[position_chunk(oldest)];
		uint64_t after = position_after(stream, chunk, oldest);
		uint64_t old = stream_owner(self, stream, position_number(oldest));

		/* D: who moves `taken` past the chunk has it. */
		if (!atomic_compare_exchange_strong_explicit(&shared->taken, &taken, after,
							     memory_order_acq_rel,
							     memory_order_acquire))
			continue;
		/* D: no store to the chunk may be seen before the move. */
		atomic_thread_fence(memory_order_release);
		/* restart() says so itself, when all is in place. */
		if (chunk == stream->chunk)
			return chunk;
		/* A drain that comes after a dead one frees what lies before `taken`: maybe this.
		 */
		if (atomic_compare_exchange_strong_explicit(
			    &chunk->owner, &old, owner, memory_order_acquire, memory_order_relaxed))
			return chunk;
		taken = after;
	}
	return NULL;
}

/*
 * Takes back the chunk that the stream stands in, if the drain has taken all of
 * it: otherwise a thread that holds the only chunk there is could never go on.
 * By D, as with overwrite-oldest; but nothing is lost.
 */
static struct arena_chunk *reuse(struct emit_stream *stream)
{
	struct arena_chunk *chunk = stream->chunk;
	uint32_t index = (uint32_t)(chunk - emit_process.pool);
	uint64_t taken, after;

	if (!chunk)
		return NULL;
	taken = position_make(stream->number, index, (uint32_t)(emit_at(stream) - chunk->words));
	after = position_make(stream->number + 1, index, 0);
	/* As in overwrite(). */
	atomic_store_explicit(&stream->shared->attempts, stream->tried, memory_order_relaxed);
	if (!atomic_compare_exchange_strong_explicit(&stream->shared->taken, &taken, after,
						     memory_order_acq_rel, memory_order_relaxed))
		return NULL;
	atomic_thread_fence(memory_order_release);
	return chunk;
}

/* A chunk that is free, or as good as. */
static struct arena_chunk *find(struct emit_thread *self, struct emit_stream *stream)
{
	struct arena_chunk *chunk = claim(self, stream);

	return chunk ? chunk : reuse(stream);
}

static bool drain_is_alive(void)
{
	uint64_t beat =
		atomic_load_explicit(&emit_process.control->config.heartbeat, memory_order_relaxed);

	return clock_monotonic() < beat + HEARTBEAT_STALE_NS;
}

/* Other keywords are no reason to lose what the thread waits with. */
static bool session_lasts(void)
{
	return (unweave_priv_gate() & UNWEAVE_PRIV_MODE_MASK) == ARENA_MODE_EVENTS;
}

/*
 * Waits for a chunk while there is a drain that may free one, and the session
 * lasts. Idle threads may hold all there are: who has none waits once, not long.
 */
static struct arena_chunk *await(struct emit_thread *self, struct emit_stream *stream)
{
	struct timespec pause = {.tv_nsec = 100 * 1000};
	int turns = stream->chunk ? INT_MAX : stream->losing ? 0 : FIRST_CHUNK_TURNS;
	struct arena_chunk *chunk = NULL;
	int cancelling;

	/* The hook is no cancellation point because the buffers are full. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
	for (int i = 0; !chunk && i < turns && session_lasts() && drain_is_alive(); i++) {
		nanosleep(&pause, NULL);
		chunk = find(self, stream);
	}
	pthread_setcancelstate(cancelling, NULL);
	return chunk;
}

/* After a loss the drain knows no chain any more. */
static void tell_chains_anew(void)
{
	atomic_fetch_add_explicit(&emit_process.control->config.epoch, 1, memory_order_relaxed);
}

static struct arena_chunk *obtain(struct emit_thread *self, struct emit_stream *stream)
{
	struct arena_chunk *chunk = find(self, stream);

	if (chunk)
		return chunk;
	if (self->policy == UNWEAVE_POLICY_OVERWRITE) {
		tell_chains_anew();
		return overwrite(self, stream);
	}
	/* A signal handler must not wait for what the thread below it may hold up. */
	if (self->policy == UNWEAVE_POLICY_BLOCK && stream == &self->main)
		return await(self, stream);
	return NULL;
}

static void set_header(const struct emit_stream *stream, struct arena_chunk *chunk)
{
	atomic_store_explicit(&chunk->first, stream->tried, memory_order_relaxed);
	atomic_store_explicit(&chunk->next, 0, memory_order_relaxed);
	atomic_store_explicit(&chunk->end, 0, memory_order_relaxed);
}

/* Links `chunk` to the end of the stream, which goes on there. */
static void append(struct emit_stream *stream, struct arena_chunk *chunk)
{
	struct arena_stream *shared = stream->shared;
	struct arena_chunk *old = stream->chunk;
	uint32_t index = (uint32_t)(chunk - emit_process.pool);
	uint64_t position = position_make(stream->number + 1, index, 0);

	set_header(stream, chunk);
	if (old) {
		atomic_store_explicit(&old->end, (uint64_t)(emit_at(stream) - old->words),
				      memory_order_relaxed);
		/* B: the new header and the old end, before the link that shows them. */
		atomic_store_explicit(&old->next, position, memory_order_release);
	} else {
		/* Pairs with the acquire of `start` in the drain, as B. */
		atomic_store_explicit(&shared->start, position, memory_order_release);
	}
	atomic_store_explicit(&shared->at, (uint64_t)(uintptr_t)chunk->words, memory_order_release);
}

/*
 * Starts the stream's only chunk over. The drain may stand there already, since
 * `taken` shows it: it looks at nothing before it sees the new owner, and must
 * then not find the old `at`.
 */
static void restart(struct emit_stream *stream, struct arena_chunk *chunk, uint64_t owner)
{
	atomic_store_explicit(&stream->shared->at, (uint64_t)(uintptr_t)chunk->words,
			      memory_order_relaxed);
	set_header(stream, chunk);
	/* Pairs with the acquire of `owner` in the drain. */
	atomic_store_explicit(&chunk->owner, owner, memory_order_release);
}

void emit_count_loss(struct emit_stream *stream)
{
	stream->tried++;
	atomic_store_explicit(&stream->shared->attempts, stream->tried, memory_order_release);
}

uint64_t *emit_turn(struct emit_thread *self, struct emit_stream *stream)
{
	struct arena_chunk *chunk = obtain(self, stream);
	bool first = !stream->chunk;

	if (!chunk) {
		stream->losing = true;
		/* A smaller record may not come after it in this chunk: numbers there have no gaps.
		 */
		stream->end = emit_at(stream);
		return NULL;
	}
	if (chunk == stream->chunk)
		restart(stream, chunk, stream_owner(self, stream, stream->number + 1));
	else
		append(stream, chunk);
	stream->number++;
	stream->chunk = chunk;
	stream->end = chunk->words + ARENA_CHUNK_WORDS;

	if (stream->losing) {
		tell_chains_anew();
		emit_reset(self, stream, UNWEAVE_RESET_LOSS);
	} else if (self->policy == UNWEAVE_POLICY_OVERWRITE && !first) {
		emit_reset(self, stream, UNWEAVE_RESET_CHUNK);
	}
	stream->losing = false;
	return emit_at(stream);
}
