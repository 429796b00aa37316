/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/told.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/format.h"

/* The longest frame: a head of ten bytes and a state of five. */
#define FRAME_MOST 15u
#define OMITTED_MOST (UINT64_MAX >> 2)
/* No block has room for more: each takes two bytes at the least. */
#define ENTRIES_MOST (FORMAT_PAYLOAD_MAX / 2)
_Static_assert(ENTRIES_MOST <= UINT32_MAX >> 2 * TOLD_CHILD_BITS, "an index has its bits");

/* Returns the number of the new child. */
static uint32_t entry_add_child(uint32_t *entry)
{
	uint32_t number = *entry & TOLD_CHILD_MASK;

	*entry += number < FORMAT_SIBLINGS_MAX;
	return number;
}

int told_init(struct told *told)
{
	*told = (struct told){0};
	told->path = malloc(TOLD_CHAIN_MAX * sizeof(*told->path));
	if (!told->path || mentions_init(&told->tasks, ENTRIES_MOST) < 0 ||
	    map_init(&told->stacks, ENTRIES_MOST) < 0) {
		told_fini(told);
		return -ENOMEM;
	}
	return 0;
}

void told_fini(struct told *told)
{
	mentions_fini(&told->tasks);
	map_fini(&told->stacks);
	free(told->path);
	*told = (struct told){0};
}

void told_clear(struct told *told)
{
	mentions_clear(&told->tasks);
	map_clear(&told->stacks);
	told->root = 0;
	told->entries = 0;
	told->last_task = 0;
	told->last_address = 0;
}

static void put_frame(struct told *told, struct room *room, const struct unweave_frame *frame)
{
	uint64_t delta = varint_zigzag((int64_t)(frame->address - told->last_address));

	if (frame->kind == UNWEAVE_FRAME_OMITTED) {
		uint64_t count = frame->address < OMITTED_MOST ? frame->address : OMITTED_MOST;

		room->at = varint_put(room->at, count << 2 | FRAME_OMITTED);
		return;
	}
	told->last_address = frame->address;
	if (delta >> 62) {
		*room->at++ = FRAME_ABSOLUTE;
		for (unsigned i = 0; i < 8; i++)
			*room->at++ = (uint8_t)(frame->address >> 8 * i);
	} else {
		room->at = varint_put(room->at,
				      delta << 2 | (frame->state ? FRAME_STATE : FRAME_PLAIN));
		if (!frame->state)
			return;
	}
	room->at = varint_put(room->at, varint_zigzag(frame->state));
}

/* Depths that come to the same number leave out the same frames of their chain. */
static uint32_t step_of(const struct unweave_frame *frame)
{
	return (frame->depth - 1) / TOLD_STEP;
}

/* The outermost frame of `chain` that is left out is TOLD_ROOT + 1 deep; this is the innermost. */
static uint32_t last_omitted(const struct unweave_frame *chain)
{
	return (step_of(chain) - 1) * TOLD_STEP;
}

/*
 * What the frame is known by where it is part of `chain`. It may stand on two
 * different entries: in a chain that is one step deeper more is left out below it.
 */
static uint64_t key_in(const struct unweave_frame *frame, const struct unweave_frame *chain)
{
	bool other = chain->depth > TOLD_CHAIN_MAX && frame->depth > TOLD_ROOT &&
		     step_of(frame) != step_of(chain);

	return (uintptr_t)frame | other;
}

/* Writes the first `count` frames of the path, which are of `chain`, on top of `parent`. */
static void define(struct told *told, struct room *room, uint32_t *parent, uint32_t count,
		   const struct unweave_frame *chain)
{
	uint32_t number = entry_add_child(parent);

	if ((size_t)(room->end - room->at) < 3 * VARINT_MOST + (size_t)count * FRAME_MOST) {
		room->full = true;
		return;
	}
	room->at = varint_put(room->at, ((uint64_t)told->entries + 1) << 1);
	room->at = varint_put(room->at, told_index(*parent));
	room->at = varint_put(room->at, count);
	while (count-- > 0) {
		const struct unweave_frame *frame = told->path[count];

		put_frame(told, room, frame);
		told->entries++;
		/* An omission is found by what stands on it. */
		if (frame != &told->omission &&
		    map_put(&told->stacks, key_in(frame, chain),
			    told_entry(told->entries, number, count > 0)) < 0)
			room->full = true;
		number = 0;
	}
}

/* Goes on after the frames that are left out at `frame`; says in `told` how many they are. */
static const struct unweave_frame *omit(struct told *told, const struct unweave_frame *frame)
{
	bool known = true;

	told->omission = (struct unweave_frame){.kind = UNWEAVE_FRAME_OMITTED};
	for (; frame->depth > TOLD_ROOT; frame = frame->awaiter) {
		uint64_t frames = frame->kind == UNWEAVE_FRAME_OMITTED ? frame->address : 1;

		known = known && frames;
		told->omission.address += frames;
	}
	if (!known)
		told->omission.address = 0;
	return frame;
}

/* Finds the frames that the reader does not know, and defines them. */
static void put_new_stack(struct told *told, struct room *room, const struct unweave_frame *chain)
{
	uint32_t cut = chain->depth > TOLD_CHAIN_MAX ? last_omitted(chain) : 0;
	const struct unweave_frame *frame = chain;
	uint32_t *known = NULL;
	uint32_t count = 0;

	while (frame) {
		if (frame->depth == cut) {
			frame = omit(told, frame);
			told->path[count++] = &told->omission;
		}
		known = map_find(&told->stacks, key_in(frame, chain));
		if (known)
			break;
		told->path[count++] = frame;
		frame = frame->awaiter;
	}
	define(told, room, known ? known : &told->root, count, chain);
}

void told_put_stack(struct told *told, struct room *room, const struct unweave_frame *was,
		    const struct unweave_frame *chain)
{
	uint64_t stackref;

	if (told_stackref(told, was, chain, &stackref))
		room_put(room, stackref);
	else
		put_new_stack(told, room, chain);
}

void told_put_task(struct told *told, struct room *room, uint64_t task,
		   const struct unweave_frame *chain)
{
	struct mention *known = mentions_find(&told->tasks, task);
	struct mention *mention = known ? known : mentions_add(&told->tasks, task);

	if (!mention || room->end - room->at < 2 * VARINT_MOST) {
		room->full = true;
		return;
	}
	if (known) {
		room_put(room, 0);
		room_put(room, mention->index);
	} else {
		room->at = told_put_new(told, room->at, mention);
	}
	told_put_stack(told, room, mention->chain, chain);
	mention->chain = chain;
}
