/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/expression.h"

#include <dwarf.h>

#define DEPTH_MOST 32u
#define STEPS_MOST 256u

/* Too many or too few values make it bad, and it stays so. */
struct stack {
	uint64_t values[DEPTH_MOST];
	unsigned depth;
	bool bad;
};

static void push(struct stack *stack, uint64_t value)
{
	if (stack->depth == DEPTH_MOST)
		stack->bad = true;
	else
		stack->values[stack->depth++] = value;
}

static uint64_t pop(struct stack *stack)
{
	if (stack->depth > 0)
		return stack->values[--stack->depth];
	stack->bad = true;
	return 0;
}

static void pick(struct stack *stack, uint64_t index)
{
	if (index < stack->depth)
		push(stack, stack->values[stack->depth - 1 - index]);
	else
		stack->bad = true;
}

static void push_register(struct stack *stack, const struct machine *machine, uint64_t number,
			  uint64_t offset)
{
	uint64_t value = 0;

	stack->bad |= !machine_get(machine, number, &value);
	push(stack, value + offset);
}

static void deref(struct stack *stack, const struct machine *machine, uint64_t bytes)
{
	uint64_t value = 0;

	stack->bad |= bytes == 0 || bytes > 8 || !machine_load(machine, pop(stack), &value);
	push(stack, bytes < 8 ? value & ((UINT64_C(1) << bytes * 8) - 1) : value);
}

static uint64_t shift_right_signed(uint64_t value, uint64_t bits)
{
	uint64_t sign = value >> 63 ? UINT64_MAX : 0;

	return bits > 63 ? sign : bits == 0 ? value : value >> bits | sign << (64 - bits);
}

/* Of two values. False: it is no such operation. */
static bool calculate(unsigned atom, uint64_t left, uint64_t right, uint64_t *ret)
{
	int64_t signed_left = (int64_t)left, signed_right = (int64_t)right;

	switch (atom) {
	case DW_OP_and:
		*ret = left & right;
		return true;
	case DW_OP_or:
		*ret = left | right;
		return true;
	case DW_OP_xor:
		*ret = left ^ right;
		return true;
	case DW_OP_plus:
		*ret = left + right;
		return true;
	case DW_OP_minus:
		*ret = left - right;
		return true;
	case DW_OP_mul:
		*ret = left * right;
		return true;
	case DW_OP_shl:
		*ret = right > 63 ? 0 : left << right;
		return true;
	case DW_OP_shr:
		*ret = right > 63 ? 0 : left >> right;
		return true;
	case DW_OP_shra:
		*ret = shift_right_signed(left, right);
		return true;
	case DW_OP_eq:
		*ret = left == right;
		return true;
	case DW_OP_ne:
		*ret = left != right;
		return true;
	case DW_OP_lt:
		*ret = signed_left < signed_right;
		return true;
	case DW_OP_le:
		*ret = signed_left <= signed_right;
		return true;
	case DW_OP_gt:
		*ret = signed_left > signed_right;
		return true;
	case DW_OP_ge:
		*ret = signed_left >= signed_right;
		return true;
	default:
		return false;
	}
}

static void binary(struct stack *stack, unsigned atom)
{
	uint64_t right = pop(stack);
	uint64_t left = pop(stack), result = 0;

	stack->bad |= !calculate(atom, left, right, &result);
	push(stack, result);
}

static void swap(struct stack *stack)
{
	uint64_t top = pop(stack);
	uint64_t second = pop(stack);

	push(stack, top);
	push(stack, second);
}

/* One operation that is no jump. */
static void step(struct stack *stack, const Dwarf_Op *operation, const struct machine *machine,
		 uint64_t cfa)
{
	unsigned atom = operation->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
		push(stack, atom - DW_OP_lit0);
		return;
	}
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
		push_register(stack, machine, atom - DW_OP_breg0, operation->number);
		return;
	}
	switch (atom) {
	case DW_OP_bregx:
		push_register(stack, machine, operation->number, operation->number2);
		break;
	case DW_OP_call_frame_cfa:
		push(stack, cfa);
		break;
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		push(stack, operation->number);
		break;
	case DW_OP_plus_uconst:
		push(stack, pop(stack) + operation->number);
		break;
	case DW_OP_neg:
		push(stack, -pop(stack));
		break;
	case DW_OP_not:
		push(stack, ~pop(stack));
		break;
	case DW_OP_deref:
		deref(stack, machine, 8);
		break;
	case DW_OP_deref_size:
		deref(stack, machine, operation->number);
		break;
	case DW_OP_dup:
		pick(stack, 0);
		break;
	case DW_OP_over:
		pick(stack, 1);
		break;
	case DW_OP_pick:
		pick(stack, operation->number);
		break;
	case DW_OP_drop:
		pop(stack);
		break;
	case DW_OP_swap:
		swap(stack);
		break;
	case DW_OP_nop:
		break;
	default:
		binary(stack, atom);
	}
}

/* Where a jump leads: offsets count bytes from the operation after it, which is 3 further on. */
static size_t jump(const Dwarf_Op *operations, size_t count, size_t at)
{
	uint64_t target =
		operations[at].offset + 3 + (uint64_t)(int64_t)(int16_t)operations[at].number;

	for (size_t i = 0; i < count; i++)
		if (operations[i].offset == target)
			return i;
	return count;
}

/* A location that is a register, which must be the whole of it. */
static bool names_register(const Dwarf_Op *operations, size_t count, uint64_t *ret)
{
	if (count != 1)
		return false;
	if (operations[0].atom == DW_OP_regx) {
		*ret = operations[0].number;
		return true;
	}
	*ret = operations[0].atom - DW_OP_reg0;
	return operations[0].atom >= DW_OP_reg0 && operations[0].atom <= DW_OP_reg31;
}

enum expression_kind expression_evaluate(const Dwarf_Op *operations, size_t count,
					 const struct machine *machine, uint64_t cfa, uint64_t *ret)
{
	struct stack stack = {.depth = 0};
	enum expression_kind kind = EXPRESSION_MEMORY;
	uint64_t number;
	size_t at = 0;

	if (names_register(operations, count, &number))
		return machine_get(machine, number, ret) ? EXPRESSION_VALUE : EXPRESSION_BAD;
	for (unsigned steps = 0; at < count && !stack.bad && kind == EXPRESSION_MEMORY; steps++) {
		unsigned atom = operations[at].atom;
		size_t next = at + 1;

		if (steps == STEPS_MOST)
			return EXPRESSION_BAD;
		if (atom == DW_OP_stack_value)
			kind = EXPRESSION_VALUE;
		else if (atom != DW_OP_skip && atom != DW_OP_bra)
			step(&stack, &operations[at], machine, cfa);
		else if (atom == DW_OP_skip || pop(&stack))
			next = jump(operations, count, at);
		at = next;
	}
	*ret = pop(&stack);
	return stack.bad ? EXPRESSION_BAD : kind;
}
