/* SPDX-License-Identifier: Apache-2.0 */
#include "adapters.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rows.h"

#define PAIRS 5120u
#define ITERATIONS 1000u
#define REPETITIONS 300u
/*
 * Repetitions: where code and memory come to lie makes a difference of several ns, which each
 * process draws anew. So the best of a process is compared with the best of the plain one beside
 * it, and what counts is the median of all these.
 */
#define A_PROCESS 15u
#define PATH 4400u

enum variant { PLAIN, OFF, SAMPLES, TASKS, VARIANTS };

/* A program that measures when it is told to. */
struct runner {
	pid_t pid; /* of the program, or of who records it */
	FILE *to, *from;
	char said[PATH]; /* what the recorder had to say */
};

struct runners {
	struct bench *bench;
	const struct adapters_subject *subject;
	struct runner each[VARIANTS];
	char program[PATH], adapter[PATH], tool[PATH];
	char what; /* to measure */
	uint32_t count;
	bool failed;
};

static _Noreturn void be_program(const struct runners *runners, const struct runner *runner,
				 enum variant variant, const char *cpu, const char *trace)
{
	const char *detail = variant == TASKS ? "tasks" : "samples";
	int words = open(runner->said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* The program goes where it is told to; who records it stays here. */
	bench_pin(BENCH_CPU_DRAIN);
	if (variant == OFF)
		setenv("LD_PRELOAD", runners->adapter, 1);
	if (variant == PLAIN || variant == OFF) {
		execl(runners->program, runners->program, cpu, (char *)NULL);
	} else {
		dup2(words, STDERR_FILENO);
		execl(runners->tool, "unweave", "record", "-o", trace, "--detail", detail, "-F",
		      "0", "--", runners->program, cpu, (char *)NULL);
	}
	_exit(127);
}

static int start(struct runners *runners, enum variant variant)
{
	struct runner *runner = &runners->each[variant];
	int to[2], from[2], cpu = sched_getcpu();
	char number[16], trace[PATH];

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		return -errno;
	snprintf(number, sizeof(number), "%d", cpu);
	snprintf(trace, sizeof(trace), "%s/%s%d.unw", runners->bench->directory,
		 runners->subject->prefix, variant);
	snprintf(runner->said, sizeof(runner->said), "%s/%s%d.said", runners->bench->directory,
		 runners->subject->prefix, variant);
	runner->pid = fork();
	if (runner->pid == 0) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		be_program(runners, runner, variant, number, trace);
	}
	close(to[0]);
	close(from[1]);
	runner->to = fdopen(to[1], "w");
	runner->from = fdopen(from[0], "r");
	return runner->pid < 0 || !runner->to || !runner->from ? -ECHILD : 0;
}

/* Complains if the recorder did not say that nothing was lost. */
static void look_for_losses(const struct runners *runners, const struct runner *runner)
{
	FILE *from = fopen(runner->said, "re");
	char line[512];

	while (from && fgets(line, sizeof(line), from))
		if (strstr(line, " events of ") && !strstr(line, "none lost"))
			bench_complain("%s %.*s", runners->subject->prefix,
				       (int)strcspn(line, "\n"), line);
	if (from)
		fclose(from);
}

static void stop(struct runners *runners, enum variant variant)
{
	struct runner *runner = &runners->each[variant];

	if (runner->to)
		fclose(runner->to);
	if (runner->from)
		fclose(runner->from);
	if (runner->pid <= 0)
		return;
	waitpid(runner->pid, NULL, 0);
	if (variant == TASKS)
		look_for_losses(runners, runner);
	*runner = (struct runner){0};
}

/* Returns ns. */
static double ask(struct runners *runners, enum variant variant)
{
	struct runner *runner = &runners->each[variant];
	double ns = 0;

	fprintf(runner->to, "%c %u\n", runners->what, runners->count);
	fflush(runner->to);
	if (fscanf(runner->from, "%lf", &ns) != 1)
		runners->failed = true;
	/* What it emitted is on its way: the next one is not to have it beside it. */
	if (variant == TASKS)
		bench_sleep_us(3000);
	return ns;
}

/* A new process, whose first slice is not like the others. */
static void start_over(struct runners *runners, enum variant variant)
{
	stop(runners, variant);
	if (start(runners, variant) < 0)
		runners->failed = true;
	else
		ask(runners, variant);
}

static double measure(void *context, uint32_t variant, uint32_t repetition)
{
	struct runners *runners = context;

	if (repetition % A_PROCESS == 0)
		start_over(runners, variant);
	return runners->failed ? 0 : ask(runners, variant);
}

static void set_row(const struct runners *runners, const struct samples *samples, const char *name,
		    enum variant variant)
{
	double plain = samples_best(samples, PLAIN);
	char row[64];

	snprintf(row, sizeof(row), "%s%s", runners->subject->prefix, name);
	rows_set(row, samples_usual_difference(samples, variant, PLAIN, A_PROCESS),
		 samples_difference(samples, variant, PLAIN));
	rows_note(row, "over %.1f ns, %.1f; quartiles +-%.1f", plain,
		  samples_median(samples, PLAIN), samples_scatter(samples, variant, PLAIN));
}

static int take(struct bench *bench, struct runners *runners, struct samples *ret, char what,
		uint32_t count)
{
	int r;

	runners->what = what;
	runners->count = count;
	r = samples_take(ret, VARIANTS, bench_amount(bench, REPETITIONS, 2), measure, runners,
			 &bench->rng);
	if (r >= 0 && runners->failed) {
		samples_fini(ret);
		r = -EPIPE;
	}
	return r;
}

static int measure_all(struct bench *bench, struct runners *runners)
{
	struct samples samples;
	int r = take(bench, runners, &samples, 'p', bench_amount(bench, PAIRS, 512));

	if (r < 0)
		return r;
	set_row(runners, &samples, "pair.tasks.ns", TASKS);
	set_row(runners, &samples, "pair.samples.ns", SAMPLES);
	set_row(runners, &samples, "pair.off.ns", OFF);
	samples_fini(&samples);
	r = take(bench, runners, &samples, 'i', bench_amount(bench, ITERATIONS, 10));
	if (r < 0)
		return r;
	set_row(runners, &samples, "iteration.ns", TASKS);
	samples_fini(&samples);
	return 0;
}

int adapters_measure(struct bench *bench, const struct adapters_subject *subject)
{
	struct runners runners = {.bench = bench, .subject = subject};
	int r;

	signal(SIGPIPE, SIG_IGN);
	snprintf(runners.program, sizeof(runners.program), "%s/%s", bench->beside,
		 subject->program);
	snprintf(runners.adapter, sizeof(runners.adapter), "%s/%s", bench->beside,
		 subject->adapter);
	snprintf(runners.tool, sizeof(runners.tool), "%s/../unweave", bench->beside);
	/* The library was not there when this was built. */
	if (access(runners.program, X_OK) < 0)
		return 0;
	r = measure_all(bench, &runners);
	for (uint32_t variant = 0; variant < VARIANTS; variant++)
		stop(&runners, variant);
	return r;
}
