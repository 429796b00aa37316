/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "arena/arena.h"
#include "arena/clock.h"
#include "cli/command.h"
#include "cli/descendants.h"
#include "cli/follow.h"
#include "cli/recording.h"
#include "cli/say.h"
#include "drain/find.h"
#include "util/cleanup.h"

#define NS_PER_S UINT64_C(1000000000)
#define SEARCH_NS UINT64_C(500000) /* between two looks for a started program's arena, ... */
#define LINGER_NS                                                                                  \
	UINT64_C(3000000000)        /* for a daemon to begin when its first process has ended      \
				     */
#define LATER_NS UINT64_C(10000000) /* ... and once it is there, or after a second */
#define PATIENCE_NS (NS_PER_S / 2)  /* for a program to end after Ctrl-C without a word about it */

static bool is_due(uint64_t since, uint64_t duration)
{
	return duration && clock_monotonic() - since >= duration;
}

/* A running program. */
struct watch {
	struct command nothing; /* that was started */
	struct live_line line;
};

static bool each_pass(struct recording *recording, void *data)
{
	struct watch *watch = data;
	struct recording_totals totals = recording_totals(recording);
	enum asked asked = command_asked(&watch->nothing);

	live_line_show(&watch->line, &totals, 1);
	if (asked == ASKED_SNAPSHOT)
		recording_snapshot(recording);
	return asked == ASKED_STOP || is_due(recording->started, recording->plan->duration_ns);
}

static int record_process(const struct record_plan *plan, struct diag *diag)
{
	struct watch watch = {.line = {.on = isatty(STDERR_FILENO), .started = clock_monotonic()}};
	struct recording recording = {
		.plan = plan, .output = plan->output, .each = each_pass, .data = &watch};
	struct holds holds = {0};
	int r = find_pid(&recording.attachment, plan->pid, diag);

	if (r < 0)
		return r;
	r = recording_run(&recording, diag);
	live_line_clear();
	if (r >= 0 && !plan->quiet) {
		recording_summarise(&recording);
		holds_find(&holds, &recording.attachment);
		holds_say(&holds, NULL);
	}
	recording_fini(&recording);
	return r < 0 ? r : 0;
}

static int start(struct command *ret, struct follow *follow, struct diag *diag)
{
	const struct record_plan *plan = follow->plan;
	char order[128], most[32];
	struct command_terms terms = {.order = order,
				      .buffer_max =
					      plan->buffer_bytes > ARENA_POOL_LIMIT ? most : NULL,
				      .preload = follow->adapters.preload};
	int r;

	follow_order(follow, order, sizeof(order));
	snprintf(most, sizeof(most), "%" PRIu64, plan->buffer_bytes);
	r = command_start(ret, plan->command, &terms, diag);
	follow->command = ret->pid;
	return r;
}

static void pause_between(const struct follow *follow, uint64_t begun)
{
	bool soon = !follow->claimed && clock_monotonic() - begun < NS_PER_S;
	struct timespec time = {.tv_nsec = (long)(soon ? SEARCH_NS : LATER_NS)};

	nanosleep(&time, NULL);
}

/* Whether to go on though nobody is recorded: what the command left may begin yet. */
static bool is_awaited(const struct follow *follow, uint64_t ended)
{
	return clock_monotonic() - ended < LINGER_NS && descendants_may_begin(follow);
}

/* `again`: what another Ctrl-C does. */
static void warn_once(struct command *command, const struct follow *follow, const char *again)
{
	if (command->ended || command->warned || !command->interrupted ||
	    !is_due(command->interrupted, PATIENCE_NS))
		return;
	command->warned = true;
	live_line_clear();
	say_error(NULL, "waiting for %s (pid %d) to end; Ctrl-C again %s", follow->plan->command[0],
		  (int)command->pid, again);
}

/* Until the command and all that are followed have ended, or it is enough. When it was left, or 0.
 */
