/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of the trace file. docs/format.md says what they mean, and is the authority. */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "unweave/event.h"

#define FORMAT_MAGIC "\x89UNW\r\n\x1a\n" /* eight bytes: a text-mode copy breaks them */
#define FORMAT_VERSION 1u
#define FORMAT_FILE_HEADER_BYTES 16u

#define FORMAT_BLOCK_MAGIC UINT32_C(0x4b425755) /* "UWBK" */
#define FORMAT_BLOCK_HEADER_BYTES 64u
#define FORMAT_BLOCK_ALIGN 8u
#define FORMAT_PAYLOAD_MAX (256u << 10) /* before compression */

enum block_kind {
	BLOCK_SESSION = 1,
	BLOCK_CLOCK,
	BLOCK_THREADS,
	BLOCK_SITES,
	BLOCK_EVENTS,
	BLOCK_END,
	BLOCK_SAMPLES,
	BLOCK_SAMPLER,
	BLOCK_MODULES,
	BLOCK_SYMBOLS,
	BLOCK_ADAPTERS,
	BLOCK_WAITS,
};

enum block_codec { BLOCK_PLAIN, BLOCK_ZSTD };

#define BLOCK_FLAG_ASIDE 1u

/* A block's header, decoded; `payload` is separate. */
struct block {
	uint8_t kind;    /* enum block_kind, or one this build does not know */
	uint8_t codec;   /* enum block_codec */
	uint16_t flags;  /* BLOCK_FLAG_* */
	uint32_t stored; /* payload bytes in the file */
	uint32_t raw;    /* payload bytes after decompression */
	uint32_t thread; /* EVENTS: number of the thread within the trace; else 0 */
	uint64_t first;  /* ticks of the first and the last event, or of the block itself */
	uint64_t last;
	uint64_t number; /* EVENTS: number of the first record within its stream */
	uint64_t events; /* EVENTS: numbers it covers, a LOST counting as many as it says */
};

/* Of the flags of a sample: each of its runs has the site of its task. */
#define FORMAT_SAMPLE_SITES 16u

/* The low four bits of an event's head; the rest is the time since the event before. */
enum event_code {
	CODE_SWITCH,
	CODE_SWITCH_STACK,
	CODE_SWITCH_TO,
	CODE_SWITCH_STACK_TO,
	CODE_RESUME,
	CODE_RESUME_TO,
	CODE_SUSPEND,
	CODE_SUSPEND_STACK,
	CODE_COMPLETE,
	CODE_WAKE,
	CODE_WAKE_TO,
	CODE_FRAME_RESUME,
	CODE_FRAME_COMPLETE,
	CODE_IDLE,
	CODE_CREATE,
	CODE_OTHER,
};

/* What CODE_OTHER carries, in this order. */
#define OTHER_TASK 1u   /* mention */
#define OTHER_OTHER 2u  /* varint */
#define OTHER_VALUE 4u  /* varint */
#define OTHER_TEXT 8u   /* varint length, bytes */
#define OTHER_FLAGS 16u /* varint */

/* The last kind of event that this build knows. */
#define FORMAT_KIND_MAX UNWEAVE_EVENT_DUE

/* Whether the event's chain is the told chain of its task; else it has none. */
static inline bool format_tells_chain(uint64_t kind)
{
	return kind <= UNWEAVE_EVENT_SUSPEND || kind == UNWEAVE_EVENT_APPEND ||
	       kind == UNWEAVE_EVENT_REPLAY || kind == UNWEAVE_EVENT_AWAIT ||
	       kind == UNWEAVE_EVENT_TASK;
}

/* Children of one awaiter that a stackref can name by their number. */
#define FORMAT_SIBLINGS_MAX 32u

/* How a frame of a new stack is written: the low two bits of its head. */
enum frame_code { FRAME_PLAIN, FRAME_STATE, FRAME_OMITTED, FRAME_ABSOLUTE };

#endif /* TRACE_FORMAT_H */
