/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drain/follow.h"

/* A run that begins too early waits no longer: some microseconds, for a creation some hundred ns.
 */
#define HOLD_TICKS 1024u
#define HOLD_NEW_TICKS 64u
#define HOLDS_MOST 8u /* nor for more records than this */

#define RECORD_EVENTS 2u /* at the most: the end of the run before it, and its own */

uint64_t events_count(const uint64_t *words, uint32_t count)
{
	struct record record;
	uint64_t records = 0;

	for (uint32_t at = 0; at < count && parse_record(&record, words + at, count - at);
	     records++)
		at += record.words;
	return records;
}

static uint64_t records_of(const struct unweave_event *event)
{
	return event->kind == UNWEAVE_EVENT_LOST ? event->value : 1;
}

/* As if they had never been taken: the next chunk's number, or the stream's end, tells the loss. */
static void take_back(struct stream *stream, struct stream_shop *shop, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct unweave_event *event = &shop->outbox[i];

		stream->number -= records_of(event);
		if (event->kind == UNWEAVE_EVENT_LOST)
			shop->lost -= event->value;
	}
}

/* Hands the sink the events that wait for it. */
static int deliver(struct stream *stream, struct stream_shop *shop)
{
	uint32_t count = shop->waiting;
	int r;

	if (!count)
		return 0;
	shop->waiting = 0;
	r = shop->sink(shop->sink_data, stream, shop->outbox, count);
	if (r < 0) {
		take_back(stream, shop, count);
		return r;
	}
	/* A loss is the last one of its delivery. */
	stream->sent += count - 1 + records_of(&shop->outbox[count - 1]);
	return r;
}

/* The stream's time is now that of a record at hand. */
static inline void advance(struct stream *stream, uint64_t ticks)
{
	/* What was emitted before it was taken cannot be of later: a broken program may say so. */
	if (ticks > stream->words->copied)
		ticks = stream->words->copied;
	/* A thread that moves to another processor must not go back in time. */
	if (ticks > stream->time)
		stream->time = ticks;
}

/* An event at the stream's time: waits for its delivery, and can be filled further until then. */
static inline struct unweave_event *add_event(const struct stream *stream, struct stream_shop *shop,
					      uint32_t kind, uint64_t task,
					      const struct unweave_frame *stack)
{
	struct unweave_event *event = &shop->outbox[shop->waiting++];

	*event = (struct unweave_event){
		.time = stream->time,
		.task = task,
		.stack = stack,
		.thread = stream->thread,
		.kind = (uint16_t)kind,
		.flags = stream->index == ARENA_STREAM_ASIDE ? UNWEAVE_EVENT_ASIDE : 0};
	return event;
}

static uint64_t innermost(const struct stream *stream)
{
	return stream->nest_known && stream->depth ? stream->nest[stream->depth - 1] : 0;
}

static void push(struct stream *stream, uint64_t task)
{
	if (!stream->nest_known)
		return;
	if (stream->depth == stream->capacity) {
		uint32_t capacity = stream->capacity ? stream->capacity * 2 : 16;
		uint64_t *nest = NULL;

		if (capacity <= STREAM_NEST_MAX)
			nest = reallocarray(stream->nest, capacity, sizeof(*nest));
		if (!nest) {
			stream->nest_known = false;
			stream->depth = 0;
			return;
		}
		stream->nest = nest;
		stream->capacity = capacity;
	}
	stream->nest[stream->depth++] = task;
}

static void pop(struct stream *stream, uint64_t task)
{
	if (stream->nest_known && stream->depth && stream->nest[stream->depth - 1] == task)
		stream->depth--;
}

/* The chain that the task, whose slot this is, has after this record. */
static inline const struct unweave_frame *follow_chain(struct stream_shop *shop,
						       struct chain_slot *slot, uint64_t task,
						       const struct record *record)
{
	return record->stack ? follow_change(shop, slot, task, record) : chain_stack(slot);
}

