/* SPDX-License-Identifier: Apache-2.0 */
/* What the arena of a program says of it, copied out: the program may write there meanwhile. */
#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "util/diag.h"

struct look {
	uint32_t pid;
	uint32_t inner_pid; /* what it is called in its container; 0: it is in none */
	bool alive;
	char program[256]; /* its file */
	char command[256]; /* as it was called, with its arguments; cut where it is longer */
	char path[256];    /* of the arena */
	char note[192];    /* why it is not where it should be; or empty */
	bool in_file;
	bool recording; /* or about to */
	const char
		*detail;   /* what is recorded: "samples", "tasks", "full", "some"; "" if nothing */
	uint32_t recorder; /* pid; 0: none yet */
	char output[256];  /* its file; or empty */
	char adapters[256]; /* that took hold, "libuv 1.44.2, …"; or empty */
	uint64_t buffers;   /* bytes */
	uint64_t buffers_used;
	uint32_t threads;
	uint64_t tasks;      /* that live, and have a slot */
	uint64_t orphans;    /* events of threads that found no place, since it began */
	uint64_t tasks_lost; /* tasks that found none */
	uint32_t sites_lost;
};

/* Returns what find_pid() does. */
int look_at(struct look *ret, uint32_t pid, struct diag *diag);

#endif /* CLI_LOOK_H */
