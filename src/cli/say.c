/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/say.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "view/utf8.h"

void say_error(const char *file, const char *format, ...)
{
	va_list arguments;

	fputs("unweave: ", stderr);
	if (file) {
		say_text(stderr, file);
		fputs(": ", stderr);
	}
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

void say_hint(const char *format, ...)
{
	va_list arguments;

	fputs("hint: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

void say_diag(const char *file, const struct diag *diag)
{
	say_error(file, "%s", diag->text);
	if (diag->hint[0])
		say_hint("%s", diag->hint);
}

int say_finish(int status)
{
	bool failed = ferror(stdout);

	/* What was wrong before this flush is gone from errno; flushing again tells it again. */
	errno = 0;
	failed |= fflush(stdout) != 0;
	if (!failed)
		return status;
	if (errno == EPIPE)
		return EXIT_FAILED;
	say_error("standard output", "%s", errno ? strerror(errno) : "could not be written");
	if (errno == ENOSPC)
		say_hint("make room, or write to another disk");
	return EXIT_FAILED;
}

/* How many letters must be changed, added or left out. Words longer than the table are far. */
static unsigned distance(const char *a, const char *b)
{
	enum { LONGEST = 31 };
	unsigned row[LONGEST + 1];
	size_t length = strlen(b);

	if (length > LONGEST || strlen(a) > LONGEST)
		return LONGEST;
	for (unsigned j = 0; j <= length; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= length; j++) {
			unsigned best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[length];
}

const char *say_closest(const char *word, const char *const *names, size_t count)
{
	const char *closest = NULL;
	unsigned least = 3;

	for (size_t i = 0; i < count; i++) {
		unsigned far = distance(word, names[i]);

		/* A short word is near to every other one. */
		if (far < least && far < strlen(names[i]) / 2 + 1) {
			closest = names[i];
			least = far;
		}
	}
	return closest;
}

struct say_number say_count(uint64_t number)
{
	struct say_number result;
	char *at = result.text + sizeof(result.text);
	unsigned digits = 0;

	*--at = 0;
	do {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + number % 10);
		number /= 10;
		digits++;
	} while (number);
	memmove(result.text, at, strlen(at) + 1);
	return result;
}

struct say_number say_duration(uint64_t ns)
{
	struct say_number result;
	uint64_t s = ns / 1000000000;

	if (s >= 3600)
		snprintf(result.text, sizeof(result.text), "%" PRIu64 " h %02u min", s / 3600,
			 (unsigned)(s % 3600 / 60));
	else if (s >= 60)
		snprintf(result.text, sizeof(result.text), "%" PRIu64 " min %02u s", s / 60,
			 (unsigned)(s % 60));
	else if (s)
		snprintf(result.text, sizeof(result.text), "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		snprintf(result.text, sizeof(result.text), "%.3f ms", (double)ns / 1e6);
	else if (ns >= 1000)
		snprintf(result.text, sizeof(result.text), "%.3f us", (double)ns / 1e3);
	else
		snprintf(result.text, sizeof(result.text), "%u ns", (unsigned)ns);
	return result;
}

struct say_number say_bytes(uint64_t bytes)
{
	struct say_number size;

	if (bytes < 10000)
		snprintf(size.text, sizeof(size.text), "%" PRIu64 " B", bytes);
	else if (bytes < 10000000)
		snprintf(size.text, sizeof(size.text), "%.1f kB", (double)bytes / 1e3);
	else
		snprintf(size.text, sizeof(size.text), "%.1f MB", (double)bytes / 1e6);
	return size;
}

/* A number in three digits. */
static void three_digits(struct say_number *to, double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(to->text, sizeof(to->text), "%.*f %s", decimals, value, unit);
}

struct say_number say_span(uint64_t ns)
{
	struct say_number result;

	if (ns < 1000)
		snprintf(result.text, sizeof(result.text), "%u ns", (unsigned)ns);
	else if (ns < 999500)
		three_digits(&result, (double)ns / 1e3, say_utf8() ? "µs" : "us");
	else if (ns < 999500000)
		three_digits(&result, (double)ns / 1e6, "ms");
	else if (ns < UINT64_C(59950000000))
		three_digits(&result, (double)ns / 1e9, "s");
	else
		result = say_duration(ns + 500000000);
	return result;
}

struct say_number say_percent(uint64_t part, uint64_t whole)
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;
	struct say_number result;

	if (!part || !whole)
		snprintf(result.text, sizeof(result.text), "0 %%");
	else if (share < 0.01)
		snprintf(result.text, sizeof(result.text), "<0.01 %%");
	else if (share < 0.995)
		snprintf(result.text, sizeof(result.text), "%.2f %%", share);
	/* Only all is 100 %. */
	else if (share >= 99.95 && part < whole)
		snprintf(result.text, sizeof(result.text), "99.9 %%");
	else
		snprintf(result.text, sizeof(result.text), share >= 99.95 ? "%.0f %%" : "%.1f %%",
			 share);
	return result;
}

bool say_utf8(void)
{
	const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (unsigned i = 0; i < 3; i++) {
		const char *value = getenv(names[i]);

		/* The first that is set counts. */
		if (value && value[0])
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

/* Whether a terminal might obey the character: C0, DEL, and the C1 of 0x80 to 0x9f. */
static bool is_control(const char *text, size_t length)
{
	const unsigned char *at = (const unsigned char *)text;

	return length == 1 ? at[0] < ' ' || at[0] == 0x7f
			   : length == 2 && at[0] == 0xc2 && at[1] < 0xa0;
}

int say_text(FILE *to, const char *text)
{
	int width = 0;

	while (*text) {
		size_t length = utf8_length(text);

		if (length && !is_control(text, length)) {
			fwrite(text, 1, length, to);
			text += length;
			width++;
			continue;
		}
		for (length = length ? length : 1; length; length--)
			width += fprintf(to, "\\x%02x", (unsigned char)*text++);
	}
	return width;
}

int say_width(const char *text)
{
	int width = 0;

	while (*text) {
		size_t length = utf8_length(text);
		bool shown = length && !is_control(text, length);

		length = length ? length : 1;
		width += shown ? 1 : 4 * (int)length;
		text += length;
	}
	return width;
}
