/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/encoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/told.h"

#define NEST_MAX 4096u
#define TEXT_MOST 4096u
#define LOSS_CAUSES (UNWEAVE_LOSS_DAMAGE + 1)
#define DELTA_BITS 60u /* of time, in the head of an event */
/* Events between the request for what is known of a task and its turn: enough for memory to answer,
 * and not more lines than a processor can wait for at once. */
#define AHEAD 32u
/* The reader adds this flag to all of an aside stream; it is not stored. */
#define FLAGS_STORED (0xffffu & ~UNWEAVE_EVENT_ASIDE)

/* What is written at once: an event, the SUSPEND that waits, or that and the RESUME after it. */
struct item {
	bool suspend;
	const struct unweave_event *event;
	uint64_t time;
};

struct encoder {
	encoder_sink sink;
	void *data;
	int error; /* first thing that went wrong in the present call */
	uint32_t thread;
	bool aside;

	bool open; /* a block is under construction, with its prelude */
	bool nest_known;
	bool waits; /* a SUSPEND of the innermost run: a RESUME at its time makes it a SWITCH */
	const struct unweave_frame *left; /* its chain */
	uint64_t time;                    /* of the last event put: of that SUSPEND, if it waits */
	uint64_t number; /* of the next record, not counting the SUSPEND that waits */
	struct block block;
	uint8_t *start; /* of the events, after the prelude */
	struct room room;
	struct told told;

	uint64_t lost[LOSS_CAUSES]; /* just before `block`, and not said in the trace yet */
	uint64_t lost_time;         /* of the first of them */
	uint64_t lost_ever;         /* with those that were said */

	uint32_t depth;
	uint64_t nest[NEST_MAX]; /* tasks; each has been mentioned in the open block */
	uint8_t payload[FORMAT_PAYLOAD_MAX];
};

int encoder_new(struct encoder **ret, uint32_t thread, bool aside, uint64_t number, bool nest_known,
		encoder_sink sink, void *data)
{
	/* Not zeroed as a whole: most of it stays untouched in a stream with little to say. */
	struct encoder *encoder = malloc(sizeof(*encoder));

	if (!encoder)
		return -ENOMEM;
	memset(encoder, 0, offsetof(struct encoder, nest));
	if (told_init(&encoder->told) < 0) {
		free(encoder);
		return -ENOMEM;
	}
	encoder->thread = thread;
	encoder->aside = aside;
	encoder->number = number;
	encoder->nest_known = nest_known;
	encoder->sink = sink;
	encoder->data = data;
	*ret = encoder;
	return 0;
}

struct encoder *encoder_free(struct encoder *encoder)
{
	if (encoder)
		told_fini(&encoder->told);
	free(encoder);
	return NULL;
}

/* NULL where a reader would not know it. */
static const uint64_t *innermost(const struct encoder *encoder)
{
	if (!encoder->nest_known || encoder->depth == 0)
		return NULL;
	return &encoder->nest[encoder->depth - 1];
}

static bool pushes(unsigned kind)
{
	return kind == UNWEAVE_EVENT_RESUME || kind == UNWEAVE_EVENT_REPLAY;
}

/* Whether there is nothing about the event that only CODE_OTHER can say. */
static bool is_plain(const struct unweave_event *event)
{
	return !(event->other | event->value | (uintptr_t)event->text |
		 (event->flags & FLAGS_STORED));
}

static bool is_innermost(const struct encoder *encoder, uint64_t task)
{
	const uint64_t *run = innermost(encoder);

	return run && *run == task;
}

static void put_head(struct room *room, uint64_t delta, enum event_code code)
{
	room_put(room, delta << 4 | code);
}

static void put_task(struct encoder *encoder, const struct unweave_event *event)
{
	const struct mention *known = mentions_find(&encoder->told.tasks, event->task);
	const struct unweave_frame *chain = known ? known->chain : NULL;

	/* A mention always tells a chain; where the event has none, it must not change it. */
	if (format_tells_chain(event->kind))
		chain = event->stack;
	told_put_task(&encoder->told, &encoder->room, event->task, chain);
}