/* Whether the session asks for the stacks of such a task: RECORD_RESET_*_STACKS. */
static inline bool is_told(const struct stream *stream, uint64_t task, unsigned stacks)
{
	return stream->told >> (task & 1) & stacks;
}

/*
 * A run of the task, whose slot this is, begins with this chain; returns what to say of it. What is
 * remembered of a chain counts only if the session asks for stacks there: else it may have changed,
 * and nobody said so. Where the run's end is not told with what waits then, nobody asks whether it
 * runs.
 */
static inline const struct unweave_frame *start_run(const struct stream *stream,
						    struct chain_slot *slot, uint64_t task,
						    const struct unweave_frame *chain)
{
	if (slot->task && is_told(stream, task, RECORD_RESET_SUSPEND_STACKS))
		slot->chain |= CHAIN_RUNS;
	return is_told(stream, task, RECORD_RESET_RESUME_STACKS) ? chain : NULL;
}

static inline const struct unweave_frame *begin_run(struct stream *stream, struct stream_shop *shop,
						    uint64_t task, const struct record *record)
{
	struct chain_slot *slot = chains_again(&shop->chains, task);
	const struct unweave_frame *chain = follow_chain(shop, slot, task, record);

	if (record->stack)
		slot = chains_again(&shop->chains, task);
	return start_run(stream, slot, task, chain);
}

/* A run of the task ends, and it waits; returns its chain as above. */
static inline const struct unweave_frame *end_run(struct stream *stream, struct stream_shop *shop,
						  uint64_t task, const struct record *record)
{
	struct chain_slot *slot = chains_again(&shop->chains, task);
	const struct unweave_frame *chain;

	slot->chain &= ~CHAIN_RUNS;
	chain = follow_chain(shop, slot, task, record);
	return is_told(stream, task, RECORD_RESET_SUSPEND_STACKS) ? chain : NULL;
}

/* A run that ended without reading the clock: it ended when the next record says. */
static inline void flush_leave(struct stream *stream, struct stream_shop *shop, uint16_t flags)
{
	struct unweave_event *event;

	if (!stream->leaving)
		return;
	event = add_event(stream, shop, stream->leaving, stream->left, stream->left_stack);
	event->flags |= flags;
	event->value = stream->left_status;
	stream->leaving = 0;
}

int events_lost(struct stream *stream, struct stream_shop *shop, uint64_t records,
		enum unweave_loss cause)
{
	struct unweave_event *event;

	flush_leave(stream, shop, UNWEAVE_EVENT_TIME_UNKNOWN);
	stream->number += records;
	shop->lost += records;
	/* Who tells only what is new must not have it joined to what is old by now. */
	chains_clear(&shop->chains);
	stream->nest_known = false;
	stream->depth = 0;
	event = add_event(stream, shop, UNWEAVE_EVENT_LOST, 0, NULL);
	event->value = records;
	event->other = cause;
	return deliver(stream, shop);
}

int events_end(struct stream *stream, struct stream_shop *shop)
{
	flush_leave(stream, shop, UNWEAVE_EVENT_TIME_UNKNOWN);
	return deliver(stream, shop);
}

/* The fields that are the same for all kinds of one shape. */
static void fill(struct unweave_event *event, enum unweave_event_kind kind, uint64_t task)
{
	event->kind = kind;
	event->task = task;
}

static void decode_end(struct stream *stream, struct stream_shop *shop, const struct record *record,
		       struct unweave_event *event)
{
	switch (record->kind) {
	case RECORD_SUSPEND:
		fill(event, UNWEAVE_EVENT_SUSPEND, innermost(stream));
		break;
	case RECORD_SUSPEND_TASK:
		fill(event, UNWEAVE_EVENT_SUSPEND, record->fields[0]);
		break;
	case RECORD_COMPLETE_TASK:
		fill(event, UNWEAVE_EVENT_COMPLETE, record->fields[0]);
		event->value = record->fields[1];
		break;
	default:
		fill(event, UNWEAVE_EVENT_COMPLETE, innermost(stream));
		event->value = record->kind - RECORD_COMPLETE;
		break;
	}
	if (event->kind == UNWEAVE_EVENT_SUSPEND) {
		event->stack = end_run(stream, shop, event->task, record);
	} else {
		chains_remove(&shop->chains, event->task);
	}
	pop(stream, event->task);
}

