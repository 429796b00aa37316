/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes blocks to a trace file. A block is there whole or not at all: what a
 * failed write left behind is cut off again.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "util/diag.h"

struct writer;

/*
 * Compresses `length` bytes into at most `capacity`; returns the size, or 0 if
 * it does not get smaller. NULL where blocks are to stay plain: the library
 * that lives in a program links nothing but libc.
 */
typedef size_t (*writer_compress)(void *data, void *to, size_t capacity, const void *from,
				  size_t length);

/* Creates or truncates `path` and writes the file header. Returns what open or write met. */
int writer_new(struct writer **ret, const char *path, writer_compress compress, void *data,
	       struct diag *diag);
/* Closes the file; it stays valid whether or not an END block was written. */
struct writer *writer_free(struct writer *writer);

/*
 * `block->stored` and `codec` are filled in here. On failure (-ENOSPC, -EIO,
 * -EDQUOT, -EFBIG …) the file ends where it ended before, and a later block may
 * succeed.
 */
int writer_put(struct writer *writer, const struct block *block, const uint8_t *payload,
	       struct diag *diag);

/* The two halves of writer_put, for who must note the file's size in between. */
int writer_prepare(struct writer *writer, const struct block *block, const uint8_t *payload);
int writer_commit(struct writer *writer, struct diag *diag);

/*
 * Between the two: whether there will be room for `bytes` more after the block, which then is kept
 * for them. 0 where the file system cannot say. On failure nothing is prepared any more.
 */
int writer_reserve(struct writer *writer, uint64_t bytes);

/* Bytes in the file; after writer_prepare, what they will be after writer_commit. */
uint64_t writer_bytes(const struct writer *writer);
uint64_t writer_bytes_after(const struct writer *writer);

#endif /* TRACE_WRITER_H */
