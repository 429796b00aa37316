/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that emit, ten thousand times a second, in threads that emit all the time. */
#include "../unit/check.h"
#include "program.h"
#include "recording.h"
#include "stress.h"
#include "trace.h"

static struct program_options options_of(bool nested)
{
	return (struct program_options){
		.threads = 4,
		.hooks = stress_size(400000, 4000000),
		.pause_us = 100,
		.timer_us = 100,
		.nested_timer = nested,
	};
}

static void check(const char *path, const struct board *board)
{
	struct trace trace;
	uint64_t handled = 0, outside, aside = 0;

	CHECK(trace_read(&trace, path));
	CHECK_EQ(trace.faults, 0);
	CHECK(trace.closed);
	CHECK(trace_agrees(&trace, 1, board, 0));
	outside = trace.lost_outside[UNWEAVE_LOSS_NO_THREAD] +
		  trace.lost_outside[UNWEAVE_LOSS_REENTRY];
	CHECK_EQ(trace.events + trace.lost + outside, program_hooks(board));
	for (uint32_t i = 0; i < 4; i++) {
		handled += board->counts[i].handled;
		aside += trace_thread(&trace, i)->streams[1].events;
	}
	printf("# %" PRIu64 " hooks, %" PRIu64 " of them in handlers, %" PRIu64
	       " inside another hook; %" PRIu64 " lost, %" PRIu64 " by handlers in handlers\n",
	       program_hooks(board), handled, aside, trace.lost, outside);
	/* It must have happened, or nothing is shown. */
	CHECK(handled > 100);
	CHECK(STRESS_SANITIZED || aside > 0);
	trace_fini(&trace);
}

static void handlers_are_recorded_to_the_event(void)
{
	struct program_options options = options_of(false);
	const char *path = stress_path("handlers", 0);
	struct recording recording;
	struct program program;

	program_start(&program, &options);
	CHECK(recording_start(&recording, program.pid, &(struct recording_options){.path = path}));
	CHECK(program_finish(&program, 60000));
	CHECK(recording_finish(&recording, 20000));
	check(path, program.board);
	recording_fini(&recording);
	program_fini(&program);
}

static void record_itself(struct program_options options, const char *name)
{
	struct program program;

	options.trace = stress_path(name, 0);
	program_start(&program, &options);
	CHECK(program_finish(&program, 60000));
	check(options.trace, program.board);
	program_fini(&program);
}

static void a_program_records_its_own_handlers(void)
{
	record_itself(options_of(false), "own");
}

static void handlers_that_interrupt_handlers_are_counted(void)
{
	record_itself(options_of(true), "nested");
}

int main(void)
{
	stress_begin(180);
	RUN(handlers_are_recorded_to_the_event);
	RUN(a_program_records_its_own_handlers);
	RUN(handlers_that_interrupt_handlers_are_counted);
	return check_done();
}
