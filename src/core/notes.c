/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of a core: its threads, its program, the files that were mapped. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>

#include "core/core.h"
#include "util/wire.h"

#define MAPPINGS_MOST (1u << 17) /* a process has 65,530, unless its owner says otherwise */

/* The first one is of the thread that got the signal. */
static void read_thread(struct core *core, const uint8_t *note, size_t bytes)
{
	struct elf_prstatus status;

	if (bytes < sizeof(status))
		return;
	memcpy(&status, note, sizeof(status));
	if (!core->threads++) {
		core->thread = (uint32_t)status.pr_pid;
		core->signal = (uint32_t)status.pr_cursig;
	}
}

static void read_process(struct core *core, const uint8_t *note, size_t bytes)
{
	struct elf_prpsinfo process;

	if (bytes < sizeof(process))
		return;
	memcpy(&process, note, sizeof(process));
	core->pid = (uint32_t)process.pr_pid;
	core->uid = process.pr_uid;
	memcpy(core->program, process.pr_fname, sizeof(core->program) - 1);
}

/* A table of count, page size and three words for each file; then their paths. */
static int read_mappings(struct core *core, const uint8_t *note, size_t bytes)
{
	struct wire wire = wire_of(note, bytes);
	uint64_t count = wire_u64(&wire), page = wire_u64(&wire);
	size_t texts;
	char *path;

	if (core->mappings || wire.bad || count > MAPPINGS_MOST ||
	    count > (size_t)(wire.end - wire.at) / 24)
		return 0;
	texts = (size_t)(wire.end - wire.at) - count * 24;
	core->mappings = calloc(count + 1, sizeof(*core->mappings));
	core->paths = malloc(texts + 1);
	if (!core->mappings || !core->paths)
		return -ENOMEM;
	memcpy(core->paths, wire.at + count * 24, texts);
	core->paths[texts] = '\0';
	path = core->paths;
	for (uint64_t i = 0; i < count && path < core->paths + texts; i++) {
		struct core_mapping *mapping = &core->mappings[core->mapping_count++];

		mapping->start = wire_u64(&wire);
		mapping->end = wire_u64(&wire);
		mapping->offset = wire_u64(&wire) * page;
		mapping->path = path;
		path += strlen(path) + 1;
	}
	return 0;
}

static int read_note(struct core *core, uint32_t kind, const uint8_t *note, size_t bytes)
{
	if (kind == NT_PRSTATUS)
		read_thread(core, note, bytes);
	else if (kind == NT_PRPSINFO)
		read_process(core, note, bytes);
	else if (kind == NT_FILE)
		return read_mappings(core, note, bytes);
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct core_mapping *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void sort_mappings(struct core *core)
{
	if (core->mapping_count)
		qsort(core->mappings, core->mapping_count, sizeof(*core->mappings), by_address);
}

static size_t padded(size_t bytes)
{
	return (bytes + 3) & ~(size_t)3;
}

int core_read_notes(struct core *core, const char *notes, size_t bytes)
{
	struct wire wire = wire_of(notes, bytes);
	int r = 0;

	while (r == 0 && wire.at < wire.end) {
		uint32_t name_bytes = wire_u32(&wire), note_bytes = wire_u32(&wire);
		uint32_t kind = wire_u32(&wire);
		const uint8_t *name = wire_bytes(&wire, padded(name_bytes));
		const uint8_t *note = wire_bytes(&wire, note_bytes);

		if (wire.bad)
			break;
		if (name_bytes == sizeof("CORE") && memcmp(name, "CORE", sizeof("CORE")) == 0)
			r = read_note(core, kind, note, note_bytes);
		wire_bytes(&wire, padded(note_bytes) - note_bytes);
	}
	sort_mappings(core);
	return r;
}
