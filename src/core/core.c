/* SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/grow.h"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

#define SEGMENTS_MOST                                                                              \
	(1u << 20)              /* a process has 65,530 mappings, unless its owner says otherwise */
#define NOTES_MOST (256u << 20) /* registers of some ten thousand threads */

DEFINE_FREEP(struct core, core_free)

static void end_elf(Elf **elf)
{
	elf_end(*elf);
}

/* Cut to what the file holds. */
static int add_segment(struct core *core, const GElf_Phdr *header)
{
	struct core_segment *segments = grow(core->segments, core->segment_count,
					     &core->segment_capacity, 64, sizeof(*segments));
	uint64_t held = header->p_filesz < header->p_memsz ? header->p_filesz : header->p_memsz;
	uint64_t room = header->p_offset < core->bytes ? core->bytes - header->p_offset : 0;

	if (!segments)
		return -ENOMEM;
	core->segments = segments;
	if (!header->p_memsz || header->p_memsz > UINT64_MAX - header->p_vaddr)
		return 0;
	core->cut |= held > room;
	segments[core->segment_count++] = (struct core_segment){
		.start = header->p_vaddr,
		.end = header->p_vaddr + (held < room ? held : room),
		.last = header->p_vaddr + header->p_memsz,
		.offset = header->p_offset,
		.code = header->p_flags & PF_X,
	};
	return 0;
}

static int add_notes(struct core *core, const GElf_Phdr *header)
{
	char *notes;
	ssize_t got;
	int r;

	if (!header->p_filesz || header->p_offset >= core->bytes)
		return 0;
	if (header->p_filesz > NOTES_MOST)
		return -EBADMSG;
	notes = malloc(header->p_filesz);
	if (!notes)
		return -ENOMEM;
	got = pread(core->fd, notes, header->p_filesz, (off_t)header->p_offset);
	r = got > 0 ? core_read_notes(core, notes, (size_t)got) : 0;
	free(notes);
	return r;
}

static int by_address(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sorts the segments; what overlaps the one before gives way. */
static void order_segments(struct core *core)
{
	uint64_t end = 0;
	uint32_t kept = 0;

	if (core->segment_count)
		qsort(core->segments, core->segment_count, sizeof(*core->segments), by_address);
	for (uint32_t i = 0; i < core->segment_count; i++) {
		if (core->segments[i].start < end)
			continue;
		end = core->segments[i].last;
		core->segments[kept++] = core->segments[i];
	}
	core->segment_count = kept;
}

static int add_headers(struct core *core, Elf *elf)
{
	GElf_Phdr header;
	size_t count = 0;
	int r = 0;

	if (elf_getphdrnum(elf, &count) < 0 || count > SEGMENTS_MOST)
		return -EBADMSG;
	for (size_t i = 0; i < count && r == 0; i++) {
		if (!gelf_getphdr(elf, (int)i, &header))
			return -EBADMSG;
		if (header.p_type == PT_LOAD)
			r = add_segment(core, &header);
		if (header.p_type == PT_NOTE)
			r = add_notes(core, &header);
	}
	order_segments(core);
	return r;
}

/* As systemd-coredump keeps them. */
static bool is_compressed(int fd)
{
	static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd}, lz4[] = {0x04, 0x22, 0x4d, 0x18},
			     xz[] = {0xfd, '7', 'z', 'X'};
	uint8_t start[4] = {0};

	return pread(fd, start, sizeof(start), 0) == sizeof(start) &&
	       (memcmp(start, zstd, 4) == 0 || memcmp(start, lz4, 4) == 0 ||
		memcmp(start, xz, 4) == 0);
}

