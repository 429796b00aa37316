/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symtab.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

#define RANK_LOCAL 16u

/* A section of code: labels without a size do not reach beyond it. */
struct section {
	uint64_t start, end; /* empty: not code */
};

struct sections {
	Elf *elf;
	struct section *of; /* by index */
	size_t count;
};

static int sections_load(struct sections *sections, Elf *elf, uint64_t bias)
{
	size_t count;
	Elf_Scn *scn = NULL;

	free(sections->of);
	*sections = (struct sections){.elf = elf};
	if (elf_getshdrnum(elf, &count) < 0 || count == 0)
		return 0;
	sections->of = calloc(count, sizeof(*sections->of));
	if (!sections->of)
		return -ENOMEM;
	sections->count = count;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr header;
		size_t index = elf_ndxscn(scn);

		if (index < count && gelf_getshdr(scn, &header) && header.sh_flags & SHF_EXECINSTR)
			sections->of[index] =
				(struct section){.start = header.sh_addr + bias,
						 .end = header.sh_addr + bias + header.sh_size};
	}
	return 0;
}

/* How good a name is for a place that has several. */
static uint32_t rank_of(const GElf_Sym *symbol, const char *name)
{
	uint32_t rank = 0;
	unsigned binding = GELF_ST_BIND(symbol->st_info);

	if (symbol->st_size == 0)
		rank += 64;
	if (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		rank += 32;
	/* In the C library the weak names are those that programs call: `read`, not `__read`. */
	if (binding != STB_GLOBAL)
		rank += binding == STB_WEAK ? 1 : RANK_LOCAL;
	for (unsigned i = 0; i < 7 && name[i] == '_'; i++)
		rank++;
	/* One underscore begins what is mangled. */
	if (is_mangled(name))
		rank--;
	return rank;
}

static bool is_function(const GElf_Sym *symbol, const char *name, uint32_t section)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	if (!name || !name[0] || section == SHN_UNDEF || section == SHN_ABS ||
	    section == SHN_COMMON)
		return false;
	/* $x and $d mark code and data on arm64. */
	return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && name[0] != '$');
}

/* Adds symbol number `index`, if it is code. The end of one without a size is its section's here.
 */
static int add_symbol(struct symtab *symtab, Dwfl_Module *module, int index,
		      struct sections *sections)
{
	GElf_Sym symbol = {0};
	GElf_Addr address;
	GElf_Word at;
	Elf *elf;
	Dwarf_Addr bias;
	const char *name =
		dwfl_module_getsym_info(module, index, &symbol, &address, &at, &elf, &bias);
	const struct section *section;

	if (!is_function(&symbol, name, at))
		return 0;
	if (elf != sections->elf && sections_load(sections, elf, bias) < 0)
		return -ENOMEM;
	section = at < sections->count ? &sections->of[at] : NULL;
	if (!section || address < section->start || address >= section->end) {
		/* Without section headers a size is all there is to go by. */
		if (symbol.st_size == 0 || sections->count > 0)
			return 0;
	} else if (symbol.st_size > section->end - address) {
		symbol.st_size = section->end - address;
	}
	symtab->entries[symtab->count++] = (struct symtab_entry){
		.start = address,
		.end = symbol.st_size ? address + symbol.st_size : section->end,
		.name = name,
		.rank = rank_of(&symbol, name)};
	return 0;
}

bool symtab_is_public(const struct symtab_entry *entry)
{
	return entry->rank < RANK_LOCAL;
}

static bool has_size(const struct symtab_entry *entry)
{
	return entry->rank < 64;
}

/* Of names of the same place the best comes last, so that a search from above meets it first. */
static int compare(const void *a, const void *b)
{
	const struct symtab_entry *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank > right->rank ? -1 : 1;
	if (left->end != right->end)
		return left->end > right->end ? -1 : 1;
	return strcmp(left->name, right->name);
}

static void settle_ends(struct symtab *symtab)
{
	uint64_t next = UINT64_MAX, furthest = 0;

	for (size_t i = symtab->count; i-- > 0;) {
		struct symtab_entry *entry = &symtab->entries[i];

		if (i + 1 < symtab->count && symtab->entries[i + 1].start > entry->start)
			next = symtab->entries[i + 1].start;
		if (!has_size(entry) && entry->end > next)
			entry->end = next;
	}
	for (size_t i = 0; i < symtab->count; i++) {
		if (symtab->entries[i].end > furthest)
			furthest = symtab->entries[i].end;
		symtab->entries[i].furthest = furthest;
	}
}

int symtab_init(struct symtab *symtab, Dwfl_Module *module)
{
	int count = dwfl_module_getsymtab(module);
	struct sections sections = {0};
	int r = 0;

	*symtab = (struct symtab){0};
	if (count <= 0)
		return 0;
	symtab->entries = calloc((size_t)count, sizeof(*symtab->entries));
	if (!symtab->entries)
		return -ENOMEM;
	for (int i = 1; i < count && r == 0; i++)
		r = add_symbol(symtab, module, i, &sections);
	free(sections.of);
	if (r < 0) {
		symtab_fini(symtab);
		return r;
	}
	qsort(symtab->entries, symtab->count, sizeof(*symtab->entries), compare);
	settle_ends(symtab);
	return 0;
}

void symtab_fini(struct symtab *symtab)
{
	free(symtab->entries);
	*symtab = (struct symtab){0};
}

/* The last entry that begins at `address` or before; count if none. */
static size_t last_before(const struct symtab *symtab, uint64_t address)
{
	size_t low = 0, high = symtab->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symtab->entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : symtab->count;
}

const struct symtab_entry *symtab_find(const struct symtab *symtab, uint64_t address)
{
	const struct symtab_entry *label = NULL;
	size_t i = last_before(symtab, address);

	if (i == symtab->count)
		return NULL;
	/* The nearest function that the address is in, else the label just before it. */
	do {
		const struct symtab_entry *entry = &symtab->entries[i];

		if (entry->furthest <= address)
			break;
		if (address < entry->end) {
			if (has_size(entry))
				return entry;
			if (!label)
				label = entry;
		}
	} while (i-- > 0);
	return label;
}
