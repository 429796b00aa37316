/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/rule.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbol/expression.h"

#define OPERATIONS_MOST 64u

/* Where the caller's value of a register is. */
struct place {
	enum { PLACE_SAME, PLACE_LOST, PLACE_EXPRESSION } kind;
	Dwarf_Op *operations;
	size_t count;
};

struct rule_general {
	struct place cfa;
	struct place registers[UNWIND_REGISTERS];
};

static bool fits(uint64_t offset)
{
	int64_t value = (int64_t)offset;

	return value > RULE_LOST && value <= INT32_MAX;
}

/* Whether the frame address is a register and an offset. */
static bool take_plain_cfa(struct rule *rule, const Dwarf_Op *operations, size_t count)
{
	uint64_t number, offset;

	if (count != 1)
		return false;
	if (operations[0].atom == DW_OP_bregx) {
		number = operations[0].number;
		offset = operations[0].number2;
	} else if (operations[0].atom >= DW_OP_breg0 && operations[0].atom <= DW_OP_breg31) {
		number = operations[0].atom - DW_OP_breg0;
		offset = operations[0].number;
	} else {
		return false;
	}
	if (number >= UNWIND_REGISTERS || !fits(offset))
		return false;
	rule->cfa_register = (uint8_t)number;
	rule->cfa_offset = (int32_t)offset;
	return true;
}

/* Whether register `number` is where it was, lost, or at an offset from the frame address. */
static bool take_plain_place(Dwarf_Frame *frame, unsigned number, int32_t *ret)
{
	Dwarf_Op memory[3], *operations;
	size_t count;

	if (dwarf_frame_register(frame, (int)number, memory, &operations, &count) < 0) {
		*ret = RULE_LOST;
		return true;
	}
	if (count == 0) {
		*ret = operations ? RULE_LOST : RULE_SAME;
		return true;
	}
	if (count > 2 || operations[0].atom != DW_OP_call_frame_cfa)
		return false;
	*ret = 0;
	if (count == 1)
		return true;
	*ret = (int32_t)operations[1].number;
	return operations[1].atom == DW_OP_plus_uconst && fits(operations[1].number);
}

static bool take_plain(struct rule *rule, Dwarf_Frame *frame)
{
	Dwarf_Op *operations;
	size_t count;

	if (rule->signal || dwarf_frame_cfa(frame, &operations, &count) != 0 ||
	    !take_plain_cfa(rule, operations, count) ||
	    !take_plain_place(frame, MACHINE_RA, &rule->return_at))
		return false;
	for (unsigned i = 0; i < MACHINE_SAVED; i++)
		if (!take_plain_place(frame, machine_saved[i], &rule->saved_at[i]))
			return false;
	return true;
}

static int copy_place(struct place *place, const Dwarf_Op *operations, size_t count)
{
	*place = (struct place){.kind = PLACE_LOST};
	if (count > OPERATIONS_MOST)
		return 0;
	place->operations = calloc(count, sizeof(*operations));
	if (!place->operations)
		return -ENOMEM;
	memcpy(place->operations, operations, count * sizeof(*operations));
	place->count = count;
	place->kind = PLACE_EXPRESSION;
	return 0;
}

static int copy_register(struct place *place, Dwarf_Frame *frame, unsigned number)
{
	Dwarf_Op memory[3], *operations;
	size_t count;

	if (dwarf_frame_register(frame, (int)number, memory, &operations, &count) < 0)
		place->kind = PLACE_LOST;
	else if (count > 0)
		return copy_place(place, operations, count);
	else
		place->kind = operations ? PLACE_LOST : PLACE_SAME;
	return 0;
}

static int take_general(struct rule *rule, Dwarf_Frame *frame)
{
	struct rule_general *general = calloc(1, sizeof(*general));
	Dwarf_Op *operations;
	size_t count;
	int r = 0;

	if (!general)
		return -ENOMEM;
	rule->general = general;
	if (dwarf_frame_cfa(frame, &operations, &count) != 0)
		return 0;
	r = copy_place(&general->cfa, operations, count);
	for (unsigned i = 0; i < UNWIND_REGISTERS && r == 0; i++)
		r = copy_register(&general->registers[i], frame, i);
	rule->kind = RULE_GENERAL;
	return r;
}

/* The mark of _start() and of the first function of a thread. */
static bool is_outermost(Dwarf_Frame *frame)
{
	int32_t return_at;

	return take_plain_place(frame, MACHINE_RA, &return_at) && return_at == RULE_LOST;
}