static void decode_task(struct stream *stream, struct stream_shop *shop,
			const struct record *record, struct unweave_event *event)
{
	uint64_t task = record->fields[0];

	switch (record->kind) {
	case RECORD_CREATE:
		fill(event, UNWEAVE_EVENT_CREATE, task);
		event->other = record->fields[1];
		event->value = record->fields[2];
		event->stack = follow_chain(shop, chains_again(&shop->chains, task), task, record);
		break;
	case RECORD_REPLAY:
		fill(event, UNWEAVE_EVENT_REPLAY, task);
		event->stack = begin_run(stream, shop, task, record);
		push(stream, task);
		break;
	case RECORD_APPEND:
		fill(event, UNWEAVE_EVENT_APPEND, task);
		event->other = record->fields[1];
		event->stack = follow_chain(shop, chains_again(&shop->chains, task), task, record);
		break;
	case RECORD_LATE:
		fill(event, UNWEAVE_EVENT_APPEND, task);
		event->other = record->fields[1];
		event->flags |= UNWEAVE_EVENT_LATE;
		event->stack = follow_alone(shop, record);
		break;
	case RECORD_AWAIT:
		fill(event, UNWEAVE_EVENT_AWAIT, task);
		event->other = record->fields[1];
		event->stack = follow_alone(shop, record);
		break;
	case RECORD_WAKE:
	case RECORD_WAKE_FROM:
		fill(event, UNWEAVE_EVENT_WAKE, task);
		event->other = innermost(stream);
		event->value =
			record->kind == RECORD_WAKE ? UNWEAVE_SOURCE_TASK : record->fields[1];
		break;
	}
}

/*
 * What a thread's first reset of a new revision says. Around a time in which not every
 * change of a chain was told, a program that tells what is new must not have it joined to
 * what is old by now. The others follow within a hook: at worst they say less.
 */
static void follow_session(struct stream_shop *shop, uint64_t reset)
{
	const uint64_t all = RECORD_RESET_SUSPEND_STACKS | RECORD_RESET_SUSPEND_STACKS << 1;

	if (reset >> 8 <= shop->last_reset >> 8)
		return;
	if ((reset & shop->last_reset & all) != all)
		chains_clear(&shop->chains);
	shop->last_reset = reset;
}

static void decode_marker(struct stream *stream, struct stream_shop *shop,
			  const struct record *record, struct unweave_event *event)
{
	switch (record->kind) {
	case RECORD_FRAME_RESUME:
		fill(event, UNWEAVE_EVENT_FRAME_RESUME, innermost(stream));
		break;
	case RECORD_FRAME_COMPLETE:
		fill(event, UNWEAVE_EVENT_FRAME_COMPLETE, innermost(stream));
		break;
	case RECORD_UNWIND:
		fill(event, UNWEAVE_EVENT_UNWIND, innermost(stream));
		event->value = record->fields[0];
		break;
	case RECORD_ANCHOR_RESET:
		fill(event, UNWEAVE_EVENT_ANCHOR_RESET, innermost(stream));
		break;
	case RECORD_IDLE:
		fill(event, UNWEAVE_EVENT_IDLE, 0);
		break;
	case RECORD_WAIT:
		fill(event, UNWEAVE_EVENT_IDLE, record->fields[0]);
		break;
	case RECORD_WOKE:
		fill(event, UNWEAVE_EVENT_WOKE, record->fields[0]);
		break;
	case RECORD_DUE:
		fill(event, UNWEAVE_EVENT_DUE, 0);
		event->value = record->fields[0];
		break;
	case RECORD_RESET:
		fill(event, UNWEAVE_EVENT_RESET, 0);
		event->value = record->fields[0] & RECORD_RESET_WHY;
		stream->nest_known = record->fields[0] & RECORD_RESET_NEST;
		stream->told = (uint8_t)record->fields[0];
		follow_session(shop, record->fields[0]);
		stream->depth = 0;
		break;
	}
}

