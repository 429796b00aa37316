/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that stacks consist of, each piece once, in tables as formats have
 * them: modules, functions, and locations, which are addresses with the
 * functions that are inlined there.
 */
#ifndef VIEW_CODE_H
#define VIEW_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/tree.h"
#include "symbol/symbol.h"
#include "trace/reader.h"
#include "util/map.h"
#include "view/texts.h"

/* Numbers of all tables begin with 1; 0 is none. Texts are numbers in `texts`, of which 0 is "". */
struct code_module {
	uint64_t start, end; /* addresses in the program */
	uint64_t offset;     /* in the file */
	uint32_t path;
	uint32_t name;     /* its last part */
	uint32_t build_id; /* in hexadecimal; 0: none */
};

struct code_function {
	uint32_t name; /* or module+offset, or an address: what is known */
	uint32_t file; /* 0: unknown */
	uint32_t module;
};

struct code_line {
	uint32_t function;
	uint32_t line; /* 0: unknown */
};

struct code_location {
	uint64_t address; /* 0: no code, but words about it */
	uint64_t offset;  /* in the module: what objdump shows */
	uint32_t module;
	uint32_t first; /* of its lines, for code_line() */
	uint32_t count; /* at least 1; the first is the innermost, inlined into the next */
};

struct code {
	struct symbols *symbols;
	struct texts *texts;
	struct map by_address;  /* locations */
	struct map by_function; /* functions, by name, file and module */
	uint32_t omission;      /* the location that stands for frames left out; 0: not yet made */
	uint32_t unknown;       /* the same, for a stack that is not known */
	struct code_module *modules;
	struct code_function *functions;
	struct code_line *lines;
	struct code_location *locations;
	uint32_t module_count, function_count, line_count, location_count;
};

/* Takes the modules from the trace. Returns -ENOMEM; code_fini() in any case. */
int code_init(struct code *code, const struct reader *reader, struct symbols *symbols);
void code_fini(struct code *code);

/* Whether a frame comes from a chain: it awaits, or armed a callback. */
static inline bool code_awaits(const struct tree_node *node)
{
	return node->kind == SPLICE_AWAIT || node->kind == SPLICE_ARMED;
}

/* The location of a frame; 0: no memory. */
uint32_t code_locate(struct code *code, const struct tree_node *node);
/* What stands for a stack of which nothing is known; 0: no memory. */
uint32_t code_unknown(struct code *code);

/* Borrowed until the next code_locate(). */
static inline const struct code_location *code_location(const struct code *code, uint32_t number)
{
	return &code->locations[number - 1];
}

static inline const struct code_function *code_function(const struct code *code, uint32_t number)
{
	return &code->functions[number - 1];
}

static inline const struct code_module *code_module(const struct code *code, uint32_t number)
{
	return &code->modules[number - 1];
}

static inline const struct code_line *code_line(const struct code *code,
						const struct code_location *location, uint32_t line)
{
	return &code->lines[location->first + line];
}

static inline const char *code_text(const struct code *code, uint32_t text)
{
	return texts_get(code->texts, text);
}

#endif /* VIEW_CODE_H */
