/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that never heard of unweave, and does what servers do before they
 * serve. Its arguments say what, one after the other:
 *
 * loop N          N turns of the loop, each of which works for a millisecond
 * sleep MS
 * fork ...        a child does the rest; the parent waits for it
 * daemon ...      a child of a child does the rest, in a session of its own
 * user UID        gives up its rights
 * root DIR        has another root
 * close           closes everything that is open
 * clean           empties its environment
 * exec CMD ...    becomes another program
 * hook            makes a task of its own, if it was built so that it can
 * exit STATUS
 */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PLAIN
#include "libuv/uv.h"
#endif

#ifdef HOOKS
#include "unweave.h"
#endif

#define NS_PER_MS 1000000L

static char **word;

static const char *next(void)
{
	return *word ? *word++ : "";
}

static long number(void)
{
	return strtol(next(), NULL, 10);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * NS_PER_MS}, NULL);
}

#ifndef PLAIN
static void work(void)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 * NS_PER_MS + now.tv_nsec - start.tv_nsec <
		 NS_PER_MS);
}
#endif

static void loop(long turns)
{
#ifdef PLAIN
	(void)turns;
#else
	while (turns-- > 0)
		uv_run(work);
#endif
}

static void make_task(void)
{
#ifdef HOOKS
	unweave_task_complete(unweave_task_new(UNWEAVE_SITE("plain"), UNWEAVE_MODEL_CHAIN, 0, NULL),
			      UNWEAVE_OK);
#endif
}

static void must(int result)
{
	if (result >= 0)
		return;
	perror("plain");
	exit(9);
}

static void start_child(void)
{
	pid_t child = fork();
	int status;

	must(child);
	if (child == 0)
		return;
	waitpid(child, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* The first process leaves at once, as those do that do not want to be waited for. */
static void become_daemon(void)
{
	pid_t child = fork();

	must(child);
	if (child)
		_exit(0);
	must(setsid());
	child = fork();
	must(child);
	if (child)
		_exit(0);
}

static void become_user(uid_t uid)
{
	must(setgroups(0, NULL));
	must(setresgid(uid, uid, uid));
	must(setresuid(uid, uid, uid));
}

static void do_next(void)
{
	const char *verb = next();

	if (strcmp(verb, "loop") == 0) {
		loop(number());
	} else if (strcmp(verb, "sleep") == 0) {
		pause_ms(number());
	} else if (strcmp(verb, "fork") == 0) {
		start_child();
	} else if (strcmp(verb, "daemon") == 0) {
		become_daemon();
	} else if (strcmp(verb, "user") == 0) {
		become_user((uid_t)number());
	} else if (strcmp(verb, "root") == 0) {
		must(chroot(next()));
		must(chdir("/"));
	} else if (strcmp(verb, "close") == 0) {
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
	} else if (strcmp(verb, "clean") == 0) {
		clearenv();
	} else if (strcmp(verb, "hook") == 0) {
		make_task();
	} else if (strcmp(verb, "exec") == 0) {
		execvp(word[0], word);
		must(-1);
	} else {
		exit((int)number());
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	word = argv + 1;
	while (*word)
		do_next();
	return 0;
}