static void put_other_fields(struct encoder *encoder, const struct unweave_event *event)
{
	struct room *room = &encoder->room;
	bool stack = format_tells_chain(event->kind) && event->stack;
	unsigned flags = event->flags & FLAGS_STORED;
	unsigned mask = 0;

	mask |= event->task || stack || pushes(event->kind) ? OTHER_TASK : 0;
	mask |= event->other ? OTHER_OTHER : 0;
	mask |= event->value ? OTHER_VALUE : 0;
	mask |= event->text ? OTHER_TEXT : 0;
	mask |= flags ? OTHER_FLAGS : 0;

	room_put(room, mask);
	if (mask & OTHER_TASK)
		put_task(encoder, event);
	if (mask & OTHER_OTHER)
		room_put(room, event->other);
	if (mask & OTHER_VALUE)
		room_put(room, event->value);
	if (mask & OTHER_TEXT)
		room_put_text(room, event->text, strnlen(event->text, TEXT_MOST));
	if (mask & OTHER_FLAGS)
		room_put(room, flags);
}

static void write_other(struct encoder *encoder, uint64_t delta, const struct unweave_event *event)
{
	struct room *room = &encoder->room;
	uint8_t *length, *body;

	put_head(room, delta, CODE_OTHER);
	room_put(room, event->kind);
	length = room->at;
	room_put(room, 0);
	body = room->at;
	put_other_fields(encoder, event);
	room_put(room, 0); /* as much room as the length may need beyond its one byte */
	if (!room->full) {
		size_t size = (size_t)(room->at - 1 - body);
		uint8_t bytes[VARINT_MOST];
		size_t count = (size_t)(varint_put(bytes, size) - bytes);

		memmove(length + count, body, size);
		memcpy(length, bytes, count);
		room->at = length + count + size;
	}
}

/* Tells the chain that the run which ends has now; returns what the reader thought it was. */
static const struct unweave_frame *tell_left(struct encoder *encoder)
{
	uint64_t task = encoder->nest[encoder->depth - 1];
	struct mention *mention = mentions_again(&encoder->told.tasks, task);
	const struct unweave_frame *was = mention->chain;

	mention->chain = encoder->left;
	return was;
}

/* A RESUME; or a SWITCH, if the SUSPEND that waits comes `first`. */
static void write_resume(struct encoder *encoder, uint64_t delta, bool first,
			 const struct unweave_event *event)
{
	const struct unweave_frame *was = first ? tell_left(encoder) : NULL;
	bool moved = first && was != encoder->left;
	unsigned code = !first ? CODE_RESUME : moved ? CODE_SWITCH_STACK : CODE_SWITCH;
	struct mention *mention = mentions_find(&encoder->told.tasks, event->task);
	bool known = mention && mention->chain == event->stack;

	encoder->told.tasks.last = mention;

	if (!known)
		code += first ? CODE_SWITCH_TO - CODE_SWITCH : CODE_RESUME_TO - CODE_RESUME;
	put_head(&encoder->room, delta, code);
	if (moved)
		told_put_stack(&encoder->told, &encoder->room, was, encoder->left);
	if (known)
		room_put(&encoder->room, mention->index);
	else
		told_put_task(&encoder->told, &encoder->room, event->task, event->stack);
}

static void write_suspend(struct encoder *encoder, uint64_t delta)
{
	const struct unweave_frame *was = tell_left(encoder);
	bool moved = was != encoder->left;

	put_head(&encoder->room, delta, moved ? CODE_SUSPEND_STACK : CODE_SUSPEND);
	if (moved)
		told_put_stack(&encoder->told, &encoder->room, was, encoder->left);
}

static void write_wake(struct encoder *encoder, uint64_t delta, const struct unweave_event *event)
{
	const struct mention *mention = mentions_find(&encoder->told.tasks, event->task);

	if (mention) {
		put_head(&encoder->room, delta, CODE_WAKE);
		room_put(&encoder->room, mention->index);
	} else {
		put_head(&encoder->room, delta, CODE_WAKE_TO);
		told_put_task(&encoder->told, &encoder->room, event->task, NULL);
	}
}

static void write_create(struct encoder *encoder, uint64_t delta, const struct unweave_event *event)
{
	struct room *room = &encoder->room;
	const struct mention *parent;

	put_head(room, delta, CODE_CREATE);
	told_put_task(&encoder->told, room, event->task, event->stack);
	parent = mentions_find(&encoder->told.tasks, event->other);
	if (event->other == 0) {
		room_put(room, 0);
	} else if (is_innermost(encoder, event->other)) {
		room_put(room, 1);
	} else if (parent) {
		room_put(room, parent->index + UINT64_C(3));
	} else {
		room_put(room, 2);
		room_put(room, event->other);
	}
	room_put(room, event->value);
}

