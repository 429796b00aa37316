/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "arena/clock.h"
#include "cli/names.h"
#include "cli/recording.h"
#include "cli/say.h"

#define SHOW_NS UINT64_C(500000000) /* between two versions of the live line */

void live_line_clear(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

void live_line_show(struct live_line *line, const struct recording_totals *totals,
		    uint32_t processes)
{
	uint64_t now = clock_monotonic();

	if (!line->on || now - line->shown < SHOW_NS)
		return;
	line->shown = now;
	live_line_clear();
	fprintf(stderr, "recording %.0f s", (double)(now - line->started) / 1e9);
	if (processes > 1)
		fprintf(stderr, ", %" PRIu32 " processes", processes);
	fprintf(stderr, ", %" PRIu64 " events, %" PRIu64 " samples, %" PRIu64 " lost, %s",
		totals->events, totals->samples, totals->lost, say_bytes(totals->bytes).text);
	fflush(stderr);
}

static void say_samples(const struct recording *recording, uint64_t samples)
{
	struct sampler_totals totals = {0};

	if (recording->sampler)
		totals = sampler_totals(recording->sampler);
	fprintf(stderr, ", %" PRIu64 " samples", samples);
	if (totals.driver != SAMPLER_NONE)
		fprintf(stderr, " (%s, %u Hz)", name_driver(totals.driver), recording->plan->hz);
}

static void say_trouble_with_samples(const struct sampler_totals *totals)
{
	if (totals->note[0])
		say_error(NULL, "%s", totals->note);
	if (totals->lost)
		say_error(NULL, "%" PRIu64 " samples were lost", totals->lost);
}

static void say_trouble(const struct recording *recording, const struct recorder_totals *totals)
{
	if (totals->unwritten)
		say_error(recording->output, "%" PRIu64 " events could not be written: %s",
			  totals->unwritten, strerror(-totals->error));
	else if (totals->error)
		say_error(recording->output, "not all of it could be written: %s",
			  strerror(-totals->error));
	if (recording->attachment.cut)
		say_error(NULL, "the program made its arena smaller: what was left in it is lost");
	if (totals->drain.unread && totals->drain.unread_why == EPERM) {
		say_error(NULL,
			  "the chains of %" PRIu64
			  " tasks that waited already could not be read: %s",
			  totals->drain.unread, strerror(EPERM));
		say_hint("they are told when the tasks run; to have them at once, record as root, "
			 "or set kernel.yama.ptrace_scope to 0");
	}
	if (totals->drain.damaged)
		say_error(NULL, "the program's arena made no sense in %" PRIu64 " places",
			  totals->drain.damaged);
	if (totals->drain.lost && recording->plan->policy == UNWEAVE_POLICY_DROP)
		say_hint("larger buffers (--buffer) or less detail lose less");
}

void recording_say_kept(const struct recording *recording, const char *path)
{
	struct recorder_kept kept = recorder_kept(recording->recorder);

	fprintf(stderr, "unweave: %s: the last %.1f s of %.1f: %" PRIu64 " events", path,
		(double)kept.ns / 1e9, (double)(recording->ended - recording->started) / 1e9,
		kept.events);
	say_samples(recording, kept.samples);
	fprintf(stderr, ", %s\n", say_bytes(recorder_totals(recording->recorder).bytes).text);
}

static void say_all(const struct recording *recording, const struct recorder_totals *totals,
		    uint64_t samples, uint64_t lost)
{
	fprintf(stderr, "unweave: %s: %" PRIu64 " events of %u thread%s", recording->output,
		totals->drain.records, totals->drain.threads,
		totals->drain.threads == 1 ? "" : "s");
	say_samples(recording, samples);
	fprintf(stderr, " in %.1f s, %s", (double)(recording->ended - recording->started) / 1e9,
		say_bytes(totals->bytes).text);
	if (lost)
		fprintf(stderr, ", %" PRIu64 " events lost\n", lost);
	else
		fputs(", none lost\n", stderr);
}

void recording_summarise(const struct recording *recording)
{
	struct recorder_totals totals = recorder_totals(recording->recorder);
	struct sampler_totals samples = {.note = ""};
	uint64_t lost;

	if (recording->sampler)
		samples = sampler_totals(recording->sampler);
	lost = recording_totals(recording).lost - samples.lost;
	if (recording->plan->flight_bytes)
		recording_say_kept(recording, recording->output);
	else
		say_all(recording, &totals, samples.samples, lost);
	if (recording->plan->flight_bytes && lost)
		say_error(recording->output, "%" PRIu64 " events were lost meanwhile", lost);
	say_trouble_with_samples(&samples);
	say_trouble(recording, &totals);
}
