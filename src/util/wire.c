/* SPDX-License-Identifier: Apache-2.0 */
#include "util/wire.h"

uint64_t wire_varint_long(struct wire *wire)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		const uint8_t *byte = wire_bytes(wire, 1);

		/* The tenth byte has room for one bit. */
		if (!byte || (shift == 63 && *byte > 1))
			break;
		value |= (uint64_t)(*byte & 0x7f) << shift;
		if (*byte < 0x80)
			return value;
	}
	wire->bad = true;
	wire->at = wire->end;
	return 0;
}
