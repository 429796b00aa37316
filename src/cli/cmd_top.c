/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/guard.h"
#include "cli/say.h"
#include "drain/find.h"
#include "tui/tui.h"
#include "util/cleanup.h"
#include "watch/watch.h"

#define DELAY_LEAST 0.1 /* s */
#define DELAY_MOST 3600.0
#define ROWS 50u

enum {
	OPTION_BATCH = 1,
	OPTION_TIMES,
	OPTION_DELAY,
	OPTION_VIEW,
	OPTION_SORT,
	OPTION_FILTER,
	OPTION_ROWS,
	OPTION_AT,
	OPTION_TABLE,
	OPTION_TASK,
	OPTION_WARN,
	OPTION_JSON,
};

struct wanted {
	struct tui_options tui;
	struct lint_limits limits;
	bool batch;
	bool table_only;
	bool moment;  /* `at` was given */
	double at;    /* s */
	uint32_t pid; /* 0: it is a trace */
	const char *path;
};

DEFINE_FREEP(struct watch, watch_free)
DEFINE_FREEP(struct watch_lint, watch_lint_free)

static int show(struct watch *watch, struct wanted *wanted, struct diag *diag)
{
	cleanup(watch_lint_freep) struct watch_lint *lint = NULL;
	int r = watch_lint_new(&lint, watch, &wanted->limits, wanted->path, diag);

	if (r < 0)
		return r;
	/* From here on, what goes wrong is not the trace's. */
	wanted->path = NULL;
	return wanted->batch ? tui_print(watch, lint, &wanted->tui, stdout, diag)
			     : tui_run(watch, lint, &wanted->tui, diag);
}

static int show_program(struct wanted *wanted, struct diag *diag)
{
	cleanup(watch_freep) struct watch *watch = NULL;
	struct attachment attachment;
	int r = find_pid(&attachment, wanted->pid, diag);

	if (r < 0)
		return r;
	guard_begin(&attachment);
	r = wanted->table_only ? watch_new_table(&watch, &attachment, diag)
			       : watch_new(&watch, &attachment, diag);
	if (r >= 0)
		r = show(watch, wanted, diag);
	/* It ends the recording, for which the arena must still be there. */
	watch = watch_free(watch);
	guard_end();
	attach_fini(&attachment);
	return r;
}

/* A trace is shown at its end, or, where nothing lives any more then, half way. */
static int show_trace(struct wanted *wanted, struct diag *diag)
{
	cleanup(watch_freep) struct watch *watch = NULL;
	const struct watch_totals *totals;
	int r = watch_new_trace(&watch, wanted->path, diag);

	if (r < 0)
		return r;
	totals = watch_totals(watch);
	if (wanted->moment)
		r = watch_seek(watch, totals->first + (uint64_t)(wanted->at * 1e9), diag);
	else if (!totals->alive)
		r = watch_seek(watch, totals->first + (totals->last - totals->first) / 2, diag);
	return r < 0 ? r : show(watch, wanted, diag);
}

static int is_process(const struct dirent *entry)
{
	return isdigit((unsigned char)entry->d_name[0]);
}

static bool is_ours(const char *pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.16s", pid);
	return stat(path, &st) == 0 && st.st_uid == geteuid();
}

/* Whether the process has an arena. */
static bool carries(uint32_t pid)
{
	struct attachment attachment;

	if (find_pid(&attachment, pid, NULL) < 0)
		return false;
	attach_fini(&attachment);
	return true;
}

/* The only program of the user that can be watched; else `diag` says what to do. */
static int find_only(uint32_t *ret, struct diag *diag)
{
	struct dirent **entries;
	int count = scandir("/proc", &entries, is_process, versionsort);
	uint32_t found = 0;

	if (count < 0)
		return diag_set(diag, -errno, "/proc: %s", strerror(errno));
	for (int i = 0; i < count; i++) {
		uint32_t pid = (uint32_t)strtoul(entries[i]->d_name, NULL, 10);

		if (is_ours(entries[i]->d_name) && carries(pid)) {
			found++;
			*ret = pid;
		}
		free(entries[i]);
	}
	free(entries);
	if (found == 1)
		return 0;
	if (found) {
		diag_set(diag, -EINVAL, "top: which of %u programs?", found);
		return diag_hint(diag, -EINVAL, "unweave top PID; unweave ps lists them");
	}
	diag_set(diag, -ENOENT, "no program of yours carries libunweave");
	return diag_hint(diag, -ENOENT,
			 "unweave ps lists those that do; unweave top FILE shows a trace");
}

static bool parse_seconds(const char *text, double least, double most, double *ret)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || isnan(value) || value < least || value > most)
		return false;
	*ret = value;
	return true;
}

static int set_limits(const struct options *options, struct wanted *wanted)
{
	struct diag diag = {0};

	if (lint_limits_set(&wanted->limits, options->value, &diag) == 0)
		return EXIT_OK;
	say_diag("top", &diag);
	return EXIT_USAGE;
}

