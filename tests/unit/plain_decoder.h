/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes an EVENTS block the slow and obvious way, written from docs/format.md
 * alone: a second opinion on the encoder and on the real decoder. It shares
 * nothing with either but the numbers in format.h and the varint of wire.h.
 *
 * Chains come out as text, innermost frame first: "401000 401200:3 ~12 " is a
 * frame, one in state 3, and twelve left out. "" is no chain.
 */
#ifndef TESTS_PLAIN_DECODER_H
#define TESTS_PLAIN_DECODER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format.h"
#include "unweave/event.h"
#include "util/hash.h"
#include "util/wire.h"

struct plain_event {
	unsigned kind, flags;
	uint64_t time, task, other, value;
	char *stack; /* never NULL */
	char *text;  /* NULL if there is none */
};

struct plain_events {
	struct plain_event *at;
	size_t count;
	size_t numbers; /* what they cover */
};

struct plain_frame {
	uint32_t parent, kind;
	uint64_t address;
	int64_t state;
};

struct plain_task {
	uint64_t id;
	uint32_t told; /* index of a frame, from 1; 0: none */
};

struct plain_decoder {
	struct wire wire;
	struct plain_events *to;
	struct plain_frame *frames; /* frames[0] is not used */
	struct plain_task *tasks;
	uint32_t *nest; /* task indices */
	uint32_t frame_count, task_count, depth;
	bool nest_known;
	unsigned flags; /* of every event */
	uint64_t last_id, last_address, time;
};

#define PLAIN_NO_TASK UINT32_MAX /* in the nest: a run whose event mentioned none */

static inline void plain_events_fini(struct plain_events *events)
{
	for (size_t i = 0; i < events->count; i++) {
		free(events->at[i].stack);
		free(events->at[i].text);
	}
	free(events->at);
	*events = (struct plain_events){0};
}

/* Room for one more than `count`; grows when that is a power of two. */
static inline void *plain_grow(void *array, size_t count, size_t size)
{
	return count & (count - 1) ? array : realloc(array, (count ? 2 * count : 1) * size);
}

static inline int64_t plain_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* The frame of this number among the siblings of `told`. */
static inline uint32_t plain_sibling(struct plain_decoder *d, uint32_t told, uint64_t number)
{
	if (told != 0 && number <= 31)
		for (uint32_t i = 1; i <= d->frame_count; i++)
			if (d->frames[i].parent == d->frames[told].parent && number-- == 0)
				return i;
	d->wire.bad = true;
	return 0;
}

static inline uint32_t plain_stackref(struct plain_decoder *d, uint32_t told)
{
	uint64_t v = wire_varint(&d->wire);
	uint64_t ref = v >> 1;
	uint64_t parent, count;

	if (v & 1)
		return plain_sibling(d, told, v >> 1);
	if (ref <= d->frame_count)
		return (uint32_t)ref;
	parent = wire_varint(&d->wire);
	count = wire_varint(&d->wire);
	if (ref != d->frame_count + 1ull || parent > d->frame_count || count == 0)
		d->wire.bad = true;
	for (; count > 0 && !d->wire.bad; count--) {
		uint64_t head = wire_varint(&d->wire);
		struct plain_frame *frame;

		d->frames = plain_grow(d->frames, d->frame_count + 1ull, sizeof(*d->frames));
		frame = &d->frames[++d->frame_count];
		*frame = (struct plain_frame){.parent = (uint32_t)parent};
		switch (head & 3) {
		case FRAME_OMITTED:
			frame->kind = UNWEAVE_FRAME_OMITTED;
			frame->address = head >> 2;
			break;
		case FRAME_ABSOLUTE:
			frame->address = d->last_address = wire_u64(&d->wire);
			frame->state = wire_zigzag(&d->wire);
			break;
		default:
			d->last_address += (uint64_t)plain_unzigzag(head >> 2);
			frame->address = d->last_address;
			if ((head & 3) == FRAME_STATE)
				frame->state = wire_zigzag(&d->wire);
		}
		parent = d->frame_count;
	}
	return d->frame_count;
}

