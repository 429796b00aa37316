/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From addresses to functions, files and lines.
 *
 * An address is looked up in the modules that were mapped in the program. What
 * is not known for certain is not said: a frame without a name is module+offset,
 * and a file that changed since (by its build id) is not read.
 */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/diag.h"

struct symbols;

/* A mapping of code. Strings are borrowed for the call only. */
struct symbol_module {
	uint64_t start, end;
	uint64_t offset;         /* in the file */
	const char *path;        /* as in /proc/PID/maps */
	const uint8_t *build_id; /* or NULL */
	size_t build_id_bytes;
};

struct symbol_frame {
	const char *function; /* demangled; NULL: unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;        /* 0: unknown */
};

/* What is known of an address. Belongs to the symbols, and stays until they are freed. */
struct symbol {
	const char *module; /* last part of its path; NULL: no mapping */
	const char *path;
	uint64_t offset; /* of the address in the module: what objdump shows */
	uint64_t start;  /* address where its function begins; 0: unknown */
	uint32_t count;  /* frames, at least 1: innermost inlined one first */
	const struct symbol_frame *frames;
};

struct symbols_options {
	uint32_t pid;  /* a living program whose files are seen through /proc/PID/root; 0: none */
	bool no_files; /* only what was added by symbols_add() */
	const char *cache; /* directory; NULL: $XDG_CACHE_HOME/unweave; "": none */
};

/* Returns -ENOMEM. */
int symbols_new(struct symbols **ret, const struct symbols_options *options);
struct symbols *symbols_free(struct symbols *symbols);

/*
 * Adds a mapping; one that overlaps an earlier one takes its place, unless it is
 * a part of the same and has no build id. -ENOMEM.
 */
int symbols_add_module(struct symbols *symbols, const struct symbol_module *module);

/*
 * Says what `address` is, so that no file need be read for it; if it has no name, only where files
 * say no more. -ENOMEM.
 */
int symbols_add(struct symbols *symbols, uint64_t address, uint64_t start,
		const struct symbol_frame *frames, uint32_t count);

/* Never NULL: what is not known is said by its fields. */
const struct symbol *symbols_find(struct symbols *symbols, uint64_t address);

/* A sentence for each module whose names could not be had, and why. */
void symbols_complaints(const struct symbols *symbols, void (*tell)(void *data, const char *what),
			void *data);

#endif /* SYMBOL_SYMBOL_H */
