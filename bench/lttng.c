/* SPDX-License-Identifier: Apache-2.0 */
#include "lttng.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "lttng_module.h"

#define SESSION "bench"
#define TRIES 100u
#define TRY_US 50000u

extern char **environ;

/* Starts a program, with what it says going to `output`. 0 if it could not. */
static pid_t start(char *const *arguments, const char *output)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	r = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r == 0 ? pid : 0;
}

/* Runs one command of the client. */
static bool command(char *const *arguments, const char *output)
{
	pid_t pid = start(arguments, output);
	int status;

	return pid && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

#define COMMAND(output, ...)                                                                       \
	command((char *[]){"lttng", "--no-sessiond", __VA_ARGS__, NULL}, output)

static bool fail(struct lttng *lttng, const char *why)
{
	snprintf(lttng->why, sizeof(lttng->why), "%s", why);
	return false;
}

static bool daemon_answers(void)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		if (COMMAND("/dev/null", "list"))
			return true;
		bench_sleep_us(TRY_US);
	}
	return false;
}

static bool session_starts(const char *directory)
{
	char output[256];

	snprintf(output, sizeof(output), "--output=%s/lttng-trace", directory);
	return COMMAND("/dev/null", "create", SESSION, output) &&
	       COMMAND("/dev/null", "enable-channel", "--userspace", "--session=" SESSION,
		       "--discard", "--subbuf-size=4M", "--num-subbuf=4", "bench") &&
	       COMMAND("/dev/null", "enable-event", "--userspace", "--session=" SESSION,
		       "--channel=bench", "unweave_bench:wake") &&
	       COMMAND("/dev/null", "start", SESSION);
}

static bool module_loads(struct lttng *lttng, const char *path)
{
	int (*is_on)(void);

	lttng->module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lttng->module)
		return false;
	*(void **)&is_on = dlsym(lttng->module, "lttng_module_is_on");
	*(void **)&lttng->emit = dlsym(lttng->module, "lttng_module_emit");
	for (uint32_t i = 0; is_on && lttng->emit && i < TRIES; i++) {
		if (is_on())
			return true;
		bench_sleep_us(TRY_US);
	}
	return false;
}

bool lttng_begin(struct lttng *lttng, const char *directory, const char *module)
{
	char log[256];

	memset(lttng, 0, sizeof(*lttng));
	if (access(module, R_OK) < 0)
		return fail(lttng, "built without LTTng-UST");
	setenv("LTTNG_HOME", directory, 1);
	setenv("HOME", directory, 1);
	snprintf(log, sizeof(log), "%s/lttng-sessiond.log", directory);

	/* The daemon and the consumer that it starts belong on the other processor. */
	bench_pin(BENCH_CPU_DRAIN);
	lttng->daemon = start((char *[]){"lttng-sessiond", "--no-kernel", NULL}, log);
	bench_pin(BENCH_CPU_WORKER);
	if (!lttng->daemon)
		return fail(lttng, "lttng-sessiond is not installed");
	if (!daemon_answers())
		return fail(lttng, "lttng-sessiond does not answer");
	if (!session_starts(directory))
		return fail(lttng, "lttng did not start a session");
	if (!module_loads(lttng, module))
		return fail(lttng, "the tracepoint was not switched on");
	return true;
}

/* The number after "Discarded events:" in the listing of the session. */
static uint64_t find_discarded(const char *path)
{
	FILE *listing = fopen(path, "re");
	uint64_t discarded = UINT64_MAX;
	char line[512];

	while (listing && fgets(line, sizeof(line), listing)) {
		const char *at = strstr(line, "Discarded events:");

		if (at)
			discarded = strtoull(at + strlen("Discarded events:"), NULL, 10);
	}
	if (listing)
		fclose(listing);
	return discarded;
}

void lttng_end(struct lttng *lttng, uint64_t *ret_discarded)
{
	char listing[256];

	*ret_discarded = UINT64_MAX;
	if (!lttng->daemon)
		return;
	snprintf(listing, sizeof(listing), "%s/lttng-listing", getenv("LTTNG_HOME"));
	if (lttng->emit && COMMAND("/dev/null", "stop", SESSION) &&
	    COMMAND(listing, "list", SESSION))
		*ret_discarded = find_discarded(listing);
	COMMAND("/dev/null", "destroy", SESSION);
	kill(lttng->daemon, SIGTERM);
	waitpid(lttng->daemon, NULL, 0);
	lttng->daemon = 0;
}
