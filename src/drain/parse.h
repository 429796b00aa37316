/* SPDX-License-Identifier: Apache-2.0 */
/* Raw records, one after the other: where each ends, and what lies where in it. */
#ifndef DRAIN_PARSE_H
#define DRAIN_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena/record.h"

/*
 * Two records in one: a LEAVE and the RESUME after it, which has no stack. By far the most of a
 * busy program are these. The stack is of the LEAVE, the rest of the RESUME.
 */
#define PARSE_SWITCH RECORD_KINDS

/* A record, taken apart. Its words are a private copy, but what they say is not checked yet. */
struct record {
	uint64_t ticks;
	const uint64_t *fields; /* after the first word */
	const uint64_t *stack;  /* its first word; or NULL */
	uint32_t kind;          /* or PARSE_SWITCH */
	uint32_t words;         /* all of it */
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
	if (words[0] & RECORD_WITH_STACK) {
		record->stack = words + length;
		length += stack_words(record->stack, count - length);
	}
	record->words = length;
	return length <= count;
}

/* False if the words do not begin with a whole switch, with one new frame at the most. */
static inline bool parse_switch(struct record *record, const uint64_t *words, uint32_t count)
{
	bool with_stack = words[0] & RECORD_WITH_STACK;
	uint32_t leave = 1;

	if ((words[0] & 0x7f) != RECORD_LEAVE || count < 6)
		return false;
	if (with_stack) {
		if ((words[1] & 0xffffffff) != 1)
			return false;
		leave += 2 + (words[1] >> 63);
	}
	if ((words[leave] & 0xff) != RECORD_RESUME)
		return false;
	*record = (struct record){.ticks = words[leave] >> 8,
				  .fields = words + leave + 1,
				  .stack = with_stack ? words + 1 : NULL,
				  .kind = PARSE_SWITCH,
				  .words = leave + 2};
	return true;
}

#endif /* DRAIN_PARSE_H */
