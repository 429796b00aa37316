/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the chains of live tasks where they lie, in the memory of the program,
 * which is not asked and does not notice. Nothing that is read is believed: what
 * was freed meanwhile may be anything, and links may form a ring.
 */
#ifndef DRAIN_HEADS_H
#define DRAIN_HEADS_H

#include <stdbool.h>
#include <stdint.h>

#include "arena/table.h"
#include "drain/attach.h"
#include "unweave/link.h"

#define HEADS_BATCH 64u /* tasks whose memory is read together */
#define HEADS_ENDS 512u /* frames of a chain that are kept, on each side */
#define HEADS_WINDOW 256u

/* A task of a batch, and how far its chain has been followed. */
struct head_subject {
	struct table_task task; /* to be filled in; the rest is heads_read()'s */
	struct unweave_head head;
	struct unweave_head again; /* the same, after the chain was read */
	/* The link that was read last, and what lies behind it. */
	char window[HEADS_WINDOW];
	uint64_t window_at;
	uint32_t window_bytes;
	uint64_t at;    /* address of the next link; 0: the chain has ended */
	uint64_t mark;  /* a link that it has been at: there a ring closes */
	uint32_t count; /* frames */
	bool known;     /* nothing has failed so far */
	/* Innermost first; after the first half, those seen last take turns in the second. */
	struct {
		uint64_t address;
		int32_t state;
	} frames[2 * HEADS_ENDS];
};

struct heads {
	struct head_subject subjects[HEADS_BATCH];
	uint32_t count;
	int error; /* why the program's memory cannot be read; 0 if it can */
};

/* Reads the chains of the batch. */
void heads_read(struct heads *heads, const struct attachment *attachment);

/* Whether the chain is that of a task which waited all the while. */
bool heads_is_at_rest(const struct head_subject *subject);

/* Where the i-th frame of a chain is kept, or would be. */
static inline uint32_t heads_place(uint32_t i)
{
	return i < HEADS_ENDS ? i : HEADS_ENDS + i % HEADS_ENDS;
}

/* Frames in the middle of it that were not kept. */
static inline uint32_t heads_omitted(const struct head_subject *subject)
{
	return subject->count > 2 * HEADS_ENDS ? subject->count - 2 * HEADS_ENDS : 0;
}

#endif /* DRAIN_HEADS_H */
