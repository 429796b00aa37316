/* SPDX-License-Identifier: Apache-2.0 */
/* Raw records, one after the other: where each ends, and what lies where in it. */
#ifndef DRAIN_PARSE_H
#define DRAIN_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena/record.h"

/*
 * Two records in one: a LEAVE, with one frame at the most, and the RESUME after it, which has no
 * stack. By far the most of a busy program are these. The stack is of the LEAVE, the rest of the
 * RESUME.
 */
#define PARSE_SWITCH RECORD_KINDS

/* A record, taken apart. Its words are a private copy, but what they say is not checked yet. */
struct record {
	uint64_t ticks;
	const uint64_t *fields; /* after the first word */
	const uint64_t *stack;  /* its first word; or NULL */
	uint32_t kind;          /* a LEAVE_AT or LEAVE_IN is a LEAVE; or PARSE_SWITCH */
	uint32_t words;         /* all of it */
	uint64_t frame[3];      /* the stack of a LEAVE_AT or LEAVE_IN: it points here */
};

/* The words that a stack takes; more than `most` if they do not make sense. */
static inline uint32_t stack_words(const uint64_t *stack, uint32_t most)
{
	uint32_t count, root;

	if (!most)
		return 1;
	count = *stack & 0xffff;
	root = *stack >> 16 & 0xffff;
	if (root > count)
		return most + 1;
	return 1 + (root > 0) + count + (*stack >> 63 ? (count + 1) / 2 : 0);
}

/* The record, whose first word this is, ends in one frame: makes the stack of that. */
static inline void parse_frame(struct record *record, uint32_t kind, const uint64_t *words)
{
	record->frame[0] = record_stack_at(words[0]);
	record->frame[1] = words[0] >> 16;
	if (kind == RECORD_LEAVE_IN)
		record->frame[2] = words[1];
	record->stack = record->frame;
}

/* False if the words do not begin with a whole record. */
static inline bool parse_record(struct record *record, const uint64_t *words, uint32_t count)
{
	uint32_t kind = words[0] & 0x7f;
	uint32_t length = record_fixed_words(kind);

	if (!length || length > count)
		return false;
	record->kind = kind;
	record->ticks = words[0] >> 8;
	record->fields = words + 1;
	record->stack = NULL;
	if (kind == RECORD_NAME) {
		if (words[2] > RECORD_NAME_MAX)
			return false;
		length += (uint32_t)(words[2] + 7) / 8;
		if (length > count)
			return false;
	}
	if (kind == RECORD_LEAVE_AT || kind == RECORD_LEAVE_IN) {
		record->kind = RECORD_LEAVE;
		parse_frame(record, kind, words);
	}
	if (words[0] & RECORD_WITH_STACK) {
		record->stack = words + length;
		length += stack_words(record->stack, count - length);
	}
	record->words = length;
	return length <= count;
}

/* False if the words do not begin with a whole switch. */
static inline bool parse_switch(struct record *record, const uint64_t *words, uint32_t count)
{
	uint32_t kind = words[0] & 0xff;
	uint32_t leave = kind == RECORD_LEAVE_IN ? 2 : 1;

	if ((kind != RECORD_LEAVE && kind != RECORD_LEAVE_AT && kind != RECORD_LEAVE_IN) ||
	    count < leave + 2 || (words[leave] & 0xff) != RECORD_RESUME)
		return false;
	record->ticks = words[leave] >> 8;
	record->fields = words + leave + 1;
	record->stack = NULL;
	record->kind = PARSE_SWITCH;
	record->words = leave + 2;
	if (kind != RECORD_LEAVE)
		parse_frame(record, kind, words);
	return true;
}

#endif /* DRAIN_PARSE_H */
