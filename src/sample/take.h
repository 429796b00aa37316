/* SPDX-License-Identifier: Apache-2.0 */
/* Takes samples out of a program's ring. Nothing that stands there is believed. */
#ifndef SAMPLE_TAKE_H
#define SAMPLE_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena/ring.h"

/* More than any writer reserves. */
#define TAKE_WORDS_MAX                                                                             \
	(RING_HEAD_WORDS + RING_REGISTERS +                                                        \
	 RING_RUNS * (RING_RUN_WORDS + RING_CHAIN + RING_CHAIN / 2) + RING_STACK_BYTES / 8)

struct take_run {
	uint64_t task;
	uint32_t site; /* 0: unknown */
	const uint64_t *addresses;
	const int32_t *states;
	uint32_t count; /* 0: the chain is unknown */
	bool cut;
};

struct taken {
	uint64_t ticks;
	uint32_t tid;
	uint32_t more; /* periods besides its own */
	bool asked;
	bool runs_cut;
	bool stack_cut;
	const uint64_t *registers;
	uint32_t register_count;
	struct take_run runs[RING_RUNS];
	uint32_t run_count;
	uint64_t sp;
	const uint8_t *stack;
	size_t bytes;
};

struct take {
	struct arena_control *control;
	uint64_t damaged; /* records that made no sense */
	uint64_t count;   /* words of the last sample */
	uint64_t words[TAKE_WORDS_MAX];
};

enum take_result { TAKE_NONE, TAKE_SAMPLE, TAKE_DAMAGE };

/* The next sample; it stays until the next call. After damage the ring starts over. */
enum take_result take_next(struct take *take, struct taken *ret);

/* A sample out of the words of a record; false if they make none. It borrows them. */
bool take_parse(const uint64_t *words, uint64_t count, struct taken *ret);

/*
 * Begins: finishes what a recorder before us died over, and forgets what is in the
 * ring. Writers that are at it go on; what they write comes later.
 */
void take_begin(struct take *take);

/* For a ring that is stuck, or makes no sense: all is free, whoever may be writing there. */
void take_start_over(struct take *take);

#endif /* SAMPLE_TAKE_H */
