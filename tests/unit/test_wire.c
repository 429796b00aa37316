/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "util/varint.h"
#include "util/wire.h"

static void what_was_written_is_read(void)
{
	for (unsigned bits = 0; bits < 64; bits++) {
		for (int off = -1; off <= 1; off++) {
			uint64_t value = (UINT64_C(1) << bits) + (uint64_t)off;
			uint8_t bytes[VARINT_MOST];
			struct wire wire =
				wire_of(bytes, (size_t)(varint_put(bytes, value) - bytes));

			CHECK_EQ(wire_varint(&wire), value);
			CHECK(!wire.bad && wire.at == wire.end);

			wire = wire_of(
				bytes,
				(size_t)(varint_put(bytes, varint_zigzag((int64_t)value)) - bytes));
			CHECK_EQ(wire_zigzag(&wire), (int64_t)value);
			CHECK(!wire.bad && wire.at == wire.end);
		}
	}
}

static void a_short_read_yields_zero_and_marks_the_cursor_bad(void)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5};
	struct wire wire = wire_of(bytes, sizeof(bytes));

	CHECK_EQ(wire_u32(&wire), 0x04030201);
	CHECK(!wire.bad);
	CHECK_EQ(wire_u32(&wire), 0);
	CHECK(wire.bad);
	CHECK(wire_bytes(&wire, 1) == NULL);
	CHECK_EQ(wire_varint(&wire), 0);
}

static void a_varint_cut_short_is_bad(void)
{
	static const uint8_t bytes[] = {0x80, 0x80};
	struct wire wire = wire_of(bytes, sizeof(bytes));

	CHECK_EQ(wire_varint(&wire), 0);
	CHECK(wire.bad);
	wire = wire_of(bytes, 0);
	CHECK_EQ(wire_varint(&wire), 0);
	CHECK(wire.bad);
}

static void the_tenth_byte_has_room_for_one_bit(void)
{
	uint8_t bytes[11] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0};
	struct wire wire = wire_of(bytes, sizeof(bytes));

	CHECK_EQ(wire_varint(&wire), UINT64_MAX);
	CHECK(!wire.bad);
	bytes[9] = 2;
	wire = wire_of(bytes, sizeof(bytes));
	CHECK_EQ(wire_varint(&wire), 0);
	CHECK(wire.bad);
	bytes[9] = 0x81;
	wire = wire_of(bytes, sizeof(bytes));
	CHECK_EQ(wire_varint(&wire), 0);
	CHECK(wire.bad);
}

static void a_varint_longer_than_it_must_be_is_read(void)
{
	static const uint8_t bytes[] = {0x85, 0x80, 0x00};
	struct wire wire = wire_of(bytes, sizeof(bytes));

	CHECK_EQ(wire_varint(&wire), 5);
	CHECK(!wire.bad && wire.at == wire.end);
}

static void a_length_as_large_as_memory_is_refused(void)
{
	static const uint8_t bytes[4];
	struct wire wire = wire_of(bytes, sizeof(bytes));

	CHECK(wire_bytes(&wire, SIZE_MAX) == NULL);
	CHECK(wire.bad);
}

int main(void)
{
	RUN(what_was_written_is_read);
	RUN(a_short_read_yields_zero_and_marks_the_cursor_bad);
	RUN(a_varint_cut_short_is_bad);
	RUN(the_tenth_byte_has_room_for_one_bit);
	RUN(a_varint_longer_than_it_must_be_is_read);
	RUN(a_length_as_large_as_memory_is_refused);
	return check_done();
}
