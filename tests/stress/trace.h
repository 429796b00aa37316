/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace holds, thread by thread: by its events, and by the numbers on its blocks. */
#ifndef STRESS_TRACE_H
#define STRESS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "program.h"
#include "unweave/event.h"

#define TRACE_CAUSES 6

/* One of a thread's two streams. */
struct trace_stream {
	uint64_t events; /* of hooks */
	uint64_t resets; /* and replays: what the library says by itself */
	uint64_t lost[TRACE_CAUSES];
	uint64_t first; /* number of the first record, from the blocks */
	uint64_t end;   /* number after the last */
	uint64_t gaps;  /* numbers in between that no block has */
	uint32_t blocks;
};

struct trace_thread {
	uint32_t thread;
	struct trace_stream streams[2]; /* main, aside */
};

struct trace {
	uint64_t faults;
	bool closed;
	uint64_t events; /* of hooks, all threads */
	uint64_t lost;   /* all threads, all causes */
	uint64_t lost_outside[TRACE_CAUSES];
	uint64_t bytes;
	struct trace_thread *threads; /* by number: those that are not there are zero */
	uint32_t thread_count;
	uint32_t
		numbers[BOARD_THREADS]; /* of the threads that are on the board, by slot; 0: none */
	char first_fault[160];
};

/* Reads `path` to its end; says why and returns false if that cannot be done. */
bool trace_read(struct trace *ret, const char *path);
void trace_fini(struct trace *trace);

/* The thread with that slot of the board; borrowed, without records if the trace has none. */
const struct trace_thread *trace_thread(const struct trace *trace, uint32_t slot);

uint64_t trace_lost(const struct trace_stream *stream);

/*
 * Whether the traces together, in this order, have every record that the program's threads tried,
 * or count it as lost: each stream from its first record on, without a gap that is not counted.
 * `in_flight`: how many more than those on the board there may be, per stream. Says what is wrong.
 */
bool trace_agrees(const struct trace *traces, unsigned count, const struct board *board,
		  uint64_t in_flight);

#endif /* STRESS_TRACE_H */
