/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input as a trace file: as it is, or with the checksums of what looks like a block
 * made right, which would keep nearly all inputs out.
 */
#ifndef TESTS_FUZZ_TRACE_FILE_H
#define TESTS_FUZZ_TRACE_FILE_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "trace/format.h"
#include "util/hash.h"

static inline uint32_t get_u32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline void put_u32(uint8_t *at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static inline void repair(uint8_t *bytes, size_t length)
{
	size_t at = FORMAT_FILE_HEADER_BYTES;

	if (length >= at) {
		memcpy(bytes, FORMAT_MAGIC, 8);
		put_u32(bytes + 8, FORMAT_VERSION);
		put_u32(bytes + 12, FORMAT_FILE_HEADER_BYTES);
	}
	while (length >= FORMAT_BLOCK_HEADER_BYTES && at <= length - FORMAT_BLOCK_HEADER_BYTES) {
		uint8_t *block = bytes + at;
		size_t left = length - at - FORMAT_BLOCK_HEADER_BYTES;
		uint32_t stored = get_u32(block + 8);

		if (get_u32(block) != FORMAT_BLOCK_MAGIC) {
			at += FORMAT_BLOCK_ALIGN;
			continue;
		}
		if (stored > left) {
			stored = (uint32_t)left;
			put_u32(block + 8, stored);
		}
		if (block[5] == BLOCK_PLAIN)
			put_u32(block + 12, stored);
		put_u32(block + 52, (uint32_t)hash_xxh64(block + 64, stored, 0));
		put_u32(block + 60, (uint32_t)hash_xxh64(block, 60, 0));
		at += (FORMAT_BLOCK_HEADER_BYTES + (size_t)stored + 7) & ~(size_t)7;
	}
}

/* The path of a file that holds this, up to the next call. */
static inline const char *trace_file(const uint8_t *bytes, size_t length)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("trace", MFD_CLOEXEC);
	must(fd >= 0 && ftruncate(fd, 0) == 0);
	must(pwrite(fd, bytes, length, 0) == (ssize_t)length);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

static inline const char *trace_file_repaired(const uint8_t *bytes, size_t length)
{
	uint8_t *copy = malloc(length + 1);
	const char *path;

	must(copy != NULL);
	memcpy(copy, bytes, length);
	repair(copy, length);
	path = trace_file(copy, length);
	free(copy);
	return path;
}

#endif /* TESTS_FUZZ_TRACE_FILE_H */
