/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads, one after the other and all at once: exact counts, bounded memory. */
#include "../unit/check.h"
#include "arena/arena.h"
#include "program.h"
#include "recording.h"
#include "stress.h"
#include "trace.h"

#define MIB (UINT64_C(1) << 20)

static void check_trace(const char *path, const struct board *board)
{
	struct trace trace;
	uint64_t outside;

	CHECK(trace_read(&trace, path));
	CHECK_EQ(trace.faults, 0);
	CHECK(trace.closed);
	CHECK(trace_agrees(&trace, 1, board, 0));
	outside = trace.lost_outside[UNWEAVE_LOSS_NO_THREAD] +
		  trace.lost_outside[UNWEAVE_LOSS_REENTRY];
	CHECK_EQ(trace.events + trace.lost + outside, program_hooks(board));
	printf("# %" PRIu64 " hooks: %" PRIu64 " in the trace, %" PRIu64
	       " lost by threads, %" PRIu64 " outside, %.1f MB\n",
	       program_hooks(board), trace.events, trace.lost, outside, (double)trace.bytes / 1e6);
	trace_fini(&trace);
}

static void check_memory(uint64_t program, uint64_t recorder)
{
	printf("# peak of resident memory: program %.1f MB, recorder %.1f MB\n",
	       (double)program / 1e6, (double)recorder / 1e6);
	if (STRESS_SANITIZED)
		return;
	/* Board and stacks are the test's; the pool is 8 MiB, its lines 1 MiB. */
	CHECK(program < (recorder ? 96 : 96 + 128) * MIB); /* which may be its own recorder */
	CHECK(recorder < 128 * MIB);
}

static void record(const struct program_options *options, const char *name)
{
	const char *path = stress_path(name, 0);
	struct recording recording;
	struct program program;
	uint64_t peak;

	program_start(&program, options);
	CHECK(recording_start(&recording, program.pid, &(struct recording_options){.path = path}));
	CHECK(program_finish(&program, 100000));
	peak = stress_peak_of_last();
	CHECK(recording_finish(&recording, 20000));
	check_memory(peak, stress_peak_of_last());
	CHECK_EQ(program.board->finished, options->threads + options->short_threads);
	printf("# %u threads used %u lines\n", program.board->finished,
	       recording.board->lines_used);
	check_trace(path, program.board);
	recording_fini(&recording);
	program_fini(&program);
}

static void record_itself(struct program_options options, const char *name)
{
	struct program program;

	options.trace = stress_path(name, 0);
	program_start(&program, &options);
	CHECK(program_finish(&program, 100000));
	check_memory(stress_peak_of_last(), 0);
	check_trace(options.trace, program.board);
	program_fini(&program);
}

static struct program_options short_ones(void)
{
	return (struct program_options){
		.short_threads = stress_size(10000, 10000), .at_a_time = 16, .short_hooks = 20};
}

static struct program_options live_ones(void)
{
	return (struct program_options){.threads = 256, .hooks = stress_size(2000, 20000)};
}

static void threads_that_come_and_go_are_recorded_to_the_event(void)
{
	struct program_options options = short_ones();

	record(&options, "short");
}

static void threads_that_live_at_once_are_recorded_to_the_event(void)
{
	struct program_options options = live_ones();

	record(&options, "live");
}

static void a_program_records_its_own_threads_that_come_and_go(void)
{
	record_itself(short_ones(), "own-short");
}

static void a_program_records_its_own_threads_that_live_at_once(void)
{
	record_itself(live_ones(), "own-live");
}

/* The first thread may end before the others: its process is not at its end then. */
static void a_program_whose_first_thread_ended_is_recorded_to_its_end(void)
{
	struct program_options options = {.threads = 4, .hooks = 20000, .pause_us = 2000};

	options.leave_main = true;
	record(&options, "orphaned");
}

int main(void)
{
	stress_begin(240);
	RUN(threads_that_come_and_go_are_recorded_to_the_event);
	RUN(threads_that_live_at_once_are_recorded_to_the_event);
	RUN(a_program_records_its_own_threads_that_come_and_go);
	RUN(a_program_records_its_own_threads_that_live_at_once);
	if (!STRESS_TSAN)
		RUN(a_program_whose_first_thread_ended_is_recorded_to_its_end);
	return check_done();
}