/* The text outlives the record, which is not ended by a NUL. */
static void decode_name(struct stream_shop *shop, const struct record *record,
			struct unweave_event *event)
{
	fill(event, UNWEAVE_EVENT_NAME, record->fields[0]);
	memcpy(shop->text, record->fields + 2, record->fields[1]);
	shop->text[record->fields[1]] = '\0';
	event->text = shop->text;
}

static inline void decode_leave(struct stream *stream, struct stream_shop *shop,
				const struct record *record)
{
	uint64_t task = innermost(stream);

	/* Two in a row: the first one can only have ended when the second began to wait. */
	flush_leave(stream, shop, UNWEAVE_EVENT_TIME_UNKNOWN);
	stream->left = task;
	stream->left_status = 0;
	stream->left_stack = NULL;
	if (record->kind == RECORD_LEAVE) {
		stream->leaving = UNWEAVE_EVENT_SUSPEND;
		stream->left_stack = end_run(stream, shop, task, record);
	} else {
		stream->leaving = UNWEAVE_EVENT_COMPLETE;
		stream->left_status = (uint8_t)(record->kind - RECORD_END);
		chains_remove(&shop->chains, task);
	}
	stream->depth -= stream->depth > 0;
}

static int decode_seldom(struct stream *stream, struct stream_shop *shop,
			 const struct record *record)
{
	struct unweave_event *event = add_event(stream, shop, 0, 0, NULL);

	switch (record->kind) {
	case RECORD_SUSPEND:
	case RECORD_SUSPEND_TASK:
	case RECORD_COMPLETE:
	case RECORD_COMPLETE_ERROR:
	case RECORD_COMPLETE_CANCELLED:
	case RECORD_COMPLETE_TASK:
		decode_end(stream, shop, record, event);
		break;
	case RECORD_CREATE:
	case RECORD_REPLAY:
	case RECORD_APPEND:
	case RECORD_LATE:
	case RECORD_AWAIT:
	case RECORD_WAKE:
	case RECORD_WAKE_FROM:
		decode_task(stream, shop, record, event);
		break;
	case RECORD_NAME:
		decode_name(shop, record, event);
		/* At once: there is room for one text. */
		return deliver(stream, shop);
	default:
		decode_marker(stream, shop, record, event);
		break;
	}
	return 0;
}

/* Adds RECORD_EVENTS events at the most, for which there is room. */
static inline int decode(struct stream *stream, struct stream_shop *shop,
			 const struct record *record)
{
	uint64_t task;

	if (record_is_untimed(record->kind)) {
		decode_leave(stream, shop, record);
		return 0;
	}
	advance(stream, record->ticks);
	flush_leave(stream, shop, 0);
	if (__builtin_expect(record->kind != RECORD_RESUME, 0))
		return decode_seldom(stream, shop, record);
	task = record->fields[0];
	add_event(stream, shop, UNWEAVE_EVENT_RESUME, task, begin_run(stream, shop, task, record));
	push(stream, task);
	return 0;
}

/* Whether the record is the one that the session begins with on this stream. */
static bool opens(const struct stream_shop *shop, const struct record *record)
{
	return record->kind == RECORD_RESET && record->fields[0] >> 8 >= shop->session;
}

