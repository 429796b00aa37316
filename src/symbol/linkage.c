/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/linkage.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "which machine is this?"
#endif

#define DYNAMIC_MAX 4096u /* entries that are looked at */
#define TABLES_MAX 8u     /* of symbols; a program has two at most */

struct image {
	const uint8_t *bytes;
	uint64_t length;
	Elf64_Ehdr header;
};

/* A part of the file; NULL if it is not all there. */
static const uint8_t *part(const struct image *image, uint64_t at, uint64_t length)
{
	if (at > image->length || length > image->length - at)
		return NULL;
	return image->bytes + at;
}

static int open_image(struct image *image, const void *bytes, size_t length)
{
	*image = (struct image){.bytes = bytes, .length = length};
	if (length < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (image->bytes[EI_CLASS] != ELFCLASS64 || image->bytes[EI_DATA] != ELFDATA2LSB)
		return -EPROTONOSUPPORT;
	if (length < sizeof(image->header))
		return -EBADMSG;
	memcpy(&image->header, bytes, sizeof(image->header));
	return image->header.e_machine == MACHINE ? 0 : -EPROTONOSUPPORT;
}

static bool get_segment(const struct image *image, uint32_t index, Elf64_Phdr *ret)
{
	const uint8_t *at = NULL;

	if (index < image->header.e_phnum && image->header.e_phentsize == sizeof(*ret) &&
	    image->header.e_phoff <= image->length)
		at = part(image, image->header.e_phoff + (uint64_t)index * sizeof(*ret),
			  sizeof(*ret));
	if (at)
		memcpy(ret, at, sizeof(*ret));
	return at;
}

static bool get_section(const struct image *image, uint32_t index, Elf64_Shdr *ret)
{
	const uint8_t *at = NULL;

	if (index < image->header.e_shnum && image->header.e_shentsize == sizeof(*ret) &&
	    image->header.e_shoff <= image->length)
		at = part(image, image->header.e_shoff + (uint64_t)index * sizeof(*ret),
			  sizeof(*ret));
	if (at)
		memcpy(ret, at, sizeof(*ret));
	return at;
}

/* A text of a table; NULL if it is not there, or if the table does not end one. */
static const char *text_at(const uint8_t *table, uint64_t bytes, uint64_t at)
{
	if (!table || at >= bytes || table[bytes - 1])
		return NULL;
	return (const char *)table + at;
}

/* Where an address of the program lies in its file, with what follows it there. */
static const uint8_t *find_address(const struct image *image, uint64_t address, uint64_t *ret_bytes)
{
	Elf64_Phdr segment;

	for (uint32_t i = 0; get_segment(image, i, &segment); i++) {
		uint64_t into = address - segment.p_vaddr;

		if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
		    into >= segment.p_filesz || segment.p_offset > image->length)
			continue;
		*ret_bytes = segment.p_filesz - into;
		return part(image, segment.p_offset + into, *ret_bytes);
	}
	return NULL;
}

/* Copies the entries out, up to the one that ends them; returns how many. */
static uint32_t copy_dynamic(const struct image *image, const Elf64_Phdr *segment,
			     Elf64_Dyn entries[DYNAMIC_MAX])
{
	const uint8_t *at = part(image, segment->p_offset, segment->p_filesz);
	uint64_t count = at ? segment->p_filesz / sizeof(*entries) : 0;
	uint32_t used = 0;

	if (count > DYNAMIC_MAX)
		count = DYNAMIC_MAX;
	for (; used < count; used++) {
		memcpy(&entries[used], at + used * sizeof(*entries), sizeof(*entries));
		if (entries[used].d_tag == DT_NULL)
			break;
	}
	return used;
}

static uint64_t value_of(const Elf64_Dyn *entries, uint32_t count, int64_t tag)
{
	for (uint32_t i = 0; i < count; i++)
		if (entries[i].d_tag == tag)
			return entries[i].d_un.d_val;
	return 0;
}