int rule_init(struct rule *rule, Dwarf_Frame *frame)
{
	int r;

	*rule = (struct rule){.kind = RULE_NONE};
	if (!frame || dwarf_frame_info(frame, NULL, NULL, &rule->signal) < 0)
		return 0;
	if (is_outermost(frame)) {
		rule->kind = RULE_OUTERMOST;
		return 0;
	}
	if (take_plain(rule, frame)) {
		rule->kind = RULE_PLAIN;
		return 0;
	}
	r = take_general(rule, frame);
	if (r < 0)
		rule_fini(rule);
	return r;
}

void rule_fini(struct rule *rule)
{
	if (rule->general) {
		free(rule->general->cfa.operations);
		for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
			free(rule->general->registers[i].operations);
		free(rule->general);
	}
	*rule = (struct rule){.kind = RULE_NONE};
}

/* What a caller may know: what functions keep, where it goes on, and its stack. */
static uint64_t kept_mask(void)
{
	uint64_t mask = UINT64_C(1) << MACHINE_SP | UINT64_C(1) << MACHINE_PC;

	for (unsigned i = 0; i < MACHINE_SAVED; i++)
		mask |= UINT64_C(1) << machine_saved[i];
	/* The link register says where the callee returns to, not the caller. */
	if (MACHINE_RA != MACHINE_PC)
		mask &= ~(UINT64_C(1) << MACHINE_RA);
	return mask;
}

static bool apply_plain(const struct rule *rule, struct machine *machine)
{
	uint64_t sp = machine->registers[MACHINE_SP];
	uint64_t cfa, value, caller;

	if (!machine_get(machine, rule->cfa_register, &cfa))
		return false;
	cfa += (uint64_t)(int64_t)rule->cfa_offset;
	if (rule->return_at == RULE_SAME) {
		/* On x86-64 this would be the frame's own place: there is no such thing. */
		if (MACHINE_RA == MACHINE_PC || !machine_get(machine, MACHINE_RA, &caller))
			return false;
	} else if (rule->return_at == RULE_LOST ||
		   !machine_load(machine, cfa + (uint64_t)(int64_t)rule->return_at, &caller)) {
		return false;
	}
	for (unsigned i = 0; i < MACHINE_SAVED; i++) {
		int32_t offset = rule->saved_at[i];
		uint64_t at = cfa + (uint64_t)(int64_t)offset;

		/* What lies below the stack pointer has been taken off already: at a function's
		 * end. */
		if (offset == RULE_SAME || (offset != RULE_LOST && at < sp))
			continue;
		if (offset != RULE_LOST && machine_load(machine, at, &value))
			machine_set(machine, machine_saved[i], value);
		else
			machine->valid &= ~(UINT64_C(1) << machine_saved[i]);
	}
	machine_set(machine, MACHINE_SP, cfa);
	machine_set(machine, MACHINE_PC, caller & MACHINE_CODE_MASK);
	machine->valid &= kept_mask();
	return true;
}

/* Gives the caller's value of a register, if it is to be known. */
static bool evaluate(const struct place *place, const struct machine *machine, uint64_t cfa,
		     uint64_t *ret)
{
	uint64_t value;

	switch (expression_evaluate(place->operations, place->count, machine, cfa, &value)) {
	case EXPRESSION_VALUE:
		*ret = value;
		return true;
	case EXPRESSION_MEMORY:
		return machine_load(machine, value, ret);
	default:
		return false;
	}
}

static bool apply_general(const struct rule *rule, struct machine *machine)
{
	const struct rule_general *general = rule->general;
	struct machine caller = *machine;
	uint64_t cfa, value;

	if (general->cfa.kind != PLACE_EXPRESSION ||
	    expression_evaluate(general->cfa.operations, general->cfa.count, machine, 0, &cfa) !=
		    EXPRESSION_MEMORY)
		return false;
	machine_set(&caller, MACHINE_SP, cfa);
	for (unsigned i = 0; i < UNWIND_REGISTERS; i++) {
		const struct place *place = &general->registers[i];

		if (place->kind == PLACE_SAME || (place->kind == PLACE_LOST && i == MACHINE_SP))
			continue;
		if (place->kind == PLACE_EXPRESSION && evaluate(place, machine, cfa, &value))
			machine_set(&caller, i, value);
		else
			caller.valid &= ~(UINT64_C(1) << i);
	}
	if (general->registers[MACHINE_RA].kind == PLACE_SAME && MACHINE_RA == MACHINE_PC)
		return false;
	if (!machine_get(&caller, MACHINE_RA, &value))
		return false;
	machine_set(&caller, MACHINE_PC, value & MACHINE_CODE_MASK);
	if (!rule->signal)
		caller.valid &= kept_mask();
	*machine = caller;
	return true;
}

bool rule_apply(const struct rule *rule, struct machine *machine)
{
	if (rule->kind == RULE_PLAIN)
		return apply_plain(rule, machine);
	return rule->kind == RULE_GENERAL && apply_general(rule, machine);
}
