/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes protocol buffers: fields appended to a buffer, one after the other.
 * What went wrong is the buffer's `bad`, to be looked at once.
 */
#ifndef VIEW_PROTOBUF_H
#define VIEW_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

void protobuf_number(struct buffer *to, uint32_t field, uint64_t number);
void protobuf_fixed64(struct buffer *to, uint32_t field, uint64_t number);
void protobuf_bytes(struct buffer *to, uint32_t field, const void *bytes, size_t length);
/* Bytes that are no UTF-8 become U+FFFD: readers may refuse the whole message else. */
void protobuf_text(struct buffer *to, uint32_t field, const char *text);

/*
 * A message within the message: its fields are those between the two calls.
 * protobuf_open() returns what protobuf_close() needs.
 */
size_t protobuf_open(struct buffer *to, uint32_t field);
void protobuf_close(struct buffer *to, size_t opened);

#endif /* VIEW_PROTOBUF_H */
