/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/decoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/decode.h"
#include "util/grow.h"

/* Reads the head of the event that comes next. */
static inline void look_ahead(struct decoder *decoder)
{
	uint64_t head;

	if (unlikely(decoder->at >= decoder->end)) {
		decoder->code = CODE_AT_END;
		return;
	}
	head = decode_get(decoder);
	decoder->code = head & 15;
	if (unlikely(decode_overrun(decoder)))
		decode_bad_cut(decoder);
	else if (unlikely(head >> 4 > UINT64_MAX - decoder->ticks))
		decode_bad(decoder, "an event has a time that is out of range");
	else
		decoder->ticks += head >> 4;
}

/* Goes on to the next; returns how many events this one was. */
static inline int finish(struct decoder *decoder, int events)
{
	decoder->number += (uint64_t)events;
	look_ahead(decoder);
	return events;
}

/* Thread, kind and flags as they are in an event, to be stored at once. */
static uint64_t tail_of(const struct decoder *decoder, uint16_t kind)
{
	struct unweave_event event = {
		.thread = decoder->thread, .kind = kind, .flags = decoder->flags};
	uint64_t tail;

	memcpy(&tail, (const char *)&event + offsetof(struct unweave_event, thread), sizeof(tail));
	return tail;
}

static inline void fill_tail(uint64_t ticks, const struct decoder_task *task, uint64_t tail,
			     struct unweave_event *ret)
{
	ret->time = ticks;
	ret->task = task->id;
	ret->other = 0;
	ret->value = 0;
	ret->stack = task->told;
	ret->text = NULL;
	memcpy((char *)ret + offsetof(struct unweave_event, thread), &tail, sizeof(tail));
}

static void fill(const struct decoder *decoder, uint16_t kind, uint64_t task,
		 const struct unweave_frame *stack, struct unweave_event *ret)
{
	*ret = (struct unweave_event){
		.time = decoder->ticks,
		.task = task,
		.stack = stack,
		.thread = decoder->thread,
		.kind = kind,
		.flags = decoder->flags,
	};
}

/* The four codes of SWITCH, each a SUSPEND and a RESUME. */
static int get_switch(struct decoder *decoder, struct unweave_event *ret)
{
	uint32_t code = decoder->code, from = decode_innermost(decoder), to;
	const struct unweave_frame *told = decoder->tasks[from].told;
	int r = 0;

	if (code == CODE_SWITCH_STACK || code == CODE_SWITCH_STACK_TO) {
		r = decode_stackref(decoder, told, &told);
		if (r < 0)
			return r;
		if (from)
			decoder->tasks[from].told = told;
	}
	if (code == CODE_SWITCH_TO || code == CODE_SWITCH_STACK_TO)
		r = decode_mention(decoder, &to);
	else
		r = decode_index(decoder, &to);
	if (r < 0)
		return r;
	if (decode_overrun(decoder))
		return decode_bad_cut(decoder);

	fill(decoder, UNWEAVE_EVENT_SUSPEND, decoder->tasks[from].id, told, &ret[0]);
	fill(decoder, UNWEAVE_EVENT_RESUME, decoder->tasks[to].id, decoder->tasks[to].told,
	     &ret[1]);
	decoder->nest[decoder->depth - 1] = to;
	return finish(decoder, 2);
}

static int get_resume(struct decoder *decoder, struct unweave_event *ret)
{
	uint32_t entry;
	int r;

	r = decoder->code == CODE_RESUME ? decode_index(decoder, &entry)
					 : decode_mention(decoder, &entry);
	if (r == 0)
		r = decode_overrun(decoder) ? decode_bad_cut(decoder)
					    : decode_nest_push(decoder, entry);
	if (r < 0)
		return r;
	fill(decoder, UNWEAVE_EVENT_RESUME, decoder->tasks[entry].id, decoder->tasks[entry].told,
	     ret);
	return finish(decoder, 1);
}

static int get_suspend(struct decoder *decoder, struct unweave_event *ret)
{
	struct decoder_task *task = &decoder->tasks[decode_innermost(decoder)];
	const struct unweave_frame *told = task->told;

	if (decoder->code == CODE_SUSPEND_STACK) {
		int r = decode_stackref(decoder, told, &told);

		if (r < 0)
			return r;
		if (decode_overrun(decoder))
			return decode_bad_cut(decoder);
		if (task != decoder->tasks)
			task->told = told;
	}
	fill(decoder, UNWEAVE_EVENT_SUSPEND, task->id, told, ret);
	decoder->depth--;
	return finish(decoder, 1);
}

