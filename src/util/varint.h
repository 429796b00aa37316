/* SPDX-License-Identifier: Apache-2.0 */
/* Unsigned LEB128, and zigzag for signed values: the writing side. wire.h reads them. */
#ifndef UTIL_VARINT_H
#define UTIL_VARINT_H

#include <stdint.h>

#define VARINT_MOST 10 /* bytes */

/* Returns where the next byte goes; there must be room for VARINT_MOST. */
static inline uint8_t *varint_put(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline uint64_t varint_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

#endif /* UTIL_VARINT_H */
