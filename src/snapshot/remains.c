/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/remains.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "arena/where.h"
#include "util/cleanup.h"

#define COPY_BYTES 65536u
#define ARENA_MOST                                                                                 \
	(ARENA_POOL_AT + (uint64_t)ARENA_CHUNKS_MAX * ARENA_CHUNK_BYTES +                          \
	 table_all_bytes(TABLE_MOST))

static bool read_core(void *core, uint64_t address, void *to, size_t bytes)
{
	return core_read(core, address, to, bytes);
}

/* Whether an arena of the program begins there, by what it says of itself. */
static bool is_arena(struct core *core, uint64_t address)
{
	struct {
		uint64_t magic, pool_address, bytes;
		uint32_t pid;
	} found;

	return core_read(core, address + offsetof(struct arena_control, magic), &found.magic, 8) &&
	       found.magic == ARENA_MAGIC &&
	       core_read(core, address + offsetof(struct arena_control, pool_address),
			 &found.pool_address, 8) &&
	       found.pool_address == address + ARENA_POOL_AT &&
	       core_read(core, address + offsetof(struct arena_control, pid), &found.pid, 4) &&
	       /* A child of fork() that has called no hook yet has its parent's. */
	       (found.pid == core->pid || !core->pid);
}

/* Copies what the core holds of [start, start + bytes); what is zero anyway takes no memory. */
static bool copy_segments(struct core *core, uint64_t start, uint64_t bytes, char *to)
{
	static const char zeros[COPY_BYTES];
	char *block = malloc(COPY_BYTES);

	for (uint32_t i = 0; block && i < core->segment_count; i++) {
		const struct core_segment *segment = &core->segments[i];
		uint64_t at = segment->start > start ? segment->start : start;
		uint64_t end = segment->end < start + bytes ? segment->end : start + bytes;

		for (size_t part; at < end; at += part) {
			part = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;
			if (core_read(core, at, block, part) && memcmp(block, zeros, part) != 0)
				memcpy(to + (at - start), block, part);
		}
	}
	free(block);
	return block != NULL;
}

static int attach_dumped(struct attachment *ret, struct core *core, uint64_t start,
			 struct diag *diag)
{
	uint64_t bytes = 0;
	void *memory;

	if (!core_read(core, start + offsetof(struct arena_control, bytes), &bytes, 8) ||
	    bytes > ARENA_MOST || bytes > UINT64_MAX - start)
		return diag_set(diag, -EBADMSG, "the arena in it is damaged");
	memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	if (!copy_segments(core, start, bytes, memory)) {
		munmap(memory, bytes);
		return -ENOMEM;
	}
	return attach_copy(ret, memory, bytes, diag);
}

/* Whether a path is that of an arena of this program: BASE/unweave-UID/PID-STARTED-N. */
static bool is_arena_path(const struct core *core, const char *path)
{
	const char *name = strrchr(path, '/');
	const char *folder = name ? memrchr(path, '/', (size_t)(name - path)) : NULL;
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "/%u-", core->pid);
	return folder && strncmp(name, prefix, strlen(prefix)) == 0 &&
	       strncmp(folder, "/" ARENA_DIRECTORY_PREFIX, sizeof(ARENA_DIRECTORY_PREFIX)) == 0;
}

/* The mapping of an arena that was in a file, or in a memfd; NULL: there was none. */
static const struct core_mapping *mapped_arena(const struct core *core, bool *ret_memfd)
{
	static const char memfd[] = "/memfd:" ARENA_MEMFD_NAME;

	for (uint32_t i = 0; i < core->mapping_count; i++) {
		const struct core_mapping *mapping = &core->mappings[i];

		*ret_memfd = strncmp(mapping->path, memfd, sizeof(memfd) - 1) == 0;
		if (mapping->offset == 0 && (*ret_memfd || is_arena_path(core, mapping->path)))
			return mapping;
	}
	return NULL;
}

/* Opens a file that a core names, if it is one. */
static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		return fd;
	close(fd);
	return -ENOENT;
}

static int attach_mapped(struct attachment *ret, const struct core *core,
			 const struct core_mapping *mapping, struct diag *diag)
{
	struct attachment attachment;
	int fd = open_file(mapping->path);
	int r = fd < 0 ? fd : attach_left(&attachment, fd, mapping->path, diag);

	if (r < 0)
		return r;
	if (attachment.pid != core->pid ||
	    attachment.pool_address != mapping->start + ARENA_POOL_AT) {
		attach_fini(&attachment);
		return -ENOENT;
	}
	/* A core of a program that goes on does not go with an arena that does. */
	attachment.copied = false;
	if (attach_is_alive(&attachment)) {
		diag_set(diag, 0, "process %u still runs, and its arena is not in the core",
			 core->pid);
		attach_fini(&attachment);
		return diag_hint(diag, -EBUSY, "unweave tree %u looks at the program itself",
				 core->pid);
	}
	attachment.copied = true;
	*ret = attachment;
	return 0;
}

/* A path that a core names, as it can be shown on a terminal. */
static void copy_path(char *to, size_t room, const char *path)
{
	snprintf(to, room, "%s", path);
	for (; *to; to++)
		if (*to < ' ' || *to > '~')
			*to = '?';
}

static int say_why_not(const struct core *core, const struct core_mapping *mapping, bool memfd,
		       struct diag *diag)
{
	char path[128];

	if (!mapping && !core->mapping_count)
		return diag_set(diag, -ENOENT,
				"it holds no arena, and does not say which files were mapped");
	if (!mapping)
		return diag_set(
			diag, -ENOENT,
			"it holds no arena: the program did not carry libunweave, or had called "
			"no hook");
	if (core->cut)
		return diag_set(diag, -ENOENT, "the file is cut short, and its arena is missing");
	if (memfd) {
		diag_set(diag, 0, "it was written without shared memory, and so without its arena");
		return diag_hint(diag, -ENOENT,
				 "set bit 1 in /proc/PID/coredump_filter, as it is by default");
	}
	copy_path(path, sizeof(path), mapping->path);
	diag_set(diag, 0, "it was written without its arena, which is not in %s any more", path);
	return diag_hint(diag, -ENOENT,
			 "`echo 0x3b >/proc/PID/coredump_filter`, or CoredumpFilter=0x3b in a "
			 "systemd unit, has the next core hold it");
}

int remains_attach(struct attachment *ret, struct core *core, struct diag *diag)
{
	const struct core_mapping *mapping;
	bool memfd = false;
	int r = -ENOENT;

	for (uint32_t i = 0; r == -ENOENT && i < core->segment_count; i++)
		if (is_arena(core, core->segments[i].start))
			r = attach_dumped(ret, core, core->segments[i].start, diag);
	mapping = r == -ENOENT ? mapped_arena(core, &memfd) : NULL;
	if (mapping && !memfd)
		r = attach_mapped(ret, core, mapping, diag);
	if (r == -ENOENT || r == -EACCES)
		return say_why_not(core, mapping, memfd, diag);
	if (r < 0)
		return r;
	ret->kept = (struct attach_kept){read_core, core};
	return 0;
}

bool remains_are_whole(const struct attachment *attachment, const struct core *core)
{
	uint64_t start = attachment->pool_address - ARENA_POOL_AT;
	uint64_t tasks_at = (uint64_t)((const char *)attachment->table.tasks -
				       (const char *)attachment->control);

	return attachment->path[0] ||
	       (core_has(core, start, ARENA_RING_AT) &&
		core_has(core, start + tasks_at, table_bytes(table_ready(&attachment->table))));
}
