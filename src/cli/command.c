/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena/clock.h"
#include "arena/where.h"

/* Set by the handler, taken by command_asked(). */
static _Atomic int stop_signal;
static _Atomic int stop_by_terminal;
static _Atomic int snapshots;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (signal == SIGUSR2) {
		atomic_store(&snapshots, 1);
		return;
	}
	/* What the terminal sends goes to the program by itself: it is in our group. */
	atomic_store(&stop_by_terminal, info->si_code == SI_KERNEL);
	atomic_store(&stop_signal, signal);
}

void command_catch_signals(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a trace that gets too large is an error, not the end */
}

/*
 * A program with AddressSanitizer would refuse to run: it wants to be loaded first. It
 * need not be, since adapters define none of what it does.
 */
static void set_preload(const char *preload)
{
	const char *before = getenv("ASAN_OPTIONS");
	char *options;

	setenv("LD_PRELOAD", preload, 1);
	if (asprintf(&options, "%s%sverify_asan_link_order=0", before ? before : "",
		     before && *before ? ":" : "") < 0)
		return;
	setenv("ASAN_OPTIONS", options, 1);
	free(options);
}

/* In the child. `report` gets the error, if there is one. */
static void become(char **arguments, const struct command_terms *terms, int report)
{
	char whole[160];
	int error;

	snprintf(whole, sizeof(whole), "%d:%s", getpid(), terms->order);
	setenv(ARENA_ARM_VARIABLE, whole, 1);
	if (terms->buffer_max)
		setenv("UNWEAVE_BUFFER_MAX", terms->buffer_max, 1);
	if (terms->preload)
		set_preload(terms->preload);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execvp(arguments[0], arguments);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* Whether it is a program of the current directory, which PATH mostly does not name. */
static bool is_here(const char *command)
{
	return !strchr(command, '/') && access(command, X_OK) == 0;
}

int command_start(struct command *ret, char **arguments, const struct command_terms *terms,
		  struct diag *diag)
{
	int ends[2], error = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return diag_set(diag, -errno, "%m");
	pid = fork();
	if (pid == 0)
		become(arguments, terms, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return diag_set(diag, -errno, "%m");
	}
	do {
		got = read(ends[0], &error, sizeof(error));
	} while (got < 0 && errno == EINTR);
	close(ends[0]);
	if (got != sizeof(error)) {
		*ret = (struct command){.pid = pid};
		return 0;
	}
	waitpid(pid, NULL, 0);
	diag_set(diag, -error, "%s: %s", arguments[0], strerror(error));
	return error == ENOENT && is_here(arguments[0])
		       ? diag_hint(diag, -error, "it is not in PATH, but here: ./%s", arguments[0])
		       : -error;
}

void command_look(struct command *command)
{
	if (command->pid && !command->ended &&
	    waitpid(command->pid, &command->status, WNOHANG) == command->pid)
		command->ended = true;
}

enum asked command_asked(struct command *command)
{
	int signal = atomic_exchange(&stop_signal, 0);

	if (!signal)
		return atomic_exchange(&snapshots, 0) ? ASKED_SNAPSHOT : ASKED_NOTHING;
	if (!command->pid || command->ended)
		return ASKED_STOP;
	/* It gets the signal too, and is recorded to its end. */
	if (!atomic_load(&stop_by_terminal))
		kill(command->pid, signal);
	if (signal != SIGINT)
		return ASKED_NOTHING;
	if (command->warned)
		return ASKED_LEAVE;
	if (!command->interrupted)
		command->interrupted = clock_monotonic();
	return ASKED_NOTHING;
}

int command_exit_status(const struct command *command)
{
	if (!command->pid)
		return 0;
	if (!command->ended)
		return 128 + SIGINT;
	if (WIFSIGNALED(command->status))
		return 128 + WTERMSIG(command->status);
	return WEXITSTATUS(command->status);
}
