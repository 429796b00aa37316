/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/bounds.h"

#include <endian.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>

/* The form that linkers write; DWARF's names for it are in the comments. */
#define VERSION 1u
#define POINTER_FORM 0x1bu /* pcrel, sdata4 */
#define COUNT_FORM 0x03u   /* udata4 */
#define TABLE_FORM 0x3bu   /* datarel, sdata4 */
#define HEADER_BYTES 12u
#define ENTRY_BYTES 8u
#define FDE_BYTES 16u /* length, CIE, beginning, range: what is looked at */

static uint32_t u32_at(const struct bounds *bounds, size_t offset)
{
	uint32_t value;

	memcpy(&value, bounds->file + offset, sizeof(value));
	return le32toh(value);
}

/* A distance from `base`. */
static uint64_t relative(const struct bounds *bounds, uint64_t base, size_t offset)
{
	return base + (uint64_t)(int64_t)(int32_t)u32_at(bounds, offset);
}

static bool is_within(const struct bounds *bounds, uint64_t offset, uint64_t bytes)
{
	return offset <= bounds->bytes && bytes <= bounds->bytes - offset;
}

static bool find_index(struct bounds *bounds, Elf *elf)
{
	size_t count;

	if (elf_getphdrnum(elf, &count) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_GNU_EH_FRAME)
			continue;
		bounds->address = header.p_vaddr;
		bounds->offset = header.p_offset;
		return is_within(bounds, header.p_offset, HEADER_BYTES);
	}
	return false;
}

/* Whether it has the usual form; with its entries, as far as they are there. */
static bool read_index(struct bounds *bounds)
{
	const uint8_t *at = bounds->file + bounds->offset;

	if (at[0] != VERSION || at[1] != POINTER_FORM || at[2] != COUNT_FORM || at[3] != TABLE_FORM)
		return false;
	bounds->count = u32_at(bounds, bounds->offset + 8);
	bounds->table = bounds->offset + HEADER_BYTES;
	return is_within(bounds, bounds->table, (uint64_t)bounds->count * ENTRY_BYTES);
}

void bounds_init(struct bounds *bounds, Dwfl_Module *module)
{
	GElf_Addr bias = 0;
	Elf *elf = dwfl_module_getelf(module, &bias);
	size_t bytes = 0;
	const char *file = elf ? elf_rawfile(elf, &bytes) : NULL;

	*bounds = (struct bounds){.file = (const uint8_t *)file, .bytes = bytes, .bias = bias};
	if (file && (!find_index(bounds, elf) || !read_index(bounds)))
		bounds->file = NULL;
}

static uint64_t start_of(const struct bounds *bounds, uint32_t entry)
{
	return relative(bounds, bounds->address, bounds->table + (size_t)entry * ENTRY_BYTES);
}

/* How long the function of an entry is, which is said where its call frame information is. */
static uint64_t length_of(const struct bounds *bounds, uint32_t entry)
{
	size_t at = bounds->table + (size_t)entry * ENTRY_BYTES + 4;
	uint64_t fde = relative(bounds, bounds->address, at);
	/* Both are in one segment, as a rule; if not, what is there does not fit the entry. */
	uint64_t offset = fde - bounds->address + bounds->offset;

	if (!is_within(bounds, offset, FDE_BYTES) ||
	    relative(bounds, fde + 8, offset + 8) != start_of(bounds, entry))
		return 0;
	return u32_at(bounds, offset + 12);
}

uint64_t bounds_find(const struct bounds *bounds, uint64_t address)
{
	uint32_t low = 0, high = bounds->file ? bounds->count : 0;
	uint64_t start;

	address -= bounds->bias;
	/* The first entry beyond the address. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (start_of(bounds, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	start = start_of(bounds, low - 1);
	return address - start < length_of(bounds, low - 1) ? start + bounds->bias : 0;
}
