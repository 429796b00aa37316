/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the payload of one EVENTS block back into events.
 *
 * A decoder keeps what the block's events refer to (tasks, stacks, the nest of
 * runs) and looks one event ahead, so that its caller can choose between
 * several decoders by time. It trusts nothing: what it allocates is bounded by
 * the payload, and anything that makes no sense ends the block.
 */
#ifndef TRACE_DECODER_H
#define TRACE_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "unweave/event.h"

#define DECODER_END 1
#define DECODER_ROOM_LEAST 2u /* for decoder_fill(): some codes are two events */

/* One task of the block; the chain is what the block last said of it. */
struct decoder_task {
	uint64_t id;
	const struct unweave_frame *told;
};

/* The frames on one awaiter, or the roots, by number: as many as a stackref can name. */
struct decoder_siblings {
	uint32_t count;
	uint32_t capacity;
	struct decoder_frame *at[];
};

struct decoder_frame {
	struct unweave_frame frame;        /* what events point to, so it is the first */
	struct decoder_siblings *siblings; /* itself among them, unless its number is too large */
	struct decoder_siblings *children; /* NULL while there are none */
};

struct decoder {
	uint64_t ticks;    /* of the event that decoder_fill() will give first */
	uint64_t number;   /* of that event within its stream */
	const char *fault; /* after -EBADMSG: what is wrong, without the offset */

	const uint8_t *at; /* may pass `end` by less than the slack, before it is noticed */
	const uint8_t *end;
	uint32_t code; /* of the next event: enum event_code, or one of decoder.c's own */
	uint32_t thread;
	uint16_t flags; /* for every event */

	bool nest_known;
	uint32_t depth; /* 0 while the nest is not known */
	uint32_t nest_capacity;
	uint32_t *nest; /* entries of `tasks`, outermost first */

	/* Entry 0 stands for a task that an event did not name; index n of the file is n + 1. */
	struct decoder_task *tasks;
	uint32_t task_count;
	uint32_t task_capacity;
	uint64_t last_id;

	/* In segments, since frames point at each other. Entry n of the file is frame n - 1. */
	struct decoder_frame **segments;
	uint32_t segment_count;
	uint32_t frame_count;
	struct decoder_siblings *roots;
	/* Where siblings are: pieces of DECODE_PIECE bytes, of which a block uses the first. */
	char **pieces;
	uint32_t piece_count;
	size_t piece_used; /* bytes, of all pieces together */
	uint64_t last_address;

	uint8_t *bytes;
	size_t capacity;
	char *text; /* the last event's */
	size_t text_capacity;
};

/* Returns -ENOMEM. */
int decoder_new(struct decoder **ret);
struct decoder *decoder_free(struct decoder *decoder);

/* Room for a payload of `length` bytes, at most FORMAT_PAYLOAD_MAX; -ENOMEM. */
int decoder_reserve(struct decoder *decoder, size_t length, uint8_t **ret);

/*
 * Starts on the block.raw bytes in the room. Returns -ENOMEM, or -EBADMSG if
 * not even a first event can be told.
 */
int decoder_start(struct decoder *decoder, const struct block *block);

/*
 * Gives the events up to `bound` ticks, as many as there is room for, or fewer;
 * their times are ticks, and what they point to stays until the next call.
 * Returns 0, DECODER_END, -EBADMSG or -ENOMEM; `*ret_count` events came before
 * that in any case.
 */
int decoder_fill(struct decoder *decoder, uint64_t bound, struct unweave_event *to, uint32_t room,
		 uint32_t *ret_count);

#endif /* TRACE_DECODER_H */
