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

struct wanted {
	struct tui_options tui;
	struct lint_limits limits;
	bool batch;
	enum watch_wish wish;
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
	r = watch_new(&watch, &attachment, wanted->wish, diag);
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

static int set_json(const struct options *options, void *to)
{
	struct wanted *wanted = to;

	(void)options;
	wanted->batch = wanted->tui.json = true;
	return EXIT_OK;
}

static int set_rows(const struct options *options, void *to)
{
	uint64_t *rows = to;

	return options_number(options, rows) && *rows && *rows <= TUI_ROWS_MOST
		       ? EXIT_OK
		       : options_bad_value(options, "a number from 1 to 10000");
}

static int set_delay(const struct options *options, void *to)
{
	double delay;

	if (!parse_seconds(options->value, DELAY_LEAST, DELAY_MOST, &delay))
		return options_bad_value(options, "a number of seconds from 0.1 to 3600");
	*(uint64_t *)to = (uint64_t)(delay * 1e9);
	return EXIT_OK;
}

static int set_events(const struct options *options, void *to)
{
	(void)options;
	((struct wanted *)to)->wish = WATCH_ALL_EVENTS;
	return EXIT_OK;
}

static int set_table(const struct options *options, void *to)
{
	(void)options;
	((struct wanted *)to)->wish = WATCH_NO_EVENTS;
	return EXIT_OK;
}

static int set_moment(const struct options *options, void *to)
{
	struct wanted *wanted = to;

	if (!parse_seconds(options->value, 0, 1e9, &wanted->at))
		return options_bad_value(options, "a number of seconds");
	wanted->moment = true;
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
	struct wanted wanted = {.tui = {.delay = 1000000000, .times = 1, .rows = ROWS},
				.wish = WATCH_FEW_EVENTS};
	struct diag diag = {0};
	int r;

	lint_limits_init(&wanted.limits);
	if (!options_read(options, &wanted))
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
	{'b', "batch", NULL, "print plain text, for scripts", OPTION_FLAG(struct wanted, batch)},
	{'j', "json", NULL, "print one JSON object instead", set_json, 0},
	{'n', "times", "N", "with -b: print N times, 0 for ever (1)",
	 OPTION_NUMBER(struct wanted, tui.times)},
	{0, "rows", "N", "with -b: print N rows of a table (50)", set_rows,
	 offsetof(struct wanted, tui.rows)},
	{'d', "delay", "SECONDS", "between two pictures (1)", set_delay,
	 offsetof(struct wanted, tui.delay)},
	{0, "view", "NAME", "begin with tasks, task, sites, waits, threads or warnings",
	 OPTION_TEXT(struct wanted, tui.view)},
	{0, "task", "NUMBER", "begin with this task", OPTION_TASK(struct wanted, tui.task)},
	{0, "sort", "COLUMN", "sort that view by this column",
	 OPTION_TEXT(struct wanted, tui.sort)},
	{0, "filter", "TEXT", "show what has this text in it",
	 OPTION_TEXT(struct wanted, tui.filter)},
	{0, "at", "SECONDS", "of a trace: begin at this moment", set_moment, 0},
	{0, "warn", "LIMITS", "when to warn: run=10ms,queue=none; none: never",
	 OPTION_LIMITS(struct wanted, limits)},
	{0, "events", NULL, "take all events, however many there are", set_events, 0},
	{0, "table", NULL, "take none: read the table of its tasks only", set_table, 0},
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
