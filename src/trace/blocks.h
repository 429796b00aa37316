/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace file as a row of blocks: finds them, also behind damage, and reads
 * what is in them. Nothing is mapped, since a file may get shorter meanwhile.
 */
#ifndef TRACE_BLOCKS_H
#define TRACE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/compress.h"
#include "trace/fault.h"
#include "trace/format.h"
#include "util/diag.h"

#define BLOCKS_END 1

struct blocks {
	int fd;
	uint64_t size; /* of the file when it was opened */
	uint64_t at;   /* where blocks_next() goes on */
	struct faults *faults;
	uint8_t *window; /* a piece of the file */
	uint64_t window_at;
	size_t window_length;
	uint8_t *stored; /* one block, as it is in the file */
	size_t stored_capacity;
	struct decompressor *decompressor; /* NULL until a block needs it */
};

/*
 * Opens `path` and checks its header; `faults` is borrowed until blocks_fini().
 * Returns what reader_open() says.
 */
int blocks_open(struct blocks *ret, const char *path, struct faults *faults, struct diag *diag);
void blocks_fini(struct blocks *blocks);

/* The next block that is there whole; BLOCKS_END, or -EIO. What is no block is told and skipped. */
int blocks_next(struct blocks *blocks, struct block *ret, uint64_t *ret_offset, struct diag *diag);

/* The header at `offset`, where blocks_next() found one; -EBADMSG if it is gone; -EIO. */
int blocks_header(struct blocks *blocks, uint64_t offset, struct block *ret, struct diag *diag);

/*
 * Whether the payload can be had at all, by the header alone; else a fault has
 * been told. To be asked before block->raw bytes are reserved for it.
 */
bool blocks_readable(struct blocks *blocks, uint64_t offset, const struct block *block);

/*
 * Fills `to` with the block->raw bytes of the payload. Returns -EBADMSG if they
 * are damaged (then told), -ENOMEM, -EIO.
 */
int blocks_payload(struct blocks *blocks, uint64_t offset, const struct block *block, uint8_t *to,
		   struct diag *diag);

#endif /* TRACE_BLOCKS_H */
