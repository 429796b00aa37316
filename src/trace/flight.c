/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/flight.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES (16u << 20) /* of what stays; beyond that it goes like the rest */

struct piece {
	struct piece *next;
	uint64_t sequence;
	struct block block;
	size_t length;
	uint8_t bytes[];
};

struct flight_list {
	struct piece *first;
	struct piece **end;
	size_t bytes;
};

struct flight {
	struct flight_limits limits;
	struct flight_list passing; /* what goes, the oldest first */
	struct flight_list staying;
	uint64_t sequence; /* of the next one */
	uint64_t newest;   /* ticks */
	bool has_clock;
};

int flight_new(struct flight **ret, const struct flight_limits *limits)
{
	struct flight *flight = calloc(1, sizeof(*flight));

	if (!flight)
		return -ENOMEM;
	flight->limits = *limits;
	flight->passing.end = &flight->passing.first;
	flight->staying.end = &flight->staying.first;
	*ret = flight;
	return 0;
}

static void append_piece(struct flight_list *list, struct piece *piece)
{
	*list->end = piece;
	list->end = &piece->next;
	list->bytes += piece->length;
}

static void drop_piece(struct flight_list *list, struct piece **at)
{
	struct piece *piece = *at;

	*at = piece->next;
	if (!piece->next)
		list->end = at;
	list->bytes -= piece->length;
	free(piece);
}

struct flight *flight_free(struct flight *flight)
{
	if (!flight)
		return NULL;
	while (flight->passing.first)
		drop_piece(&flight->passing, &flight->passing.first);
	while (flight->staying.first)
		drop_piece(&flight->staying, &flight->staying.first);
	free(flight);
	return NULL;
}

/* Of these each says all that there is to say. */
static bool replaces_others(uint8_t kind)
{
	return kind == BLOCK_SESSION || kind == BLOCK_SAMPLER || kind == BLOCK_ADAPTERS;
}

static void drop_kind(struct flight_list *list, uint8_t kind)
{
	struct piece **at = &list->first;

	while (*at)
		if ((*at)->block.kind == kind)
			drop_piece(list, at);
		else
			at = &(*at)->next;
}

/*
 * Whether a block must outlive what it was written with. Threads and sites are
 * told again before the end, but for threads that ended, which nobody needs
 * when their events are gone. Of the clocks the first one is enough.
 */
static bool piece_stays(struct flight *flight, const struct block *block, size_t length)
{
	if (flight->staying.bytes + length > KEPT_BYTES)
		return false;
	switch (block->kind) {
	case BLOCK_SESSION:
	case BLOCK_SAMPLER:
	case BLOCK_MODULES:
	case BLOCK_SYMBOLS:
	case BLOCK_ADAPTERS:
	case BLOCK_END:
		return true;
	case BLOCK_CLOCK:
		return !flight->has_clock;
	default:
		return false;
	}
}

static bool is_too_old(const struct flight *flight, const struct piece *piece)
{
	uint64_t ticks = flight->limits.ticks;

	return flight->passing.bytes > flight->limits.bytes ||
	       (ticks && flight->newest > ticks && piece->block.last < flight->newest - ticks);
}

int flight_add(struct flight *flight, const struct block *block, const uint8_t *bytes,
	       size_t length)
{
	struct piece *piece = malloc(sizeof(*piece) + length);

	if (!piece)
		return -ENOMEM;
	*piece = (struct piece){.sequence = flight->sequence++, .block = *block, .length = length};
	memcpy(piece->bytes, bytes, length);
	if (block->last > flight->newest)
		flight->newest = block->last;
	if (replaces_others(block->kind))
		drop_kind(&flight->staying, block->kind);
	append_piece(piece_stays(flight, block, length) ? &flight->staying : &flight->passing,
		     piece);
	flight->has_clock |= block->kind == BLOCK_CLOCK;
	while (flight->passing.first && is_too_old(flight, flight->passing.first))
		drop_piece(&flight->passing, &flight->passing.first);
	return 0;
}

int flight_each(const struct flight *flight,
		int (*put)(void *data, const uint8_t *bytes, size_t length), void *data)
{
	const struct piece *passing = flight->passing.first, *staying = flight->staying.first;
	int r = 0;

	while (r >= 0 && (passing || staying)) {
		bool first = !staying || (passing && passing->sequence < staying->sequence);
		const struct piece **from = first ? &passing : &staying;

		r = put(data, (*from)->bytes, (*from)->length);
		*from = (*from)->next;
	}
	return r;
}

uint64_t flight_bytes(const struct flight *flight)
{
	return FORMAT_FILE_HEADER_BYTES + flight->passing.bytes + flight->staying.bytes;
}

struct flight_totals flight_totals(const struct flight *flight)
{
	struct flight_totals totals = {0};

	for (const struct piece *piece = flight->passing.first; piece; piece = piece->next) {
		const struct block *block = &piece->block;

		if (block->kind != BLOCK_EVENTS && block->kind != BLOCK_SAMPLES)
			continue;
		if (block->kind == BLOCK_EVENTS)
			totals.events += block->events;
		else
			totals.samples += block->events;
		if (!totals.first || block->first < totals.first)
			totals.first = block->first;
		if (block->last > totals.last)
			totals.last = block->last;
	}
	return totals;
}
