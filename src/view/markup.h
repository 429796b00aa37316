/* SPDX-License-Identifier: Apache-2.0 */
/* Text for HTML and SVG. */
#ifndef VIEW_MARKUP_H
#define VIEW_MARKUP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Any bytes as text or as a quoted attribute: what has a meaning in markup is
 * written as an entity, and what no XML may contain becomes U+FFFD.
 */
void markup_text(FILE *to, const char *text);

/* The same, at most `most` characters, the last of which is an ellipsis then. */
void markup_text_within(FILE *to, const char *text, size_t most);

struct markup_number {
	char text[32];
};

/* With separators: 1,234,567. */
struct markup_number markup_count(uint64_t number);

/* 1.234 s, 56.7 ms, 890 ns. */
struct markup_number markup_duration(uint64_t ns);

/* 12.3 % of `all`, or of nothing. */
struct markup_number markup_share(uint64_t part, uint64_t all);

#endif /* VIEW_MARKUP_H */
