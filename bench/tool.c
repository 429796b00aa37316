/* SPDX-License-Identifier: Apache-2.0 */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void become_tool(const char *tool, const char *const *arguments)
{
	int null = open("/dev/null", O_WRONLY);
	char *argv[TOOL_ARGUMENTS + 2] = {(char *)tool};
	cpu_set_t all;

	for (int i = 0; i < TOOL_ARGUMENTS && arguments[i]; i++)
		argv[i + 1] = (char *)arguments[i];
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	dup2(null, STDOUT_FILENO);
	execv(tool, argv);
	_exit(127);
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int tool_time(const struct bench *bench, const char *const *arguments, struct tool_cost *ret)
{
	uint64_t start = clock_raw();
	char tool[4200];
	struct rusage usage;
	int status;
	pid_t pid;

	snprintf(tool, sizeof(tool), "%s/../src/cli/unweave", bench->beside);
	pid = fork();
	if (pid == 0)
		become_tool(tool, arguments);
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0)
		return -errno;
	*ret = (struct tool_cost){
		.seconds = (double)(clock_raw() - start) / 1e9,
		.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
		.mb = (double)usage.ru_maxrss / 1e3,
	};
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}
