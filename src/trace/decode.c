/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/decode.h"

#include <errno.h>
#include <stdlib.h>

#include "util/grow.h"

int decode_bad(struct decoder *decoder, const char *what)
{
	decoder->code = CODE_BAD;
	decoder->fault = what;
	return -EBADMSG;
}

int decode_bad_cut(struct decoder *decoder)
{
	return decode_bad(decoder, "an event is cut off, or has a number that is too long");
}

struct varint decode_varint_long(const uint8_t *at, const uint8_t *end)
{
	uint64_t value = 0;
	uint32_t i;

	for (i = 0; i < 10; i++) {
		value |= (uint64_t)(at[i] & 0x7f) << (7 * i);
		if (at[i] < 0x80)
			break;
	}
	if (i == 10 || (i == 9 && at[i] > 1))
		return (struct varint){.next = end + 1};
	return (struct varint){.value = value, .next = at + i + 1};
}

static int frame_new(struct decoder *decoder, struct decoder_frame **ret)
{
	uint32_t segment = decoder->frame_count / DECODE_SEGMENT;

	if (segment == decoder->segment_count) {
		struct decoder_frame **segments;

		segments = reallocarray(decoder->segments, segment + 1, sizeof(*segments));
		if (!segments)
			return -ENOMEM;
		decoder->segments = segments;
		segments[segment] = malloc(DECODE_SEGMENT * sizeof(**segments));
		if (!segments[segment])
			return -ENOMEM;
		decoder->segment_count++;
	}
	*ret = &decoder->segments[segment][decoder->frame_count++ % DECODE_SEGMENT];
	return 0;
}

/* Memory until the next block, in multiples of a pointer's size and far less than a piece. */
static void *piece_take(struct decoder *decoder, size_t size)
{
	size_t left = DECODE_PIECE - decoder->piece_used % DECODE_PIECE;
	uint32_t piece;

	if (left < size)
		decoder->piece_used += left;
	piece = (uint32_t)(decoder->piece_used / DECODE_PIECE);
	if (piece == decoder->piece_count) {
		char **pieces = reallocarray(decoder->pieces, piece + 1, sizeof(*pieces));

		if (!pieces)
			return NULL;
		decoder->pieces = pieces;
		pieces[piece] = malloc(DECODE_PIECE);
		if (!pieces[piece])
			return NULL;
		decoder->piece_count++;
	}
	decoder->piece_used += size;
	return decoder->pieces[piece] + (decoder->piece_used - size) % DECODE_PIECE;
}

/* Doubles the room for siblings, or makes it for the first. */
static int siblings_grow(struct decoder *decoder, struct decoder_siblings **siblings)
{
	struct decoder_siblings *old = *siblings, *new;
	uint32_t count = old ? old->count : 0, capacity = count ? 2 * count : 1;

	new = piece_take(decoder, sizeof(*new) + capacity * sizeof(new->at[0]));
	if (!new)
		return -ENOMEM;
	new->count = count;
	new->capacity = capacity;
	for (uint32_t i = 0; i < count; i++) {
		new->at[i] = old->at[i];
		new->at[i]->siblings = new;
	}
	*siblings = new;
	return 0;
}

/* Gives the frame its number, which is of no use from FORMAT_SIBLINGS_MAX on. */
static int siblings_add(struct decoder *decoder, struct decoder_siblings **siblings,
			struct decoder_frame *frame)
{
	struct decoder_siblings *all = *siblings;

	if (!all || (all->count == all->capacity && all->count < FORMAT_SIBLINGS_MAX)) {
		if (siblings_grow(decoder, siblings) < 0)
			return -ENOMEM;
		all = *siblings;
	}
	if (all->count < all->capacity)
		all->at[all->count++] = frame;
	frame->siblings = all;
	return 0;
}

static int get_state(struct decoder *decoder, int32_t *ret)
{
	int64_t state = (int64_t)decode_unzigzag(decode_get(decoder));

	if (state < INT32_MIN || state > INT32_MAX)
		return decode_bad(decoder, "a frame has a state that is out of range");
	*ret = (int32_t)state;
	return 0;
}

static uint64_t get_address(struct decoder *decoder)
{
	uint64_t address;

	memcpy(&address, decoder->at, sizeof(address));
	decoder->at += sizeof(address);
	return le64toh(address);
}

/* An entry on top of `awaiter`, which may be NULL; its frame is not filled in. */
static int entry_new(struct decoder *decoder, struct decoder_frame *awaiter,
		     struct decoder_frame **ret)
{
	int r;

	r = frame_new(decoder, ret);
	if (r < 0)
		return r;
	(*ret)->children = NULL;
	r = siblings_add(decoder, awaiter ? &awaiter->children : &decoder->roots, *ret);
	if (r < 0)
		decoder->frame_count--;
	return r;
}

