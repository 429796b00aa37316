/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "util/buffer.h"

static void fields_are_little_endian_and_in_order(void)
{
	static const uint8_t expected[] = {0x11, 0x55, 0x44, 0x33, 0x22, 0xee, 0xdd, 0xcc,
					   0xbb, 0xaa, 0x99, 0x88, 0x77, 2,    'h',  'i'};
	struct buffer buffer = BUFFER_INIT(1000);

	buffer_put_u8(&buffer, 0x11);
	buffer_put_u32(&buffer, 0x22334455);
	buffer_put_u64(&buffer, UINT64_C(0x778899aabbccddee));
	buffer_put_text(&buffer, "hi", 2);
	CHECK(!buffer.bad);
	CHECK_EQ(buffer.length, sizeof(expected));
	CHECK(memcmp(buffer.bytes, expected, sizeof(expected)) == 0);
	buffer_fini(&buffer);
	CHECK(buffer.bytes == NULL);
}

static void varints_are_as_short_as_they_can_be(void)
{
	static const uint8_t expected[] = {0,    0x7f, 0x80, 1,    0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0xff, 1,    1,    2};
	struct buffer buffer = BUFFER_INIT(1000);

	buffer_put_varint(&buffer, 0);
	buffer_put_varint(&buffer, 127);
	buffer_put_varint(&buffer, 128);
	buffer_put_varint(&buffer, UINT64_MAX);
	buffer_put_zigzag(&buffer, -1);
	buffer_put_zigzag(&buffer, 1);
	CHECK_EQ(buffer.length, sizeof(expected));
	CHECK(memcmp(buffer.bytes, expected, sizeof(expected)) == 0);
	buffer_fini(&buffer);
}

static void it_grows_up_to_its_maximum_and_not_beyond(void)
{
	struct buffer buffer = BUFFER_INIT(1000);

	for (unsigned i = 0; i < 1000; i++)
		buffer_put_u8(&buffer, (uint8_t)i);
	CHECK(!buffer.bad);
	CHECK_EQ(buffer.length, 1000);
	CHECK_EQ(buffer.capacity, 1000);
	buffer_put_u8(&buffer, 0);
	CHECK(buffer.bad);
	CHECK_EQ(buffer.length, 1000);
	for (unsigned i = 0; i < 1000; i++)
		CHECK_EQ(buffer.bytes[i], (uint8_t)i);
	buffer_fini(&buffer);
}

static void once_bad_it_takes_nothing_more(void)
{
	struct buffer buffer = BUFFER_INIT(4);

	buffer_put_u8(&buffer, 1);
	buffer_put_u64(&buffer, 2);
	CHECK(buffer.bad);
	buffer_put_u8(&buffer, 3);
	CHECK_EQ(buffer.length, 1);
	buffer_fini(&buffer);
	CHECK(!buffer.bad);
	buffer_put_u32(&buffer, 5);
	CHECK(!buffer.bad);
	buffer_fini(&buffer);
}

static void an_empty_text_is_a_zero(void)
{
	struct buffer buffer = BUFFER_INIT(4);

	buffer_put_text(&buffer, NULL, 0);
	CHECK(!buffer.bad);
	CHECK_EQ(buffer.length, 1);
	CHECK_EQ(buffer.bytes[0], 0);
	buffer_fini(&buffer);
}

int main(void)
{
	RUN(fields_are_little_endian_and_in_order);
	RUN(varints_are_as_short_as_they_can_be);
	RUN(it_grows_up_to_its_maximum_and_not_beyond);
	RUN(once_bad_it_takes_nothing_more);
	RUN(an_empty_text_is_a_zero);
	return check_done();
}