/* A value that makes no sense: says so, and returns EXIT_USAGE. */
static int take_option(const struct options *options, int option, struct wanted *wanted)
{
	double delay;

	switch (option) {
	case OPTION_BATCH:
		wanted->batch = true;
		break;
	case OPTION_JSON:
		wanted->batch = wanted->tui.json = true;
		break;
	case OPTION_TABLE:
		wanted->table_only = true;
		break;
	case OPTION_VIEW:
		wanted->tui.view = options->value;
		break;
	case OPTION_SORT:
		wanted->tui.sort = options->value;
		break;
	case OPTION_FILTER:
		wanted->tui.filter = options->value;
		break;
	case OPTION_TIMES:
		if (!options_number(options, &wanted->tui.times))
			return options_bad_value(options, "a number");
		break;
	case OPTION_WARN:
		return set_limits(options, wanted);
	case OPTION_TASK:
		if (!options_number(options, &wanted->tui.task) || !wanted->tui.task)
			return options_bad_value(options, "the number of a task");
		break;
	case OPTION_ROWS:
		if (!options_number(options, &wanted->tui.rows) || !wanted->tui.rows ||
		    wanted->tui.rows > TUI_ROWS_MOST)
			return options_bad_value(options, "a number from 1 to 10000");
		break;
	case OPTION_DELAY:
		if (!parse_seconds(options->value, DELAY_LEAST, DELAY_MOST, &delay))
			return options_bad_value(options, "a number of seconds from 0.1 to 3600");
		wanted->tui.delay = (uint64_t)(delay * 1e9);
		break;
	case OPTION_AT:
		if (!parse_seconds(options->value, 0, 1e9, &wanted->at))
			return options_bad_value(options, "a number of seconds");
		wanted->moment = true;
		break;
	default:
		break;
	}
	return EXIT_OK;
}

/* A number is a process; anything else, a file. */
static int take_operand(const struct options *options, struct wanted *wanted, struct diag *diag)
{
	const char *operand = options->operands[0];
	char *end;
	unsigned long number;

	if (!operand)
		return find_only(&wanted->pid, diag);
	number = strtoul(operand, &end, 10);
	if (isdigit((unsigned char)operand[0]) && !*end && number && number <= INT32_MAX)
		wanted->pid = (uint32_t)number;
	else
		wanted->path = operand;
	return 0;
}

static int finish(const struct wanted *wanted, int r, struct diag *diag)
{
	if (r > 0) {
		signal(r, SIG_DFL);
		raise(r);
	}
	if (r == -ENOMEM)
		diag_set(diag, r, "out of memory");
	else if (r < 0 && !diag->text[0])
		diag_set(diag, r, "it can no longer be watched: %s", strerror(-r));
	/* A reader who went away is no reason for words. */
	if (r < 0 && r != -EPIPE)
		say_diag(wanted->path, diag);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int run(struct options *options)
{
	struct wanted wanted = {.tui = {.delay = 1000000000, .times = 1, .rows = ROWS}};
	struct diag diag = {0};
	int option, r;

	lint_limits_init(&wanted.limits);
	while ((option = options_next(options)) > 0) {
		r = take_option(options, option, &wanted);
		if (r != EXIT_OK)
			return r;
	}
	if (option < 0)
		return options->status;
	if (options->operand_count > 1) {
		say_error(NULL, "top: one program, or one trace");
		return EXIT_USAGE;
	}
	if (tui_check(&wanted.tui, &diag) < 0) {
		say_diag(NULL, &diag);
		return EXIT_USAGE;
	}
	r = take_operand(options, &wanted, &diag);
	if (r == 0)
		r = wanted.pid ? show_program(&wanted, &diag) : show_trace(&wanted, &diag);
	return finish(&wanted, r, &diag);
}

static const struct option_entry entries[] = {
	{OPTION_BATCH, 'b', "batch", NULL, "print plain text, for scripts"},
	{OPTION_JSON, 'j', "json", NULL, "print one JSON object instead"},
	{OPTION_TIMES, 'n', "times", "N", "with -b: print N times, 0 for ever (1)"},
	{OPTION_ROWS, 0, "rows", "N", "with -b: print N rows of a table (50)"},
	{OPTION_DELAY, 'd', "delay", "SECONDS", "between two pictures (1)"},
	{OPTION_VIEW, 0, "view", "NAME",
	 "begin with tasks, task, sites, waits, threads or warnings"},
	{OPTION_TASK, 0, "task", "NUMBER", "begin with this task"},
	{OPTION_SORT, 0, "sort", "COLUMN", "sort that view by this column"},
	{OPTION_FILTER, 0, "filter", "TEXT", "show what has this text in it"},
	{OPTION_AT, 0, "at", "SECONDS", "of a trace: begin at this moment"},
	{OPTION_WARN, 0, "warn", "LIMITS", "when to warn: run=10ms,queue=none; none: never"},
	{OPTION_TABLE, 0, "table", NULL, "record nothing: read the table of its tasks only"},
	{0},
};

const struct cmd cmd_top = {
	.name = "top",
	.arguments = "[PID | FILE]",
	.summary = "Watch what the tasks of a program do, or did",
	.details = "Without an argument, the only program of yours that can be watched. '?' there\n"
		   "shows the keys.\n",
	.options = entries,
	.run = run,
};
