/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long `unweave tree` takes for a million tasks: tree.*
 *
 * They are requests with chains of three frames, and 100,000 a second of them are
 * answered while others come, so that the tool looks at a program that goes on.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "rows.h"
#include "tool.h"

#define PASSES 5u
#define READY "ready\n"

/* Returns once all tasks are there: a process, or -errno. */
static pid_t start_program(const struct bench *bench)
{
	const char *count = bench->quick ? "10000" : "1000000";
	char program[4200], said[sizeof(READY)] = "";
	int ends[2];
	ssize_t got;
	pid_t pid;

	snprintf(program, sizeof(program), "%s/../tests/live/hung", bench->beside);
	if (pipe(ends) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], STDOUT_FILENO);
		execl(program, program, "crowd", count, "100000", NULL);
		_exit(127);
	}
	close(ends[1]);
	got = pid < 0 ? -1 : read(ends[0], said, sizeof(said) - 1);
	close(ends[0]);
	return got == sizeof(READY) - 1 ? pid : -EIO;
}

static int measure(const struct bench *bench, const char *pid, const char *option, const char *row)
{
	const char *arguments[] = {"tree", pid, option, NULL};
	uint32_t passes = bench_amount(bench, PASSES, 1);
	struct tool_cost cost = {0};
	double seconds[PASSES];

	for (uint32_t i = 0; i < passes; i++) {
		int r = tool_time(bench, arguments, &cost);

		if (r < 0)
			return r;
		seconds[i] = cost.seconds;
	}
	/* Which sorts them. */
	stats_median(seconds, passes);
	rows_set(row, seconds[0], stats_median(seconds, passes));
	rows_note(row, "from start to end; %.2f s of CPU time, %.0f MB", cost.cpu_seconds, cost.mb);
	return 0;
}

int group_tree(struct bench *bench)
{
	pid_t program = start_program(bench);
	char pid[16];
	int r;

	if (program < 0) {
		bench_complain("the program with many tasks does not start");
		return (int)program;
	}
	snprintf(pid, sizeof(pid), "%d", (int)program);
	bench_progress("a million tasks as a tree");
	r = measure(bench, pid, NULL, "tree.1M.s");
	if (r == 0)
		r = measure(bench, pid, "--json", "tree.1M.json.s");
	if (r == 0)
		r = measure(bench, pid, "--folded", "tree.1M.folded.s");
	kill(program, SIGKILL);
	waitpid(program, NULL, 0);
	return r;
}
