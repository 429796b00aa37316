/* SPDX-License-Identifier: Apache-2.0 */
/* What the unwinder needs of the symbols: which code lies where. */
#ifndef SYMBOL_MODULES_H
#define SYMBOL_MODULES_H

#include "symbol/object.h"
#include "symbol/symbol.h"

/* Whether any mapping has the address. */
bool symbols_is_mapped(const struct symbols *symbols, uint64_t address);

/* The file at `address`, and the address as that file has it. NULL: none, or not to be used. */
struct object *symbols_object(struct symbols *symbols, uint64_t address, uint64_t *ret);

/* Another number whenever mappings have changed. */
uint64_t symbols_revision(const struct symbols *symbols);

#endif /* SYMBOL_MODULES_H */