/* Any event but a SUSPEND that waited; compact where that gives back exactly the same event. */
static void write_event(struct encoder *encoder, uint64_t delta, const struct unweave_event *event)
{
	const uint64_t *run = innermost(encoder);
	bool plain = is_plain(event);
	bool runs = plain && run && *run == event->task;

	switch (event->kind) {
	case UNWEAVE_EVENT_RESUME:
		if (!plain)
			break;
		write_resume(encoder, delta, false, event);
		return;
	case UNWEAVE_EVENT_CREATE:
		if (event->text || event->flags & FLAGS_STORED)
			break;
		write_create(encoder, delta, event);
		return;
	case UNWEAVE_EVENT_WAKE:
		if (event->other != (run ? *run : 0) || event->value || event->text ||
		    event->flags & FLAGS_STORED)
			break;
		write_wake(encoder, delta, event);
		return;
	case UNWEAVE_EVENT_COMPLETE:
		if (!runs)
			break;
		put_head(&encoder->room, delta, CODE_COMPLETE);
		return;
	case UNWEAVE_EVENT_FRAME_RESUME:
		if (!runs)
			break;
		put_head(&encoder->room, delta, CODE_FRAME_RESUME);
		return;
	case UNWEAVE_EVENT_FRAME_COMPLETE:
		if (!runs)
			break;
		put_head(&encoder->room, delta, CODE_FRAME_COMPLETE);
		return;
	case UNWEAVE_EVENT_IDLE:
		if (!plain || event->task)
			break;
		put_head(&encoder->room, delta, CODE_IDLE);
		return;
	}
	write_other(encoder, delta, event);
}

static void write_item(struct encoder *encoder, const struct item *item)
{
	uint64_t delta = item->time - encoder->block.last;

	if (!item->suspend)
		write_event(encoder, delta, item->event);
	else if (item->event)
		write_resume(encoder, delta, true, item->event);
	else
		write_suspend(encoder, delta);
}

static uint64_t lost_total(const struct encoder *encoder)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < LOSS_CAUSES; i++)
		total += encoder->lost[i];
	return total;
}

static void lose(struct encoder *encoder, enum unweave_loss cause, uint64_t events, uint64_t time,
		 int error)
{
	if (lost_total(encoder) == 0)
		encoder->lost_time = time;
	encoder->lost[cause] += events;
	encoder->lost_ever += events;
	if (!encoder->error)
		encoder->error = error;
}

/*
 * Says what was lost before record `number`, in a block of its own: a LOST event
 * makes the nest unknown to the reader, and the next block can say it again.
 */
static int send_losses(struct encoder *encoder, uint64_t number)
{
	uint8_t bytes[LOSS_CAUSES * 5 * VARINT_MOST];
	struct unweave_event event = {.kind = UNWEAVE_EVENT_LOST};
	struct block block = {
		.kind = BLOCK_EVENTS,
		.flags = encoder->aside ? BLOCK_FLAG_ASIDE : 0,
		.thread = encoder->thread,
		.first = encoder->lost_time,
		.last = encoder->lost_time,
		.events = lost_total(encoder),
	};
	int r;

	if (block.events == 0)
		return 0;
	encoder->room = (struct room){.at = bytes, .end = bytes + sizeof(bytes)};
	room_put(&encoder->room, 0);
	for (unsigned i = 0; i < LOSS_CAUSES; i++) {
		event.other = i;
		event.value = encoder->lost[i];
		if (event.value)
			write_other(encoder, 0, &event);
	}
	block.number = number - block.events;
	block.raw = (uint32_t)(encoder->room.at - bytes);
	block.stored = block.raw;
	r = encoder->sink(encoder->data, &block, bytes);
	if (r < 0)
		return r;
	memset(encoder->lost, 0, sizeof(encoder->lost));
	return 0;
}

/* Ends the block; one without events is dropped. */
static void close_block(struct encoder *encoder)
{
	struct block *block = &encoder->block;
	int r;

	if (!encoder->open)
		return;
	encoder->open = false;
	if (encoder->room.at == encoder->start)
		return;
	block->raw = (uint32_t)(encoder->room.at - encoder->payload);
	block->stored = block->raw;
	/* After losses that could not be said, a block would stand before what it follows. */
	r = send_losses(encoder, block->number);
	if (r >= 0)
		r = encoder->sink(encoder->data, block, encoder->payload);
	if (r < 0)
		lose(encoder, UNWEAVE_LOSS_DISK, block->events, block->first, r);
}

