/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <string.h>

/* The demangler's work and its use of the stack grow with it. */
#define MANGLED_MOST 8192u

struct text {
	char *bytes;
	size_t length;
};

static void append(const char *part, size_t length, void *data)
{
	struct text *text = data;
	size_t room = DEMANGLE_MOST - 1 - text->length;

	if (length > room)
		length = room;
	memcpy(text->bytes + text->length, part, length);
	text->length += length;
}

bool is_mangled(const char *symbol)
{
	return strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0;
}

/* Rust first: its older mangling looks like that of C++ but for a hash, which is left out. */
static bool is_demangled(const char *symbol, struct text *text)
{
	if (!is_mangled(symbol))
		return false;
	if (strnlen(symbol, MANGLED_MOST) == MANGLED_MOST)
		return false;
	if (rust_demangle_callback(symbol, DMGL_PARAMS | DMGL_ANSI, append, text) &&
	    text->length > 0)
		return true;
	text->length = 0;
	return cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_ANSI, append, text) &&
	       text->length > 0;
}

size_t demangle(const char *symbol, char name[DEMANGLE_MOST])
{
	struct text text = {.bytes = name};
	const char *version = symbol[0] ? strchr(symbol + 1, '@') : NULL;
	char bare[DEMANGLE_MOST];

	/* In a library's table a name may have its version behind it: name@@VERSION. */
	if (version && (size_t)(version - symbol) < sizeof(bare)) {
		memcpy(bare, symbol, (size_t)(version - symbol));
		bare[version - symbol] = '\0';
		symbol = bare;
	}
	if (!is_demangled(symbol, &text)) {
		text.length = 0;
		append(symbol, strlen(symbol), &text);
	}
	name[text.length] = '\0';
	return text.length;
}