static uint64_t watch_over(struct command *command, struct follow *follow)
{
	struct live_line line = {.on = isatty(STDERR_FILENO), .started = clock_monotonic()};
	uint64_t begun = clock_monotonic(), ended = begun;
	struct recording_totals totals;
	enum asked asked;
	bool last;

	do {
		asked = command_asked(command);
		if (asked == ASKED_LEAVE)
			break;
		if (asked == ASKED_STOP)
			follow_stop(follow);
		else if (asked == ASKED_SNAPSHOT)
			follow_snapshot(follow);
		command_look(command);
		if (!command->ended)
			ended = clock_monotonic();
		follow_pass(follow, command->ended || !follow->claimed);
		descendants_reap(follow);
		last = command->ended && !follow->active && !is_awaited(follow, ended);
		if (!follow->claimed)
			line.started = clock_monotonic();
		else if (is_due(line.started, follow->plan->duration_ns))
			break;
		totals = follow_totals(follow);
		if (follow->active)
			live_line_show(&line, &totals, follow->active);
		warn_once(command, follow, "stops recording and lets it go on");
		if (!last)
			pause_between(follow, begun);
	} while (!last);
	follow_stop(follow);
	return asked == ASKED_LEAVE ? clock_monotonic() : 0;
}

/* Takes note of what is asked for while we wait; `left`: when it was to leave the command. */
static void look_for_leave(struct command *command, uint64_t *left)
{
	if (command_asked(command) == ASKED_LEAVE && !*left)
		*left = clock_monotonic();
}

/*
 * The program that we started goes on, and ends as it will; its status is passed on. If it was
 * left, and does not end by that, it is let go. `left`: when; 0: it was not.
 */
static void wait_for_all(struct command *command, struct follow *follow, uint64_t left)
{
	while (follow->active) {
		follow_pass(follow, false);
		look_for_leave(command, &left);
		if (follow->active)
			pause_between(follow, 0);
	}
	live_line_clear();
	if (!follow->plan->quiet)
		follow_summarise(follow);
	for (;;) {
		command_look(command);
		look_for_leave(command, &left);
		if (!command->pid || command->ended)
			return;
		if (left && is_due(left, PATIENCE_NS))
			break;
		warn_once(command, follow, "lets it go on");
		/* The next Ctrl-C must not be missed because it comes right before we sleep. */
		if (command->interrupted)
			pause_between(follow, 0);
		else
			descendants_await(follow);
		descendants_reap(follow);
	}
	live_line_clear();
	say_error(NULL, "%s (pid %d) goes on, and is not recorded any more",
		  follow->plan->command[0], (int)command->pid);
}

static int record_command(const struct record_plan *plan, struct diag *diag)
{
	struct command command = {0};
	struct follow follow;
	int r = follow_init(&follow, plan, diag);

	if (r < 0)
		return r;
	descendants_adopt();
	r = start(&command, &follow, diag);
	if (r < 0) {
		follow_fini(&follow);
		return r;
	}
	wait_for_all(&command, &follow, watch_over(&command, &follow));
	find_sweep();
	r = follow.first_result;
	if (r < 0)
		*diag = follow.diag;
	else if (!follow.claimed)
		r = holds_explain(&follow.adapters, plan->command[0], diag);
	follow_fini(&follow);
	return r < 0 ? r : command_exit_status(&command);
}

/* Better said before a program is started than after. */
static int try_output(const char *path, struct diag *diag)
{
	/* Without waiting for the other end of a pipe. */
	cleanup(close_fd) int fd =
		open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
	struct stat st;

	if (fd < 0 && errno != ENXIO)
		return diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return diag_set(diag, -EINVAL, "%s: is not a regular file", path);
	return 0;
}

static void remove_empty(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
		unlink(path);
}

int record_run(const struct record_plan *plan, struct diag *diag)
{
	int r;

	command_catch_signals();
	r = try_output(plan->output, diag);
	if (r < 0)
		return r;
	/* It is written at the end. */
	if (plan->flight_bytes)
		remove_empty(plan->output);
	r = plan->pid ? record_process(plan, diag) : record_command(plan, diag);
	if (r < 0)
		remove_empty(plan->output);
	return r;
}