static int get_wake(struct decoder *decoder, struct unweave_event *ret)
{
	uint32_t entry;
	int r;

	r = decoder->code == CODE_WAKE ? decode_index(decoder, &entry)
				       : decode_mention(decoder, &entry);
	if (r < 0)
		return r;
	if (decode_overrun(decoder))
		return decode_bad_cut(decoder);
	fill(decoder, UNWEAVE_EVENT_WAKE, decoder->tasks[entry].id, NULL, ret);
	ret->other = decode_innermost_id(decoder);
	return finish(decoder, 1);
}

static int get_parent(struct decoder *decoder, uint64_t *ret)
{
	uint64_t code = decode_get(decoder);

	*ret = 0;
	if (code == 1 && !decoder->depth)
		return decode_bad(decoder, "a task is made by a run that did not begin");
	if (code >= 3 && code - 3 >= decoder->task_count - 1)
		return decode_bad(decoder, "a task has a parent that was not named");
	if (code == 1)
		*ret = decode_innermost_id(decoder);
	else if (code == 2)
		*ret = decode_get(decoder);
	else if (code >= 3)
		*ret = decoder->tasks[code - 2].id;
	return 0;
}

static int get_create(struct decoder *decoder, struct unweave_event *ret)
{
	uint64_t parent = 0, site;
	uint32_t entry;
	int r;

	r = decode_mention(decoder, &entry);
	if (r == 0)
		r = get_parent(decoder, &parent);
	if (r < 0)
		return r;
	site = decode_get(decoder);
	if (decode_overrun(decoder))
		return decode_bad_cut(decoder);
	fill(decoder, UNWEAVE_EVENT_CREATE, decoder->tasks[entry].id, decoder->tasks[entry].told,
	     ret);
	ret->other = parent;
	ret->value = site;
	return finish(decoder, 1);
}

/* Copies the text, since in the payload nothing ends it. */
static int get_text(struct decoder *decoder, const uint8_t *end, const char **ret)
{
	uint64_t length = decode_get(decoder);

	if (decoder->at > end || length > (uint64_t)(end - decoder->at))
		return decode_bad(decoder, "a text is cut off");
	if (length >= decoder->text_capacity) {
		char *text = realloc(decoder->text, length + 1);

		if (!text)
			return -ENOMEM;
		decoder->text = text;
		decoder->text_capacity = length + 1;
	}
	memcpy(decoder->text, decoder->at, length);
	decoder->text[length] = 0;
	decoder->at += length;
	*ret = decoder->text;
	return 0;
}

/* The fields of an OTHER that ends at `end`. */
static int get_fields(struct decoder *decoder, const uint8_t *end, struct unweave_event *event,
		      uint32_t *ret_entry)
{
	uint64_t mask = decode_get(decoder), flags = 0;
	uint32_t entry = 0;
	int r = 0;

	if (mask & OTHER_TASK)
		r = decode_mention(decoder, &entry);
	if (r < 0)
		return r;
	event->task = decoder->tasks[entry].id;
	if (format_tells_chain(event->kind))
		event->stack = decoder->tasks[entry].told;
	if (mask & OTHER_OTHER)
		event->other = decode_get(decoder);
	if (mask & OTHER_VALUE)
		event->value = decode_get(decoder);
	if (mask & OTHER_TEXT)
		r = get_text(decoder, end, &event->text);
	if (r < 0)
		return r;
	if (mask & OTHER_FLAGS)
		flags = decode_get(decoder);
	if (decoder->at > end)
		return decode_bad_cut(decoder);
	if (flags > UINT16_MAX)
		return decode_bad(decoder, "an event has flags that are out of range");
	event->flags |= (uint16_t)flags;
	*ret_entry = entry;
	return 0;
}

static int get_other(struct decoder *decoder, struct unweave_event *ret)
{
	uint64_t kind = decode_get(decoder);
	uint64_t length = decode_get(decoder);
	bool known = kind >= UNWEAVE_EVENT_CREATE && kind <= FORMAT_KIND_MAX;
	struct unweave_event event;
	const uint8_t *end;
	uint32_t entry = 0;
	int r;

	if (decode_overrun(decoder) || length > (uint64_t)(decoder->end - decoder->at))
		return decode_bad_cut(decoder);
	end = decoder->at + length;
	/* An unknown kind is read too: it may name a task that later events refer to. */
	fill(decoder, known ? (uint16_t)kind : 0, 0, NULL, &event);
	r = get_fields(decoder, end, &event, &entry);
	if (r == 0)
		r = decode_nest_follow(decoder, event.kind, entry);
	if (r < 0)
		return r;
	decoder->at = end;
	if (event.kind == UNWEAVE_EVENT_LOST)
		decoder->number += event.value - 1;
	finish(decoder, 1);
	if (!known)
		return 0;
	*ret = event;
	return 1;
}

