/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core file: which memory of a program it holds, which files were mapped there,
 * and who the program was.
 *
 * Nothing in it is believed. Sizes and places are checked against the file when
 * it is opened, and memory is read with pread(): a file that gets smaller under
 * us reads as memory that is not there.
 */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/diag.h"

/* A stretch of memory. Those of a core do not overlap, and are in the order of addresses. */
struct core_segment {
	uint64_t start;
	uint64_t end;  /* of what the file holds of it; `start` if nothing */
	uint64_t last; /* where it ended in the program */
	uint64_t offset;
	bool code;
};

/* A file that was mapped; in the order of addresses. */
struct core_mapping {
	uint64_t start, end;
	uint64_t offset; /* in the mapped file */
	const char *path;
};

#define CORE_CACHE_BLOCK 16384u
#define CORE_CACHE_BLOCKS 64u

struct core {
	int fd;
	uint64_t bytes; /* of the file */
	bool cut;       /* the file ends before the memory that it should hold */
	struct core_segment *segments;
	uint32_t segment_count, segment_capacity;
	struct core_mapping *mappings; /* paths are in `paths` */
	uint32_t mapping_count;
	char *paths;
	uint32_t pid; /* as the program was called in its own namespace; 0: unknown */
	uint32_t uid;
	uint32_t signal; /* that ended it; 0: none */
	uint32_t thread; /* that got it */
	uint32_t threads;
	char program[17]; /* as it called itself; may be cut */
	/* What was read last, by its place in the file. */
	struct {
		uint64_t offset; /* + 1; 0: nothing */
		uint32_t bytes;
	} cached[CORE_CACHE_BLOCKS];
	char *cache;
};

/*
 * Reads what a core file says of itself; takes `fd` over. Returns -EBADMSG if it
 * is none, or one of another kind of machine; -ENOMEM; -errno.
 */
int core_open(struct core **ret, int fd, struct diag *diag);
struct core *core_free(struct core *core);

/* Copies memory of the program; false if the core does not hold all of it. */
bool core_read(struct core *core, uint64_t address, void *to, size_t bytes);

/* Whether the core holds all of this memory. */
bool core_has(const struct core *core, uint64_t address, uint64_t bytes);

/* Whether the program could not run what was at an address; false if the core does not say. */
bool core_is_data(const struct core *core, uint64_t address);

/* The file that was mapped at an address; NULL: none. */
const struct core_mapping *core_mapping_at(const struct core *core, uint64_t address);

/* From the notes; for core.c only. -EBADMSG, -ENOMEM. */
int core_read_notes(struct core *core, const char *notes, size_t bytes);

#endif /* CORE_CORE_H */
