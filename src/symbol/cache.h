/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that were looked up before, kept on disk: one file for each build of a
 * program or library, named by its build id. To find a name in it takes neither
 * the program nor its debug information.
 *
 *     unweave symbols 4 CHECKSUM      of all that follows, XXH64 in hex
 *     lines yes                       no: there was no debug information
 *     servers no                      yes: it was asked for on the net too
 *     @OFFSET ADDRESS START           in the file; as objdump has it; of the function. Hex
 *     LINE<tab>FUNCTION<tab>FILE      innermost inlined one first; empty: unknown
 *
 * The folder must be the user's own and closed to others. Whatever is wrong
 * with a file, it counts as not there. Names without lines count for a day, and
 * not at all once there is a debug file in the usual place.
 */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/store.h"
#include "symbol/symbol.h"

#define CACHE_FILE_MOST (16u * 1024 * 1024)    /* bytes of one */
#define CACHE_FOLDER_MOST (256u * 1024 * 1024) /* of all: beyond, the oldest are removed */
#define CACHE_FRAMES_MOST 256u

struct cache;
struct cache_file;

/* What is known of a place in the file: all numbers are those of the file. */
struct cache_entry {
	uint64_t offset, address;
	uint64_t start; /* 0: unknown */
	uint32_t count;
	const struct symbol_frame *frames;
};

/* `folder` may be NULL: the usual place. `*ret` is NULL if there is no such place. -ENOMEM. */
int cache_new(struct cache **ret, const char *folder);
/* After its files were closed. */
struct cache *cache_free(struct cache *cache);

/* Reads what there is of a build. Strings go to `store`, which must outlive it. -ENOMEM. */
int cache_open(struct cache *cache, const uint8_t *build_id, size_t bytes, struct store *store,
	       struct cache_file **ret);

/* NULL: not there. Borrowed until the next cache_add(). */
const struct cache_entry *cache_find(const struct cache_file *file, uint64_t offset);

/* Adds what was found; frames are borrowed until cache_close(). -ENOMEM. */
int cache_add(struct cache_file *file, const struct cache_entry *entry, bool has_lines);

/* Writes what is new, if it can; frees the file. */
struct cache_file *cache_close(struct cache_file *file);

/* The text of such a file, from outside: -EBADMSG if it is anything else. */
int cache_parse(struct cache_file *file, const char *text, size_t bytes);

/* One without a folder, for cache_parse() and cache_add(). -ENOMEM. */
int cache_file_new(struct cache_file **ret, struct store *store);

#endif /* SYMBOL_CACHE_H */
