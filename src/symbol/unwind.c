/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/unwind.h"

#include <errno.h>
#include <stdlib.h>

#include "symbol/machine.h"
#include "symbol/modules.h"
#include "symbol/rule.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map.h"

/* Beyond so many all are forgotten: a program has some thousand places where samples find it. */
#define RULES_MOST (1024u * 1024)
/* Nothing is mapped below: a call through a null pointer ends up there. */
#define LOWEST_CODE 4096u

struct unwinder {
	struct symbols *symbols;
	uint64_t revision; /* of the symbols that the rules are from */
	struct map by_address;
	struct rule *rules;
	uint32_t count, capacity;
};

DEFINE_FREEP(struct unwinder, unwinder_free)

int unwinder_new(struct unwinder **ret, struct symbols *symbols)
{
	cleanup(unwinder_freep) struct unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return -ENOMEM;
	unwinder->symbols = symbols;
	unwinder->revision = symbols_revision(symbols);
	if (map_init(&unwinder->by_address, RULES_MOST) < 0)
		return -ENOMEM;
	*ret = take(unwinder);
	return 0;
}

static void forget_rules(struct unwinder *unwinder)
{
	for (uint32_t i = 0; i < unwinder->count; i++)
		rule_fini(&unwinder->rules[i]);
	unwinder->count = 0;
	if (unwinder->by_address.slots)
		map_clear(&unwinder->by_address);
}

struct unwinder *unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return NULL;
	forget_rules(unwinder);
	map_fini(&unwinder->by_address);
	free(unwinder->rules);
	free(unwinder);
	return NULL;
}

static int make_room(struct unwinder *unwinder)
{
	struct rule *more;

	if (unwinder->count == RULES_MOST)
		forget_rules(unwinder);
	more = grow(unwinder->rules, unwinder->count, &unwinder->capacity, 256, sizeof(*more));
	if (!more)
		return -ENOMEM;
	unwinder->rules = more;
	return 0;
}

/* NULL: no memory. */
static const struct rule *learn_rule(struct unwinder *unwinder, uint64_t address)
{
	uint64_t in_file;
	struct object *object = symbols_object(unwinder->symbols, address, &in_file);
	Dwarf_Frame *frame;
	int r = make_room(unwinder);

	if (r < 0)
		return NULL;
	frame = object ? object_frame(object, in_file) : NULL;
	r = rule_init(&unwinder->rules[unwinder->count], frame);
	free(frame);
	if (r < 0)
		return NULL;
	if (map_put(&unwinder->by_address, address, unwinder->count) < 0) {
		rule_fini(&unwinder->rules[unwinder->count]);
		return NULL;
	}
	return &unwinder->rules[unwinder->count++];
}

static const struct rule *find_rule(struct unwinder *unwinder, uint64_t address)
{
	uint32_t *at = map_find(&unwinder->by_address, address);

	return at ? &unwinder->rules[*at] : learn_rule(unwinder, address);
}

/*
 * Without call frame information: frame pointers, each of which points to the
 * one before it, with the return address beside it. A function that has none
 * may have anything in that register, so what it leads to must look like it.
 */
static bool guess_caller(const struct unwinder *unwinder, struct machine *machine, bool innermost)
{
	uint64_t pc = machine->registers[MACHINE_PC], sp = machine->registers[MACHINE_SP];
	uint64_t at, fp, caller;

	if (innermost && pc < LOWEST_CODE) {
		if (MACHINE_RA != MACHINE_PC && machine_get(machine, MACHINE_RA, &caller))
			at = sp;
		else if (machine_load(machine, sp, &caller))
			at = sp + sizeof(caller);
		else
			return false;
	} else {
		if (!machine_get(machine, MACHINE_FP, &at) || at < sp || at % sizeof(fp) != 0 ||
		    !machine_load(machine, at, &fp) ||
		    !machine_load(machine, at + sizeof(fp), &caller))
			return false;
		machine_set(machine, MACHINE_FP, fp);
		at += 2 * sizeof(fp);
	}
	caller &= MACHINE_CODE_MASK;
	/* Code that the program makes itself may be mapped after it was last looked at. */
	if (caller != 0 && !symbols_is_mapped(unwinder->symbols, caller - 1) &&
	    (caller < LOWEST_CODE || symbols_is_mapped(unwinder->symbols, pc)))
		return false;
	machine->valid = UINT64_C(1) << MACHINE_FP;
	machine_set(machine, MACHINE_SP, at);
	machine_set(machine, MACHINE_PC, caller);
	return true;
}

static struct machine machine_of(const struct unwind_input *input)
{
	struct machine machine = {.valid = (UINT64_C(1) << UNWIND_REGISTERS) - 1,
				  .low = input->sp,
				  .stack = input->stack,
				  .bytes = input->bytes};

	memcpy(machine.registers, input->registers, sizeof(machine.registers));
	return machine;
}

/* A frame under way. */
struct step {
	uint64_t address; /* of its instruction: the pc, or the return address less one */
	bool exact;       /* it did not make a call: the innermost, or one that was interrupted */
};

/*
 * Goes on to the caller; says in `result` if there is none. False: this is as
 * far as it goes.
 */
static bool go_on(struct unwinder *unwinder, struct machine *machine, const struct rule *rule,
		  struct step *step, struct unwind_result *result)
{
	uint64_t sp = machine->registers[MACHINE_SP], fp;

	if (rule->kind == RULE_OUTERMOST) {
		result->complete = true;
		return false;
	}
	if (rule->kind == RULE_NONE) {
		/* By convention the outermost frame has no frame pointer. */
		if (machine_get(machine, MACHINE_FP, &fp) && fp == 0 && result->count > 1) {
			result->complete = true;
			return false;
		}
		if (!guess_caller(unwinder, machine, step->exact))
			return false;
	} else if (!rule_apply(rule, machine)) {
		return false;
	}
	if (machine->registers[MACHINE_PC] == 0) {
		result->complete = true;
		return false;
	}
	/*
	 * Stacks grow downwards, so callers lie above. A function that has no frame
	 * lies where its caller does; a signal may have come while on another stack.
	 */
	if (machine->registers[MACHINE_SP] < sp &&
	    !(rule->signal && machine->registers[MACHINE_SP] < machine->low))
		return false;
	if (machine->registers[MACHINE_SP] == sp && !(step->exact && MACHINE_RA != MACHINE_PC))
		return false;
	result->guessed += rule->kind == RULE_NONE;
	step->exact = rule->signal;
	step->address = machine->registers[MACHINE_PC] - !step->exact;
	return true;
}

struct unwind_result unwind(struct unwinder *unwinder, const struct unwind_input *input,
			    uint64_t *addresses, uint64_t *sps, uint32_t most)
{
	struct unwind_result result = {0};
	struct machine machine = machine_of(input);
	struct step step = {.address = machine.registers[MACHINE_PC], .exact = true};

	if (unwinder->revision != symbols_revision(unwinder->symbols)) {
		forget_rules(unwinder);
		unwinder->revision = symbols_revision(unwinder->symbols);
	}
	while (result.count < most) {
		const struct rule *rule = find_rule(unwinder, step.address);

		/* Where a handler returns to is no call: its own first instruction. */
		if (rule && rule->signal && !step.exact)
			step.address++;
		addresses[result.count] = step.address;
		if (sps)
			sps[result.count] = machine.registers[MACHINE_SP];
		result.count++;
		if (!rule || !go_on(unwinder, &machine, rule, &step, &result))
			break;
	}
	return result;
}