static int read_dynamic(const struct image *image, const Elf64_Phdr *segment, struct linkage *ret)
{
	Elf64_Dyn entries[DYNAMIC_MAX];
	uint32_t count = copy_dynamic(image, segment, entries);
	uint64_t room = 0, bytes = value_of(entries, count, DT_STRSZ);
	const uint8_t *texts = find_address(image, value_of(entries, count, DT_STRTAB), &room);

	/* What has no texts needs nothing, such as a static program that may lie anywhere. */
	if (!texts)
		return value_of(entries, count, DT_NEEDED) ? -EBADMSG : 0;
	if (bytes > room)
		bytes = room;
	for (uint32_t i = 0; i < count; i++) {
		const char *text = text_at(texts, bytes, entries[i].d_un.d_val);

		if (entries[i].d_tag == DT_RPATH)
			ret->rpath = text;
		else if (entries[i].d_tag == DT_RUNPATH)
			ret->runpath = text;
		else if (entries[i].d_tag == DT_NEEDED && text &&
			 ret->needed_count < LINKAGE_NEEDED_MAX)
			ret->needed[ret->needed_count++] = text;
	}
	return 0;
}

int linkage_read(struct linkage *ret, const void *bytes, size_t length)
{
	struct linkage linkage = {0};
	struct image image;
	Elf64_Phdr segment;
	int r = open_image(&image, bytes, length);

	if (r == 0 && image.header.e_phnum && !get_segment(&image, 0, &segment))
		r = -EBADMSG;
	for (uint32_t i = 0; r == 0 && get_segment(&image, i, &segment); i++) {
		if (segment.p_type == PT_INTERP)
			linkage.loaded = true;
		else if (segment.p_type == PT_DYNAMIC)
			r = read_dynamic(&image, &segment, &linkage);
	}
	if (r == 0)
		*ret = linkage;
	return r;
}

/* The ones among `names` that a table of symbols defines. */
static uint64_t search_table(const struct image *image, const Elf64_Shdr *table,
			     const char *const *names, uint32_t count)
{
	const uint8_t *symbols = part(image, table->sh_offset, table->sh_size);
	uint64_t left = symbols ? table->sh_size / sizeof(Elf64_Sym) : 0;
	const uint8_t *texts;
	uint64_t found = 0;
	Elf64_Shdr strings;

	if (!get_section(image, table->sh_link, &strings))
		return 0;
	texts = part(image, strings.sh_offset, strings.sh_size);
	for (; left; left--, symbols += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;
		const char *name;

		memcpy(&symbol, symbols, sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
		    !(name = text_at(texts, strings.sh_size, symbol.st_name)))
			continue;
		for (uint32_t i = 0; i < count; i++)
			if (strcmp(name, names[i]) == 0)
				found |= UINT64_C(1) << i;
	}
	return found;
}

uint64_t linkage_defines(const void *bytes, size_t length, const char *const *names, uint32_t count)
{
	struct image image;
	Elf64_Shdr section;
	uint64_t found = 0;
	uint32_t tables = 0;

	if (open_image(&image, bytes, length) < 0)
		return 0;
	for (uint32_t i = 0; tables < TABLES_MAX && get_section(&image, i, &section); i++)
		if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) {
			found |= search_table(&image, &section, names, count);
			tables++;
		}
	return found;
}

bool linkage_has_section(const void *bytes, size_t length, const char *name)
{
	Elf64_Shdr names, section;
	const uint8_t *texts;
	struct image image;

	if (open_image(&image, bytes, length) < 0 ||
	    !get_section(&image, image.header.e_shstrndx, &names))
		return false;
	texts = part(&image, names.sh_offset, names.sh_size);
	for (uint32_t i = 0; get_section(&image, i, &section); i++) {
		const char *text = text_at(texts, names.sh_size, section.sh_name);

		if (text && strcmp(text, name) == 0)
			return true;
	}
	return false;
}
