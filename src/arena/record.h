/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw records: what a hook stores and a drain takes out again.
 *
 * A record is a few 64-bit words, native endian, in one chunk. The first word
 * is ticks << 8 | kind, so that a record costs one clock read and one or two
 * stores. RECORD_WITH_STACK in the kind says that a stack follows the fixed
 * words:
 *
 *     count | root << 16 | keep << 32 | states << 63        one word
 *     frames left out                                       if root > 0
 *     count addresses, innermost first
 *     count states, two to a word                           if states
 *
 * `keep` frames of the chain that the task had stay below; RECORD_KEEP_REST: all
 * but its innermost, which the frames replace. Where a stack was
 * too long for a record, the last `root` of the `count` frames are its root
 * side, and the frames left out stood before them.
 *
 * Mostly a run leaves one new frame behind, and its end needs no time: the frame
 * is where the ticks would be, address << 16 | keep << 8 | kind.
 */
#ifndef ARENA_RECORD_H
#define ARENA_RECORD_H

#include <stdint.h>

enum record_kind {
	RECORD_CREATE = 1,         /* task, parent, site */
	RECORD_RESUME = 2,         /* task */
	RECORD_SUSPEND = 3,        /* the innermost run ends */
	RECORD_SUSPEND_TASK = 4,   /* task: its run ends, though it is not the innermost known */
	RECORD_LEAVE = 5,          /* the innermost run ends when the next record says; 0 ticks */
	RECORD_COMPLETE = 6,       /* the innermost run's task is done, and the two after it ... */
	RECORD_COMPLETE_ERROR = 7, /* ... in the order of enum unweave_status */
	RECORD_COMPLETE_CANCELLED = 8,
	RECORD_COMPLETE_TASK = 9, /* task, status: not the innermost run */
	RECORD_WAKE = 10,         /* task: woken by what runs here */
	RECORD_WAKE_FROM = 11,    /* task, source */
	RECORD_FRAME_RESUME = 12, /* in the innermost run, as the next three */
	RECORD_FRAME_COMPLETE = 13,
	RECORD_UNWIND = 14, /* frames << 1 | handled */
	RECORD_ANCHOR_RESET = 15,
	RECORD_APPEND = 16, /* task, who awaits it; with a stack, which joins at the root */
	RECORD_NAME = 17,   /* task, length, then the bytes, padded to whole words */
	RECORD_IDLE = 18,
	RECORD_RESET = 19,  /* revision << 8 | RECORD_RESET_* below; the nest is empty */
	RECORD_REPLAY = 20, /* task: runs here since before; may have a stack */
	RECORD_LATE =
		21, /* task, who awaits it; after its end, with the stack it turns out to have */
	RECORD_AWAIT = 22, /* task, who awaits it too; with the stack of that */
	RECORD_WAIT = 23,  /* task: as IDLE, in this loop */
	RECORD_WOKE = 24,  /* task: there is something to do in this loop */
	RECORD_DUE = 25,   /* ns since what is resumed next was due */
	RECORD_END = 26, /* as COMPLETE, and the two after it, when the next record says; 0 ticks */
	RECORD_END_ERROR = 27,
	RECORD_END_CANCELLED = 28,
	RECORD_LEAVE_AT = 29, /* as LEAVE with one frame */
	RECORD_LEAVE_IN = 30, /* as LEAVE with one frame; its state */
	RECORD_KINDS
};

#define RECORD_WITH_STACK 0x80u
#define RECORD_RESET_NEST 0x80u /* each resume and end follows: the nest can be kept */
#define RECORD_RESET_WHY 0x07u  /* enum unweave_reset */
/* Of the chain model, and << 1 of the other: each resume, or suspension, tells what is new. */
#define RECORD_RESET_RESUME_STACKS 0x08u
#define RECORD_RESET_SUSPEND_STACKS 0x20u
#define RECORD_KEEP_REST 0x7fffffffu
#define RECORD_AT_KEEP_REST 0xffu /* the same in a LEAVE_AT or LEAVE_IN */
#define RECORD_NAME_MAX 255u
#define RECORD_WORDS_MAX 1900u /* of any record: with a reset before it, it fits a chunk */

