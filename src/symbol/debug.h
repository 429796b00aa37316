/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions, inlined calls and lines of a file by its debug information.
 *
 * Units are indexed by their addresses when the first one is asked for, and the
 * functions of a unit when the first one of it is. Not every compiler writes an
 * index of its own, and to search a unit anew for each address takes too long.
 */
#ifndef SYMBOL_DEBUG_H
#define SYMBOL_DEBUG_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

#include "symbol/symbol.h"

#define DEBUG_FRAMES_MOST 64u

struct debug_index;

/* Names and files belong to the debug information; names may be mangled. */
struct debug_place {
	uint64_t start; /* of the function that was not inlined; 0: unknown */
	uint32_t count; /* of frames, innermost first; 0: nothing is known of the address */
	struct symbol_frame frames[DEBUG_FRAMES_MOST];
};

/* `*ret` is NULL if the module has no debug information. Returns -ENOMEM. */
int debug_index_new(struct debug_index **ret, Dwfl_Module *module);
struct debug_index *debug_index_free(struct debug_index *index);

/* Says what is known of `address`, one of the module's file. Returns -ENOMEM. */
int debug_index_find(struct debug_index *index, uint64_t address, struct debug_place *ret);

#endif /* SYMBOL_DEBUG_H */
