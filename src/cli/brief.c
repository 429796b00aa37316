/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/brief.h"

#include <stdbool.h>
#include <string.h>

#define OPERATOR "operator"
#define ANONYMOUS "(anonymous namespace)"

struct brief {
	char *to;
	size_t room; /* with the zero byte at its end */
};

static void put(struct brief *brief, const char *text, size_t length)
{
	length = length < brief->room ? length : brief->room - 1;
	memcpy(brief->to, text, length);
	brief->to += length;
	brief->room -= length;
}

/* What comes after the bracket that closes the one at `open`; NULL: none does. */
static const char *skip_bracket(const char *open)
{
	unsigned depth = 0;

	for (const char *at = open; *at; at++) {
		bool arrow = *at == '>' && at > open && at[-1] == '-';

		if (strchr("<([{", *at))
			depth++;
		else if (strchr(">)]}", *at) && !arrow && --depth == 0)
			return at + 1;
	}
	return NULL;
}

/* Bytes here that stay as they are, though there are brackets among them; 0: there are none. */
static size_t measure_kept(const char *at)
{
	size_t length = strlen(OPERATOR);

	if (strncmp(at, ANONYMOUS, strlen(ANONYMOUS)) == 0)
		return strlen(ANONYMOUS);
	if (strncmp(at, OPERATOR, length) != 0)
		return 0;
	if (strncmp(at + length, "()", 2) == 0)
		return length + 2;
	return length + strspn(at + length, "<>=!-[]");
}

void brief_name(const char *name, char *to, size_t room)
{
	struct brief brief = {.to = to, .room = room};

	while (*name) {
		size_t kept = measure_kept(name);
		const char *after =
			!kept && (*name == '<' || *name == '(') ? skip_bracket(name) : NULL;

		if (after && after - name > 2)
			put(&brief, *name == '<' ? "<...>" : "(...)", 5);
		else
			put(&brief, name, after ? 2 : kept ? kept : 1);
		name += after ? (size_t)(after - name) : kept ? kept : 1;
	}
	*brief.to = '\0';
}