/* False if there is no memory for what a reader must be told first. */
static bool open_block(struct encoder *encoder, uint64_t time)
{
	struct room *room = &encoder->room;

	if (encoder->open)
		return true;
	encoder->block = (struct block){
		.kind = BLOCK_EVENTS,
		.flags = encoder->aside ? BLOCK_FLAG_ASIDE : 0,
		.thread = encoder->thread,
		.first = time,
		.last = time,
		.number = encoder->number,
	};
	*room = (struct room){.at = encoder->payload,
			      .end = encoder->payload + sizeof(encoder->payload)};
	told_clear(&encoder->told);
	room_put(room, encoder->nest_known);
	if (encoder->nest_known)
		room_put(room, encoder->depth);
	for (uint32_t i = 0; encoder->nest_known && i < encoder->depth; i++)
		told_put_task(&encoder->told, room, encoder->nest[i], NULL);
	encoder->start = room->at;
	encoder->open = !room->full;
	return encoder->open;
}

/* What an event does to the nest, whichever way it is written. */
static void follow(struct encoder *encoder, const struct unweave_event *event)
{
	switch (event->kind) {
	case UNWEAVE_EVENT_RESUME:
	case UNWEAVE_EVENT_REPLAY:
		if (encoder->nest_known)
			encoder->nest[encoder->depth++] = event->task;
		break;
	case UNWEAVE_EVENT_SUSPEND:
	case UNWEAVE_EVENT_COMPLETE:
		if (is_innermost(encoder, event->task))
			encoder->depth--;
		break;
	case UNWEAVE_EVENT_RESET:
		encoder->nest_known = true;
		encoder->depth = 0;
		break;
	case UNWEAVE_EVENT_LOST:
		encoder->nest_known = false;
		encoder->depth = 0;
		break;
	}
}

static uint64_t numbers_of(const struct item *item)
{
	if (item->event && item->event->kind == UNWEAVE_EVENT_LOST)
		return item->event->value;
	return item->suspend + (item->event != NULL);
}

/* Writes the item; if it does not fit, in a new block. */
static bool place(struct encoder *encoder, const struct item *item)
{
	if (encoder->open && (item->time - encoder->block.last) >> DELTA_BITS)
		close_block(encoder);
	while (open_block(encoder, item->time)) {
		uint8_t *before = encoder->room.at;
		bool fresh = before == encoder->start;

		write_item(encoder, item);
		if (!encoder->room.full)
			return true;
		/* The dictionaries now say too much, but they end with the block. */
		encoder->room.at = before;
		close_block(encoder);
		if (fresh)
			break;
	}
	return false;
}

static void add(struct encoder *encoder, const struct item *item)
{
	uint64_t numbers = numbers_of(item);

	if (place(encoder, item)) {
		encoder->block.last = item->time;
		encoder->block.events += numbers;
	} else {
		lose(encoder, UNWEAVE_LOSS_FULL, numbers, item->time, -ENOMEM);
	}
	encoder->number += numbers;
	encoder->depth -= item->suspend;
	if (item->event)
		follow(encoder, item->event);
}

static void add_waiting(struct encoder *encoder)
{
	struct item item = {.suspend = true, .time = encoder->time};

	if (!encoder->waits)
		return;
	encoder->waits = false;
	add(encoder, &item);
}

/* Deeper than the encoder keeps, the nest is unknown; a reader learns so from a new block. */
static void forget_nest(struct encoder *encoder)
{
	close_block(encoder);
	encoder->nest_known = false;
	encoder->depth = 0;
}

static void put_one(struct encoder *encoder, const struct unweave_event *event)
{
	struct item item = {.event = event, .time = event->time};

	if (item.time < encoder->time)
		item.time = encoder->time;
	if (encoder->waits && event->kind == UNWEAVE_EVENT_RESUME && item.time == encoder->time &&
	    is_plain(event)) {
		item.suspend = true;
		encoder->waits = false;
	}
	add_waiting(encoder);
	encoder->time = item.time;

	if (event->kind == UNWEAVE_EVENT_SUSPEND && is_plain(event) &&
	    is_innermost(encoder, event->task)) {
		encoder->left = event->stack;
		encoder->waits = true;
		return;
	}
	if (pushes(event->kind) && !item.suspend && encoder->depth == NEST_MAX)
		forget_nest(encoder);
	add(encoder, &item);
}

/* Whether the two are a SUSPEND of the innermost run and a RESUME at its time, and no more. */
static inline bool is_switch(const struct encoder *encoder, const struct unweave_event *suspend,
			     const struct unweave_event *resume)
{
	return suspend->kind == UNWEAVE_EVENT_SUSPEND && resume->kind == UNWEAVE_EVENT_RESUME &&
	       suspend->time == resume->time && suspend->time >= encoder->time && !encoder->waits &&
	       is_plain(suspend) && is_plain(resume) && is_innermost(encoder, suspend->task);
}

