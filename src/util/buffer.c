/* SPDX-License-Identifier: Apache-2.0 */
#include "util/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "util/varint.h"

void buffer_fini(struct buffer *buffer)
{
	free(buffer->bytes);
	*buffer = BUFFER_INIT(buffer->maximum);
}

static bool reserve(struct buffer *buffer, size_t length)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 256;
	uint8_t *bytes;

	if (buffer->bad || length > buffer->maximum - buffer->length)
		return false;
	if (length <= buffer->capacity - buffer->length)
		return true;

	while (capacity < buffer->length + length && capacity < buffer->maximum / 2)
		capacity *= 2;
	if (capacity < buffer->length + length || capacity > buffer->maximum)
		capacity = buffer->maximum;

	bytes = realloc(buffer->bytes, capacity);
	if (!bytes)
		return false;
	buffer->bytes = bytes;
	buffer->capacity = capacity;
	return true;
}

void buffer_put(struct buffer *buffer, const void *bytes, size_t length)
{
	if (!reserve(buffer, length)) {
		buffer->bad = true;
		return;
	}
	if (length > 0)
		memcpy(buffer->bytes + buffer->length, bytes, length);
	buffer->length += length;
}

void buffer_put_u8(struct buffer *buffer, uint8_t value)
{
	buffer_put(buffer, &value, 1);
}

void buffer_put_u32(struct buffer *buffer, uint32_t value)
{
	uint8_t bytes[4] = {value, value >> 8, value >> 16, value >> 24};

	buffer_put(buffer, bytes, sizeof(bytes));
}

void buffer_put_u64(struct buffer *buffer, uint64_t value)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	buffer_put(buffer, bytes, sizeof(bytes));
}

void buffer_put_varint(struct buffer *buffer, uint64_t value)
{
	uint8_t bytes[VARINT_MOST];

	buffer_put(buffer, bytes, (size_t)(varint_put(bytes, value) - bytes));
}

void buffer_put_zigzag(struct buffer *buffer, int64_t value)
{
	buffer_put_varint(buffer, varint_zigzag(value));
}

void buffer_put_text(struct buffer *buffer, const char *text, size_t length)
{
	buffer_put_varint(buffer, length);
	buffer_put(buffer, text, length);
}
