/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL at any moment: what a hook had returned from is in the trace, or counted there. */
#include <signal.h>

#include "../unit/check.h"
#include "arena/arena.h"
#include "program.h"
#include "recording.h"
#include "stress.h"
#include "trace.h"

#define THREADS 8
#define IN_FLIGHT 16 /* records of one hook, with a reset and replays before it */

static uint64_t events, losses;

static unsigned runs(void)
{
	return stress_size(8, 67);
}

/* Every third run has a handler that emits as a sampler would. */
static struct program_options options_of(unsigned run)
{
	return (struct program_options){
		.threads = THREADS,
		.timer_us = run % 3 == 2 ? 1000 : 0,
		.pause_us = run % 2 ? 50 : 0,
	};
}

/* Lets it run for a while that nobody can foresee, and kills it. */
static void kill_at_random(struct program *program)
{
	CHECK(program_await(program, THREADS));
	stress_sleep_us(stress_below(120000));
	program_kill(program);
}

static void check(const struct program *program, const char *const *paths, unsigned count)
{
	struct trace traces[2] = {0};

	for (unsigned i = 0; i < count; i++) {
		CHECK(trace_read(&traces[i], paths[i]));
		events += traces[i].events;
		losses += traces[i].lost;
	}
	/* The last one was closed; one whose recorder died with the program may end in the middle.
	 */
	CHECK(traces[count - 1].closed);
	CHECK_EQ(traces[count - 1].faults, 0);
	CHECK(recording_verifies(paths[count - 1]));
	CHECK(trace_agrees(traces, count, program->board, IN_FLIGHT));
	for (unsigned i = 0; i < count; i++)
		trace_fini(&traces[i]);
}

static void what_a_killed_program_emitted_is_in_the_trace_of_an_attached_recorder(void)
{
	for (unsigned run = 0; run < runs() && !check_failed; run++) {
		struct program_options options = options_of(run);
		const char *path = stress_path("attached", run);
		struct recording recording;
		struct program program;

		program_start(&program, &options);
		CHECK(recording_start(&recording, program.pid,
				      &(struct recording_options){.path = path, .tool = true}));
		kill_at_random(&program);
		CHECK(recording_finish(&recording, 20000));
		check(&program, &path, 1);
		recording_fini(&recording);
		program_fini(&program);
	}
}

static void what_a_killed_program_left_is_picked_up_by_a_recorder_that_comes_later(void)
{
	for (unsigned run = 0; run < runs() && !check_failed; run++) {
		struct program_options options = options_of(run);
		const char *path = stress_path("later", run);
		struct recording recording;
		struct program program;

		options.armed = true;
		options.policy = run % 2 ? UNWEAVE_POLICY_OVERWRITE : UNWEAVE_POLICY_DROP;
		/* With hardly any room, a large record is lost where a small one would still fit.
		 */
		options.buffer_bytes = run % 4 < 2 ? 10 * ARENA_CHUNK_BYTES : 0;
		program_start(&program, &options);
		kill_at_random(&program);
		CHECK(recording_start(&recording, program.pid,
				      &(struct recording_options){.path = path, .tool = true}));
		CHECK(recording_finish(&recording, 20000));
		check(&program, &path, 1);
		recording_fini(&recording);
		program_fini(&program);
	}
}

static void a_killed_program_that_recorded_itself_left_the_rest_in_its_arena(void)
{
	for (unsigned run = 0; run < runs() && !check_failed; run++) {
		struct program_options options = options_of(run);
		const char *paths[] = {stress_path("own", run), stress_path("rest", run)};
		struct recording recording;
		struct program program;

		options.trace = paths[0];
		program_start(&program, &options);
		kill_at_random(&program);
		CHECK(recording_start(&recording, program.pid,
				      &(struct recording_options){.path = paths[1], .tool = true}));
		CHECK(recording_finish(&recording, 20000));
		check(&program, paths, 2);
		recording_fini(&recording);
		program_fini(&program);
	}
}

int main(int argc, char **argv)
{
	recording_tool = argc > 1 ? argv[1] : NULL;
	stress_begin(300);
	RUN(what_a_killed_program_emitted_is_in_the_trace_of_an_attached_recorder);
	RUN(what_a_killed_program_left_is_picked_up_by_a_recorder_that_comes_later);
	RUN(a_killed_program_that_recorded_itself_left_the_rest_in_its_arena);
	printf("# %" PRIu64 " events, %" PRIu64 " lost and counted\n", events, losses);
	return check_done();
}
