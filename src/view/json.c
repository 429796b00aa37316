/* SPDX-License-Identifier: Apache-2.0 */
#include "view/json.h"

#include <inttypes.h>

#include "view/utf8.h"

static void put_text(FILE *to, const char *text)
{
	putc_unlocked('"', to);
	while (*text) {
		unsigned char byte = (unsigned char)*text;
		size_t length = utf8_length(text);

		if (byte == '"' || byte == '\\') {
			putc_unlocked('\\', to);
			putc_unlocked(byte, to);
		} else if (byte < ' ' || byte == 0x7f) {
			fprintf(to, "\\u%04x", byte);
		} else if (length == 0) {
			fputs("\\ufffd", to);
		} else {
			fwrite_unlocked(text, 1, length, to);
		}
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
	char digits[20];
	size_t at = sizeof(digits);

	begin(json, key);
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	fwrite_unlocked(digits + at, 1, sizeof(digits) - at, json->to);
}

void json_signed(struct json *json, const char *key, int64_t number)
{
	begin(json, key);
	fprintf(json->to, "%" PRId64, number);
}

void json_real(struct json *json, const char *key, double number)
{
	json_precise(json, key, number, 3);
}

void json_precise(struct json *json, const char *key, double number, int digits)
{
	begin(json, key);
	fprintf(json->to, "%.*f", digits, number);
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
	begin(json, key);
	fprintf(json->to, "\"0x%" PRIx64 "\"", address);
}

void json_line(struct json *json)
{
	putc_unlocked('\n', json->to);
	json->comma = false;
}
