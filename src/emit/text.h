/* SPDX-License-Identifier: Apache-2.0 */
/* Text into a fixed buffer, without stdio: cut off where it does not fit, always ended. */
#ifndef EMIT_TEXT_H
#define EMIT_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
	char *at;
	char *end; /* one before the end of the buffer */
};

static inline struct text text_in(char *buffer, size_t size)
{
	buffer[0] = '\0';
	return (struct text){.at = buffer, .end = buffer + size - 1};
}

static inline void text_put(struct text *text, const char *string)
{
	while (*string && text->at < text->end)
		*text->at++ = *string++;
	*text->at = '\0';
}

static inline void text_put_number(struct text *text, uint64_t number)
{
	char digits[24];
	char *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	text_put(text, at);
}

#endif /* EMIT_TEXT_H */
