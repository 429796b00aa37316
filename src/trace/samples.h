/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SAMPLES blocks, both ways. A block stands alone: it has its own threads and
 * its own tree of frames, in which each stack is written once.
 */
#ifndef TRACE_SAMPLES_H
#define TRACE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/sample.h"
#include "util/diag.h"

/* Frames of one sample, native and of all chains; what is more is left out by who makes it. */
#define SAMPLES_FRAMES_MAX 8192u

/* A stack as an array, innermost first. */
struct samples_stack {
	const uint64_t *addresses;
	const int32_t *states; /* NULL: all 0 */
	uint32_t count;
	const uint8_t *kinds; /* enum unweave_frame_kind; NULL: all are code */
};

struct samples_segment {
	uint64_t task;
	uint32_t site;              /* 0: unknown */
	struct samples_stack chain; /* count 0: unknown */
	bool cut;                   /* more frames follow: nobody knows how many */
};

struct samples_input {
	uint64_t ticks;
	uint64_t weight; /* ns */
	uint32_t tid;
	uint32_t flags; /* SAMPLE_* */
	const char *thread_name;
	struct samples_stack native;
	const struct samples_segment *segments; /* innermost run first */
	uint32_t segment_count;
};

struct samples_writer;

/* Takes a block that is complete; what it returns is passed on. */
typedef int (*samples_sink)(void *data, const struct block *block, const uint8_t *payload);

/* Returns -ENOMEM. */
int samples_writer_new(struct samples_writer **ret, samples_sink sink, void *data);
struct samples_writer *samples_writer_free(struct samples_writer *writer);

/* Returns -ENOMEM, -E2BIG for more frames than may be, or what the sink returned. */
int samples_writer_put(struct samples_writer *writer, const struct samples_input *sample);
/* Hands over what there is. */
int samples_writer_flush(struct samples_writer *writer);

/* One block, decoded as it is asked for. Zeroed is empty. */
struct samples_block {
	struct unweave_frame *frames; /* from 1 */
	uint32_t frame_count;
	uint32_t frame_capacity;
	struct samples_thread {
		uint32_t tid;
		struct meta_text name; /* in the payload */
	} * threads;
	uint32_t thread_count;
	uint32_t thread_capacity;
	struct wire at; /* the samples that are left */
	uint64_t left;
	uint64_t ticks; /* of the last one */
	struct sample_segment segments[SAMPLE_SEGMENTS_MAX];
};

void samples_block_fini(struct samples_block *block);

/* Begins with a payload, which is borrowed until the block is done. -EBADMSG, -ENOMEM. */
int samples_block_open(struct samples_block *block, const uint8_t *payload, size_t bytes);

/* The next sample; its time is in ticks. False at the end; `block->at.bad` if that came early. */
bool samples_block_next(struct samples_block *block, struct sample *ret);

#endif /* TRACE_SAMPLES_H */
