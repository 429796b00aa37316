/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena/clock.h"
#include "util/cleanup.h"
#include "util/grow.h"

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

void threads_init(struct threads *threads, pid_t pid, int signal)
{
	*threads = (struct threads){.pid = pid, .signal = signal};
}

static void forget(struct thread *thread)
{
	if (thread->fd >= 0)
		close(thread->fd);
	free(thread->kept);
}

void threads_fini(struct threads *threads)
{
	for (uint32_t i = 0; i < threads->count; i++)
		forget(&threads->all[i]);
	free(threads->all);
	*threads = (struct threads){0};
}

/* The words after `field` in a status file; NULL if it is not there. */
static const char *field_of(const char *status, const char *field)
{
	const char *at = strstr(status, field);

	return at ? at + strlen(field) : NULL;
}

/* The text of a file of the thread's. Returns its length, or -errno. */
static ssize_t read_file(const struct threads *threads, pid_t tid, const char *name, char *to,
			 size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", threads->pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, to, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	to[n > 0 ? n : 0] = 0;
	return n;
}

static void read_name(struct thread *thread, const char *status)
{
	const char *name = field_of(status, "Name:\t");
	size_t length = name ? strcspn(name, "\n") : 0;

	if (length >= sizeof(thread->name))
		length = sizeof(thread->name) - 1;
	memcpy(thread->name, name ? name : "", length);
	thread->name[length] = 0;
}

/* The last of its numbers, one for each namespace that it is in. */
static uint32_t read_inner(const char *status, pid_t tid)
{
	const char *numbers = field_of(status, "\nNSpid:");
	uint32_t inner = (uint32_t)tid;
	char *end;

	while (numbers && *numbers == '\t') {
		inner = (uint32_t)strtoul(numbers + 1, &end, 10);
		numbers = end;
	}
	return inner;
}

/* Whether a set of signals, as words after `field`, has ours. */
static bool has_signal(const struct threads *threads, const char *status, const char *field)
{
	const char *set = field_of(status, field);

	return set && threads->signal && strtoull(set, NULL, 16) >> (threads->signal - 1) & 1;
}

bool threads_look(const struct threads *threads, struct thread *thread)
{
	char status[4096];
	const char *switches, *state;

	if (read_file(threads, thread->tid, "status", status, sizeof(status)) <= 0)
		return false;
	read_name(thread, status);
	thread->inner = read_inner(status, thread->tid);
	thread->blocked = has_signal(threads, status, "\nSigBlk:\t");
	thread->handled = has_signal(threads, status, "\nSigCgt:\t");
	state = field_of(status, "\nState:\t");
	thread->sleeping = state && *state != 'R';
	/* The first one stays for as long as there are others. */
	thread->ended = state && (*state == 'Z' || *state == 'X');
	switches = field_of(status, "\nvoluntary_ctxt_switches:\t");
	thread->switches = switches ? strtoull(switches, NULL, 10) : 0;
	return !thread->ended;
}

/* "RAN WAITED TIMES", in ns and times that it got a processor. */
int threads_count(const struct threads *threads, const struct thread *thread, struct pace_look *ret)
{
	struct pace_look look = {.now_ns = clock_monotonic()};
	char text[128], *waited, *times;
	ssize_t n = read_file(threads, thread->tid, "schedstat", text, sizeof(text));

	if (n < 0)
		return (int)n;
	look.ran_ns = strtoull(text, &waited, 10);
	strtoull(waited, &times, 10);
	look.switches = strtoull(times, NULL, 10);
	*ret = look;
	return 0;
}

/* "NUMBER ARGUMENTS... SP PC"; or "running". */
int threads_look_at_call(const struct threads *threads, const struct thread *thread,
			 struct thread_call *ret)
{
	struct thread_call call = {0};
	char text[256], *sp, *pc;
	ssize_t n = read_file(threads, thread->tid, "syscall", text, sizeof(text));

	if (n < 0)
		return (int)n;
	pc = strrchr(text, ' ');
	if (pc) {
		*pc++ = '\0';
		sp = strrchr(text, ' ');
		call = (struct thread_call){.number = strtol(text, NULL, 10),
					    .sp = sp ? strtoull(sp + 1, NULL, 16) : 0,
					    .pc = strtoull(pc, NULL, 16)};
	}
	*ret = call;
	return 0;
}

static struct thread *find(const struct threads *threads, pid_t tid)
{
	for (uint32_t i = 0; i < threads->count; i++)
		if (threads->all[i].tid == tid)
			return &threads->all[i];
	return NULL;
}

static int add(struct threads *threads, pid_t tid)
{
	struct thread thread = {.tid = tid, .seen = true, .fd = -1};
	struct thread *all;

	if (!threads_look(threads, &thread))
		return 0;
	all = grow(threads->all, threads->count, &threads->capacity, 16, sizeof(*all));
	if (!all)
		return -ENOMEM;
	threads->all = all;
	threads->all[threads->count++] = thread;
	return 0;
}

static void forget_unseen(struct threads *threads)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < threads->count; i++) {
		if (!threads->all[i].seen) {
			forget(&threads->all[i]);
			continue;
		}
		threads->all[i].seen = false;
		threads->all[kept++] = threads->all[i];
	}
	threads->count = kept;
}

int threads_scan(struct threads *threads)
{
	cleanup(close_directory) DIR *directory = NULL;
	struct dirent *entry;
	char path[64];
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", threads->pid);
	directory = opendir(path);
	if (!directory)
		return -errno;
	while (r == 0 && (entry = readdir(directory))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct thread *known = tid > 0 ? find(threads, tid) : NULL;

		if (known)
			known->seen = !known->ended;
		else if (tid > 0)
			r = add(threads, tid);
	}
	if (r == 0)
		forget_unseen(threads);
	return r;
}

struct thread *threads_find(const struct threads *threads, uint32_t inner)
{
	for (uint32_t i = 0; i < threads->count; i++)
		if (threads->all[i].inner == inner)
			return &threads->all[i];
	return NULL;
}
