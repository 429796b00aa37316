/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run loop at 1 M pairs a second, cold and full, for 20 s, into a
 * compressed trace, which is then read back: loss, drain, bytes and decode; and
 * by the tool, to report and to draw.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "level.h"
#include "rows.h"
#include "taker.h"
#include "tool.h"
#include "trace/reader.h"
#include "unweave.h"
#include "workload.h"

#define SECONDS 20u
#define SLICE 4096u
#define PASSES 15u
#define TOOL_PASSES 3u

struct outcome {
	uint64_t pairs;
	double seconds;
	double share[SECONDS]; /* of a processor that the drain took in each, at 1 M pairs */
	uint32_t shares;
};

/* About `ns` of the loop; returns the pairs it did. */
static uint64_t run_for(struct workload *workload, uint64_t ns)
{
	uint64_t start = clock_raw(), pairs = 0;

	do {
		workload_run(workload, HOOKS_REAL, SLICE, (uint32_t)pairs);
		pairs += SLICE;
	} while (clock_raw() - start < ns);
	return pairs;
}

static void run_loop(struct workload *workload, const struct taker *taker, uint32_t windows,
		     uint64_t window_ns, struct outcome *ret)
{
	uint64_t first = clock_raw();

	ret->pairs = workload->count;
	workload_introduce(workload);
	for (uint32_t i = 0; i < windows; i++) {
		uint64_t cpu = atomic_load(&taker->cpu_ns);
		uint64_t pairs = run_for(workload, window_ns);

		/* For a million pairs, which is what a second is meant to have. */
		ret->share[ret->shares++] = 100 * (double)(atomic_load(&taker->cpu_ns) - cpu) /
					    1e9 * 1e6 / (double)pairs;
		ret->pairs += pairs;
	}
	ret->seconds = (double)(clock_raw() - first) / 1e9;
}

struct reading {
	uint64_t events;
	uint64_t pairs;
	uint64_t lost;
	double seconds;
	struct reader_summary summary;
};

static int read_back(const char *path, struct reading *ret)
{
	struct diag diag = {.text = "out of memory"};
	struct reading reading = {0};
	struct unweave_event event;
	struct reader *reader;
	uint64_t start = bench_cpu_ns();
	int r = reader_open(&reader, path, NULL, NULL, &diag);

	if (r >= 0) {
		while ((r = reader_next(reader, &event, &diag)) == 0) {
			reading.events++;
			reading.pairs += event.kind == UNWEAVE_EVENT_SUSPEND;
			if (event.kind == UNWEAVE_EVENT_LOST)
				reading.lost += event.value;
		}
		reading.summary = *reader_summary(reader);
		reader_free(reader);
	}
	reading.seconds = (double)(bench_cpu_ns() - start) / 1e9;
	if (r < 0)
		bench_complain("%s: %s", path, diag.text);
	else
		*ret = reading;
	return r < 0 ? r : 0;
}

static void report_run(struct outcome *outcome, const struct taker *taker,
		       const struct reading *reading)
{
	/* The drain's count and the trace's are of the same events. */
	uint64_t lost = (taker->lost > reading->lost ? taker->lost : reading->lost) +
			reading->summary.faults;
	double median = stats_median(outcome->share, outcome->shares);

	/* What nobody counted is lost too. */
	if (!lost && reading->pairs < outcome->pairs)
		lost = outcome->pairs - reading->pairs;
	rows_set("loss.1M.full", (double)lost, (double)lost);
	rows_note("loss.1M.full", "of %.1f M pairs in %.1f s, %.2f M/s, which were read back",
		  (double)outcome->pairs / 1e6, outcome->seconds,
		  (double)outcome->pairs / 1e6 / outcome->seconds);
	rows_set("drain.core.pct", outcome->share[0], median);
	rows_note("drain.core.pct", "cold, with zstd, for each 1 M pairs; worst second %.1f",
		  outcome->share[outcome->shares - 1]);
}

