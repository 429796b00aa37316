/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is started to be recorded, and the signals that are meant for it. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/diag.h"

struct command {
	pid_t pid; /* 0: it was not started */
	bool ended;
	int status;           /* as wait() gives it */
	uint64_t interrupted; /* when SIGINT came first, by clock_monotonic(); 0: it has not */
	bool warned;          /* the user was told what another one does */
};

/* What may be asked of a recorder, by signals: each is taken once. */
enum asked {
	ASKED_NOTHING,
	ASKED_STOP,
	ASKED_LEAVE, /* stop, and do not wait for the program */
	ASKED_SNAPSHOT,
};

/* From here on signals are taken note of, and do nothing else. */
void command_catch_signals(void);

/* What it is given in its environment. */
struct command_terms {
	const char *order;      /* to begin by itself (ARENA_ARM_VARIABLE), without its pid */
	const char *buffer_max; /* to allow for buffers of so many bytes; or NULL */
	const char *preload;    /* for LD_PRELOAD; NULL: as it is */
};

/* Starts the program. Fails if it cannot be executed. */
int command_start(struct command *ret, char **arguments, const struct command_terms *terms,
		  struct diag *diag);

/* Looks whether it has ended. */
void command_look(struct command *command);

/*
 * What signals have asked for since the last time. The program, while it runs, gets its own;
 * SIGINT, to be left, has to come again once the user was warned.
 */
enum asked command_asked(struct command *command);

/*
 * As a shell has it: the exit status, or 128 and the signal, which is SIGINT for a program that
 * was left. 0 if it was not started.
 */
int command_exit_status(const struct command *command);

#endif /* CLI_COMMAND_H */
