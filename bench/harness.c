/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/* The first and the second processor that this process may use at all. */
static int processor(unsigned which)
{
	static cpu_set_t allowed;
	static bool known;

	if (!known)
		known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && which-- == 0)
			return cpu;
	return -1;
}

bool bench_pin(enum bench_cpu cpu)
{
	int worker = processor(0), drain = processor(1);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu == BENCH_CPU_DRAIN && drain >= 0 ? drain : worker, &set);
	sched_setaffinity(0, sizeof(set), &set);
	return drain >= 0;
}

uint32_t bench_amount(const struct bench *bench, uint32_t full, uint32_t quick)
{
	return bench->quick ? quick : full;
}

void bench_progress(const char *format, ...)
{
	va_list arguments;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fflush(stderr);
}

void bench_complain(const char *format, ...)
{
	va_list arguments;

	fputs(isatty(STDERR_FILENO) ? "\r\033[Kbench: " : "bench: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("\n", stderr);
}

void bench_sleep_us(uint64_t us)
{
	struct timespec pause = {.tv_sec = (time_t)(us / 1000000),
				 .tv_nsec = (long)(us % 1000000) * 1000};

	nanosleep(&pause, NULL);
}

uint64_t bench_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}
