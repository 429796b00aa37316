/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/glyph.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "view/utf8.h"

static uint32_t decode(const char *text, size_t length)
{
	const uint8_t *at = (const uint8_t *)text;
	uint32_t code = length == 1 ? at[0] : at[0] & (0x7fu >> length);

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (at[i] & 0x3f);
	return code;
}

/* C0, DEL and C1: a terminal obeys them. */
static bool is_control(uint32_t code)
{
	return code < ' ' || (code >= 0x7f && code < 0xa0);
}

/* Where the C library knows no width, as in the locale C, it is not asked. */
static int width_of(uint32_t code)
{
	int width = code < 0x80 ? 1 : wcwidth((wchar_t)code);

	return width < 0 ? 1 : width;
}

/* Changes of direction and the like, also where the C library gives them a column. */
static bool is_invisible(uint32_t code)
{
	return (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code >= 0xfff0 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe0fff);
}

bool glyph_next(struct glyph_reader *reader, struct glyph *ret)
{
	while (reader->escaped || *reader->at) {
		size_t length;
		uint32_t code;

		if (reader->escaped) {
			*ret = (struct glyph){(uint8_t)reader->escape[reader->escaped], 1};
			reader->escaped = (reader->escaped + 1) % 4;
			return true;
		}
		length = utf8_length(reader->at);
		code = length ? decode(reader->at, length) : 0;
		if (!length || is_control(code)) {
			snprintf(reader->escape, sizeof(reader->escape), "\\x%02x",
				 (unsigned)(length ? code : (uint8_t)*reader->at));
			reader->at += length ? length : 1;
			reader->escaped = 1;
			*ret = (struct glyph){'\\', 1};
			return true;
		}
		reader->at += length;
		if (is_invisible(code) || width_of(code) == 0)
			continue;
		*ret = (struct glyph){code, width_of(code)};
		return true;
	}
	return false;
}

uint32_t glyph_ascii(uint32_t code)
{
	/* Pairs: what we draw ourselves, and what stands for it. */
	static const uint32_t known[][2] = {
		{0xb5, 'u'},   {0xb7, '-'},   {0x2014, '-'}, {0x2026, '~'}, {0x2500, '-'},
		{0x2502, '|'}, {0x2581, '.'}, {0x2582, ':'}, {0x2583, '-'}, {0x2584, '='},
		{0x2585, '+'}, {0x2586, '*'}, {0x2587, '#'}, {0x2588, '@'}, {0x25b2, '^'},
		{0x25bc, 'v'}, {0x25b6, '>'}, {0x25cf, '*'}, {0x2190, '<'}, {0x2191, '^'},
		{0x2192, '>'}, {0x2193, 'v'}, {0x2514, '`'}, {0x251c, '|'}, {0x2248, '~'},
	};

	if (code < 0x80)
		return code;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i][0] == code)
			return known[i][1];
	return '?';
}

size_t glyph_encode(uint32_t code, char *to)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}
