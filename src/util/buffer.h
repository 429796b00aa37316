/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that grow at the end, up to a maximum given at the start.
 *
 * A failed append marks the buffer bad and later ones do nothing, so that a
 * list of fields needs one check at its end.
 */
#ifndef UTIL_BUFFER_H
#define UTIL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *bytes;
	size_t length;
	size_t capacity;
	size_t maximum;
	bool bad; /* memory or the maximum ran out */
};

#define BUFFER_INIT(most) ((struct buffer){.maximum = (most)})

void buffer_fini(struct buffer *buffer);
void buffer_put(struct buffer *buffer, const void *bytes, size_t length);
void buffer_put_u8(struct buffer *buffer, uint8_t value);
void buffer_put_u32(struct buffer *buffer, uint32_t value); /* little endian, as all of them */
void buffer_put_u64(struct buffer *buffer, uint64_t value);
void buffer_put_varint(struct buffer *buffer, uint64_t value);
void buffer_put_zigzag(struct buffer *buffer, int64_t value);
/* Its length as a varint, then the bytes. */
void buffer_put_text(struct buffer *buffer, const char *text, size_t length);

#endif /* UTIL_BUFFER_H */
