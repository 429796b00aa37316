/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native stacks from a copy of a thread's registers and stack bytes, by DWARF
 * call frame information; by frame pointers where there is none.
 *
 * The rules for an address are worked out once (libdw) and kept.
 */
#ifndef SYMBOL_UNWIND_H
#define SYMBOL_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"

struct unwinder;

#define UNWIND_REGISTERS 33u /* by their DWARF numbers: x86-64 has 17, arm64 33 */

struct unwind_input {
	uint64_t registers[UNWIND_REGISTERS]; /* x86-64: 16 is the pc; arm64: 31 sp, 32 pc */
	uint64_t sp;                          /* where `stack` begins in the program */
	const uint8_t *stack;
	size_t bytes;
};

struct unwind_result {
	uint32_t count;   /* frames */
	bool complete;    /* the outermost frame was reached */
	uint32_t guessed; /* frames found without call frame information */
};

/* The same modules that name addresses; `symbols` is borrowed. Returns -ENOMEM. */
int unwinder_new(struct unwinder **ret, struct symbols *symbols);
struct unwinder *unwinder_free(struct unwinder *unwinder);

/*
 * Fills `addresses`, at most `most`, innermost first: the pc, then return
 * addresses less one. `sps`, which may be NULL, gets the stack pointer of each
 * frame at its call. Hostile bytes give a short stack, nothing worse.
 */
struct unwind_result unwind(struct unwinder *unwinder, const struct unwind_input *input,
			    uint64_t *addresses, uint64_t *sps, uint32_t most);

#endif /* SYMBOL_UNWIND_H */
