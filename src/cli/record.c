/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arena/arena.h"
#include "arena/clock.h"
#include "arena/where.h"
#include "cli/guard.h"
#include "cli/say.h"
#include "drain/attach.h"
#include "drain/recorder.h"
#include "sample/sampler.h"
#include "trace/compress.h"
#include "util/cleanup.h"

#define NS_PER_S UINT64_C(1000000000)
#define SHOW_NS (NS_PER_S / 2)     /* between two versions of the live line */
#define SEARCH_NS UINT64_C(500000) /* between two looks for a started program's arena, ... */
#define SEARCH_LATER_NS UINT64_C(10000000) /* ... and after its first second */

DEFINE_FREEP(struct recorder, recorder_free)
DEFINE_FREEP(struct sampler, sampler_free)
DEFINE_FREEP(struct compressor, compressor_free)

struct recording {
	const struct record_plan *plan;
	struct attachment attachment;
	struct recorder *recorder;
	struct sampler *sampler;
	pid_t child; /* that we started; 0: none */
	bool child_ended;
	int child_status; /* as wait() gives it */
	uint64_t started;
	uint64_t ended;
	uint64_t shown;
	bool live; /* stderr is a terminal */
};

/* The last signal that asked us to stop; set by the handler. */
static volatile sig_atomic_t stop_signal;

static void on_signal(int signal)
{
	stop_signal = signal;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a trace that gets too large is an error, not the end */
}

static void pause_ns(uint64_t ns)
{
	struct timespec time = {.tv_sec = (time_t)(ns / NS_PER_S),
				.tv_nsec = (long)(ns % NS_PER_S)};

	nanosleep(&time, NULL);
}

static uint64_t chunks_of(uint64_t bytes)
{
	uint64_t chunks = (bytes ? bytes : ARENA_POOL_DEFAULT) / ARENA_CHUNK_BYTES;

	return chunks < 2 ? 2 : chunks;
}

