/* SPDX-License-Identifier: Apache-2.0 */
/* A line on stderr while something takes long, if that is a terminal. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/reader.h"

struct progress {
	const char *what;
	uint64_t first, last; /* times of the trace */
	uint64_t events;
	uint64_t due; /* ns of CLOCK_MONOTONIC; 0: never, it is no terminal */
	bool shown;
};

void progress_start(struct progress *progress, const char *what, const struct reader *reader);
void progress_show(struct progress *progress, uint64_t time);
/* Takes the line away again. */
void progress_end(struct progress *progress);

/* To be called with the time of every event. */
static inline void progress_step(struct progress *progress, uint64_t time)
{
	if (__builtin_expect((++progress->events & 0xfffff) == 0 && progress->due, 0))
		progress_show(progress, time);
}

#endif /* CLI_PROGRESS_H */
