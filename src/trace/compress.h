/* SPDX-License-Identifier: Apache-2.0 */
/* zstd for the payloads of blocks. Only the tool links it. */
#ifndef TRACE_COMPRESS_H
#define TRACE_COMPRESS_H

#include <stddef.h>

struct compressor;
struct decompressor;

/* `level` is zstd's: 1 is quick, 3 its default. Returns -ENOMEM. */
int compressor_new(struct compressor **ret, int level);
struct compressor *compressor_free(struct compressor *compressor);

/* A writer_compress; `data` is the compressor. */
size_t compressor_run(void *data, void *to, size_t capacity, const void *from, size_t length);

/* Returns -ENOMEM. */
int decompressor_new(struct decompressor **ret);
struct decompressor *decompressor_free(struct decompressor *decompressor);

/* Fills exactly `length` bytes; -EBADMSG if `from` holds anything else. */
int decompressor_run(struct decompressor *decompressor, void *to, size_t length, const void *from,
		     size_t stored);

#endif /* TRACE_COMPRESS_H */
