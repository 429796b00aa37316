/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same event through LTTng-UST, and as one write() to a pipe, against ours:
 * a wake, which carries a 64-bit number. Each goes to a process on the other
 * processor that takes it away; ours to a recorder with its default settings.
 *
 * Events come in bursts, in turn, so that no buffer overflows.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "level.h"
#include "lttng.h"
#include "lttng_module.h"
#include "rows.h"
#include "taker.h"
#include "workload.h"

#define BURST 400u
#define NOBODY 65534
#define MESSAGE 100u
#define PIPE_BYTES (1 << 20)

enum { OURS, SYSCALL, LTTNG, VARIANTS };

struct versus {
	struct taker *taker;
	pid_t reader;
	int pipe; /* writing end */
	struct lttng lttng;
	uint64_t tasks[BURST];
	bool failed;
};

/* Takes what is there every 2 ms: nobody is woken, which is the best case for the writer. */
static _Noreturn void be_reader(int fd)
{
	static char buffer[PIPE_BYTES];
	ssize_t length;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_pin(BENCH_CPU_DRAIN);
	while ((length = read(fd, buffer, sizeof(buffer))) != 0)
		if (length < 0 || (size_t)length < sizeof(buffer))
			bench_sleep_us(2000);
	_exit(0);
}

static int open_pipe(struct versus *versus)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	versus->reader = fork();
	if (versus->reader == 0) {
		close(ends[1]);
		be_reader(ends[0]);
	}
	close(ends[0]);
	versus->pipe = ends[1];
	return versus->reader < 0 ? -errno : 0;
}

static void emit_ours(const struct versus *versus)
{
	for (uint32_t i = 0; i < BURST; i++)
		unweave_task_wake(versus->tasks[i], UNWEAVE_SOURCE_TASK);
}

static void emit_syscalls(struct versus *versus)
{
	char message[MESSAGE] = {0};

	for (uint32_t i = 0; i < BURST; i++) {
		memcpy(message, &versus->tasks[i], sizeof(versus->tasks[i]));
		if (write(versus->pipe, message, sizeof(message)) != sizeof(message))
			versus->failed = true;
	}
}

static double measure(void *context, uint32_t variant, uint32_t repetition)
{
	struct versus *versus = context;
	uint64_t start = clock_raw();

	(void)repetition;
	if (variant == OURS)
		emit_ours(versus);
	else if (variant == SYSCALL)
		emit_syscalls(versus);
	else if (versus->lttng.emit)
		versus->lttng.emit(versus->tasks, BURST);
	return (double)(clock_raw() - start) / BURST;
}

static void set_ratio(const char *name, const struct samples *samples, uint32_t variant)
{
	rows_set(name, samples_best(samples, variant) / samples_best(samples, OURS),
		 samples_median(samples, variant) / samples_median(samples, OURS));
	rows_note(name, "%.0f ns, %.0f against %.1f, %.1f", samples_best(samples, variant),
		  samples_median(samples, variant), samples_best(samples, OURS),
		  samples_median(samples, OURS));
}

static int compare(struct bench *bench, struct versus *versus)
{
	struct samples samples;
	int r = taker_begin(versus->taker);

	if (r < 0) {
		bench_complain("the recorder: %s", versus->taker->why);
		return r;
	}
	r = samples_take(&samples, VARIANTS, bench_amount(bench, 8000, 100), measure, versus,
			 &bench->rng);
	level_set(LEVEL_OFF);
	if (r < 0)
		return r;
	if (versus->failed)
		bench_complain("write() to the pipe failed");
	else
		set_ratio("vs.syscall.x", &samples, SYSCALL);
	if (versus->lttng.emit)
		set_ratio("vs.lttng.x", &samples, LTTNG);
	samples_fini(&samples);
	r = taker_end(versus->taker);
	if (versus->taker->lost)
		bench_complain("vs: we lost %llu events", (unsigned long long)versus->taker->lost);
	return r;
}

/* The module where a process that is not root's may read it, whatever the build's folder is. */
static int copy_module(const struct bench *bench, char *path, size_t size)
{
	static char bytes[1 << 20];
	char from[4200];
	ssize_t length;
	int in, out;

	snprintf(from, sizeof(from), "%s/" LTTNG_MODULE, bench->beside);
	snprintf(path, size, "%s/" LTTNG_MODULE, bench->directory);
	in = open(from, O_RDONLY | O_CLOEXEC);
	length = in < 0 ? -1 : read(in, bytes, sizeof(bytes));
	if (in >= 0)
		close(in);
	if (length <= 0)
		return -ENOENT;
	out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	if (out < 0 || write(out, bytes, (size_t)length) != length)
		length = -1;
	if (out >= 0)
		close(out);
	return length < 0 ? -EIO : 0;
}

/* Root's daemon has but one place, which is the machine's: so be somebody who has no place. */
static int stop_being_root(const char *directory)
{
	if (geteuid() != 0)
		return 0;
	if (chown(directory, NOBODY, NOBODY) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		return -errno;
	/* A process that was root's is closed to others of its user: also to the recorder. */
	prctl(PR_SET_DUMPABLE, 1);
	return 0;
}

static void end_lttng(struct versus *versus)
{
	uint64_t discarded;

	lttng_end(&versus->lttng, &discarded);
	if (!versus->lttng.emit)
		rows_note("vs.lttng.x", "%s", versus->lttng.why);
	else if (discarded)
		bench_complain("vs.lttng.x: LTTng discarded %lld events", (long long)discarded);
}

int group_versus(struct bench *bench)
{
	struct versus versus = {.pipe = -1};
	char module[256];
	int r;

	copy_module(bench, module, sizeof(module));
	r = stop_being_root(bench->directory);
	if (r < 0)
		return r;
	versus.taker = taker_new(bench->directory, "versus");
	r = versus.taker ? open_pipe(&versus) : -ENOMEM;
	if (r >= 0) {
		if (!lttng_begin(&versus.lttng, bench->directory, module))
			versus.lttng.emit = NULL;
		for (uint32_t i = 0; i < BURST; i++)
			versus.tasks[i] = unweave_task_new(NULL, UNWEAVE_MODEL_CHAIN, 0, NULL);
		r = compare(bench, &versus);
		end_lttng(&versus);
	}
	if (versus.pipe >= 0)
		close(versus.pipe);
	if (versus.reader > 0)
		waitpid(versus.reader, NULL, 0);
	taker_free(versus.taker);
	return r;
}
