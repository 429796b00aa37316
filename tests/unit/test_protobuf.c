/* SPDX-License-Identifier: Apache-2.0 */
#include "view/protobuf.h"

#include "check.h"
#include "util/wire.h"

static struct buffer buffer = BUFFER_INIT(1 << 20);

static bool holds(const char *bytes, size_t length)
{
	bool same = buffer.length == length && memcmp(buffer.bytes, bytes, length) == 0;

	CHECK(!buffer.bad);
	buffer.length = 0;
	return same;
}

/* The examples of the public description of the encoding. */
static void numbers_and_texts_are_as_the_description_has_them(void)
{
	size_t opened;

	protobuf_number(&buffer, 1, 150);
	CHECK(holds("\x08\x96\x01", 3));
	protobuf_text(&buffer, 2, "testing");
	CHECK(holds("\x12\x07testing", 9));
	opened = protobuf_open(&buffer, 3);
	protobuf_number(&buffer, 1, 150);
	protobuf_close(&buffer, opened);
	CHECK(holds("\x1a\x03\x08\x96\x01", 5));
	protobuf_fixed64(&buffer, 47, 1);
	CHECK(holds("\xf9\x02\x01\0\0\0\0\0\0\0", 10));
	protobuf_number(&buffer, 135, UINT64_MAX);
	CHECK(holds("\xb8\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12));
	protobuf_bytes(&buffer, 1, "\0\xff", 2);
	CHECK(holds("\x0a\x02\0\xff", 4));
}

static void what_is_no_utf8_becomes_a_replacement(void)
{
	protobuf_text(&buffer, 1, "a\xff\xc3\xa9\xc3");
	CHECK(holds("\x0a\x09"
		    "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd",
		    11));
	protobuf_text(&buffer, 1, "");
	CHECK(holds("\x0a\0", 2));
}

/* Lengths of one, two and three bytes, each inside of the next. */
static void messages_in_messages_have_their_lengths(void)
{
	static const size_t sizes[] = {0, 1, 127, 128, 16383, 16384, 100000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t outer = protobuf_open(&buffer, 1), inner = protobuf_open(&buffer, 2);
		struct wire wire;
		uint64_t length;

		for (size_t n = 0; n < sizes[i]; n++)
			buffer_put_u8(&buffer, (uint8_t)n);
		protobuf_close(&buffer, inner);
		protobuf_number(&buffer, 3, 7);
		protobuf_close(&buffer, outer);

		wire = (struct wire){.at = buffer.bytes, .end = buffer.bytes + buffer.length};
		CHECK_EQ(wire_varint(&wire), 1 << 3 | 2);
		length = wire_varint(&wire);
		CHECK_EQ(length, wire.end - wire.at);
		CHECK_EQ(wire_varint(&wire), 2 << 3 | 2);
		CHECK_EQ(wire_varint(&wire), sizes[i]);
		for (size_t n = 0; n < sizes[i]; n++)
			CHECK_EQ(*wire_bytes(&wire, 1), (uint8_t)n);
		CHECK_EQ(wire_varint(&wire), 3 << 3);
		CHECK_EQ(wire_varint(&wire), 7);
		CHECK(!wire.bad && wire.at == wire.end);
		buffer.length = 0;
	}
}

static void a_full_buffer_is_bad_and_nothing_worse(void)
{
	struct buffer small = BUFFER_INIT(4);
	size_t opened = protobuf_open(&small, 1);

	protobuf_text(&small, 1, "longer than that");
	protobuf_close(&small, opened);
	CHECK(small.bad);
	buffer_fini(&small);
}

int main(void)
{
	RUN(numbers_and_texts_are_as_the_description_has_them);
	RUN(what_is_no_utf8_becomes_a_replacement);
	RUN(messages_in_messages_have_their_lengths);
	RUN(a_full_buffer_is_bad_and_nothing_worse);
	buffer_fini(&buffer);
	return check_done();
}
