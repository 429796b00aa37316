/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread says of itself for its signal handler to compare with: where it
 * is, and before a step what that will lead to.
 */
#ifndef SCENARIOS_SAMPLING_STAGE_H
#define SCENARIOS_SAMPLING_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "unweave/link.h"

#define FRAMES_MOST 8u

/* What a handler may find. */
struct picture {
	uint64_t task;
	uint32_t count; /* 0: the chain is not known */
	uint64_t addresses[FRAMES_MOST];
	int32_t states[FRAMES_MOST];
};

/* Of all threads. */
struct sample_counts {
	uint64_t inside;  /* samples that found a task */
	uint64_t sampled; /* of which the sampler's handler told as well */
	uint64_t amid;    /* that hit a step between its beginning and its end */
	uint64_t wrong;   /* that found neither what was so nor what was to be */
};

extern struct sample_counts sample_counts;

/* Of the calling thread: it is in no task. To be called before its first sample. */
void stage_begin(void);
/* Adds to the counts, and shows the first sample that was wrong. */
void stage_end(void);

/* Has the handler ask the sampler too, and compare. While a session is on. */
void stage_sample(bool on);

/* The step that begins will lead to this, at last or on the way: at most two of them. */
void will_be(const struct picture *next);
/* And it has: the last that was said is what is so. */
void is_now(void);
struct picture now(void);
void add_frame(struct picture *picture, const struct unweave_link *link);

/* [signal-safe] The handler. */
void on_sample(int signal);

#endif /* SCENARIOS_SAMPLING_STAGE_H */
