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

/* Whether `text` is a word of a name, up to its end or the next dot. */
static bool is_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) == 0 && (!text[length] || text[length] == '.');
}

/* The number that ends right before `end`, which is not before `start`. */
static size_t number_before(const char *start, const char *end)
{
	size_t number = 0, digit = 1;

	for (; end > start && end[-1] >= '0' && end[-1] <= '9' && digit < 1000000; end--) {
		number += digit * (size_t)(end[-1] - '0');
		digit *= 10;
	}
	return number;
}

/*
 * The function of which the symbol is a part that the compiler made, because it is a
 * coroutine; NULL: it is not. clang adds .resume and the like. gcc names the type of its
 * frame, which contains the whole symbol of the function, after its length.
 */
static const char *coroutine_of(const char *symbol, size_t *ret_length)
{
	const char *dot = strchr(symbol, '.');
	const char *at;

	if (!dot || !is_mangled(symbol))
		return NULL;
	if (is_word(dot, ".resume") || is_word(dot, ".destroy") || is_word(dot, ".cleanup")) {
		*ret_length = (size_t)(dot - symbol);
		return symbol;
	}
	if (!is_word(dot, ".Frame") ||
	    !(is_word(dot + 6, ".actor") || is_word(dot + 6, ".destroy")))
		return NULL;
	for (at = symbol + 2; (at = strstr(at, "_Z")) && at < dot; at += 2) {
		if (number_before(symbol, at) != (size_t)(dot + 6 - at))
			continue;
		*ret_length = (size_t)(dot - at);
		return at;
	}
	return NULL;
}

/* The end of what begins with a '<', which is behind its '>', or the end of the text. */
static size_t skip_arguments(const char *text, size_t at)
{
	unsigned depth = 0;

	for (; text[at]; at++) {
		/* Not that of an arrow. */
		depth += text[at] == '<';
		depth -= text[at] == '>' && text[at - 1] != '-';
		if (!depth)
			return at + 1;
	}
	return at;
}

/* How much of what is left belongs to the name of an operator, such as <<, that `end` ends. */
static size_t operator_length(const char *name, const char *end, const char *left)
{
	return end - name >= 8 && memcmp(end - 8, "operator", 8) == 0 ? strspn(left, "<>=-") : 0;
}

/* Without the arguments of templates. */
static void drop_arguments(struct text *text)
{
	size_t to = 0, from = 0;

	text->bytes[text->length] = '\0';
	while (text->bytes[from]) {
		size_t keep = operator_length(text->bytes, text->bytes + to, text->bytes + from);

		if (!keep && text->bytes[from] == '<') {
			from = skip_arguments(text->bytes, from);
			continue;
		}
		keep += !keep;
		memmove(text->bytes + to, text->bytes + from, keep);
		to += keep;
		from += keep;
	}
	/* A space parts an operator from the arguments of its template. */
	text->length = to && text->bytes[to - 1] == ' ' ? to - 1 : to;
}

/*
 * Asio's own coroutines, by their last part. One that begins an operation is a template over that,
 * initiate_async_wait, say, which is in its symbol: async_wait.
 */
static void shorten_asio(const char *symbol, struct text *text)
{
	static const char begins[] = "initiate_async_";
	const char *operation = strstr(symbol, begins), *last = text->bytes;
	size_t length;

	text->bytes[text->length] = '\0';
	if (!strstr(text->bytes, "asio::"))
		return;
	for (const char *next = last; (next = strstr(next, "::")); next += 2)
		last = next + 2;
	length = strlen(last);
	if (operation && strcmp(last, "initiate") == 0) {
		last = operation + strlen("initiate_");
		length = strspn(last, "abcdefghijklmnopqrstuvwxyz_");
	}
	memmove(text->bytes, last, length);
	text->length = length;
}

/* What a coroutine is called: its line tells more than its parameters. */
static bool name_coroutine(const char *symbol, struct text *text)
{
	if (strnlen(symbol, MANGLED_MOST) == MANGLED_MOST ||
	    !cplus_demangle_v3_callback(symbol, DMGL_ANSI, append, text) || !text->length) {
		text->length = 0;
		return false;
	}
	drop_arguments(text);
	shorten_asio(symbol, text);
	return text->length > 0;
}

size_t demangle(const char *symbol, char name[DEMANGLE_MOST])
{
	struct text text = {.bytes = name};
	const char *version = symbol[0] ? strchr(symbol + 1, '@') : NULL;
	char bare[DEMANGLE_MOST];
	const char *coroutine;
	size_t length;

	/* In a library's table a name may have its version behind it: name@@VERSION. */
	if (version && (size_t)(version - symbol) < sizeof(bare)) {
		memcpy(bare, symbol, (size_t)(version - symbol));
		bare[version - symbol] = '\0';
		symbol = bare;
	}
	coroutine = coroutine_of(symbol, &length);
	if (coroutine && length < sizeof(bare)) {
		memmove(bare, coroutine, length);
		bare[length] = '\0';
		symbol = bare;
	} else {
		coroutine = NULL;
	}
	if (!(coroutine && name_coroutine(symbol, &text)) && !is_demangled(symbol, &text)) {
		text.length = 0;
		append(symbol, strlen(symbol), &text);
	}
	name[text.length] = '\0';
	return text.length;
}