/* The codes that are an event and nothing else. */
static int get_bare(struct decoder *decoder, uint16_t kind, struct unweave_event *ret)
{
	fill(decoder, kind, decode_innermost_id(decoder), NULL, ret);
	if (kind == UNWEAVE_EVENT_IDLE)
		ret->task = 0;
	if (kind == UNWEAVE_EVENT_COMPLETE)
		decoder->depth--;
	return finish(decoder, 1);
}

static bool needs_run(uint32_t code)
{
	return code <= CODE_SWITCH_STACK_TO || code == CODE_SUSPEND || code == CODE_SUSPEND_STACK ||
	       code == CODE_COMPLETE || code == CODE_FRAME_RESUME || code == CODE_FRAME_COMPLETE;
}

/* Whatever comes next. Returns the number of events, which is 0 for an unknown kind. */
static int get_event(struct decoder *decoder, struct unweave_event *ret)
{
	if (needs_run(decoder->code) && !decoder->depth)
		return decode_bad(decoder, "an event is of the running task, but none runs");
	switch (decoder->code) {
	case CODE_SWITCH:
	case CODE_SWITCH_STACK:
	case CODE_SWITCH_TO:
	case CODE_SWITCH_STACK_TO:
		return get_switch(decoder, ret);
	case CODE_RESUME:
	case CODE_RESUME_TO:
		return get_resume(decoder, ret);
	case CODE_SUSPEND:
	case CODE_SUSPEND_STACK:
		return get_suspend(decoder, ret);
	case CODE_COMPLETE:
		return get_bare(decoder, UNWEAVE_EVENT_COMPLETE, ret);
	case CODE_WAKE:
	case CODE_WAKE_TO:
		return get_wake(decoder, ret);
	case CODE_FRAME_RESUME:
		return get_bare(decoder, UNWEAVE_EVENT_FRAME_RESUME, ret);
	case CODE_FRAME_COMPLETE:
		return get_bare(decoder, UNWEAVE_EVENT_FRAME_COMPLETE, ret);
	case CODE_IDLE:
		return get_bare(decoder, UNWEAVE_EVENT_IDLE, ret);
	case CODE_CREATE:
		return get_create(decoder, ret);
	case CODE_OTHER:
		return get_other(decoder, ret);
	default:
		return -EBADMSG;
	}
}

/*
 * SWITCH in all its forms, in a loop that keeps what it needs in registers.
 * Stops before anything unusual, which get_event() then meets. Returns the
 * number of events.
 */
static uint32_t fill_switches(struct decoder *decoder, uint64_t bound, struct unweave_event *to,
			      uint32_t room)
{
	const uint8_t *at = decoder->at, *end = decoder->end;
	struct decoder_task *tasks = decoder->tasks, *from = &tasks[decode_innermost(decoder)];
	uint64_t suspend = tail_of(decoder, UNWEAVE_EVENT_SUSPEND);
	uint64_t resume = tail_of(decoder, UNWEAVE_EVENT_RESUME);
	uint32_t code = decoder->code, done = 0;
	uint64_t ticks = decoder->ticks;

	while (code <= CODE_SWITCH_STACK_TO && ticks <= bound && done + 2 <= room) {
		struct varint ref, index, head;
		struct decoder_task *next;

		ref.next = at;
		if (code == CODE_SWITCH_STACK || code == CODE_SWITCH_STACK_TO) {
			/* If it stops below: from the new chain, this reads the same again. */
			ref = decode_varint_to_two(at, end);
			if (from == tasks ||
			    !decode_known_stack(decoder, ref.value, from->told, &from->told))
				break;
		}
		index = decode_varint_of_two(ref.next, end);
		if (code == CODE_SWITCH_TO || code == CODE_SWITCH_STACK_TO) {
			ref = decode_varint_to_two(index.next, end);
			next = &tasks[decoder->task_count];
			if (decoder->task_count == decoder->task_capacity || !index.value ||
			    !decode_known_stack(decoder, ref.value, NULL, &next->told) ||
			    ref.next >= end)
				break;
			next->id = decoder->last_id + decode_unzigzag(index.value);
			index.next = ref.next;
		} else {
			if (index.value + 1 >= decoder->task_count)
				break;
			next = &tasks[index.value + 1];
		}
		head = decode_varint_of_two(index.next, end);
		if (index.next >= end || head.next > end || head.value >> 4 > UINT64_MAX - ticks)
			break;
		if (next == &tasks[decoder->task_count]) {
			decoder->last_id = next->id;
			decoder->task_count++;
		}

		fill_tail(ticks, from, suspend, &to[done]);
		fill_tail(ticks, next, resume, &to[done + 1]);
		from = next;
		ticks += head.value >> 4;
		code = head.value & 15;
		at = head.next;
		done += 2;
	}
	decoder->nest[decoder->depth - 1] = (uint32_t)(from - tasks);
	decoder->code = code;
	decoder->ticks = ticks;
	decoder->number += done;
	decoder->at = at;
	return done;
}

