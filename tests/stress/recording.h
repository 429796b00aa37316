/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorder in a process of its own: the tool where that will do, otherwise
 * what `unweave record -p PID` does, with a pace that the test sets.
 */
#ifndef STRESS_RECORDING_H
#define STRESS_RECORDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "drain/find.h"
#include "drain/recorder.h"

/* The tool, for tests that are given it. NULL: none. */
extern const char *recording_tool;

struct recording_options {
	bool tool; /* let the tool do it, if there is one; the board tells nothing then */
	const char *path;
	enum unweave_policy policy;
	uint64_t buffer_bytes;
	uint32_t pause_ms; /* between passes; 0: as the recorder asks for */
	bool plain;        /* blocks are not compressed */
};

/* What it shares with the test. */
struct recording_board {
	_Atomic uint32_t stop;       /* the test's wish */
	_Atomic uint32_t ready;      /* the session has begun */
	_Atomic uint64_t passes;     /* that are done */
	_Atomic uint64_t slowest_ns; /* of the passes */
	int result;                  /* of the start, then of the passes and the stop */
	struct diag diag;            /* why it could not start */
	struct recorder_totals totals;
	uint32_t lines_used; /* of the arena, at the end */
};

struct recording {
	pid_t pid;
	bool tool;
	struct recording_board *board;
};

/* Starts it, and returns when its session has begun; false if it could not begin. */
bool recording_start(struct recording *ret, pid_t program, const struct recording_options *options);

/* The same, but does not wait for the beginning. */
void recording_launch(struct recording *ret, pid_t program,
		      const struct recording_options *options);

/* Waits for its end, which comes with the program's; false if it failed. */
bool recording_finish(struct recording *recording, unsigned limit_ms);
/* Tells it to end, and waits. */
bool recording_stop(struct recording *recording);
void recording_kill(struct recording *recording);
/* Whether `unweave verify` finds nothing wrong; true without the tool. */
bool recording_verifies(const char *path);
void recording_fini(struct recording *recording);

#endif /* STRESS_RECORDING_H */
