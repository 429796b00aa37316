/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that happens to carry libunweave, in a situation that the verbs of
 * its command line describe. Built with PLAIN it does the same without it: what
 * it prints and how it ends must be the same.
 *
 *     close-all        closes every descriptor from 3 on
 *     close-std        closes the first three
 *     exhaust          opens files until no descriptor is left
 *     mlockall         locks all memory, now and in the future
 *     limit-as BYTES   and limit-fsize, from here on
 *     emit             calls every hook, and minds errno
 *     files            writes files, and looks whether they stayed as they were
 *     threads          emits on threads, some of which are cancelled
 *     fork             lets a child emit too
 *     exit             leaves at once, by _exit()
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef PLAIN
#define HOOK(call) sum++
#define STATUS "plain"
#else
#include "unweave.h"
/* Each hook, with an errno that it must leave alone. */
#define HOOK(call)                                                                                 \
	do {                                                                                       \
		errno = SENTINEL;                                                                  \
		call;                                                                              \
		if (errno != SENTINEL)                                                             \
			errno_changed = #call;                                                     \
		sum++;                                                                             \
	} while (0)
#define STATUS unweave_status()
#endif

#define SENTINEL 4711
#define FILES 8
#define ROUNDS 3000

static const char *errno_changed;
static unsigned long sum;

static void emit(void)
{
#ifndef PLAIN
	const uint64_t addresses[] = {1, 2, 3};
	const int32_t states[] = {1, 2, 3};
	const struct unweave_stack stack = {addresses, states, 3, 0};
	uint64_t task;
#endif

	for (int i = 0; i < ROUNDS; i++) {
		HOOK(task = unweave_task_new(UNWEAVE_SITE("guest"), (enum unweave_model)(i & 1), 0,
					     &stack));
		HOOK(unweave_task_name(task, "a guest"));
		HOOK(unweave_task_wake(task, UNWEAVE_SOURCE_IO));
		HOOK(unweave_task_resume(task));
		HOOK(unweave_frame_resume(task));
		HOOK(unweave_frame_complete(task));
		HOOK(unweave_frame_unwind(task, 1, 0));
		HOOK(unweave_anchor_reset(task));
		HOOK(unweave_task_suspend_stack(task, &stack));
		HOOK(unweave_task_append(task, &stack));
		HOOK(unweave_task_resume_stack(task, &stack));
		HOOK(unweave_task_leave(task, &stack));
		HOOK(unweave_thread_idle());
		HOOK(unweave_task_complete(task, UNWEAVE_OK));
	}
}

static void *emit_on_thread(void *data)
{
	/* `sum` and the rest are for the first thread alone. */
	(void)data;
#ifndef PLAIN
	for (int i = 0; i < ROUNDS; i++)
		unweave_thread_idle();
#endif
	while (pause() < 0)
		;
	return NULL;
}

static void use_threads(void)
{
	struct timespec pause = {.tv_nsec = 10000000};
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, emit_on_thread, NULL) != 0)
			printf("no thread\n");
	nanosleep(&pause, NULL);
	for (int i = 0; i < 4; i++) {
		pthread_cancel(threads[i]);
		pthread_join(threads[i], NULL);
	}
}

static void use_fork(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		emit();
		_exit(errno_changed ? 1 : 3);
	}
	waitpid(child, &status, 0);
	printf("child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* Files that lie under the lowest numbers that are free, written around all that is emitted. */
static void use_files(void)
{
	struct timespec pause = {.tv_nsec = 60000000};
	FILE *files[FILES];
	char text[32], found[32];
	int wrong = 0;

	for (int i = 0; i < FILES; i++) {
		files[i] = tmpfile();
		if (!files[i])
			continue;
		fprintf(files[i], "file %d\n", i);
		fflush(files[i]);
	}
	emit();
	/* Time for a thread that would write where it should not. */
	nanosleep(&pause, NULL);
	for (int i = 0; i < FILES; i++) {
		size_t length;

		if (!files[i]) {
			printf("no file %d\n", i);
			continue;
		}
		snprintf(text, sizeof(text), "file %d\n", i);
		rewind(files[i]);
		length = fread(found, 1, sizeof(found), files[i]);
		wrong += length != strlen(text) || memcmp(found, text, length) != 0;
		wrong += fclose(files[i]) != 0;
	}
	printf("%d files are not as they were\n", wrong);
}

static void close_from(int first, int last)
{
	for (int fd = first; fd <= last; fd++)
		close(fd);
}

static void limit(int resource, const char *bytes)
{
	rlim_t value = strtoull(bytes, NULL, 10);
	struct rlimit limits = {value, value};

	setrlimit((__rlimit_resource_t)resource, &limits);
}

static void exhaust(void)
{
	int opened = 0;

	while (open("/", O_RDONLY) >= 0)
		opened++;
	printf("%s\n", opened ? "no descriptor is left" : "there was none");
}

/* For the test, by another way than the program's own output. */
static void say_status(void)
{
	const char *path = getenv("GUEST_STATUS");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;

	if (fd < 0 && path) {
		close(100);
		close(5);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	}
	if (fd >= 0) {
		(void)!write(fd, STATUS, strlen(STATUS));
		close(fd);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "close-all") == 0)
			close_from(3, 1023);
		else if (strcmp(argv[i], "close-std") == 0)
			close_from(0, 2);
		else if (strcmp(argv[i], "exhaust") == 0)
			exhaust();
		else if (strcmp(argv[i], "mlockall") == 0)
			printf("%d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
		else if (strcmp(argv[i], "limit-as") == 0)
			limit(RLIMIT_AS, argv[++i]);
		else if (strcmp(argv[i], "limit-fsize") == 0)
			limit(RLIMIT_FSIZE, argv[++i]);
		else if (strcmp(argv[i], "files") == 0)
			use_files();
		else if (strcmp(argv[i], "threads") == 0)
			use_threads();
		else if (strcmp(argv[i], "fork") == 0)
			use_fork();
		else if (strcmp(argv[i], "exit") == 0)
			_exit(9);
		else
			emit();
	}
	printf("%lu hooks, errno %s\n", sum, errno_changed ? errno_changed : "untouched");
	fprintf(stderr, "this goes to stderr\n");
	fflush(stdout);
	say_status();
	return 7;
}
