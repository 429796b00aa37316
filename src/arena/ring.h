/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of samples: written by the signal handlers of all threads, taken by
 * one recorder.
 *
 *      tail                        head
 *       |-- record --|-- record --|......
 *        to be taken               free: all zeros
 *
 * Positions are words and only grow; position % RING_WORDS is a place. A writer
 * takes room by a compare-and-swap of `head`, fills it, and stores the header
 * last. The recorder stops at a header that is 0, copies a record, fills it with
 * zeros, and moves `tail`. A record does not wrap: before the end there is
 * padding instead.
 *
 *     G  header release (the record) - header acquire in the recorder.
 *     H  `tail` release (the zeros) - `tail` acquire in a writer, before it takes
 *        room there.
 *
 * No writer waits for another: one that is interrupted between the two holds up
 * the recorder alone. All signals are blocked meanwhile, so that it is never for
 * longer than it is off the CPU.
 *
 * A recorder says in `taking` where the record ends that it is about to fill with
 * zeros. If it dies over that, its heir finishes it, and goes on: to start over would
 * be to pull the ring away under the writers.
 *
 * tests/model/ring.pml checks this.
 */
#ifndef ARENA_RING_H
#define ARENA_RING_H

#include "arena/arena.h"

enum ring_kind { RING_SAMPLE = 1, RING_PADDING };

/* Most that one record may copy. */
#define RING_STACK_BYTES (64u << 10)
#define RING_RUNS 16u
#define RING_CHAIN 1024u /* frames of each */
#define RING_REGISTERS 33u

/* A record; what follows it is said by its counts, in this order. */
struct ring_sample {
	uint64_t header; /* words << 8 | enum ring_kind; 0: not there yet */
	uint64_t ticks;
	uint32_t tid;
	uint32_t more;      /* periods that it stands for besides its own */
	uint8_t registers;  /* words, by their DWARF numbers */
	uint8_t runs;       /* struct ring_run each, the innermost first */
	uint8_t runs_cut;   /* 1: there are more, further out or further in */
	uint8_t asked;      /* 1: by the recorder, and not by a clock */
	uint32_t stack_cut; /* 1: the stack goes on */
	uint64_t sp;
	uint64_t bytes; /* of the stack, from `sp` on; padded to words */
};

/* Then its frames: an address a word, then the states, two in a word. */
struct ring_run {
	uint64_t task;
	uint32_t frames; /* | RING_RUN_CUT: the chain goes on */
	uint32_t site;   /* of the task; 0: unknown */
};
#define RING_RUN_CUT (UINT32_C(1) << 31)

#define RING_HEAD_WORDS (sizeof(struct ring_sample) / 8)
#define RING_RUN_WORDS (sizeof(struct ring_run) / 8)

_Static_assert(RING_HEAD_WORDS == 6 && RING_RUN_WORDS == 2, "records are read by other builds");

static inline uint64_t *ring_words(struct arena_control *control)
{
	return (uint64_t *)((char *)control + ARENA_RING_AT);
}

static inline uint32_t ring_states_words(uint32_t frames)
{
	return (frames + 1) / 2;
}

static inline void ring_publish(uint64_t *record, uint64_t words, enum ring_kind kind)
{
	/* G */
	__atomic_store_n(record, words << 8 | kind, __ATOMIC_RELEASE);
}

/* Room for a record; NULL if there is none. [signal-safe] */
static inline uint64_t *ring_reserve(struct arena_control *control, uint64_t words)
{
	struct arena_sampler *sampler = &control->sampler;
	uint64_t head = atomic_load_explicit(&sampler->head, memory_order_relaxed);
	uint64_t tail, place, padding, end;

	for (;;) {
		/* Pairs with H. */
		tail = atomic_load_explicit(&sampler->tail, memory_order_acquire);
		place = head % ARENA_RING_WORDS;
		padding = place + words > ARENA_RING_WORDS ? ARENA_RING_WORDS - place : 0;
		end = head + padding + words;
		if (end - tail > ARENA_RING_WORDS) {
			/* It is full, unless `head` was old, and more than that taken since. */
			uint64_t now = atomic_load_explicit(&sampler->head, memory_order_relaxed);

			if (now == head)
				return NULL;
			head = now;
			continue;
		}
		if (atomic_compare_exchange_weak_explicit(
			    &sampler->head, &head, end, memory_order_relaxed, memory_order_relaxed))
			break;
	}
	if (!padding)
		return ring_words(control) + place;
	ring_publish(ring_words(control) + place, padding, RING_PADDING);
	return ring_words(control);
}

/*
 * What the recorder sends a thread, with the sampler's signal, as the value of
 * a queued signal. Others are not for us.
 */
enum ring_order {
	RING_ORDER_SAMPLE = 0x75770001, /* take a sample of yourself */
	RING_ORDER_TIMERS,              /* look for threads that are to have a timer */
};

#endif /* ARENA_RING_H */
