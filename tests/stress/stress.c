/* SPDX-License-Identifier: Apache-2.0 */
#include "stress.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char files[64] = "/tmp/unweave-stress-XXXXXX";
static char arenas[64] = "/dev/shm/unweave-stress-XXXXXX";
static pid_t owner;
static uint64_t seed;
static uint64_t last_peak;

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void clean_up(void)
{
	if (getpid() != owner)
		return;
	nftw(files, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	nftw(arenas, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void out_of_time(int signal)
{
	static const char words[] = "Bail out! the test takes too long\n";

	(void)signal;
	(void)!write(STDOUT_FILENO, words, sizeof(words) - 1);
	/* Children get it by PR_SET_PDEATHSIG. */
	_exit(1);
}

void stress_begin(unsigned limit_s)
{
	const char *given = getenv("UNWEAVE_STRESS_SEED");

	owner = getpid();
	if (!mkdtemp(files) || !mkdtemp(arenas)) {
		perror("mkdtemp");
		exit(1);
	}
	atexit(clean_up);
	setenv("UNWEAVE_DIR", arenas, 1);
	signal(SIGALRM, out_of_time);
	alarm(limit_s * (STRESS_SANITIZED ? 4 : 1));
	seed = given ? strtoull(given, NULL, 10) : stress_now_ns();
	printf("# UNWEAVE_STRESS_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
}

bool stress_is_full(void)
{
	const char *size = getenv("UNWEAVE_STRESS");

	return size && strcmp(size, "full") == 0;
}

unsigned stress_size(unsigned shortly, unsigned fully)
{
	if (stress_is_full())
		return fully;
	return STRESS_SANITIZED && shortly > 1 ? shortly / 2 : shortly;
}

const char *stress_path(const char *name, unsigned number)
{
	static char paths[4][128];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s-%u", files, name, number);
	return path;
}

uint64_t stress_random(void)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t stress_below(uint64_t limit)
{
	return stress_random() % limit;
}

uint64_t stress_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void stress_sleep_us(uint64_t us)
{
	struct timespec time = {.tv_sec = (time_t)(us / 1000000),
				.tv_nsec = (long)(us % 1000000 * 1000)};

	while (nanosleep(&time, &time) < 0)
		;
}

void *stress_share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return memory;
}

int stress_wait(pid_t pid, unsigned limit_ms)
{
	uint64_t until = stress_now_ns() + (uint64_t)limit_ms * 1000000;
	struct rusage usage;
	int status;

	while (wait4(pid, &status, WNOHANG, &usage) != pid) {
		if (stress_now_ns() > until) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		stress_sleep_us(500);
	}
	last_peak = (uint64_t)usage.ru_maxrss * 1024;
	return status;
}

uint64_t stress_peak_of_last(void)
{
	return last_peak;
}

uint64_t stress_memory(pid_t pid, const char *field)
{
	char path[64], line[256];
	uint64_t kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, field, strlen(field)) == 0)
			kib = strtoull(line + strlen(field) + 1, NULL, 10);
	if (file)
		fclose(file);
	return kib * 1024;
}
