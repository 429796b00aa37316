/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to be recorded: a child process whose threads emit, and count on a
 * board that it shares with the test what they have emitted, after each hook.
 */
#ifndef STRESS_PROGRAM_H
#define STRESS_PROGRAM_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "unweave.h"

/* What one thread has done. Written by that thread alone, and by its signal handlers. */
struct count {
	alignas(64) _Atomic uint64_t hooks; /* that have returned, outside of handlers */
	_Atomic uint64_t handled;           /* that have returned, in handlers */
	_Atomic uint64_t main;              /* records that its streams have tried to take */
	_Atomic uint64_t aside;
	_Atomic uint32_t done;
};

#define BOARD_THREADS 16384

struct board {
	_Atomic uint32_t stop;     /* the test's wish */
	_Atomic uint32_t threads;  /* slots in use */
	_Atomic uint32_t finished; /* threads that came to their end */
	_Atomic uint32_t unwell;   /* checks of the program's own that failed */
	struct count counts[BOARD_THREADS];
};

enum program_work {
	PROGRAM_ALL_KINDS, /* every hook, in no order, with stacks */
	PROGRAM_WAKES,     /* wakes of tasks 2, 4, 6, ... in every thread */
};

struct program_options {
	enum program_work work;
	uint32_t threads;       /* that live from the start */
	uint64_t hooks;         /* in each of them; 0: until it is told to stop */
	uint32_t short_threads; /* that come and go besides, ... */
	uint32_t at_a_time;
	uint64_t short_hooks; /* ... each after so many */
	uint32_t timer_us;    /* a handler emits at this interval in each thread; 0: none */
	uint32_t pause_us;    /* a rest after every 256 hooks; 0: none */
	bool nested_timer;    /* a second handler interrupts the first */
	bool leave_main;      /* the first thread ends before the others */
	bool armed;           /* begins by itself, as under `unweave record -- CMD` */
	const char *trace;    /* records itself to this file; NULL: does not */
	enum unweave_policy policy;
	uint64_t buffer_bytes;
};

struct program {
	pid_t pid;
	struct board *board;
};

/* Starts it; it waits for a session before it emits. */
void program_start(struct program *ret, const struct program_options *options);

/* In this very process: runs the threads to their end. For tests of a program's own session. */
void program_run(struct board *board, const struct program_options *options);

/* Waits until all threads that live from the start have emitted something; false if they do not. */
bool program_await(const struct program *program, uint32_t threads);

/* Ends it: by a word, or by SIGKILL. False if it did not end in good order. */
bool program_stop(struct program *program);
void program_kill(struct program *program);
/* Waits for it to come to its own end. */
bool program_finish(struct program *program, unsigned limit_ms);

/* Lets the board go. */
void program_fini(struct program *program);

/* Hooks of all threads, with those in handlers. */
uint64_t program_hooks(const struct board *board);

#endif /* STRESS_PROGRAM_H */
