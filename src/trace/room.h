/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the bytes of a block go.
 *
 * What does not fit marks the room full and is left out: who writes several
 * fields checks once, at the end, and takes all of them back.
 */
#ifndef TRACE_ROOM_H
#define TRACE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/varint.h"

struct room {
	uint8_t *at;
	uint8_t *end;
	bool full;
};

static inline void room_put(struct room *room, uint64_t value)
{
	if (room->end - room->at < VARINT_MOST)
		room->full = true;
	else
		room->at = varint_put(room->at, value);
}

static inline void room_put_text(struct room *room, const char *text, size_t length)
{
	room_put(room, length);
	if ((size_t)(room->end - room->at) < length) {
		room->full = true;
		return;
	}
	memcpy(room->at, text, length);
	room->at += length;
}

#endif /* TRACE_ROOM_H */
