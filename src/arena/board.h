/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board of a recorder that follows the children of its command: a memfd that
 * ARENA_ARM_VARIABLE names, opened through /proc by each process that is to begin
 * by itself. Whoever finds room there begins; so there are never more of them than
 * the recorder can look after, and it knows how many it missed; and who they are,
 * since a process that has another user, or another root, by then has its arena
 * where only its number leads. It goes with the recorder.
 */
#ifndef ARENA_BOARD_H
#define ARENA_BOARD_H

#include <stdatomic.h>
#include <stdint.h>

#define ARENA_BOARD_NAMES 64u /* more than ever find room at the same time */

struct arena_board {
	uint64_t cookie;        /* as the variable says it: this is no other file */
	_Atomic uint32_t room;  /* processes that may begin; taken by them, given by the recorder */
	_Atomic uint32_t begun; /* that did: their arenas say by whom they are to be recorded */
	_Atomic uint32_t refused; /* that found no room */
	/* Of those that began, one after the other and from the start again: the pid, and above it
	 * the user. Taken by the recorder, who leaves 0. */
	_Atomic uint64_t names[ARENA_BOARD_NAMES];
};

#endif /* ARENA_BOARD_H */
