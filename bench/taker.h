/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real recorder, in a process and on a processor of its own: attaches to
 * the process that started it, and writes a compressed trace.
 */
#ifndef BENCH_TAKER_H
#define BENCH_TAKER_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#define TAKER_ZSTD_LEVEL 1

enum taker_state { TAKER_WAITING, TAKER_CALLED, TAKER_READY, TAKER_DISMISSED, TAKER_FAILED };

/* Shared by the two processes. */
struct taker {
	_Atomic int state; /* enum taker_state */
	_Atomic pid_t pid;
	_Atomic uint64_t cpu_ns; /* that it has used, as of its last pass */
	_Atomic uint32_t hz;     /* samples a second that are wanted; 0: none */
	_Atomic uint32_t hz_now; /* that are taken */
	_Atomic uint64_t samples;
	_Atomic uint64_t samples_lost;
	/* After the end. */
	uint64_t lost; /* events, by any cause */
	uint64_t records;
	uint64_t bytes;
	char why[256]; /* it failed */
	char path[256];
};

/* Before the calling process calls its first hook. NULL if there is no memory or no process. */
struct taker *taker_new(const char *directory, const char *name);

/* After the first hook: returns when it records. On failure `why` says why. */
int taker_begin(struct taker *taker);

/* Has the calling process sampled so often, or not at all: returns when it is so. */
void taker_sample(struct taker *taker, uint32_t hz);

/* Returns when the trace is closed. */
int taker_end(struct taker *taker);

/* Ends the process if that was not done. Accepts NULL. */
struct taker *taker_free(struct taker *taker);

#endif /* BENCH_TAKER_H */
