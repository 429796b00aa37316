/* SPDX-License-Identifier: Apache-2.0 */
#include "recording.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress.h"
#include "trace/compress.h"

#define SEARCH_NS UINT64_C(10000000000) /* for an arena that is yet to be made */

const char *recording_tool;

static int find(struct attachment *ret, pid_t program, struct diag *diag)
{
	uint64_t until = stress_now_ns() + SEARCH_NS;
	int r;

	do {
		r = find_pid(ret, (uint32_t)program, diag);
		/* The file is there before it has its size and its magic. */
		if (r != -ENOENT && r != -EBADMSG)
			return r;
		stress_sleep_us(500);
	} while (stress_now_ns() < until);
	return r;
}

static void time_pass(struct recording_board *board, struct recorder *recorder)
{
	uint64_t start = stress_now_ns();
	uint64_t took;

	board->result = recorder_pass(recorder);
	took = stress_now_ns() - start;
	if (took > board->slowest_ns)
		board->slowest_ns = took;
	board->passes++;
}

static void pass_until_end(struct recording_board *board, struct recorder *recorder,
			   const struct recording_options *options)
{
	while (!board->stop && board->result >= 0 &&
	       !recorder_totals(recorder).drain.program_ended) {
		time_pass(board, recorder);
		stress_sleep_us(options->pause_ms ? options->pause_ms * 1000
						  : recorder_pause_ns(recorder) / 1000);
	}
}

static int record(struct recording_board *board, struct attachment *attachment,
		  const struct recording_options *options)
{
	struct compressor *compressor = NULL;
	struct recorder *recorder = NULL;
	struct recorder_options wanted = {
		.path = options->path,
		.policy = options->policy,
		.buffer_bytes = options->buffer_bytes,
	};
	int r;

	r = attach_lock(attachment, &board->diag);
	if (r < 0)
		return r;
	if (!options->plain && compressor_new(&compressor, 1) == 0) {
		wanted.compress = compressor_run;
		wanted.compress_data = compressor;
	}
	r = recorder_new(&recorder, attachment, &wanted, &board->diag);
	if (r < 0)
		return r;
	board->ready = 1;
	pass_until_end(board, recorder, options);
	r = recorder_stop(recorder);
	board->totals = recorder_totals(recorder);
	board->lines_used = atomic_load(&attachment->control->lines_used);
	if (board->totals.drain.program_ended)
		attach_remove(attachment);
	recorder_free(recorder);
	compressor_free(compressor);
	return board->result < 0 ? board->result : r;
}

static void run(struct recording_board *board, pid_t program,
		const struct recording_options *options)
{
	struct attachment attachment;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	board->result = find(&attachment, program, &board->diag);
	if (board->result >= 0) {
		board->result = record(board, &attachment, options);
		attach_fini(&attachment);
	}
	exit(board->result < 0 ? 1 : 0);
}

static void run_tool(pid_t program, const struct recording_options *options)
{
	static const char *const policies[] = {"drop", "overwrite", "block"};
	struct attachment attachment;
	char pid[16], buffer[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The tool does not wait for a program's first hook. */
	if (find(&attachment, program, NULL) < 0)
		_exit(126);
	attach_fini(&attachment);
	snprintf(pid, sizeof(pid), "%d", program);
	snprintf(buffer, sizeof(buffer), "%" PRIu64,
		 options->buffer_bytes ? options->buffer_bytes : ARENA_POOL_DEFAULT);
	execl(recording_tool, "unweave", "record", "-q", "-o", options->path, "--policy",
	      policies[options->policy], "--buffer", buffer, "-p", pid, NULL);
	_exit(127);
}

void recording_launch(struct recording *ret, pid_t program, const struct recording_options *options)
{
	ret->board = stress_share(sizeof(*ret->board));
	ret->tool = options->tool && recording_tool;
	fflush(stdout);
	ret->pid = fork();
	if (ret->pid != 0)
		return;
	if (ret->tool)
		run_tool(program, options);
	run(ret->board, program, options);
}

/* The arena says who records it; that of a dead program is gone when it has been. */
static bool is_recorded_by(pid_t program, pid_t recorder)
{
	struct attachment attachment;
	bool is;

	if (find_pid(&attachment, (uint32_t)program, NULL) < 0)
		return false;
	is = atomic_load(&attachment.control->session.pid) == (uint32_t)recorder;
	attach_fini(&attachment);
	return is;
}

bool recording_start(struct recording *ret, pid_t program, const struct recording_options *options)
{
	siginfo_t info = {0};

	recording_launch(ret, program, options);
	while (!atomic_load(&ret->board->ready)) {
		waitid(P_PID, (id_t)ret->pid, &info, WEXITED | WNOHANG | WNOWAIT);
		if (info.si_pid)
			return ret->tool ? info.si_status == 0 : atomic_load(&ret->board->ready);
		if (ret->tool && is_recorded_by(program, ret->pid))
			return true;
		stress_sleep_us(100);
	}
	return true;
}

bool recording_verifies(const char *path)
{
	pid_t pid;

	if (!recording_tool)
		return true;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		/* What it says of a file without fault is no part of the test's own words. */
		if (!freopen("/dev/null", "w", stdout))
			_exit(126);
		execl(recording_tool, "unweave", "verify", path, NULL);
		_exit(127);
	}
	return stress_wait(pid, 20000) == 0;
}

bool recording_finish(struct recording *recording, unsigned limit_ms)
{
	int status = stress_wait(recording->pid, limit_ms);

	if (status == 0)
		return true;
	printf("# recorder: status %d, result %d, %s\n", status, recording->board->result,
	       recording->board->diag.text);
	return false;
}

bool recording_stop(struct recording *recording)
{
	atomic_store(&recording->board->stop, 1);
	if (recording->tool)
		kill(recording->pid, SIGINT);
	return recording_finish(recording, 20000);
}

void recording_kill(struct recording *recording)
{
	kill(recording->pid, SIGKILL);
	waitpid(recording->pid, NULL, 0);
}

void recording_fini(struct recording *recording)
{
	munmap(recording->board, sizeof(*recording->board));
	recording->board = NULL;
}