static int read_core(struct core *core, struct diag *diag)
{
	cleanup(end_elf) Elf *elf = NULL;
	GElf_Ehdr header;
	struct stat st;
	int r;

	if (fstat(core->fd, &st) < 0)
		return diag_set(diag, -errno, "%m");
	if (!S_ISREG(st.st_mode))
		return diag_set(diag, -EBADMSG, "not a regular file");
	core->bytes = (uint64_t)st.st_size;
	elf_version(EV_CURRENT);
	elf = elf_begin(core->fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
	    header.e_type != ET_CORE) {
		diag_set(diag, 0, "not a core file");
		return is_compressed(core->fd)
			       ? diag_hint(
					 diag, -EBADMSG,
					 "it is compressed: `coredumpctl dump` writes it as it was")
			       : diag_hint(diag, -EBADMSG, "`unweave top FILE` shows a trace");
	}
	if (header.e_machine != MACHINE || gelf_getclass(elf) != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB)
		return diag_set(diag, -EBADMSG, "a core file of another kind of machine");
	r = add_headers(core, elf);
	return r == -EBADMSG ? diag_set(diag, r, "a damaged core file") : r;
}

int core_open(struct core **ret, int fd, struct diag *diag)
{
	cleanup(core_freep) struct core *core = calloc(1, sizeof(*core));
	int r;

	if (!core) {
		close(fd);
		return -ENOMEM;
	}
	core->fd = fd;
	core->cache = malloc((size_t)CORE_CACHE_BLOCKS * CORE_CACHE_BLOCK);
	if (!core->cache)
		return -ENOMEM;
	r = read_core(core, diag);
	if (r < 0)
		return r;
	*ret = take(core);
	return 0;
}

struct core *core_free(struct core *core)
{
	if (!core)
		return NULL;
	close(core->fd);
	free(core->segments);
	free(core->mappings);
	free(core->paths);
	free(core->cache);
	free(core);
	return NULL;
}

/* The segment that an address is in, whether the file holds that or not; NULL: none. */
static const struct core_segment *segment_around(const struct core *core, uint64_t address)
{
	uint32_t low = 0, high = core->segment_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (core->segments[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < core->segments[low - 1].last ? &core->segments[low - 1] : NULL;
}

/* The same if the file holds it. */
static const struct core_segment *segment_at(const struct core *core, uint64_t address)
{
	const struct core_segment *segment = segment_around(core, address);

	return segment && address < segment->end ? segment : NULL;
}

bool core_is_data(const struct core *core, uint64_t address)
{
	const struct core_segment *segment = segment_around(core, address);

	return segment && !segment->code;
}

bool core_has(const struct core *core, uint64_t address, uint64_t bytes)
{
	while (bytes) {
		const struct core_segment *segment = segment_at(core, address);
		uint64_t part = segment ? segment->end - address : 0;

		if (!part)
			return false;
		if (part >= bytes)
			return true;
		address += part;
		bytes -= part;
	}
	return true;
}

/* What the file has at `offset`, up to the end of a block; fewer than 1: nothing. */
static size_t look_up(struct core *core, uint64_t offset, const char **ret)
{
	uint64_t start = offset - offset % CORE_CACHE_BLOCK;
	uint32_t place = (uint32_t)(start / CORE_CACHE_BLOCK % CORE_CACHE_BLOCKS);
	char *block = core->cache + (size_t)place * CORE_CACHE_BLOCK;
	uint64_t within = offset - start;

	if (core->cached[place].offset != start + 1) {
		ssize_t got = pread(core->fd, block, CORE_CACHE_BLOCK, (off_t)start);

		core->cached[place].offset = start + 1;
		core->cached[place].bytes = got > 0 ? (uint32_t)got : 0;
	}
	*ret = block + within;
	return within < core->cached[place].bytes ? core->cached[place].bytes - (size_t)within : 0;
}

bool core_read(struct core *core, uint64_t address, void *to, size_t bytes)
{
	char *at = to;

	while (bytes) {
		const struct core_segment *segment = segment_at(core, address);
		uint64_t held = segment ? segment->end - address : 0;
		const char *from = NULL;
		size_t part =
			segment ? look_up(core, segment->offset + (address - segment->start), &from)
				: 0;

		if (part > held)
			part = (size_t)held;
		if (part > bytes)
			part = bytes;
		if (!part)
			return false;
		memcpy(at, from, part);
		at += part;
		address += part;
		bytes -= part;
	}
	return true;
}

const struct core_mapping *core_mapping_at(const struct core *core, uint64_t address)
{
	uint32_t low = 0, high = core->mapping_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (core->mappings[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < core->mappings[low - 1].end ? &core->mappings[low - 1] : NULL;
}
