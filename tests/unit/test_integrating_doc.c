/* SPDX-License-Identifier: Apache-2.0 */
/* What docs/integrating.md shows and names is there. Argument: the root of the sources. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define TEXT_MAX (1u << 18)

static const char *root;
static char page[TEXT_MAX];

static bool load(const char *name, char *text)
{
	char path[PATH_MAX];
	size_t length = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	file = fopen(path, "re");
	if (file) {
		length = fread(text, 1, TEXT_MAX - 1, file);
		fclose(file);
	}
	text[length] = '\0';
	return length > 0 && length < TEXT_MAX - 1;
}

/* Cuts the next piece between `open` and `close` out of the text; NULL: there is none. */
static char *next_piece(char **text, const char *open, const char *close)
{
	char *begin = strstr(*text, open);
	char *end = begin ? strstr(begin + strlen(open), close) : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	*text = end + strlen(close);
	return begin + strlen(open);
}

static void every_piece_of_c_is_in_an_example(void)
{
	static const char *const names[] = {"examples/hooks.c", "examples/loop.c",
					    "examples/machine.c", "examples/callbacks.c",
					    "examples/coro_library.hpp"};
	static char examples[5][TEXT_MAX];
	char *rest = page, *piece;
	unsigned pieces = 0;

	CHECK(load("docs/integrating.md", page));
	for (unsigned i = 0; i < 5; i++)
		CHECK(load(names[i], examples[i]));
	/* The end of the line that ends one may be where the next begins. */
	for (; (piece = next_piece(&rest, "\n```c", "\n```\n")); rest--) {
		bool found = false;

		/* Past the rest of the language's name. */
		piece += strcspn(piece, "\n") + 1;
		for (unsigned i = 0; i < 5; i++)
			found |= strstr(examples[i], piece) != NULL;
		if (!found)
			printf("# in no example:\n# %s\n", piece);
		CHECK(found);
		pieces++;
	}
	CHECK(pieces >= 15);
}

/* Whether this is a call for programs, as headers declare or define it. */
static bool is_public_call(const char *name, const char *end)
{
	return *end == '(' && strncmp(name, "unweave_priv_", 13) != 0;
}

static void name_calls_of(const char *header, unsigned *ret)
{
	static char text[TEXT_MAX];

	CHECK(load(header, text));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *name = strstr(line, "unweave_"), *end;

		if (strncmp(line, "static inline ", 14) != 0 &&
		    strncmp(line, "UNWEAVE_API ", 12) != 0)
			continue;
		/* Past the type that it returns. */
		while (name && name[strcspn(name, " (")] == ' ')
			name = strstr(name + 1, "unweave_");
		end = name ? name + strcspn(name, "(") : NULL;
		if (!end || !is_public_call(name, end))
			continue;
		*end = '\0';
		if (!strstr(page, name))
			printf("# the page does not name %s\n", name);
		CHECK(strstr(page, name) != NULL);
		++*ret;
	}
}

static void every_call_of_the_headers_is_named(void)
{
	unsigned calls = 0;

	CHECK(load("docs/integrating.md", page));
	name_calls_of("include/unweave.h", &calls);
	name_calls_of("include/unweave/link.h", &calls);
	name_calls_of("include/unweave/chain.h", &calls);
	name_calls_of("include/unweave/machine.h", &calls);
	name_calls_of("include/unweave/routine.h", &calls);
	CHECK(calls >= 45);
}

static void every_link_leads_to_a_file(void)
{
	char path[PATH_MAX], *rest = page, *link;
	unsigned links = 0;

	CHECK(load("docs/integrating.md", page));
	while ((link = next_piece(&rest, "](", ")"))) {
		link[strcspn(link, "#")] = '\0';
		snprintf(path, sizeof(path), "%s/docs/%s", root, link);
		if (access(path, F_OK) != 0)
			printf("# leads nowhere: %s\n", link);
		CHECK(access(path, F_OK) == 0);
		links++;
	}
	CHECK(links >= 8);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	root = argv[1];
	RUN(every_piece_of_c_is_in_an_example);
	RUN(every_call_of_the_headers_is_named);
	RUN(every_link_leads_to_a_file);
	return check_done();
}
