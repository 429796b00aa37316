/* SPDX-License-Identifier: Apache-2.0 */
#include "view/utf8.h"

#include <stdbool.h>
#include <stdint.h>

size_t utf8_length(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	uint32_t code;
	size_t length;

	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	length = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	code = at[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	/* Longer than needed, half of a pair of UTF-16, or beyond the last. */
	if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000) ||
	    (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
		return 0;
	return length;
}
