/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records a command and the processes that it starts, each by a process of its
 * own: so none waits for another's names to be looked up, and a program that
 * breaks its recorder breaks no other trace.
 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include <limits.h>

#include "arena/board.h"
#include "cli/holds.h"
#include "cli/recording.h"

#define FOLLOW_AT_ONCE 32u /* processes under record */
#define FOLLOW_MOST 256u   /* traces besides the first */

struct follow_shared;

struct follow {
	const struct record_plan *plan;
	struct adapters adapters; /* of the command */
	pid_t command;
	int board_fd;
	struct arena_board *board;
	struct follow_shared *shared; /* with those that record */
	uint32_t active;              /* processes under record */
	uint32_t given;               /* room on the board, ever */
	uint32_t seen;                /* of those that began, as the board counts them */
	uint64_t looked;              /* when those of other users were looked for */
	uint32_t claimed;             /* whose recording was started */
	uint32_t pids[FOLLOW_MOST];   /* whose traces are named after them */
	uint32_t first;               /* pid of the one that has the name that was asked for */
	uint64_t waiting[ARENA_BOARD_NAMES]; /* began, as the board has them; 0: none */

	struct recording_totals ended; /* of all that are over */
	struct recording_totals other_totals;
	char other_output[PATH_MAX]; /* the last of their traces */
	struct holds holds;          /* adapters, of all */
	uint32_t others;             /* traces besides the first */
	uint32_t empty;              /* ended before there was anything to record */
	uint32_t failed;             /* could not be recorded: `diag` says why, of the last one */
	int first_result;
	struct diag diag;
};

/* Returns -errno. To be given up by follow_fini(). */
int follow_init(struct follow *follow, const struct record_plan *plan, struct diag *diag);
void follow_fini(struct follow *follow);

/* The order for the command, without its pid. */
void follow_order(const struct follow *follow, char *to, size_t size);

/* Looks after those that are there, and for new ones; `search`: also where none said so. */
void follow_pass(struct follow *follow, bool search);

/* Whether a process is, or was, recorded; and whether there is room for another one. */
bool follow_knows(const struct follow *follow, uint32_t pid);
bool follow_has_room(const struct follow *follow);
/* Whether it is one of those that record. */
bool follow_is_worker(const struct follow *follow, pid_t pid);

/* Has them end their recordings, and nobody begin another. */
void follow_stop(struct follow *follow);

/* Has each write what it keeps: recording_snapshot(). */
void follow_snapshot(struct follow *follow);

/* All of it, as of now. */
struct recording_totals follow_totals(const struct follow *follow);

/* What is to be said besides the words of the first. */
void follow_summarise(const struct follow *follow);

#endif /* CLI_FOLLOW_H */