int decoder_fill(struct decoder *decoder, uint64_t bound, struct unweave_event *to, uint32_t room,
		 uint32_t *ret_count)
{
	uint32_t count = 0;
	int r = 0;

	while (decoder->ticks <= bound && room - count >= DECODER_ROOM_LEAST) {
		if (decoder->code == CODE_AT_END) {
			r = DECODER_END;
			break;
		}
		if (decoder->code <= CODE_SWITCH_STACK_TO && decoder->depth) {
			uint32_t done = fill_switches(decoder, bound, to + count, room - count);

			count += done;
			if (done)
				continue;
		}
		r = get_event(decoder, to + count);
		if (r < 0)
			break;
		count += (uint32_t)r;
		r = 0;
		/* The next text would take this one's place. */
		if (count && to[count - 1].text)
			break;
	}
	*ret_count = count;
	return r;
}

int decoder_new(struct decoder **ret)
{
	struct decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return -ENOMEM;
	decoder->tasks =
		grow(NULL, 0, &decoder->task_capacity, DECODE_FIRST, sizeof(*decoder->tasks));
	if (!decoder->tasks) {
		free(decoder);
		return -ENOMEM;
	}
	decoder->tasks[0] = (struct decoder_task){0};
	*ret = decoder;
	return 0;
}

struct decoder *decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return NULL;
	for (uint32_t i = 0; i < decoder->segment_count; i++)
		free(decoder->segments[i]);
	free(decoder->segments);
	for (uint32_t i = 0; i < decoder->piece_count; i++)
		free(decoder->pieces[i]);
	free(decoder->pieces);
	free(decoder->tasks);
	free(decoder->nest);
	free(decoder->bytes);
	free(decoder->text);
	free(decoder);
	return NULL;
}

int decoder_reserve(struct decoder *decoder, size_t length, uint8_t **ret)
{
	if (!decoder->bytes || length > decoder->capacity) {
		uint8_t *bytes = realloc(decoder->bytes, length + DECODE_SLACK);

		if (!bytes)
			return -ENOMEM;
		decoder->bytes = bytes;
		decoder->capacity = length;
	}
	*ret = decoder->bytes;
	return 0;
}

/* What the stream's thread was inside of when the block began. */
static int get_prelude(struct decoder *decoder)
{
	uint64_t flags = decode_get(decoder), depth;

	decode_nest_reset(decoder, flags & 1);
	if (!(flags & 1))
		return decode_overrun(decoder) ? decode_bad_cut(decoder) : 0;
	for (depth = decode_get(decoder); depth; depth--) {
		uint32_t entry;
		int r = decode_mention(decoder, &entry);

		if (r == 0)
			r = decode_nest_push(decoder, entry);
		if (r < 0)
			return r;
	}
	return decode_overrun(decoder) ? decode_bad_cut(decoder) : 0;
}

int decoder_start(struct decoder *decoder, const struct block *block)
{
	int r;

	memset(decoder->bytes + block->raw, 0, DECODE_SLACK);
	decoder->at = decoder->bytes;
	decoder->end = decoder->bytes + block->raw;
	decoder->ticks = block->first;
	decoder->number = block->number;
	decoder->thread = block->thread;
	decoder->flags = block->flags & BLOCK_FLAG_ASIDE ? UNWEAVE_EVENT_ASIDE : 0;
	decoder->task_count = 1;
	decoder->frame_count = 0;
	decoder->roots = NULL;
	decoder->piece_used = 0;
	decoder->last_id = 0;
	decoder->last_address = 0;
	r = get_prelude(decoder);
	if (r < 0)
		return r;
	look_ahead(decoder);
	return 0;
}
