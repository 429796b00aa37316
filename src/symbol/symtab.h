/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of an ELF file by its symbol table, in the order of addresses. */
#ifndef SYMBOL_SYMTAB_H
#define SYMBOL_SYMTAB_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

struct symtab_entry {
	uint64_t start;
	uint64_t end;      /* a label without a size ends at the next symbol of its section */
	uint64_t furthest; /* the largest end of all entries up to this one */
	const char *name;  /* mangled; belongs to the file */
	uint32_t rank;     /* among names of the same place: the lowest is shown */
};

struct symtab {
	struct symtab_entry *entries;
	size_t count;
};

/* Reads the table of `module`; addresses are those of the file. Returns -ENOMEM. */
int symtab_init(struct symtab *symtab, Dwfl_Module *module);
void symtab_fini(struct symtab *symtab);

/* NULL: the address is in no function. */
const struct symtab_entry *symtab_find(const struct symtab *symtab, uint64_t address);

/* Whether other files can call it by its name. */
bool symtab_is_public(const struct symtab_entry *entry);

#endif /* SYMBOL_SYMTAB_H */
