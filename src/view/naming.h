/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a trace: what it carries itself, then what the files on this machine say. */
#ifndef VIEW_NAMING_H
#define VIEW_NAMING_H

#include "symbol/symbol.h"
#include "trace/reader.h"
#include "unweave/event.h"
#include "util/diag.h"

/* `no_files`: only what the trace carries. -ENOMEM. */
int naming_new(struct symbols **ret, struct reader *reader, bool no_files, struct diag *diag);

/*
 * What the tasks of a site are called that have no name of their own: by the site's name, `task in
 * FUNCTION`, or, if they are callbacks, by their kind and function; "" if nothing is known.
 */
void naming_label(struct symbols *symbols, const struct reader_site *site, char *to, size_t room);

/* The same as a model_label; `symbols` is the data. */
char *naming_site_label(void *symbols, const struct reader_site *site);

/* Where the tasks of a site are made; of callbacks, where they are armed. Unknown texts are "". */
struct symbol_frame naming_origin(struct symbols *symbols, const struct reader_site *site);

/* A function, or what stands for one that has no name. */
void naming_function(struct symbols *symbols, uint64_t address, char *to, size_t room);

/*
 * What stands for a function without a name: its module, and where it begins there, or, where
 * nobody knows that, the address itself; else only the address.
 */
void naming_nameless(const struct symbol *symbol, uint64_t address, char *to, size_t room);

/*
 * What a frame of a chain is called: the function, its file, and the line where it waits if its
 * state is one, else that of the address. A name that is not known is NULL.
 */
struct symbol_frame naming_chain_frame(struct symbols *symbols, uint64_t address, int32_t state);

/* The line in the state of a coroutine; 0: it has none. */
static inline uint32_t naming_line(int32_t state)
{
	return UNWEAVE_STATE_IS_LINE(state) ? (uint32_t)(state - UNWEAVE_STATE_LINE) : 0;
}

/* What is asked of tasks: that they complete, or nothing. */
enum naming_role {
	NAMING_TASK,
	NAMING_STANDING, /* a listener, a repeating timer: it is there to be called */
	NAMING_LOOP,
	NAMING_ROLES
};

/* Of the tasks of a site, which may be NULL. */
enum naming_role naming_role(const struct reader_site *site);
/* A word for it; NULL for plain tasks. */
const char *naming_role_word(enum naming_role role);

/*
 * Two splice_same_function; `symbols` is the data. By the first, where it is not known what
 * function an address is in, nothing speaks against it; by the
 * second, nothing speaks for it.
 */
bool naming_same_function(void *symbols, uint64_t one, uint64_t other);
bool naming_surely_same(void *symbols, uint64_t one, uint64_t other);

#endif /* VIEW_NAMING_H */
