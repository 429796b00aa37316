/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/say.h"

#include <errno.h>
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
