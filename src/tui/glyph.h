/* SPDX-License-Identifier: Apache-2.0 */
/* Text as the characters that a terminal is to show, one by one. */
#ifndef TUI_GLYPH_H
#define TUI_GLYPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GLYPH_BYTES 4 /* of UTF-8, at most */

struct glyph {
	uint32_t code;
	int width; /* columns: 1 or 2 */
};

/* Where in a text we are. A byte that may not be shown as it is takes four steps: \xNN. */
struct glyph_reader {
	const char *at;
	char escape[8]; /* what is left of that, from `escaped` on */
	unsigned escaped;
};

static inline struct glyph_reader glyph_read(const char *text)
{
	return (struct glyph_reader){.at = text};
}

/* False at the end. */
bool glyph_next(struct glyph_reader *reader, struct glyph *ret);

/* What stands for a character where there is only ASCII. */
uint32_t glyph_ascii(uint32_t code);

/* Returns the bytes it takes. */
size_t glyph_encode(uint32_t code, char *to);

#endif /* TUI_GLYPH_H */
