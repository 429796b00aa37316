/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the code a stack of a model's tree is: the place that a user is sent to. */
#ifndef VIEW_WHERE_H
#define VIEW_WHERE_H

#include "model/tree.h"
#include "symbol/symbol.h"

struct where {
	const char *function; /* the innermost; NULL: unknown, or it has no name */
	const char *file;     /* or NULL */
	uint32_t line;
	/* Who called it from outside of its library, with a name; NULL: it is in none, or unknown.
	 */
	const struct symbol_frame *caller;
};

struct where where_find(struct symbols *symbols, const struct tree *tree, uint32_t stack);

#endif /* VIEW_WHERE_H */
