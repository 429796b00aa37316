/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs have in common that a benchmark of an adapter runs: started with the
 * number of a processor, they read lines from standard input, and answer each with ns.
 *
 *     p 20000      so many times, arm something that is called once, and have it called
 *     i 1000       so many iterations of the loop with one callback each
 */
#ifndef BENCH_ADAPTERS_PROGRAM_H
#define BENCH_ADAPTERS_PROGRAM_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct adapters_program {
	void (*pairs)(uint32_t count);
	void (*iterations)(uint32_t count);
};

static inline double adapters_program_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline int adapters_program_main(int argc, char **argv,
					const struct adapters_program *program)
{
	cpu_set_t set;
	uint32_t count;
	char what;

	CPU_ZERO(&set);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	while (scanf(" %c %u", &what, &count) == 2) {
		double begun = adapters_program_ns();

		(what == 'p' ? program->pairs : program->iterations)(count);
		printf("%.3f\n", (adapters_program_ns() - begun) / count);
		fflush(stdout);
	}
	return 0;
}

#endif /* BENCH_ADAPTERS_PROGRAM_H */
