/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes blocks to a trace file. A block is there whole or not at all: what a
 * failed write left behind is cut off again.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "trace/flight.h"
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
/*
 * One that keeps the last blocks in memory, until writer_save(). Nothing is
 * refused for want of disk then.
 */
int writer_new_flight(struct writer **ret, const struct flight_limits *limits,
		      writer_compress compress, void *data, struct diag *diag);
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
 * Between the two: whether there will be room for `least` bytes more after the block, which then
 * is kept for them; and for `most` if there is as much. 0 where the file system cannot say. On
 * failure nothing is prepared any more.
 */
int writer_reserve(struct writer *writer, uint64_t most, uint64_t least);

/* Writes a file of what is kept, as the last thing. Returns what open or write met. */
int writer_save(struct writer *writer, const char *path, struct diag *diag);
/* What that is; all 0 if nothing is kept. */
struct flight_totals writer_kept(const struct writer *writer);
/* The bytes of the file, as it is or would be. */
uint64_t writer_file_bytes(const struct writer *writer);

/* Bytes in the file, or that were ever kept; after writer_prepare, what they will be after
 * writer_commit. */
uint64_t writer_bytes(const struct writer *writer);
uint64_t writer_bytes_after(const struct writer *writer);

#endif /* TRACE_WRITER_H */