static inline uint32_t plain_index(struct plain_decoder *d)
{
	uint64_t index = wire_varint(&d->wire);

	if (index >= d->task_count)
		d->wire.bad = true;
	return d->wire.bad ? PLAIN_NO_TASK : (uint32_t)index;
}

static inline uint32_t plain_mention(struct plain_decoder *d)
{
	uint64_t delta = wire_varint(&d->wire);
	uint64_t index = delta ? d->task_count : wire_varint(&d->wire);

	if (index > d->task_count)
		d->wire.bad = true;
	if (d->wire.bad)
		return PLAIN_NO_TASK;
	if (index == d->task_count) {
		d->last_id += (uint64_t)plain_unzigzag(delta);
		d->tasks = plain_grow(d->tasks, d->task_count++, sizeof(*d->tasks));
		d->tasks[index] = (struct plain_task){.id = d->last_id};
	}
	d->tasks[index].told = plain_stackref(d, d->tasks[index].told);
	return (uint32_t)index;
}

static inline uint64_t plain_id(const struct plain_decoder *d, uint32_t task)
{
	return task == PLAIN_NO_TASK ? 0 : d->tasks[task].id;
}

static inline uint32_t plain_told(const struct plain_decoder *d, uint32_t task)
{
	return task == PLAIN_NO_TASK ? 0 : d->tasks[task].told;
}

#define PLAIN_FRAME_MOST 40 /* characters */

/* One frame of a chain as text; not printf, since tests do this by the million. */
static inline char *plain_frame_text(char *to, uint32_t kind, uint64_t address, int64_t state)
{
	int digits = 1;

	if (kind == UNWEAVE_FRAME_OMITTED)
		return to + sprintf(to, "~%llu ", (unsigned long long)address);
	while (digits < 16 && address >> 4 * digits)
		digits++;
	while (digits-- > 0)
		*to++ = "0123456789abcdef"[address >> 4 * digits & 15];
	if (state)
		to += sprintf(to, ":%lld", (long long)state);
	*to++ = ' ';
	return to;
}

static inline char *plain_stack_text(const struct plain_decoder *d, uint32_t index)
{
	size_t depth = 0;
	char *text, *to;

	for (uint32_t i = index; i; i = d->frames[i].parent)
		depth++;
	text = to = malloc(depth * PLAIN_FRAME_MOST + 1);
	for (; index; index = d->frames[index].parent)
		to = plain_frame_text(to, d->frames[index].kind, d->frames[index].address,
				      d->frames[index].state);
	*to = '\0';
	return text;
}

static inline struct plain_event *plain_add(struct plain_decoder *d, unsigned kind, uint32_t task,
					    uint32_t stack)
{
	struct plain_events *to = d->to;

	to->at = plain_grow(to->at, to->count, sizeof(*to->at));
	to->at[to->count] = (struct plain_event){
		.kind = kind,
		.flags = d->flags,
		.time = d->time,
		.task = plain_id(d, task),
		.stack = plain_stack_text(d, stack),
	};
	to->numbers++;
	return &to->at[to->count++];
}

/* The nest rules, which are the same for every way of writing an event. */
static inline void plain_follow(struct plain_decoder *d, unsigned kind, uint32_t task)
{
	if (kind == UNWEAVE_EVENT_RESET || kind == UNWEAVE_EVENT_LOST) {
		d->nest_known = kind == UNWEAVE_EVENT_RESET;
		d->depth = 0;
	}
	if (!d->nest_known)
		return;
	if (kind == UNWEAVE_EVENT_RESUME || kind == UNWEAVE_EVENT_REPLAY) {
		d->nest = realloc(d->nest, (d->depth + 1ull) * sizeof(*d->nest));
		d->nest[d->depth++] = task;
	}
	if ((kind == UNWEAVE_EVENT_SUSPEND || kind == UNWEAVE_EVENT_COMPLETE) && d->depth > 0 &&
	    plain_id(d, d->nest[d->depth - 1]) == plain_id(d, task))
		d->depth--;
}

static inline uint32_t plain_innermost(struct plain_decoder *d)
{
	if (d->nest_known && d->depth > 0)
		return d->nest[d->depth - 1];
	d->wire.bad = true;
	return PLAIN_NO_TASK;
}

