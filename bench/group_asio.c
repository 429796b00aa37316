/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a handler of Asio's costs more with our tracking of handlers, recorded at `tasks`, and
 * with Asio's own, which writes a line for each step to standard error, here /dev/null. The
 * three programs are there at the same time, and measure a slice in turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "rows.h"

#define HANDLERS 5120u
#define REPETITIONS 200u
#define PATH 4400u

enum variant { PLAIN, STOCK, TOLD, VARIANTS };

static const char *const programs[VARIANTS] = {
	[PLAIN] = "bench-asio-plain",
	[STOCK] = "bench-asio-stock",
	[TOLD] = "bench-asio-told",
};

struct runner {
	pid_t pid; /* of the program, or of who records it */
	FILE *to, *from;
};

struct runners {
	struct runner each[VARIANTS];
	const struct bench *bench;
	uint32_t count;
	bool failed;
};

static _Noreturn void be_program(const struct bench *bench, enum variant variant, int cpu)
{
	char program[PATH], tool[PATH], trace[PATH], number[16];
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* The program goes where it is told to; who records it stays here. */
	bench_pin(BENCH_CPU_DRAIN);
	dup2(nowhere, STDERR_FILENO);
	snprintf(number, sizeof(number), "%d", cpu);
	snprintf(program, sizeof(program), "%s/%s", bench->beside, programs[variant]);
	snprintf(tool, sizeof(tool), "%s/../unweave", bench->beside);
	snprintf(trace, sizeof(trace), "%s/asio.unw", bench->directory);
	if (variant == TOLD)
		execl(tool, "unweave", "record", "-q", "-o", trace, "--detail", "tasks", "-F", "0",
		      "--", program, number, (char *)NULL);
	else
		execl(program, program, number, (char *)NULL);
	_exit(127);
}

static int start(struct runners *runners, enum variant variant)
{
	struct runner *runner = &runners->each[variant];
	int to[2], from[2], cpu = sched_getcpu();

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		return -errno;
	runner->pid = fork();
	if (runner->pid == 0) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		be_program(runners->bench, variant, cpu);
	}
	close(to[0]);
	close(from[1]);
	runner->to = fdopen(to[1], "w");
	runner->from = fdopen(from[0], "r");
	return runner->pid < 0 || !runner->to || !runner->from ? -ECHILD : 0;
}

static void stop(struct runner *runner)
{
	if (runner->to)
		fclose(runner->to);
	if (runner->from)
		fclose(runner->from);
	if (runner->pid > 0)
		waitpid(runner->pid, NULL, 0);
}

static double measure(void *context, uint32_t variant, uint32_t repetition)
{
	struct runners *runners = context;
	struct runner *runner = &runners->each[variant];
	double ns = 0;

	(void)repetition;
	if (runners->failed)
		return 0;
	fprintf(runner->to, "p %u\n", runners->count);
	fflush(runner->to);
	if (fscanf(runner->from, "%lf", &ns) != 1)
		runners->failed = true;
	/* What it emitted is on its way: the next one is not to have it beside it. */
	if (variant == TOLD)
		bench_sleep_us(3000);
	return ns;
}

static void set_row(const struct samples *samples)
{
	double plain = samples_best(samples, PLAIN);
	double stock = samples_best(samples, STOCK) - plain;
	double told = samples_best(samples, TOLD) - plain;

	rows_set("asio.handler.x_stock", stock / told,
		 samples_difference(samples, STOCK, PLAIN) /
			 samples_difference(samples, TOLD, PLAIN));
	rows_note("asio.handler.x_stock", "%.0f ns by Asio's own, %.0f by ours; over %.0f", stock,
		  told, plain);
}

int group_asio(struct bench *bench)
{
	struct runners runners = {.bench = bench, .count = bench_amount(bench, HANDLERS, 256)};
	struct samples samples;
	char program[PATH];
	int r = 0;

	signal(SIGPIPE, SIG_IGN);
	/* Asio was not there when this was built. */
	snprintf(program, sizeof(program), "%s/%s", bench->beside, programs[TOLD]);
	if (access(program, X_OK) < 0)
		return 0;
	for (uint32_t i = 0; i < VARIANTS && r >= 0; i++)
		r = start(&runners, i);
	if (r >= 0)
		r = samples_take(&samples, VARIANTS, bench_amount(bench, REPETITIONS, 2), measure,
				 &runners, &bench->rng);
	for (uint32_t i = 0; i < VARIANTS; i++)
		stop(&runners.each[i]);
	if (r < 0)
		return r;
	if (!runners.failed)
		set_row(&samples);
	samples_fini(&samples);
	return runners.failed ? -EPIPE : 0;
}