/* Words before a stack or the bytes of a name; 0 for a kind that does not exist. */
static inline unsigned record_fixed_words(unsigned kind)
{
	static const uint8_t words[RECORD_KINDS] = {
		[RECORD_CREATE] = 4,
		[RECORD_RESUME] = 2,
		[RECORD_SUSPEND] = 1,
		[RECORD_SUSPEND_TASK] = 2,
		[RECORD_LEAVE] = 1,
		[RECORD_COMPLETE] = 1,
		[RECORD_COMPLETE_ERROR] = 1,
		[RECORD_COMPLETE_CANCELLED] = 1,
		[RECORD_COMPLETE_TASK] = 3,
		[RECORD_WAKE] = 2,
		[RECORD_WAKE_FROM] = 3,
		[RECORD_FRAME_RESUME] = 1,
		[RECORD_FRAME_COMPLETE] = 1,
		[RECORD_UNWIND] = 2,
		[RECORD_ANCHOR_RESET] = 1,
		[RECORD_APPEND] = 3,
		[RECORD_NAME] = 3,
		[RECORD_IDLE] = 1,
		[RECORD_RESET] = 2,
		[RECORD_REPLAY] = 2,
		[RECORD_LATE] = 3,
		[RECORD_AWAIT] = 3,
		[RECORD_WAIT] = 2,
		[RECORD_WOKE] = 2,
		[RECORD_DUE] = 2,
		[RECORD_END] = 1,
		[RECORD_END_ERROR] = 1,
		[RECORD_END_CANCELLED] = 1,
		[RECORD_LEAVE_AT] = 1,
		[RECORD_LEAVE_IN] = 2,
	};

	return kind < RECORD_KINDS ? words[kind] : 0;
}

static inline uint64_t record_first_word(unsigned kind, uint64_t ticks)
{
	return ticks << 8 | kind;
}

static inline uint64_t record_ticks(uint64_t first_word)
{
	return first_word >> 8;
}

static inline uint64_t record_stack_word(uint32_t count, uint32_t root, uint32_t keep, int states)
{
	return (uint64_t)count | (uint64_t)root << 16 | (uint64_t)(keep & 0x7fffffff) << 32 |
	       (uint64_t)(states != 0) << 63;
}

/* Whether a LEAVE_AT or LEAVE_IN can say that. */
static inline int record_fits_at(uint64_t address, uint32_t keep)
{
	return !(address >> 48) && (keep < RECORD_AT_KEEP_REST || keep == RECORD_KEEP_REST);
}

/* The first word of one that does; KEEP_REST ends in the same byte. */
static inline uint64_t record_leave_at(uint64_t address, uint32_t keep, int state)
{
	return address << 16 | (keep & 0xff) << 8 | (state ? RECORD_LEAVE_IN : RECORD_LEAVE_AT);
}

/* The first word of the stack that a LEAVE_AT or LEAVE_IN stands for. */
static inline uint64_t record_stack_at(uint64_t first_word)
{
	uint32_t keep = first_word >> 8 & 0xff;

	if (keep == RECORD_AT_KEEP_REST)
		keep = RECORD_KEEP_REST;
	return record_stack_word(1, 0, keep, (first_word & 0x7f) == RECORD_LEAVE_IN);
}

/* The ends of runs without a time of their own. */
static inline int record_is_untimed(unsigned kind)
{
	const uint32_t kinds = 1u << RECORD_LEAVE | 1u << RECORD_END | 1u << RECORD_END_ERROR |
			       1u << RECORD_END_CANCELLED | 1u << RECORD_LEAVE_AT |
			       1u << RECORD_LEAVE_IN;

	/* Of a kind that does not exist either answer will do. */
	return kinds >> kind % 32 & 1;
}
_Static_assert(RECORD_KINDS <= 32, "each kind has its bit");

#endif /* ARENA_RECORD_H */