/* The longest SWITCH that add_quick_switch() writes: head, chain left, new task, its chain. */
#define SWITCH_MOST (5 * VARINT_MOST)

/*
 * A SWITCH between tasks whose chains the reader knows, as most are, even if it does not know the
 * next task yet: what add() would write. Returns false, and has written nothing, if it is another
 * one.
 */
static inline bool add_quick_switch(struct encoder *encoder, const struct unweave_event *suspend,
				    const struct unweave_event *resume)
{
	uint64_t delta = suspend->time - encoder->block.last, left_ref = 0, next_ref = 0;
	struct told *told = &encoder->told;
	struct mention *left, *next;
	uint8_t *at = encoder->room.at;
	bool moved, known;
	unsigned code;

	if (!encoder->open || delta >> DELTA_BITS || encoder->room.end - at < SWITCH_MOST)
		return false;
	left = mentions_again(&told->tasks, suspend->task);
	next = mentions_find(&told->tasks, resume->task);
	moved = left->chain != suspend->stack;
	known = next;
	if (moved && !told_stackref(told, left->chain, suspend->stack, &left_ref))
		return false;
	if (!known) {
		if (!told_stackref(told, NULL, resume->stack, &next_ref))
			return false;
		next = mentions_add(&told->tasks, resume->task);
		if (!next)
			return false;
		left = mentions_find(&told->tasks, suspend->task); /* it may have moved */
	} else if (next == left || next->chain != resume->stack) {
		return false;
	}

	code = moved ? CODE_SWITCH_STACK : CODE_SWITCH;
	code += known ? 0 : CODE_SWITCH_TO - CODE_SWITCH;
	at = varint_put(at, delta << 4 | code);
	if (moved)
		at = varint_put(at, left_ref);
	left->chain = suspend->stack;
	if (known) {
		at = varint_put(at, next->index);
	} else {
		at = told_put_new(told, at, next);
		at = varint_put(at, next_ref);
		next->chain = resume->stack;
	}
	encoder->room.at = at;
	told->tasks.last = next;
	encoder->nest[encoder->depth - 1] = resume->task;
	encoder->block.last = suspend->time;
	encoder->block.events += 2;
	encoder->number += 2;
	return true;
}

static inline void put_switch(struct encoder *encoder, const struct unweave_event *suspend,
			      const struct unweave_event *resume)
{
	struct item item = {.suspend = true, .event = resume, .time = resume->time};

	encoder->time = resume->time;
	if (add_quick_switch(encoder, suspend, resume))
		return;
	encoder->left = suspend->stack;
	add(encoder, &item);
}

/* For a task that will be looked for soon. */
static inline void expect(const struct encoder *encoder, const struct unweave_event *event)
{
	if (event->kind == UNWEAVE_EVENT_RESUME)
		mentions_prefetch(&encoder->told.tasks, event->task);
}

int encoder_put(struct encoder *encoder, const struct unweave_event *events, uint32_t count)
{
	uint32_t expected = 0;

	encoder->error = 0;
	for (uint32_t i = 0; i < count; i++) {
		while (expected < count && expected <= i + AHEAD)
			expect(encoder, &events[expected++]);
		if (i + 1 < count && is_switch(encoder, &events[i], &events[i + 1])) {
			put_switch(encoder, &events[i], &events[i + 1]);
			i++;
		} else {
			put_one(encoder, &events[i]);
		}
	}
	return encoder->error;
}

int encoder_flush(struct encoder *encoder)
{
	int r;

	encoder->error = 0;
	add_waiting(encoder);
	close_block(encoder);
	if (encoder->error)
		return encoder->error;
	r = send_losses(encoder, encoder->number);
	return r < 0 ? r : 0;
}

size_t encoder_bytes(const struct encoder *encoder)
{
	const struct told *told = &encoder->told;

	if (!encoder->open)
		return 0;
	return (size_t)(encoder->room.at - encoder->payload) +
	       told->tasks.count * sizeof(struct mention) +
	       told->stacks.count * sizeof(struct map_slot);
}

uint64_t encoder_lost(const struct encoder *encoder)
{
	return encoder->lost_ever;
}

bool encoder_owes(const struct encoder *encoder)
{
	return lost_total(encoder) > 0;
}

uint64_t encoder_number(const struct encoder *encoder)
{
	return encoder->number + encoder->waits;
}

uint64_t encoder_first(const struct encoder *encoder)
{
	if (encoder->open && encoder->room.at != encoder->start)
		return encoder->block.first;
	return encoder->waits ? encoder->time : 0;
}
