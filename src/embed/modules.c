/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/modules.h"

#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "trace/sample.h"

#define PAGE 4096u

struct telling {
	const char *program;
	struct buffer list;
	uint64_t count;
};

/* The next note; NULL after the last one, or where they make no sense. */
static const ElfW(Nhdr) * next_note(const char **at, const char *end)
{
	const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)*at;
	size_t bytes;

	if ((size_t)(end - *at) < sizeof(*note))
		return NULL;
	bytes = sizeof(*note) + (((size_t)note->n_namesz + 3) & ~(size_t)3) +
		(((size_t)note->n_descsz + 3) & ~(size_t)3);
	if (bytes > (size_t)(end - *at))
		return NULL;
	*at += bytes;
	return note;
}

static struct meta_text build_id_of(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const char *at = (const char *)(uintptr_t)(info->dlpi_addr + segment->p_vaddr);
		const char *end = at + segment->p_memsz;
		const ElfW(Nhdr) * note;

		while (segment->p_type == PT_NOTE && (note = next_note(&at, end)))
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    memcmp(note + 1, "GNU", 4) == 0)
				return (struct meta_text){(const char *)(note + 1) + 4,
							  note->n_descsz};
	}
	return (struct meta_text){0};
}

/* As /proc/PID/maps has it. `whole` has room for a path. */
static const char *path_of(const struct telling *telling, const char *name, char *whole)
{
	if (!name[0])
		return telling->program;
	if (strncmp(name, "linux-vdso", 10) == 0)
		return "[vdso]";
	return realpath(name, whole) ? whole : name;
}

static int on_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct telling *telling = data;
	char whole[PATH_MAX];
	const char *path = path_of(telling, info->dlpi_name, whole);
	struct meta_text build_id = build_id_of(info);

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr, lead = start % PAGE;
		struct meta_module module = {
			.start = start - lead,
			.end = (start + segment->p_memsz + PAGE - 1) & ~(uint64_t)(PAGE - 1),
			.offset = segment->p_offset - lead,
			.path = {path, strlen(path)},
			.build_id = build_id,
		};

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		meta_module_encode(&telling->list, &module);
		telling->count++;
	}
	return 0;
}

void modules_tell(struct recorder *recorder, const struct attachment *attachment)
{
	struct telling telling = {.program = attachment->control->program,
				  .list = BUFFER_INIT(FORMAT_PAYLOAD_MAX - 64)};
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);
	struct block block = {.kind = BLOCK_MODULES};

	dl_iterate_phdr(on_object, &telling);
	buffer_put_varint(&payload, attachment->control->anchors);
	buffer_put_varint(&payload, telling.count);
	buffer_put(&payload, telling.list.bytes, telling.list.length);
	block.raw = (uint32_t)payload.length;
	if (!telling.list.bad && !payload.bad)
		recorder_put(recorder, &block, payload.bytes);
	buffer_fini(&telling.list);
	buffer_fini(&payload);
}