/* Decodes a record that it is the turn of; drops it if it is of an earlier session. */
static int take(struct stream *stream, struct stream_shop *shop, const struct record *record)
{
	stream->number++;
	if (__builtin_expect(stream->gated, 0)) {
		stream->gated = !opens(shop, record);
		if (stream->gated) {
			stream->sent = stream->number;
			return 0;
		}
	}
	shop->records++;
	return decode(stream, shop, record);
}

/* Takes the next few records apart, and has what they will need fetched: by the last of them,
 * memory has answered. False if there is none: the words make no sense. */
static bool parse_batch(struct stream *stream, const struct stream_shop *shop)
{
	struct stream_words *words = stream->words;
	uint32_t at = words->at, count = 0;

	while (at < words->count && count < STREAM_BATCH) {
		struct record *record = &words->batch[count];

		if (!parse_switch(record, words->words + at, words->count - at) &&
		    !parse_record(record, words->words + at, words->count - at))
			break;
		if (record->kind == PARSE_SWITCH || record->kind == RECORD_RESUME)
			chains_prefetch(&shop->chains, record->fields[0]);
		at += record->words;
		count++;
	}
	words->at = at;
	words->parsed = count;
	words->decoded = 0;
	return count > 0;
}

/*
 * A run that ended without reading the clock is over at once: another thread may
 * have the task by the time of the next record.
 */
static uint64_t due(const struct stream *stream, uint32_t kind, uint64_t ticks)
{
	if (record_is_untimed(kind) || kind == PARSE_SWITCH)
		return 0;
	if (ticks > stream->words->copied)
		ticks = stream->words->copied;
	return ticks > stream->held ? ticks : stream->held;
}

uint64_t events_due(const struct stream *stream)
{
	const struct stream_words *words = stream->words;
	const struct record *record = &words->batch[words->decoded];
	uint64_t ticks;

	if (words->decoded < words->parsed) {
		ticks = due(stream, record->kind, record->ticks);
	} else {
		uint64_t head = words->words[words->at];

		ticks = due(stream, head & 0x7f, record_ticks(head));
	}
	return ticks > stream->time ? ticks : stream->time;
}

/* The stamp of the record after the next one, as far as is known. */
static uint64_t stamp_after(const struct stream_words *words)
{
	for (uint32_t i = words->decoded + 1; i < words->parsed; i++)
		if (!record_is_untimed(words->batch[i].kind))
			return words->batch[i].ticks;
	return UINT64_MAX;
}

/* Whether the task's last run still goes on, or the task is not there yet, as far as was decoded.
 */
static inline bool is_too_early(const struct stream *stream, const struct chain_slot *slot,
				uint64_t task)
{
	if (slot->task)
		return slot->chain & CHAIN_RUNS;
	return is_told(stream, task, RECORD_RESET_SUSPEND_STACKS);
}

/*
 * Until when a run that begins too early may wait. For the end of the task's last run, not once
 * its own next stamp has come: it is the other run's that was too early, then.
 */
static uint64_t latest_begin(const struct stream *stream, const struct chain_slot *slot,
			     const struct record *record)
{
	uint64_t after = slot->task ? stamp_after(stream->words) : UINT64_MAX;
	uint64_t latest = record->ticks + (slot->task ? HOLD_TICKS : HOLD_NEW_TICKS);

	return after < latest ? after : latest;
}

/*
 * Whether a run is to begin after others have been decoded. A processor may read its clock before
 * it has seen what its thread waited for, and the stamp is too early then, by as long as that took:
 * it lies before the end of the task's last run on another thread, or before its creation. Whoever
 * is due next, at `limit`, goes first; but not for long, and not if nobody is due in this pass. If
 * that helped, the run began when it could.
 */
static inline bool comes_early(struct stream *stream, struct stream_shop *shop,
			       struct record *record, uint64_t limit)
{
	struct chain_slot *slot = chains_find(&shop->chains, record->fields[0]);

