/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is started to be recorded, and the signals that are meant for it. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "util/diag.h"

struct command {
	pid_t pid; /* 0: it was not started */
	bool ended;
	int status; /* as wait() gives it */
};

/* What may be asked of a recorder, by signals: each is taken once. */
enum asked { ASKED_NOTHING, ASKED_STOP, ASKED_SNAPSHOT };

/* From here on signals are taken note of, and do nothing else. */
void command_catch_signals(void);

/*
 * Starts the program. It is told to begin by itself (ARENA_ARM_VARIABLE) as
 * `order` says, and to allow for buffers of `buffer_max` bytes if that is not
 * NULL. Fails if it cannot be executed.
 */
int command_start(struct command *ret, char **arguments, const char *order, const char *buffer_max,
		  struct diag *diag);

/* Looks whether it has ended; waits for that if `wait`, or for a signal. */
void command_look(struct command *command, bool wait);

/* What signals have asked for since the last time; the program, while it runs, gets its own. */
enum asked command_asked(const struct command *command);

/* As a shell has it: the exit status, or 128 and the signal. 0 if it was not started. */
int command_exit_status(const struct command *command);

#endif /* CLI_COMMAND_H */
