/* SPDX-License-Identifier: Apache-2.0 */
/* A thread as it was: its registers by their DWARF numbers, and a copy of some of its stack. */
#ifndef SYMBOL_MACHINE_H
#define SYMBOL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "symbol/unwind.h"

#ifdef __aarch64__
#define MACHINE_SP 31u
#define MACHINE_PC 32u
#define MACHINE_FP 29u
#define MACHINE_RA 30u    /* where a caller is: the link register */
#define MACHINE_SAVED 12u /* registers that functions keep for their callers */
static const uint8_t machine_saved[MACHINE_SAVED] = {19, 20, 21, 22, 23, 24,
						     25, 26, 27, 28, 29, 30};
/* Return addresses may be signed, in bits that no address of a program has. */
#define MACHINE_CODE_MASK UINT64_C(0x0000ffffffffffff)
#else
#define MACHINE_SP 7u
#define MACHINE_PC 16u
#define MACHINE_FP 6u
#define MACHINE_RA 16u
#define MACHINE_SAVED 6u
static const uint8_t machine_saved[MACHINE_SAVED] = {3, 6, 12, 13, 14, 15};
#define MACHINE_CODE_MASK UINT64_MAX
#endif

struct machine {
	uint64_t registers[UNWIND_REGISTERS];
	uint64_t valid; /* a bit for each register whose value is known */
	uint64_t low;   /* address of `stack` */
	const uint8_t *stack;
	size_t bytes;
};

static inline bool machine_get(const struct machine *machine, uint64_t number, uint64_t *ret)
{
	if (number >= UNWIND_REGISTERS || !(machine->valid >> number & 1))
		return false;
	*ret = machine->registers[number];
	return true;
}

static inline void machine_set(struct machine *machine, unsigned number, uint64_t value)
{
	machine->registers[number] = value;
	machine->valid |= UINT64_C(1) << number;
}

/* Reads a word of the stack. False: it was not copied. */
static inline bool machine_load(const struct machine *machine, uint64_t address, uint64_t *ret)
{
	uint64_t at = address - machine->low;

	if (machine->bytes < sizeof(*ret) || at > machine->bytes - sizeof(*ret))
		return false;
	memcpy(ret, machine->stack + at, sizeof(*ret));
	return true;
}

#endif /* SYMBOL_MACHINE_H */
