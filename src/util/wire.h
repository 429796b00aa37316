/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads fields out of bytes nobody has checked.
 *
 * A short read yields zero and marks the cursor bad; later reads do nothing.
 * So a decoder is a straight list of fields with one test at the end.
 */
#ifndef UTIL_WIRE_H
#define UTIL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wire {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

static inline struct wire wire_of(const void *bytes, size_t length)
{
	return (struct wire){.at = bytes, .end = (const uint8_t *)bytes + length};
}

static inline const uint8_t *wire_bytes(struct wire *wire, size_t length)
{
	const uint8_t *start = wire->at;

	if (wire->bad || length > (size_t)(wire->end - wire->at)) {
		wire->bad = true;
		wire->at = wire->end;
		return NULL;
	}
	wire->at += length;
	return start;
}

static inline uint32_t wire_u32(struct wire *wire)
{
	const uint8_t *bytes = wire_bytes(wire, 4);

	if (!bytes)
		return 0;
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

static inline uint64_t wire_u64(struct wire *wire)
{
	uint64_t low = wire_u32(wire);

	return low | (uint64_t)wire_u32(wire) << 32;
}

/* The general case of wire_varint(), out of line. */
uint64_t wire_varint_long(struct wire *wire);

/* LEB128, at most ten bytes; a tenth byte above 1 is bad. */
static inline uint64_t wire_varint(struct wire *wire)
{
	if (__builtin_expect(wire->at < wire->end && *wire->at < 0x80, 1))
		return *wire->at++;
	return wire_varint_long(wire);
}

static inline int64_t wire_zigzag(struct wire *wire)
{
	uint64_t value = wire_varint(wire);

	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif /* UTIL_WIRE_H */