static inline void plain_suspend(struct plain_decoder *d, bool with_stack)
{
	uint32_t task = plain_innermost(d);
	uint32_t stack = plain_told(d, task);

	if (with_stack)
		stack = plain_stackref(d, stack);
	if (d->wire.bad)
		return;
	if (task != PLAIN_NO_TASK)
		d->tasks[task].told = stack;
	plain_add(d, UNWEAVE_EVENT_SUSPEND, task, stack);
	plain_follow(d, UNWEAVE_EVENT_SUSPEND, task);
}

static inline void plain_resume(struct plain_decoder *d, uint32_t task)
{
	if (d->wire.bad)
		return;
	plain_add(d, UNWEAVE_EVENT_RESUME, task, plain_told(d, task));
	plain_follow(d, UNWEAVE_EVENT_RESUME, task);
}

static inline void plain_of_innermost(struct plain_decoder *d, unsigned kind)
{
	uint32_t task = plain_innermost(d);

	if (d->wire.bad)
		return;
	plain_add(d, kind, task, 0);
	plain_follow(d, kind, task);
}

static inline void plain_wake(struct plain_decoder *d, uint32_t task)
{
	if (d->wire.bad)
		return;
	plain_add(d, UNWEAVE_EVENT_WAKE, task, 0)->other =
		d->nest_known && d->depth > 0 ? plain_id(d, d->nest[d->depth - 1]) : 0;
}

static inline void plain_create(struct plain_decoder *d)
{
	uint32_t task = plain_mention(d);
	uint64_t parent = wire_varint(&d->wire);
	struct plain_event *event;

	if (parent == 1)
		parent = plain_id(d, plain_innermost(d));
	else if (parent == 2)
		parent = wire_varint(&d->wire);
	else if (parent - 3 < d->task_count)
		parent = d->tasks[parent - 3].id;
	else if (parent != 0)
		d->wire.bad = true;
	if (d->wire.bad)
		return;
	event = plain_add(d, UNWEAVE_EVENT_CREATE, task, plain_told(d, task));
	event->other = parent;
	event->value = wire_varint(&d->wire);
}

static inline void plain_other(struct plain_decoder *d)
{
	uint64_t kind = wire_varint(&d->wire);
	uint64_t length = wire_varint(&d->wire);
	const uint8_t *body = wire_bytes(&d->wire, length);
	struct wire after = d->wire;
	uint32_t task = PLAIN_NO_TASK;
	struct plain_event *event;
	uint64_t mask;

	if (!body)
		return;
	d->wire = wire_of(body, length);
	mask = wire_varint(&d->wire);
	if (mask & OTHER_TASK)
		task = plain_mention(d);
	if (d->wire.bad)
		return;
	event = plain_add(d, (unsigned)kind, task,
			  kind == UNWEAVE_EVENT_CREATE || kind == UNWEAVE_EVENT_RESUME ||
					  kind == UNWEAVE_EVENT_SUSPEND ||
					  kind == UNWEAVE_EVENT_APPEND ||
					  kind == UNWEAVE_EVENT_REPLAY ||
					  kind == UNWEAVE_EVENT_AWAIT || kind == UNWEAVE_EVENT_TASK
				  ? plain_told(d, task)
				  : 0);
	if (mask & OTHER_OTHER)
		event->other = wire_varint(&d->wire);
	if (mask & OTHER_VALUE)
		event->value = wire_varint(&d->wire);
	if (mask & OTHER_TEXT) {
		uint64_t size = wire_varint(&d->wire);
		const uint8_t *text = wire_bytes(&d->wire, size);

		event->text = strndup(text ? (const char *)text : "", text ? size : 0);
	}
	if (mask & OTHER_FLAGS)
		event->flags |= (unsigned)wire_varint(&d->wire);
	after.bad = d->wire.bad;
	d->wire = after;
	if (kind == UNWEAVE_EVENT_LOST)
		d->to->numbers += event->value - 1;
	plain_follow(d, (unsigned)kind, task);
}

