/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL for the recorder at any moment: the next one goes on, and counts what that one took. */
#include <stdlib.h>

#include "../unit/check.h"
#include "program.h"
#include "recording.h"
#include "stress.h"
#include "trace.h"

#define THREADS 4

static uint64_t events, losses;

/* The program goes on without a recorder, or soon does: with `block` it first has to notice. */
static void check_not_disturbed(const struct program *program)
{
	uint64_t before = program_hooks(program->board);
	uint64_t until = stress_now_ns() + 3000000000u;

	while (program_hooks(program->board) < before + 1000 && stress_now_ns() < until)
		stress_sleep_us(1000);
	CHECK(program_hooks(program->board) >= before + 1000);
	CHECK_EQ(program->board->unwell, 0);
}

static void start(struct recording *ret, const struct program *program, const char *path,
		  enum unweave_policy policy, bool tool)
{
	struct recording_options options = {.path = path,
					    .policy = policy,
					    .buffer_bytes = 1 << 20,
					    .tool = tool,
					    .plain = true};

	CHECK(recording_start(ret, program->pid, &options));
}

/* One recorder after the other, each killed but the last. */
static void record_and_kill(struct program *program, const char **paths, unsigned kills,
			    enum unweave_policy policy)
{
	struct recording recording;

	for (unsigned i = 0; i < kills; i++) {
		start(&recording, program, paths[i], policy, i % 2 == 0);
		stress_sleep_us(stress_below(i % 3 ? 100000 : 3000));
		recording_kill(&recording);
		recording_fini(&recording);
		check_not_disturbed(program);
	}
	start(&recording, program, paths[kills], policy, kills % 2 == 0);
	stress_sleep_us(50000);
	CHECK(program_stop(program));
	CHECK(recording_finish(&recording, 20000));
	recording_fini(&recording);
}

static void check(const struct program *program, const char **paths, unsigned count)
{
	struct trace *traces = calloc(count, sizeof(*traces));

	for (unsigned i = 0; i < count; i++) {
		CHECK(trace_read(&traces[i], paths[i]));
		/* A torn last block is all that may be wrong where the recorder was killed. */
		CHECK(traces[i].faults <= (i + 1 < count));
		events += traces[i].events;
		losses += traces[i].lost;
	}
	CHECK(traces[count - 1].closed);
	CHECK(recording_verifies(paths[count - 1]));
	CHECK(trace_agrees(traces, count, program->board, 0));
	for (unsigned i = 0; i < count; i++)
		trace_fini(&traces[i]);
	free(traces);
}

static void run(enum unweave_policy policy, const char *name)
{
	struct program_options options = {.threads = THREADS,
					  .short_threads = 8000,
					  .at_a_time = 4,
					  .short_hooks = 200,
					  .timer_us = policy == UNWEAVE_POLICY_DROP ? 1000 : 0,
					  .pause_us = 50};
	unsigned kills = stress_size(6, 17);
	struct program program;
	const char *paths[32];

	for (unsigned i = 0; i <= kills; i++)
		paths[i] = strdup(stress_path(name, i));
	program_start(&program, &options);
	record_and_kill(&program, paths, kills, policy);
	check(&program, paths, kills + 1);
	for (unsigned i = 0; i <= kills; i++)
		free((char *)paths[i]);
	program_fini(&program);
}

static void a_killed_recorder_leaves_a_gap_that_the_next_one_counts(void)
{
	run(UNWEAVE_POLICY_DROP, "drop");
}

static void also_where_threads_overwrite_what_nobody_takes(void)
{
	run(UNWEAVE_POLICY_OVERWRITE, "overwrite");
}

static void and_where_threads_wait_for_the_recorder_they_wait_no_longer(void)
{
	run(UNWEAVE_POLICY_BLOCK, "block");
}

int main(int argc, char **argv)
{
	recording_tool = argc > 1 ? argv[1] : NULL;
	stress_begin(300);
	RUN(a_killed_recorder_leaves_a_gap_that_the_next_one_counts);
	RUN(also_where_threads_overwrite_what_nobody_takes);
	RUN(and_where_threads_wait_for_the_recorder_they_wait_no_longer);
	printf("# %" PRIu64 " events, %" PRIu64 " lost and counted\n", events, losses);
	return check_done();
}
