/* SPDX-License-Identifier: Apache-2.0 */
#include "view/json.h"

#include <inttypes.h>

#include "view/utf8.h"

static bool is_plain(unsigned char byte)
{
	return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

/* What needs no second look goes as it is, in one piece. */
static void put_text(FILE *to, const char *text)
{
	putc_unlocked('"', to);
	while (*text) {
		unsigned char byte = (unsigned char)*text;
		size_t length = 0;

		while (is_plain((unsigned char)text[length]))
			length++;
		if (!length && byte >= 0x80)
			length = utf8_length(text);
		if (length)
			fwrite_unlocked(text, 1, length, to);
		else if (byte == '"' || byte == '\\')
			fprintf(to, "\\%c", byte);
		else
			fprintf(to, "\\u%04x", byte < 0x80 ? byte : 0xfffd);
		text += length ? length : 1;
	}
	putc_unlocked('"', to);
}

static void begin(struct json *json, const char *key)
{
	if (json->comma)
		putc_unlocked(',', json->to);
	json->comma = true;
	if (key) {
		put_text(json->to, key);
		putc_unlocked(':', json->to);
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin(json, key);
	putc_unlocked(bracket, json->to);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	putc_unlocked(bracket, json->to);
	json->comma = true;
}

void json_number(struct json *json, const char *key, uint64_t number)
{
	json_fixed(json, key, number, 0);
}

void json_fixed(struct json *json, const char *key, uint64_t number, unsigned digits)
{
	char text[24];
	size_t at = sizeof(text);

	begin(json, key);
	for (unsigned i = 0; i < digits; i++, number /= 10)
		text[--at] = (char)('0' + number % 10);
	if (digits)
		text[--at] = '.';
	do {
		text[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	fwrite_unlocked(text + at, 1, sizeof(text) - at, json->to);
}

void json_signed(struct json *json, const char *key, int64_t number)
{
	begin(json, key);
	fprintf(json->to, "%" PRId64, number);
}

void json_real(struct json *json, const char *key, double number)
{
	begin(json, key);
	fprintf(json->to, "%.3f", number);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin(json, key);
	fputs(value ? "true" : "false", json->to);
}

void json_null(struct json *json, const char *key)
{
	begin(json, key);
	fputs("null", json->to);
}

void json_text(struct json *json, const char *key, const char *text)
{
	begin(json, key);
	put_text(json->to, text);
}

void json_address(struct json *json, const char *key, uint64_t address)
{
	char text[20];
	size_t at = sizeof(text);

	begin(json, key);
	text[--at] = '"';
	do {
		text[--at] = "0123456789abcdef"[address & 15];
		address >>= 4;
	} while (address);
	text[--at] = 'x';
	text[--at] = '0';
	text[--at] = '"';
	fwrite_unlocked(text + at, 1, sizeof(text) - at, json->to);
}

void json_raw(struct json *json, const char *key, const char *text, size_t bytes)
{
	begin(json, key);
	fwrite_unlocked(text, 1, bytes, json->to);
}

void json_line(struct json *json)
{
	putc_unlocked('\n', json->to);
	json->comma = false;
}
