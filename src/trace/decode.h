/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces that events are made of: numbers, stacks, tasks, and the nest of
 * runs. For decoder.c, which puts events together from them.
 *
 * Fields are read first and checked once an event: behind the payload there is
 * a slack of zeros, and a number that makes no sense leads behind the end too.
 */
#ifndef TRACE_DECODE_H
#define TRACE_DECODE_H

#include <endian.h>
#include <string.h>

#include "trace/decoder.h"

#define DECODE_SLACK 64u
#define DECODE_SEGMENT 512u /* frames */
#define DECODE_FIRST 64u    /* tasks, and runs: room that an array begins with */
#define DECODE_PIECE 4096u  /* bytes */

/* What decoder->code says besides the codes of the format. */
enum { CODE_AT_END = CODE_OTHER + 1, CODE_BAD };

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* A number and where it ends. By value, so that both stay in registers. */
struct varint {
	uint64_t value;
	const uint8_t *next;
};

/* Nine and ten bytes, and what is wrong: that leads behind the end. */
struct varint decode_varint_long(const uint8_t *at, const uint8_t *end);

/*
 * A varint without a branch on its length, for lengths as random as the data.
 * Takes the bytes up to the first without its high bit, and closes the gaps
 * that the high bits leave, in pairs, then fours, then all eight.
 */
static inline struct varint decode_varint(const uint8_t *at, const uint8_t *end)
{
	uint64_t word, stop;

	memcpy(&word, at, sizeof(word));
	word = le64toh(word);
	stop = ~word & UINT64_C(0x8080808080808080);
	if (unlikely(!stop))
		return decode_varint_long(at, end);
	at += (__builtin_ctzll(stop) >> 3) + 1;
	word &= (stop ^ (stop - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
	word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
	word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
	word = (word & UINT64_C(0x0fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
	return (struct varint){.value = word, .next = at};
}

/* The same for what is two bytes long as a rule: then the next field need not wait for this. */
static inline struct varint decode_varint_of_two(const uint8_t *at, const uint8_t *end)
{
	if (unlikely(at[0] < 0x80 || at[1] >= 0x80))
		return decode_varint(at, end);
	return (struct varint){.value = (at[0] & 0x7fu) | (uint32_t)at[1] << 7, .next = at + 2};
}

/* For what is one byte or two, and nobody knows which: no branch on that either. */
static inline struct varint decode_varint_to_two(const uint8_t *at, const uint8_t *end)
{
	uint32_t more = at[0] >> 7;

	if (unlikely(more & at[1] >> 7))
		return decode_varint(at, end);
	return (struct varint){.value = (at[0] & 0x7fu) | ((uint32_t)at[1] & -more) << 7,
			       .next = at + 1 + more};
}

static inline uint64_t decode_get(struct decoder *decoder)
{
	struct varint read = decode_varint(decoder->at, decoder->end);

	decoder->at = read.next;
	return read.value;
}

static inline uint64_t decode_unzigzag(uint64_t value)
{
	return (value >> 1) ^ -(value & 1);
}

static inline bool decode_overrun(const struct decoder *decoder)
{
	return decoder->at > decoder->end;
}

/* NULL for 0. */
static inline struct decoder_frame *decode_entry_at(const struct decoder *decoder, uint64_t entry)
{
	uint32_t index;

	if (!entry)
		return NULL;
	index = (uint32_t)entry - 1;
	return &decoder->segments[index / DECODE_SEGMENT][index % DECODE_SEGMENT];
}

/* The chain that a stackref means if it defines none. `was` is the told one. False if none. */
static inline bool decode_known_stack(const struct decoder *decoder, uint64_t ref,
				      const struct unweave_frame *was,
				      const struct unweave_frame **ret)
{
	uint64_t number = ref >> 1;

	if (ref & 1) {
		const struct decoder_siblings *siblings;

		if (!was)
			return false;
		siblings = ((const struct decoder_frame *)was)->siblings;
		if (number >= siblings->count)
			return false;
		*ret = &siblings->at[number]->frame;
		return true;
	}
	if (number > decoder->frame_count)
		return false;
	*ret = (const struct unweave_frame *)decode_entry_at(decoder, number);
	return true;
}

/* The innermost run; 0 if there is none or its task was not named. */
static inline uint32_t decode_innermost(const struct decoder *decoder)
{
	return decoder->depth ? decoder->nest[decoder->depth - 1] : 0;
}

static inline uint64_t decode_innermost_id(const struct decoder *decoder)
{
	return decoder->tasks[decode_innermost(decoder)].id;
}

/* Ends the block, for this reason; returns -EBADMSG. */
int decode_bad(struct decoder *decoder, const char *what);
int decode_bad_cut(struct decoder *decoder);

/* Each reads one thing. -EBADMSG or -ENOMEM; the end is checked by decode_mention() alone. */
int decode_stackref(struct decoder *decoder, const struct unweave_frame *was,
		    const struct unweave_frame **ret);
int decode_index(struct decoder *decoder, uint32_t *ret);
int decode_mention(struct decoder *decoder, uint32_t *ret);

/* -ENOMEM. */
int decode_nest_push(struct decoder *decoder, uint32_t entry);
void decode_nest_reset(struct decoder *decoder, bool known);
/* What an event of this kind does to the nest, however it was written. -ENOMEM. */
int decode_nest_follow(struct decoder *decoder, uint64_t kind, uint32_t entry);

#endif /* TRACE_DECODE_H */
