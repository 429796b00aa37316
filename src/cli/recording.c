/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recording.h"

#include <errno.h>
#include <time.h>

#include "arena/clock.h"
#include "cli/guard.h"
#include "trace/compress.h"
#include "util/cleanup.h"

#define NS_PER_S UINT64_C(1000000000)

DEFINE_FREEP(struct compressor, compressor_free)

struct recording_totals recording_totals(const struct recording *recording)
{
	struct recorder_totals totals = recorder_totals(recording->recorder);
	struct sampler_totals samples = {0};

	if (recording->sampler)
		samples = sampler_totals(recording->sampler);
	return (struct recording_totals){
		.events = totals.drain.records,
		.samples = samples.samples,
		.lost = totals.drain.lost + totals.drain.orphans + totals.drain.reentries +
			totals.unwritten + samples.lost,
		.bytes = totals.bytes,
		.unwritten = totals.unwritten,
	};
}

static bool is_over(const struct recording *recording)
{
	struct recorder_totals totals = recorder_totals(recording->recorder);
	uint64_t most = recording->plan->size_bytes;

	return totals.drain.program_ended || (most && totals.bytes >= most);
}

static void pause_between(const struct recording *recording)
{
	uint64_t pause = recorder_pause_ns(recording->recorder);
	uint64_t other = recording->sampler ? sampler_pause_ns(recording->sampler) : pause;
	struct timespec time;

	if (pause > other)
		pause = other;
	time = (struct timespec){.tv_sec = (time_t)(pause / NS_PER_S),
				 .tv_nsec = (long)(pause % NS_PER_S)};
	nanosleep(&time, NULL);
}

static int loop(struct recording *recording)
{
	for (;;) {
		int r = recorder_pass(recording->recorder);

		if (r >= 0 && recording->sampler)
			r = sampler_pass(recording->sampler);
		if (r < 0)
			return r;
		if (recording->each(recording, recording->data) || is_over(recording))
			return 0;
		pause_between(recording);
	}
}

/* A program that has ended cannot be sampled, and its code is not mapped any more. */
static int start_sampler(struct recording *recording)
{
	const struct record_plan *plan = recording->plan;
	struct sampler_options options = {.hz = plan->hz,
					  .wall = plan->wall,
					  .no_perf = plan->timers,
					  .no_symbols = plan->no_symbols};

	if (!attach_is_alive(&recording->attachment))
		return 0;
	return sampler_new(&recording->sampler, &recording->attachment, recording->recorder,
			   &options);
}

static int start_recorder(struct recording *recording, struct compressor *compressor,
			  struct diag *diag)
{
	const struct record_plan *plan = recording->plan;
	struct recorder_options options = {.path = recording->output,
					   .detail = plan->detail,
					   .policy = plan->policy,
					   .buffer_bytes = plan->buffer_bytes,
					   .compress = compressor_run,
					   .compress_data = compressor};

	/* What a dead program left needs no more room than it has. */
	if (!attach_is_alive(&recording->attachment))
		options.buffer_bytes = 1;
	return recorder_new(&recording->recorder, &recording->attachment, &options, diag);
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

int recording_run(struct recording *recording, struct diag *diag)
{
	cleanup(compressor_freep) struct compressor *compressor = NULL;
	int r;

	guard_begin(&recording->attachment);
	r = attach_lock(&recording->attachment, diag);
	if (r < 0)
		return r;
	r = compressor_new(&compressor, 1);
	if (r < 0)
		return r;
	r = start_recorder(recording, compressor, diag);
	if (r < 0)
		return r;
	recording->started = clock_monotonic();
	r = start_sampler(recording);
	if (r >= 0)
		r = loop(recording);
	if (r >= 0)
		r = finish(recording);
	if (recorder_totals(recording->recorder).drain.program_ended)
		attach_remove(&recording->attachment);
	return r;
}

void recording_fini(struct recording *recording)
{
	recording->sampler = sampler_free(recording->sampler);
	recording->recorder = recorder_free(recording->recorder);
	guard_end();
	attach_fini(&recording->attachment);
}
