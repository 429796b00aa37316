/* SPDX-License-Identifier: Apache-2.0 */
#include "view/protobuf.h"

#include <string.h>

#include "util/varint.h"
#include "view/utf8.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void put_tag(struct buffer *to, uint32_t field, unsigned wire)
{
	buffer_put_varint(to, (uint64_t)field << 3 | wire);
}

void protobuf_number(struct buffer *to, uint32_t field, uint64_t number)
{
	put_tag(to, field, WIRE_VARINT);
	buffer_put_varint(to, number);
}

void protobuf_fixed64(struct buffer *to, uint32_t field, uint64_t number)
{
	put_tag(to, field, WIRE_FIXED64);
	buffer_put_u64(to, number);
}

void protobuf_bytes(struct buffer *to, uint32_t field, const void *bytes, size_t length)
{
	put_tag(to, field, WIRE_BYTES);
	buffer_put_text(to, bytes, length);
}

void protobuf_text(struct buffer *to, uint32_t field, const char *text)
{
	size_t opened = protobuf_open(to, field);

	while (*text) {
		size_t length = utf8_length(text);

		buffer_put(to, length ? text : "\xef\xbf\xbd", length ? length : 3);
		text += length ? length : 1;
	}
	protobuf_close(to, opened);
}

size_t protobuf_open(struct buffer *to, uint32_t field)
{
	put_tag(to, field, WIRE_BYTES);
	return to->length;
}

/* Most messages are short: to move them by the size of their length is cheap. */
void protobuf_close(struct buffer *to, size_t opened)
{
	uint8_t prefix[VARINT_MOST];
	size_t length = to->length - opened;
	size_t room = (size_t)(varint_put(prefix, length) - prefix);

	buffer_put(to, prefix, room);
	if (to->bad)
		return;
	memmove(to->bytes + opened + room, to->bytes + opened, length);
	memcpy(to->bytes + opened, prefix, room);
}