/* One frame on top of `top`, which it becomes then. */
static int get_frame(struct decoder *decoder, struct decoder_frame **top)
{
	const struct unweave_frame *awaiter = *top ? &(*top)->frame : NULL;
	uint64_t head = decode_get(decoder);
	uint32_t code = head & 3;
	struct unweave_frame *frame;
	int r;

	r = entry_new(decoder, *top, top);
	if (r < 0)
		return r;
	frame = &(*top)->frame;
	frame->awaiter = awaiter;
	frame->state = 0;
	frame->depth = awaiter ? awaiter->depth + 1 : 1;
	frame->kind = UNWEAVE_FRAME_CODE;
	frame->id = decoder->frame_count;

	if (code == FRAME_OMITTED) {
		frame->kind = UNWEAVE_FRAME_OMITTED;
		frame->address = head >> 2;
	} else {
		if (code == FRAME_ABSOLUTE)
			decoder->last_address = get_address(decoder);
		else
			decoder->last_address += decode_unzigzag(head >> 2);
		frame->address = decoder->last_address;
		if (code != FRAME_PLAIN && get_state(decoder, &frame->state) < 0)
			return -EBADMSG;
	}
	return decode_overrun(decoder) ? decode_bad_cut(decoder) : 0;
}

static int get_new_frames(struct decoder *decoder, const struct unweave_frame **ret)
{
	uint64_t parent = decode_get(decoder);
	uint64_t count = decode_get(decoder);
	struct decoder_frame *top;

	/* A frame takes a byte at least, which bounds the loop. */
	if (parent > decoder->frame_count || !count)
		return decode_bad(decoder, "a stack stands on one that is not there");
	top = decode_entry_at(decoder, parent);
	for (; count; count--) {
		int r = get_frame(decoder, &top);

		if (r < 0)
			return r;
	}
	*ret = &top->frame;
	return 0;
}

int decode_stackref(struct decoder *decoder, const struct unweave_frame *was,
		    const struct unweave_frame **ret)
{
	uint64_t ref = decode_get(decoder);

	if (likely(decode_known_stack(decoder, ref, was, ret)))
		return 0;
	if (ref != ((uint64_t)decoder->frame_count + 1) << 1)
		return decode_bad(decoder, "an event has a stack that is not there");
	return get_new_frames(decoder, ret);
}

static int task_new(struct decoder *decoder, uint64_t id, uint32_t *ret)
{
	if (decoder->task_count == decoder->task_capacity) {
		struct decoder_task *tasks;

		tasks = grow(decoder->tasks, decoder->task_count, &decoder->task_capacity,
			     DECODE_FIRST, sizeof(*tasks));
		if (!tasks)
			return -ENOMEM;
		decoder->tasks = tasks;
	}
	decoder->last_id = id;
	decoder->tasks[decoder->task_count] = (struct decoder_task){.id = id};
	*ret = decoder->task_count++;
	return 0;
}

int decode_index(struct decoder *decoder, uint32_t *ret)
{
	uint64_t index = decode_get(decoder);

	if (unlikely(index >= decoder->task_count - 1))
		return decode_bad(decoder, "an event is of a task that was not named");
	*ret = (uint32_t)index + 1;
	return 0;
}

/* Which task, and its chain from now on. */
int decode_mention(struct decoder *decoder, uint32_t *ret)
{
	const struct unweave_frame *told;
	uint64_t delta = decode_get(decoder);
	uint32_t entry;
	int r;

	if (delta) {
		r = task_new(decoder, decoder->last_id + decode_unzigzag(delta), &entry);
	} else {
		uint64_t ref = decode_get(decoder);

		entry = (uint32_t)ref + 1;
		if (ref == decoder->task_count - 1)
			r = task_new(decoder, decoder->last_id, &entry);
		else if (ref >= decoder->task_count)
			r = decode_bad(decoder, "an event is of a task that was not named");
		else
			r = 0;
	}
	if (r == 0)
		r = decode_stackref(decoder, decoder->tasks[entry].told, &told);
	if (r < 0)
		return r;
	if (decode_overrun(decoder))
		return decode_bad_cut(decoder);
	decoder->tasks[entry].told = told;
	*ret = entry;
	return 0;
}

int decode_nest_push(struct decoder *decoder, uint32_t entry)
{
	if (!decoder->nest_known)
		return 0;
	if (decoder->depth == decoder->nest_capacity) {
		uint32_t *nest = grow(decoder->nest, decoder->depth, &decoder->nest_capacity,
				      DECODE_FIRST, sizeof(*nest));

		if (!nest)
			return -ENOMEM;
		decoder->nest = nest;
	}
	decoder->nest[decoder->depth++] = entry;
	return 0;
}

void decode_nest_reset(struct decoder *decoder, bool known)
{
	decoder->depth = 0;
	decoder->nest_known = known;
}

int decode_nest_follow(struct decoder *decoder, uint64_t kind, uint32_t entry)
{
	switch (kind) {
	case UNWEAVE_EVENT_RESUME:
	case UNWEAVE_EVENT_REPLAY:
		return decode_nest_push(decoder, entry);
	case UNWEAVE_EVENT_SUSPEND:
	case UNWEAVE_EVENT_COMPLETE:
		if (decoder->depth && decode_innermost_id(decoder) == decoder->tasks[entry].id)
			decoder->depth--;
		return 0;
	case UNWEAVE_EVENT_RESET:
		decode_nest_reset(decoder, true);
		return 0;
	case UNWEAVE_EVENT_LOST:
		decode_nest_reset(decoder, false);
		return 0;
	default:
		return 0;
	}
}
