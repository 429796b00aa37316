/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the detail of the calling process up and down, quickly enough to do it
 * between slices of a few ms. Stores what a drain would store in the arena's
 * config; where there is one, it goes on taking.
 */
#ifndef BENCH_LEVEL_H
#define BENCH_LEVEL_H

#include "emit/emit.h"

enum level { LEVEL_OFF, LEVEL_SAMPLES, LEVEL_TASKS, LEVEL_FULL };

/* After the first hook. */
void level_set(enum level level);

/* Gives the process chunks, without a drain. */
void level_give_chunks(void);

/* The current chunk is empty again. Only without a drain. */
static inline void level_recycle(void)
{
	struct emit_stream *stream = &emit_self()->main;

	if (stream->chunk)
		atomic_store_explicit(&stream->shared->at,
				      (uint64_t)(uintptr_t)stream->chunk->words,
				      memory_order_relaxed);
}

#endif /* BENCH_LEVEL_H */
