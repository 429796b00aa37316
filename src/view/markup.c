/* SPDX-License-Identifier: Apache-2.0 */
#include "view/markup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "view/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS "\xe2\x80\xa6"

static const char *entity(char byte)
{
	switch (byte) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* No XML may contain controls, C1 or not, nor the two that are no characters, U+FFFE and U+FFFF. */
static bool allowed(const char *text, size_t length)
{
	const uint8_t *at = (const uint8_t *)text;

	if (length == 1)
		return at[0] >= ' ' && at[0] != 0x7f;
	if (length == 2)
		return at[0] != 0xc2 || at[1] >= 0xa0;
	return length != 3 || at[0] != 0xef || at[1] != 0xbf || at[2] < 0xbe;
}

/* Writes one character and returns how many bytes it was. */
static size_t put_character(FILE *to, const char *text)
{
	size_t length = utf8_length(text);

	if (entity(*text))
		fputs(entity(*text), to);
	else if (length && allowed(text, length))
		fwrite(text, 1, length, to);
	else
		fputs(REPLACEMENT, to);
	return length ? length : 1;
}

static size_t character_length(const char *text)
{
	size_t length = utf8_length(text);

	return length ? length : 1;
}

void markup_text(FILE *to, const char *text)
{
	while (*text)
		text += put_character(to, text);
}

void markup_text_within(FILE *to, const char *text, size_t most)
{
	size_t count = 0;

	for (const char *at = text; *at && count <= most; at += character_length(at))
		count++;
	if (count <= most) {
		markup_text(to, text);
		return;
	}
	for (count = 0; count + 1 < most; count++)
		text += put_character(to, text);
	if (most)
		fputs(ELLIPSIS, to);
}

struct markup_number markup_count(uint64_t number)
{
	struct markup_number ret;
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	size_t at = 0;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			ret.text[at++] = ',';
		ret.text[at++] = digits[i];
	}
	ret.text[at] = 0;
	return ret;
}

struct markup_number markup_duration(uint64_t ns)
{
	static const struct {
		uint64_t from; /* what would be 1000 of the smaller unit, once rounded */
		double unit;
		const char *name;
	} units[] = {{999500000, 1e9, "s"}, {999500, 1e6, "ms"}, {1000, 1e3, "\xc2\xb5s"}};
	struct markup_number ret;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double number = (double)ns / units[i].unit;

		if (ns < units[i].from)
			continue;
		snprintf(ret.text, sizeof(ret.text), "%.*f %s",
			 number < 10    ? 2
			 : number < 100 ? 1
					: 0,
			 number, units[i].name);
		return ret;
	}
	snprintf(ret.text, sizeof(ret.text), "%" PRIu64 " ns", ns);
	return ret;
}

struct markup_number markup_share(uint64_t part, uint64_t all)
{
	struct markup_number ret;
	double percent = all ? 100.0 * (double)part / (double)all : 0;

	snprintf(ret.text, sizeof(ret.text), "%.*f %%", percent < 10 ? 2 : 1, percent);
	return ret;
}
