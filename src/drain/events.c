/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drain/follow.h"

#define BATCH 64u        /* records that are looked at together: by the last, memory has answered */
#define HOLD_TICKS 1024u /* some microseconds; a run that begins too early waits no longer */
#define HOLDS_MOST 8u    /* nor for more records than this */

uint64_t events_count(const uint64_t *words, uint32_t count)
{
	struct record record;
	uint64_t records = 0;

	for (uint32_t at = 0; at < count && parse_record(&record, words + at, count - at);
	     records++)
		at += record.words;
	return records;
}

static inline int send(struct stream *stream, struct stream_shop *shop, struct unweave_event *event)
{
	int r;

	/* What was emitted before it was taken cannot be of later: a broken program may say so. */
	if (stream->words && event->time > stream->words->copied)
		event->time = stream->words->copied;
	/* A thread that moves to another processor must not go back in time. */
	if (event->time < stream->time)
		event->time = stream->time;
	stream->time = event->time;
	event->thread = stream->thread;
	if (stream->index == ARENA_STREAM_ASIDE)
		event->flags |= UNWEAVE_EVENT_ASIDE;
	r = shop->sink(shop->sink_data, stream, event);
	stream->sent += event->kind == UNWEAVE_EVENT_LOST ? event->value : 1;
	return r;
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

/* The chain that the task has after this record. */
static inline const struct unweave_frame *follow_chain(struct stream_shop *shop, uint64_t task,
						       const struct record *record)
{
	struct chain_slot *slot = chains_again(&shop->chains, task);

	return record->stack ? follow_change(shop, slot, task, record) : chain_stack(slot);
}

static inline void note_run(struct stream_shop *shop, uint64_t task, bool runs)
{
	struct chain_slot *slot = chains_again(&shop->chains, task);

	/* Nobody asks of a task without a chain. */
	if (slot->task)
		slot->chain = (slot->chain & ~CHAIN_RUNS) | (runs ? CHAIN_RUNS : 0);
}

/*
 * The chain at an event: what is remembered counts only if the session asks for
 * stacks there. Else it may have changed, and nobody said so.
 */
static const struct unweave_frame *chain_at(struct stream *stream, struct stream_shop *shop,
					    uint64_t task, const struct record *record,
					    unsigned told)
{
	const struct unweave_frame *chain = follow_chain(shop, task, record);

	return stream->told & told << (task & 1) ? chain : NULL;
}

/* The ends of runs without a time of their own. */
static bool is_untimed(uint32_t kind)
{
	return kind == RECORD_LEAVE || (kind >= RECORD_END && kind <= RECORD_END_CANCELLED);
}

/* A run that ended without reading the clock: it ended when the next record says. */
static int flush_leave(struct stream *stream, struct stream_shop *shop, uint64_t ticks,
		       uint16_t flags)
{
	struct unweave_event event = {.kind = stream->leaving,
				      .flags = flags,
				      .time = ticks,
				      .task = stream->left,
				      .value = stream->left_status,
				      .stack = stream->left_stack};

	if (!stream->leaving)
		return 0;
	stream->leaving = 0;
	return send(stream, shop, &event);
}

int events_lost(struct stream *stream, struct stream_shop *shop, uint64_t records,
		enum unweave_loss cause)
{
	struct unweave_event event = {
		.kind = UNWEAVE_EVENT_LOST, .time = stream->time, .value = records, .other = cause};
	int r = flush_leave(stream, shop, stream->time, UNWEAVE_EVENT_TIME_UNKNOWN);

	if (r < 0)
		return r;
	stream->number += records;
	shop->lost += records;
	/* Who tells only what is new must not have it joined to what is old by now. */
	chains_clear(&shop->chains);
	stream->nest_known = false;
	stream->depth = 0;
	return send(stream, shop, &event);
}

int events_end(struct stream *stream, struct stream_shop *shop)
{
	return flush_leave(stream, shop, stream->time, UNWEAVE_EVENT_TIME_UNKNOWN);
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
		event->stack =
			chain_at(stream, shop, event->task, record, RECORD_RESET_SUSPEND_STACKS);
		note_run(shop, event->task, false);
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
		event->stack = follow_chain(shop, task, record);
		break;
	case RECORD_RESUME:
		fill(event, UNWEAVE_EVENT_RESUME, task);
		event->stack = chain_at(stream, shop, task, record, RECORD_RESET_RESUME_STACKS);
		note_run(shop, task, true);
		push(stream, task);
		break;
	case RECORD_REPLAY:
		fill(event, UNWEAVE_EVENT_REPLAY, task);
		event->stack = chain_at(stream, shop, task, record, RECORD_RESET_RESUME_STACKS);
		push(stream, task);
		break;
	case RECORD_APPEND:
		fill(event, UNWEAVE_EVENT_APPEND, task);
		event->other = record->fields[1];
		event->stack = follow_chain(shop, task, record);
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
static void decode_name(const struct record *record, struct unweave_event *event, char *text)
{
	fill(event, UNWEAVE_EVENT_NAME, record->fields[0]);
	memcpy(text, record->fields + 2, record->fields[1]);
	text[record->fields[1]] = '\0';
	event->text = text;
}

static int decode_leave(struct stream *stream, struct stream_shop *shop,
			const struct record *record)
{
	/* Two in a row: the first one can only have ended when the second began to wait. */
	int r = flush_leave(stream, shop, stream->time, UNWEAVE_EVENT_TIME_UNKNOWN);

	stream->left = innermost(stream);
	stream->left_status = 0;
	stream->left_stack = NULL;
	if (record->kind == RECORD_LEAVE) {
		stream->leaving = UNWEAVE_EVENT_SUSPEND;
		stream->left_stack =
			chain_at(stream, shop, stream->left, record, RECORD_RESET_SUSPEND_STACKS);
		note_run(shop, stream->left, false);
	} else {
		stream->leaving = UNWEAVE_EVENT_COMPLETE;
		stream->left_status = (uint8_t)(record->kind - RECORD_END);
		chains_remove(&shop->chains, stream->left);
	}
	pop(stream, stream->left);
	return r;
}

static int decode(struct stream *stream, struct stream_shop *shop, const struct record *record)
{
	struct unweave_event event = {.time = record->ticks};
	char text[RECORD_NAME_MAX + 1];
	int r;

	if (is_untimed(record->kind))
		return decode_leave(stream, shop, record);
	r = flush_leave(stream, shop, record->ticks, 0);
	if (r < 0)
		return r;
	switch (record->kind) {
	case RECORD_SUSPEND:
	case RECORD_SUSPEND_TASK:
	case RECORD_COMPLETE:
	case RECORD_COMPLETE_ERROR:
	case RECORD_COMPLETE_CANCELLED:
	case RECORD_COMPLETE_TASK:
		decode_end(stream, shop, record, &event);
		break;
	case RECORD_CREATE:
	case RECORD_RESUME:
	case RECORD_REPLAY:
	case RECORD_APPEND:
	case RECORD_LATE:
	case RECORD_AWAIT:
	case RECORD_WAKE:
	case RECORD_WAKE_FROM:
		decode_task(stream, shop, record, &event);
		break;
	case RECORD_NAME:
		decode_name(record, &event, text);
		break;
	default:
		decode_marker(stream, shop, record, &event);
		break;
	}
	return send(stream, shop, &event);
}

/* Whether the record is the one that the session begins with on this stream. */
static bool opens(const struct stream_shop *shop, const struct record *record)
{
	return record->kind == RECORD_RESET && record->fields[0] >> 8 >= shop->session;
}

/* Parses up to BATCH records, and has what they will need fetched. Returns how many. */
static uint32_t parse_batch(struct record *batch, const struct stream *stream,
			    const struct stream_shop *shop, const uint64_t *words, uint32_t count)
{
	uint32_t at = 0, records = 0;

	while (at < count && records < BATCH &&
	       parse_record(&batch[records], words + at, count - at)) {
		const struct record *record = &batch[records++];

		at += record->words;
		if (record->kind != RECORD_RESUME)
			continue;
		chains_prefetch(&shop->chains, record->fields[0]);
		if (shop->soon)
			shop->soon(shop->sink_data, stream, record->fields[0]);
	}
	return records;
}

/*
 * A run that ended without reading the clock is over at once: another thread may
 * have the task by the time of the next record.
 */
static uint64_t due(const struct stream *stream, uint32_t kind, uint64_t ticks)
{
	if (is_untimed(kind))
		return 0;
	if (ticks > stream->words->copied)
		ticks = stream->words->copied;
	return ticks > stream->held ? ticks : stream->held;
}

uint64_t events_due(const struct stream *stream)
{
	uint64_t head = stream->words->words[stream->words->at];
	uint64_t ticks = due(stream, head & 0x7f, head >> 8);

	return ticks > stream->time ? ticks : stream->time;
}

/*
 * Whether a run begins while the task's last one still goes on, as far as was decoded. A processor
 * may read its clock before it has seen what its thread waited for, and the stamp is too early
 * then, by as long as that took. Whoever is due next, at `limit`, goes first; but not for long,
 * and not if nobody is due in this pass.
 */
static inline bool comes_early(struct stream *stream, struct stream_shop *shop,
			       const struct record *record, uint64_t limit)
{
	if (record->kind != RECORD_RESUME)
		return false;
	shop->chains.last = chains_find(&shop->chains, record->fields[0]);
	return shop->chains.last->chain & CHAIN_RUNS && limit < shop->horizon &&
	       limit < record->ticks + HOLD_TICKS && stream->holds < HOLDS_MOST;
}

/* Decodes those that are due at `limit`, and moves on past them. */
static int decode_batch(struct stream *stream, struct stream_shop *shop, const struct record *batch,
			uint32_t count, uint64_t limit)
{
	for (uint32_t i = 0; i < count; i++) {
		int r;

		if (due(stream, batch[i].kind, batch[i].ticks) > limit)
			break;
		if (comes_early(stream, shop, &batch[i], limit)) {
			stream->held = limit + 1;
			stream->holds++;
			break;
		}
		stream->holds = 0;
		stream->words->at += batch[i].words;
		if (stream->gated && opens(shop, &batch[i]))
			stream->gated = false;
		stream->number++;
		if (stream->gated) {
			stream->sent = stream->number;
			continue;
		}
		shop->records++;
		r = decode(stream, shop, &batch[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int events_decode(struct stream *stream, struct stream_shop *shop, uint64_t limit)
{
	struct stream_words *words = stream->words;
	struct record batch[BATCH];

	while (words->at < words->count) {
		uint32_t start = words->at;
		uint32_t records = parse_batch(batch, stream, shop, words->words + start,
					       words->count - start);
		int r = decode_batch(stream, shop, batch, records, limit);

		if (r < 0)
			return r;
		if (!records) {
			words->at = words->count;
			shop->damaged++;
		} else if (words->at < (uint32_t)(batch[records - 1].fields - 1 - words->words) +
					       batch[records - 1].words) {
			break;
		}
	}
	return 0;
}