/* In the child: tells libunweave to begin by itself, then becomes the program. */
static void become(const struct record_plan *plan, int report)
{
	char order[96], most[32];
	int error;

	snprintf(order, sizeof(order), "%d:%" PRIu64 ":%d:%" PRIu64, getpid(),
		 drain_keywords(plan->detail), (int)plan->policy, chunks_of(plan->buffer_bytes));
	setenv(ARENA_ARM_VARIABLE, order, 1);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (plan->buffer_bytes > ARENA_POOL_LIMIT) {
		snprintf(most, sizeof(most), "%" PRIu64, plan->buffer_bytes);
		setenv("UNWEAVE_BUFFER_MAX", most, 1);
	}
	execvp(plan->command[0], plan->command);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* Starts the command; fails if it cannot be executed. */
static int start_child(struct recording *recording, struct diag *diag)
{
	const struct record_plan *plan = recording->plan;
	int ends[2], error = 0;
	pid_t pid;
	ssize_t got;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return diag_set(diag, -errno, "%m");
	pid = fork();
	if (pid == 0)
		become(plan, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return diag_set(diag, -errno, "%m");
	}
	recording->child = pid;
	got = read(ends[0], &error, sizeof(error));
	close(ends[0]);
	if (got != sizeof(error))
		return 0;
	waitpid(pid, NULL, 0);
	recording->child = 0;
	return diag_set(diag, -error, "%s: %s", plan->command[0], strerror(error));
}

static void look_after_child(struct recording *recording)
{
	if (recording->child && !recording->child_ended &&
	    waitpid(recording->child, &recording->child_status, WNOHANG) == recording->child)
		recording->child_ended = true;
}

/* A signal to us is one for the program. Ctrl-C reaches it by itself: it is in our group. */
static void pass_signal_on(struct recording *recording)
{
	if (stop_signal && stop_signal != SIGINT && recording->child && !recording->child_ended)
		kill(recording->child, stop_signal);
}

/* Waits for the arena of the program that we started: it is made at its first hook. */
static int find_child(struct recording *recording, struct diag *diag)
{
	uint64_t begun = clock_monotonic();
	int r;

	for (;;) {
		r = attach_pid(&recording->attachment, (uint32_t)recording->child, diag);
		if (r >= 0)
			return 0;
		if (recording->child_ended) {
			diag_set(diag, 0, "%s: ended without calling a hook of libunweave",
				 recording->plan->command[0]);
			return diag_hint(diag, -ENOENT,
					 "link it with libunweave; what it starts itself is "
					 "recorded with -p");
		}
		pass_signal_on(recording);
		look_after_child(recording);
		pause_ns(clock_monotonic() - begun < NS_PER_S ? SEARCH_NS : SEARCH_LATER_NS);
	}
}

static void human_bytes(char *to, size_t size, uint64_t bytes)
{
	if (bytes < 10000)
		snprintf(to, size, "%" PRIu64 " B", bytes);
	else if (bytes < 10000000)
		snprintf(to, size, "%.1f kB", (double)bytes / 1e3);
	else
		snprintf(to, size, "%.1f MB", (double)bytes / 1e6);
}

static uint64_t samples(const struct recording *recording)
{
	return recording->sampler ? sampler_totals(recording->sampler).samples : 0;
}

static uint64_t lost(const struct recorder_totals *totals)
{
	return totals->drain.lost + totals->drain.orphans + totals->drain.reentries +
	       totals->unwritten;
}

static void show_line(struct recording *recording)
{
	struct recorder_totals totals = recorder_totals(recording->recorder);
	uint64_t now = clock_monotonic();
	char size[32];

	if (!recording->live || now - recording->shown < SHOW_NS)
		return;
	recording->shown = now;
	human_bytes(size, sizeof(size), totals.bytes);
	fprintf(stderr,
		"\r\033[Krecording %.0f s, %" PRIu64 " events, %" PRIu64 " samples, %" PRIu64
		" lost, %s",
		(double)(now - recording->started) / 1e9, totals.drain.records, samples(recording),
		lost(&totals), size);
	fflush(stderr);
}

static bool is_over(const struct recording *recording)
{
	uint64_t duration = recording->plan->duration_ns;

	/* A program that we started gets the signal too, and is recorded to its end. */
	return recorder_totals(recording->recorder).drain.program_ended ||
	       (stop_signal && !recording->child) ||
	       (duration && clock_monotonic() - recording->started >= duration);
}

static uint64_t pause_of(const struct recording *recording)
{
	uint64_t pause = recorder_pause_ns(recording->recorder);
	uint64_t other = recording->sampler ? sampler_pause_ns(recording->sampler) : pause;

	return pause < other ? pause : other;
}

static int record_loop(struct recording *recording)
{
	int r = 0;

	while (r >= 0 && !is_over(recording)) {
		pass_signal_on(recording);
		look_after_child(recording);
		r = recorder_pass(recording->recorder);
		if (r >= 0 && recording->sampler)
			r = sampler_pass(recording->sampler);
		show_line(recording);
		if (r >= 0 && !recorder_totals(recording->recorder).drain.program_ended)
			pause_ns(pause_of(recording));
	}
	return r < 0 ? r : 0;
}

static void summarise(const struct recording *recording)
{
	struct recorder_totals totals = recorder_totals(recording->recorder);
	char size[32];

	if (recording->live)
		fputs("\r\033[K", stderr);
	if (recording->plan->quiet)
		return;
	human_bytes(size, sizeof(size), totals.bytes);
	fprintf(stderr,
		"unweave: %s: %" PRIu64 " events of %u threads, %" PRIu64 " samples in %.1f s, %s",
		recording->plan->output, totals.drain.records, totals.drain.threads,
		samples(recording), (double)(recording->ended - recording->started) / 1e9, size);
	if (lost(&totals))
		fprintf(stderr, ", %" PRIu64 " events lost\n", lost(&totals));
	else
		fputs(", none lost\n", stderr);
	if (recording->sampler && sampler_totals(recording->sampler).note[0])
		fprintf(stderr, "unweave: %s\n", sampler_totals(recording->sampler).note);
	if (recording->sampler && sampler_totals(recording->sampler).lost)
		fprintf(stderr, "unweave: %" PRIu64 " samples were lost\n",
			sampler_totals(recording->sampler).lost);
	if (totals.unwritten)
		fprintf(stderr, "unweave: %s: %" PRIu64 " events could not be written: %s\n",
			recording->plan->output, totals.unwritten, strerror(-totals.error));
	if (recording->attachment.cut)
		fputs("unweave: the program made its arena smaller: what was left in it is lost\n",
		      stderr);
	if (totals.drain.unread && totals.drain.unread_why == EPERM) {
		fprintf(stderr,
			"unweave: the chains of %" PRIu64
			" tasks that waited already could not be read: %s\n",
			totals.drain.unread, strerror(EPERM));
		say_hint("they are told when the tasks run; to have them at once, record as root, "
			 "or set kernel.yama.ptrace_scope to 0");
	}
	if (totals.drain.damaged)
		fprintf(stderr,
			"unweave: the program's arena made no sense in %" PRIu64 " places\n",
			totals.drain.damaged);
	if (totals.drain.lost && recording->plan->policy == UNWEAVE_POLICY_DROP)
		fputs("hint: larger buffers (--buffer) or less detail lose less\n", stderr);
}

/* Waits for a program that goes on after we stopped recording it; it passes its status on. */
static int exit_status(struct recording *recording)
{
	while (recording->child && !recording->child_ended) {
		if (waitpid(recording->child, &recording->child_status, 0) == recording->child)
			recording->child_ended = true;
		else
			pass_signal_on(recording);
	}
	if (!recording->child)
		return 0;
	if (WIFSIGNALED(recording->child_status))
		return 128 + WTERMSIG(recording->child_status);
	return WEXITSTATUS(recording->child_status);
}

static int find_program(struct recording *recording, struct diag *diag)
{
	int r;

	if (recording->plan->pid)
		return attach_pid(&recording->attachment, recording->plan->pid, diag);
	r = start_child(recording, diag);
	return r < 0 ? r : find_child(recording, diag);
}

static int start_sampler(struct recording *recording, struct sampler **ret)
{
	const struct record_plan *plan = recording->plan;
	struct sampler_options options = {.hz = plan->hz,
					  .wall = plan->wall,
					  .no_perf = plan->timers,
					  .no_symbols = plan->no_symbols};
	int r = sampler_new(ret, &recording->attachment, recording->recorder, &options);

	recording->sampler = *ret;
	return r;
}

/* Samples end first, since they need the session; names come last, since they take a while. */
static int finish(struct recording *recording)
{
	int r = recording->sampler ? sampler_halt(recording->sampler) : 0;

	recording->ended = clock_monotonic();
	if (r >= 0)
		r = recorder_leave(recording->recorder);
	if (r >= 0 && recording->sampler)
		r = sampler_finish(recording->sampler);
	return r < 0 ? r : recorder_stop(recording->recorder);
}

static int record(struct recording *recording, struct diag *diag)
{
	const struct record_plan *plan = recording->plan;
	cleanup(compressor_freep) struct compressor *compressor = NULL;
	cleanup(recorder_freep) struct recorder *recorder = NULL;
	cleanup(sampler_freep) struct sampler *sampler = NULL;
	struct recorder_options options = {.path = plan->output,
					   .detail = plan->detail,
					   .policy = plan->policy,
					   .buffer_bytes = plan->buffer_bytes};
	int r;

	guard_begin(&recording->attachment);
	r = attach_lock(&recording->attachment, diag);
	if (r < 0)
		return r;
	r = compressor_new(&compressor, 1);
	if (r < 0)
		return r;
	options.compress = compressor_run;
	options.compress_data = compressor;
	r = recorder_new(&recorder, &recording->attachment, &options, diag);
	if (r < 0)
		return r;
	recording->recorder = recorder;
	recording->started = clock_monotonic();
	r = start_sampler(recording, &sampler);
	if (r < 0)
		return r;
	r = record_loop(recording);
	if (r >= 0)
		r = finish(recording);
	if (r >= 0)
		summarise(recording);
	if (recorder_totals(recorder).drain.program_ended)
		attach_remove(&recording->attachment);
	recording->recorder = NULL;
	recording->sampler = NULL;
	return r;
}

/* Better said before a program is started than after. */
static int try_output(const char *path, struct diag *diag)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return diag_set(diag, -errno, "%s: %s", path, strerror(errno));
	close(fd);
	return 0;
}

static void remove_empty(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
		unlink(path);
}

int record_run(const struct record_plan *plan, struct diag *diag)
{
	struct recording recording = {
		.plan = plan, .attachment = {.fd = -1}, .live = isatty(STDERR_FILENO)};
	int r;

	catch_signals();
	r = try_output(plan->output, diag);
	if (r < 0)
		return r;
	r = find_program(&recording, diag);
	if (r >= 0) {
		r = record(&recording, diag);
		guard_end();
		attach_fini(&recording.attachment);
	}
	if (r < 0) {
		remove_empty(plan->output);
		/* The program that we started is not to blame: it goes on, and ends as it will. */
		exit_status(&recording);
		return r;
	}
	return exit_status(&recording);
}