static void report_bytes(const struct reading *reading)
{
	const struct reader_summary *summary = &reading->summary;
	double headers = (double)summary->event_blocks * FORMAT_BLOCK_HEADER_BYTES;
	double pairs = (double)reading->pairs;
	double plain = ((double)summary->event_raw + headers) / pairs;
	double stored = (double)summary->event_stored / pairs;

	rows_set("bytes.pair.full8", plain, plain);
	rows_set("bytes.pair.full8.zstd", stored, stored);
	rows_note("bytes.pair.full8.zstd", "level %d; the whole file %.2f", TAKER_ZSTD_LEVEL,
		  (double)summary->file_bytes / pairs);
}

static int report_decode(const char *path, uint32_t passes)
{
	double rates[PASSES];
	struct reading reading = {0};

	for (uint32_t i = 0; i < passes; i++) {
		int r = read_back(path, &reading);

		if (r < 0)
			return r;
		rates[i] = (double)reading.events / 1e6 / reading.seconds;
	}
	stats_median(rates, passes);
	rows_set("decode.mevents_s", rates[passes - 1], stats_median(rates, passes));
	rows_note("decode.mevents_s", "%.1f M events, opening included",
		  (double)reading.events / 1e6);
	return 0;
}

/* As if the trace had 40 M events, which is what 20 s are meant to have. */
static int report_tool(const struct bench *bench, const char *command, const char *path,
		       uint64_t events)
{
	double seconds[TOOL_PASSES];
	struct tool_cost cost = {0};
	uint32_t passes = bench_amount(bench, TOOL_PASSES, 1);
	const char *arguments[] = {command, path, NULL, NULL, NULL, NULL};
	char row[32];

	if (strcmp(command, "flame") == 0)
		memcpy(&arguments[2], (const char *const[]){"--wall", "-o", "-"},
		       3 * sizeof(arguments[0]));
	for (uint32_t i = 0; i < passes; i++) {
		int r = tool_time(bench, arguments, &cost);

		if (r < 0)
			return r;
		seconds[i] = cost.seconds * 40e6 / (double)events;
	}
	stats_median(seconds, passes);
	snprintf(row, sizeof(row), "%s.40M.s", command);
	rows_set(row, seconds[0], stats_median(seconds, passes));
	rows_note(row, "from start to end, of %.1f M events", (double)events / 1e6);
	snprintf(row, sizeof(row), "%s.40M.mb", command);
	rows_set(row, cost.mb, cost.mb);
	return 0;
}

static int run_and_read(struct bench *bench, struct workload *workload, struct taker *taker)
{
	struct outcome outcome = {0};
	struct reading reading;
	int r;

	bench_progress("%u s of the cold loop, 1 M/s, full", bench_amount(bench, SECONDS, 1));
	workload_calibrate(workload, 1000, &bench->rng);
	r = taker_begin(taker);
	if (r < 0) {
		bench_complain("the recorder: %s", taker->why);
		return r;
	}
	run_loop(workload, taker, bench_amount(bench, SECONDS, 2),
		 bench_amount(bench, 1000, 100) * UINT64_C(1000000), &outcome);
	level_set(LEVEL_OFF);
	r = taker_end(taker);
	bench_progress("reading it back");
	if (r >= 0)
		r = read_back(taker->path, &reading);
	if (r < 0)
		return r;
	report_run(&outcome, taker, &reading);
	report_bytes(&reading);
	bench_progress("the tool's own reading");
	r = report_tool(bench, "report", taker->path, reading.events);
	if (r >= 0)
		r = report_tool(bench, "flame", taker->path, reading.events);
	if (r < 0)
		bench_complain("the tool: %s", strerror(-r));
	return report_decode(taker->path, bench_amount(bench, PASSES, 1));
}

int group_trace(struct bench *bench)
{
	struct taker *taker = taker_new(bench->directory, "trace");
	struct workload workload;
	int r;

	if (!taker)
		return -ENOMEM;
	r = workload_init(&workload, UNWEAVE_MODEL_CHAIN, WORKLOAD_COLD, SLICE, &bench->rng);
	if (r >= 0) {
		r = run_and_read(bench, &workload, taker);
		workload_fini(&workload);
	}
	taker_free(taker);
	return r;
}