	shop->chains.last = slot;
	if (__builtin_expect(!is_too_early(stream, slot, record->fields[0]), 1)) {
		if (stream->holds && record->ticks < stream->held)
			record->ticks = stream->held;
		return false;
	}
	return limit < shop->horizon && stream->holds < HOLDS_MOST &&
	       limit <= latest_begin(stream, slot, record);
}

/*
 * Both halves of a switch at once, if nothing about them is unusual: as decode_leave() and
 * decode() would do, one after the other. Returns false, and has done nothing, if something is.
 */
static inline bool decode_switch(struct stream *stream, struct stream_shop *shop,
				 const struct record *record, uint64_t limit)
{
	uint64_t left = innermost(stream), task = record->fields[0];
	struct chain_slot *from = chains_again(&shop->chains, left);
	struct chain_slot *to = chains_find(&shop->chains, task);
	const struct unweave_frame *chain = chain_stack(from);

	if (due(stream, RECORD_RESUME, record->ticks) > limit || stream->gated || stream->leaving ||
	    !stream->nest_known || !stream->depth || is_too_early(stream, to, task) ||
	    (record->stack && !follow_is_usual(shop, chain, record)))
		return false;
	if (record->stack)
		chain = follow_push(shop, chain, record->stack);
	from->chain = (uintptr_t)chain;
	advance(stream, record->ticks);
	add_event(stream, shop, UNWEAVE_EVENT_SUSPEND, left,
		  is_told(stream, left, RECORD_RESET_SUSPEND_STACKS) ? chain : NULL);
	add_event(stream, shop, UNWEAVE_EVENT_RESUME, task,
		  start_run(stream, to, task, chain_stack(to)));
	shop->chains.last = to;
	stream->nest[stream->depth - 1] = task;
	stream->number += 2;
	shop->records += 2;
	return true;
}

/* Leaves the RESUME of a switch; returns the LEAVE. */
static struct record split_switch(struct record *record)
{
	struct record leave = {.kind = RECORD_LEAVE, .stack = record->stack};

	record->kind = RECORD_RESUME;
	record->stack = NULL;
	return leave;
}

/* Whether it is the record's turn. One that comes too early is held back. */
static inline bool is_turn(struct stream *stream, struct stream_shop *shop, struct record *record,
			   uint64_t limit)
{
	if (due(stream, record->kind, record->ticks) > limit)
		return false;
	if (record->kind == RECORD_RESUME && comes_early(stream, shop, record, limit)) {
		stream->held = limit + 1;
		stream->holds++;
		return false;
	}
	return true;
}

/* Decodes those that are due at `limit`, and moves on past them. */
static int decode_batch(struct stream *stream, struct stream_shop *shop, uint64_t limit)
{
	struct stream_words *words = stream->words;

	while (words->decoded < words->parsed) {
		struct record *record = &words->batch[words->decoded];
		struct record leave;
		int r = 0;

		if (shop->waiting > STREAM_EVENTS - RECORD_EVENTS)
			r = deliver(stream, shop);
		if (r < 0)
			return r;
		if (record->kind == PARSE_SWITCH) {
			if (decode_switch(stream, shop, record, limit)) {
				words->decoded++;
				continue;
			}
			leave = split_switch(record);
			record = &leave;
		} else {
			if (!is_turn(stream, shop, record, limit))
				break;
			words->decoded++;
		}
		stream->holds = 0;
		r = take(stream, shop, record);
		if (r < 0)
			return r;
	}
	return 0;
}

int events_decode(struct stream *stream, struct stream_shop *shop, uint64_t limit)
{
	struct stream_words *words = stream->words;
	int r = 0, delivered;

	while (stream_words_left(words) && r >= 0) {
		if (words->decoded == words->parsed && !parse_batch(stream, shop)) {
			words->at = words->count;
			shop->damaged++;
			break;
		}
		r = decode_batch(stream, shop, limit);
		if (words->decoded < words->parsed)
			break;
	}
	delivered = deliver(stream, shop);
	return r < 0 ? r : delivered;
}
