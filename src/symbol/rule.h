/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to get from a frame to its caller, worked out once for an address.
 *
 * Nearly all rules are plain: the frame address is a register and an offset,
 * and what was saved lies at offsets from it. The others (procedure linkage,
 * realigned stacks, signal frames) keep their expressions.
 */
#ifndef SYMBOL_RULE_H
#define SYMBOL_RULE_H

#include <elfutils/libdw.h>

#include "symbol/machine.h"

#define RULE_SAME INT32_MIN       /* not saved: it has its value still */
#define RULE_LOST (INT32_MIN + 1) /* nobody knows */

enum rule_kind {
	RULE_NONE, /* there is no call frame information */
	RULE_PLAIN,
	RULE_GENERAL,
	RULE_OUTERMOST, /* there is no caller */
};

struct rule_general;

struct rule {
	uint8_t kind;         /* enum rule_kind */
	uint8_t cfa_register; /* plain ones: frame address = register + offset */
	bool signal;          /* made by the kernel: the caller was interrupted, it made no call */
	int32_t cfa_offset;
	int32_t return_at; /* from the frame address, or RULE_* */
	int32_t saved_at[MACHINE_SAVED];
	struct rule_general *general;
};

/* Works out the rule from call frame information; no `frame`: RULE_NONE. Returns -ENOMEM. */
int rule_init(struct rule *rule, Dwarf_Frame *frame);
void rule_fini(struct rule *rule);

/*
 * Makes the registers those of the caller. False: what it takes was not copied,
 * and `machine` is of no use any more.
 */
bool rule_apply(const struct rule *rule, struct machine *machine);

#endif /* SYMBOL_RULE_H */
