/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arena/clock.h"
#include "cli/guard.h"
#include "cli/holds.h"
#include "cli/say.h"
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

/*
 * Each goes at its own pace: samples are few, and cannot wait for as long as events. Who waits for
 * the end of the program waits for us too.
 */
static int pass(struct recording *recording)
{
	int r = 0;

	if (clock_monotonic() >= recording->due || !attach_is_alive(&recording->attachment)) {
		r = recorder_pass(recording->recorder);
		recording->due = clock_monotonic() + recorder_pause_ns(recording->recorder);
	}
	if (r >= 0 && recording->sampler)
		r = sampler_pass(recording->sampler);
	return r;
}

static void pause_between(const struct recording *recording)
{
	uint64_t now = clock_monotonic();
	uint64_t pause = recording->due > now ? recording->due - now : 0;
	uint64_t other = recording->sampler ? sampler_pause_ns(recording->sampler) : pause;
	struct timespec time;

	if (pause > other)
		pause = other;
	time = (struct timespec){.tv_sec = (time_t)(pause / NS_PER_S),
				 .tv_nsec = (long)(pause % NS_PER_S)};
	nanosleep(&time, NULL);
}

void recording_name(char *to, size_t size, const char *file, const char *infix)
{
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	const char *dot = strrchr(name, '.');
	size_t stem = dot && dot != name ? (size_t)(dot - file) : strlen(file);

	snprintf(to, size, "%.*s%s%s", (int)stem, file, infix, file + stem);
}

/* In the copy, which ends with it. */
static void write_snapshot(struct recording *recording)
{
	struct diag diag = {.text = "out of memory"};
	char infix[16], path[PATH_MAX];
	int r = recording->sampler ? sampler_snapshot(recording->sampler) : 0;

	snprintf(infix, sizeof(infix), "-%" PRIu32, recording->snapshots);
	recording_name(path, sizeof(path), recording->output, infix);
	if (r >= 0)
		r = recorder_snapshot(recording->recorder, path, &diag);
	recording->ended = clock_monotonic();
	live_line_clear();
	if (r < 0)
		say_diag(path, &diag);
	else if (!recording->plan->quiet)
		recording_say_kept(recording, path);
	fflush(stderr);
	_exit(0);
}

/* One at a time. */
static void look_after_snapshots(struct recording *recording)
{
	if (recording->copy && waitpid(recording->copy, NULL, WNOHANG) != 0)
		recording->copy = 0;
	if (!recording->asked || recording->copy)
		return;
	recording->asked = false;
	recording->snapshots++;
	fflush(stderr);
	recording->copy = fork();
	if (recording->copy == 0)
		write_snapshot(recording);
	if (recording->copy < 0) {
		recording->copy = 0;
		say_error(recording->output, "no process to write it with: %s", strerror(errno));
	}
}

void recording_snapshot(struct recording *recording)
{
	recording->asked = recording->plan->flight_bytes != 0;
	recording->due = 0; /* with all that has happened by now */
}

static int loop(struct recording *recording)
{
	for (;;) {
		int r = pass(recording);

		if (r < 0)
			return r;
		look_after_snapshots(recording);
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

	/* What a dead program left has no samples, but addresses that want names. */
	if (!attach_is_alive(&recording->attachment))
		options.hz = 0;
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
					   .flight_bytes = plan->flight_bytes,
					   .flight_ns = plan->flight_ns,
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
	/* Names that the file did not take are told with the rest of that: it has its end. */
	if (r < 0 && r == recorder_totals(recording->recorder).error)
		r = 0;
	return r < 0 ? r : recorder_stop(recording->recorder);
}

/* One that was asked for at the last moment is what is written at the end. */
static void finish_snapshots(struct recording *recording)
{
	if (recording->copy)
		waitpid(recording->copy, NULL, 0);
	recording->copy = 0;
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
	/* What the file does not take is told with the rest of that. */
	if (recording->adapters)
		holds_put(recording->adapters, recording->recorder);
	r = start_sampler(recording);
	if (r >= 0)
		r = loop(recording);
	if (r >= 0)
		r = finish(recording);
	finish_snapshots(recording);
	if (r < 0)
		diag_set(diag, r, "%s: %s", recording->output, strerror(-r));
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
