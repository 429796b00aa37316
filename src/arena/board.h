/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board of a recorder that follows the children of its command: a memfd that
 * ARENA_ARM_VARIABLE names, opened through /proc by each process that is to begin
 * by itself. Whoever finds room there begins; so there are never more of them than
 * the recorder can look after, and it knows how many it missed. It goes with the
 * recorder.
 */
#ifndef ARENA_BOARD_H
#define ARENA_BOARD_H

#include <stdatomic.h>
#include <stdint.h>

struct arena_board {
	uint64_t cookie;        /* as the variable says it: this is no other file */
	_Atomic uint32_t room;  /* processes that may begin; taken by them, given by the recorder */
	_Atomic uint32_t begun; /* that did: their arenas say by whom they are to be recorded */
	_Atomic uint32_t refused; /* that found no room */
};

#endif /* ARENA_BOARD_H */