static inline void plain_next(struct plain_decoder *d)
{
	uint64_t head = wire_varint(&d->wire);

	d->time += head >> 4;
	switch ((enum event_code)(head & 15)) {
	case CODE_SWITCH:
	case CODE_SWITCH_STACK:
		plain_suspend(d, (head & 15) == CODE_SWITCH_STACK);
		plain_resume(d, plain_index(d));
		break;
	case CODE_SWITCH_TO:
	case CODE_SWITCH_STACK_TO:
		plain_suspend(d, (head & 15) == CODE_SWITCH_STACK_TO);
		plain_resume(d, plain_mention(d));
		break;
	case CODE_RESUME:
		plain_resume(d, plain_index(d));
		break;
	case CODE_RESUME_TO:
		plain_resume(d, plain_mention(d));
		break;
	case CODE_SUSPEND:
	case CODE_SUSPEND_STACK:
		plain_suspend(d, (head & 15) == CODE_SUSPEND_STACK);
		break;
	case CODE_COMPLETE:
		plain_of_innermost(d, UNWEAVE_EVENT_COMPLETE);
		break;
	case CODE_WAKE:
		plain_wake(d, plain_index(d));
		break;
	case CODE_WAKE_TO:
		plain_wake(d, plain_mention(d));
		break;
	case CODE_FRAME_RESUME:
		plain_of_innermost(d, UNWEAVE_EVENT_FRAME_RESUME);
		break;
	case CODE_FRAME_COMPLETE:
		plain_of_innermost(d, UNWEAVE_EVENT_FRAME_COMPLETE);
		break;
	case CODE_IDLE:
		plain_add(d, UNWEAVE_EVENT_IDLE, PLAIN_NO_TASK, 0);
		break;
	case CODE_CREATE:
		plain_create(d);
		break;
	case CODE_OTHER:
		plain_other(d);
		break;
	}
}

/* Appends the block's events to `to`. False if there is anything wrong with it. */
static inline bool plain_decode(const struct block *block, const uint8_t *payload,
				struct plain_events *to)
{
	struct plain_decoder d = {
		.wire = wire_of(payload, block->raw),
		.to = to,
		.time = block->first,
		.flags = block->flags & BLOCK_FLAG_ASIDE ? UNWEAVE_EVENT_ASIDE : 0,
	};
	size_t numbers = to->numbers;

	d.nest_known = wire_varint(&d.wire) & 1;
	if (d.nest_known)
		for (uint64_t depth = wire_varint(&d.wire); depth > 0 && !d.wire.bad; depth--)
			plain_follow(&d, UNWEAVE_EVENT_REPLAY, plain_mention(&d));
	while (!d.wire.bad && d.wire.at < d.wire.end)
		plain_next(&d);
	free(d.frames);
	free(d.tasks);
	free(d.nest);
	return !d.wire.bad && to->numbers - numbers == block->events && d.time == block->last;
}

/* The block at `offset` of a whole file. False if its bytes or its hashes are not right. */
static inline bool plain_block(const uint8_t *file, size_t length, size_t offset, struct block *ret)
{
	struct wire wire = wire_of(file + offset, length - offset);
	uint32_t magic = wire_u32(&wire);
	uint32_t kinds = wire_u32(&wire);
	uint32_t payload_hash;
	const uint8_t *payload;

	ret->kind = kinds & 0xff;
	ret->codec = kinds >> 8 & 0xff;
	ret->flags = (uint16_t)(kinds >> 16);
	ret->stored = wire_u32(&wire);
	ret->raw = wire_u32(&wire);
	ret->first = wire_u64(&wire);
	ret->last = wire_u64(&wire);
	ret->number = wire_u64(&wire);
	ret->events = wire_u64(&wire);
	ret->thread = wire_u32(&wire);
	payload_hash = wire_u32(&wire);
	if (wire_u32(&wire) != 0 || magic != FORMAT_BLOCK_MAGIC || wire.bad)
		return false;
	if (wire_u32(&wire) != (uint32_t)hash_xxh64(file + offset, 60, 0))
		return false;
	payload = wire_bytes(&wire, ret->stored);
	return payload && payload_hash == (uint32_t)hash_xxh64(payload, ret->stored, 0);
}

/* Where the next block begins. */
static inline size_t plain_after(size_t offset, const struct block *block)
{
	return (offset + FORMAT_BLOCK_HEADER_BYTES + block->stored + 7) / 8 * 8;
}

#endif /* TESTS_PLAIN_DECODER_H */
