/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS UINT64_C(1000000000)
#define STEP_NS UINT64_C(200000000)

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void progress_start(struct progress *progress, const char *what, const struct reader *reader)
{
	const struct reader_summary *summary = reader_summary(reader);

	*progress = (struct progress){
		.what = what,
		.first = summary->first,
		.last = summary->last,
		.due = isatty(STDERR_FILENO) ? now() + PATIENCE_NS : 0,
	};
}

void progress_show(struct progress *progress, uint64_t time)
{
	uint64_t span = progress->last - progress->first;
	uint64_t done = time - progress->first;

	if (now() < progress->due)
		return;
	progress->due = now() + STEP_NS;
	progress->shown = true;
	fprintf(stderr, "\r%s %3u %%", progress->what,
		span ? (unsigned)((double)done / (double)span * 100) : 0);
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}
