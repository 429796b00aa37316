/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF expressions, as far as call frame information has them. */
#ifndef SYMBOL_EXPRESSION_H
#define SYMBOL_EXPRESSION_H

#include <elfutils/libdw.h>

#include "symbol/machine.h"

/* What an expression yields. */
enum expression_kind {
	EXPRESSION_BAD,    /* too long, unknown, or in need of what is not known */
	EXPRESSION_MEMORY, /* the address of a value */
	EXPRESSION_VALUE,  /* the value itself */
};

/*
 * Evaluates `count` operations, which may use the canonical frame address `cfa`.
 * Ends after a bounded number of steps, whatever they are.
 */
enum expression_kind expression_evaluate(const Dwarf_Op *operations, size_t count,
					 const struct machine *machine, uint64_t cfa,
					 uint64_t *ret);

#endif /* SYMBOL_EXPRESSION_H */
