/* SPDX-License-Identifier: Apache-2.0 */
/* Finds memory for the arena that others can reach, and tidies up there. */
#ifndef EMIT_PLACE_H
#define EMIT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena/arena.h"

struct place {
	uint32_t kind;                /* enum arena_place; 0: none */
	struct arena_control *memory; /* zeroed, reserved up to the pool */
	uint64_t bytes;
	uint32_t chunks; /* that the pool can have at most */
	uint32_t tasks_wanted;
	uint32_t tasks;      /* slots of the task table that there is room for */
	bool tasks_reserved; /* they have memory already, or need not be given any */
	char path[256];      /* of the file; empty for other kinds */
	char note[192];      /* why it is not a better place; empty if there is none */
};

/* Most chunks that a session may ask for; before the arena is made. 0: the default. */
extern _Atomic uint32_t place_chunks_wanted;

/* Where the task table is, after the pool. */
static inline uint64_t place_tasks_at(const struct place *place)
{
	return ARENA_POOL_AT + (uint64_t)place->chunks * ARENA_CHUNK_BYTES;
}

/* Keeps where arenas are to be, for a program that empties its environment before it has one. */
void place_remember(void);
/* False if there is no memory to be had; `ret->note` says why in any case. */
bool place_find(struct place *ret);
/* Gives it back. */
void place_abandon(struct place *place);
/* The file of the present arena; "" if it is not in one. */
const char *place_file(void);
/* Takes the name of the arena's file away: nobody needs it any more. */
void place_remove(void);

/* In a child of fork(): lets go of the parent's place. */
void place_forget(void);

/* What identifies this process: inode of its pid namespace, start in boot-clock ticks. 0: unknown.
 */
uint64_t place_namespace(void);
uint64_t place_started(void);
void place_program(char *buffer, size_t size);

#endif /* EMIT_PLACE_H */
