/* SPDX-License-Identifier: Apache-2.0 */
#include "view/where.h"

#include <string.h>

#include "view/naming.h"

static bool is_library(const char *module)
{
	return module && (strstr(module, ".so") || module[0] == '[');
}

/*
 * Of a function in a library, the innermost one around it that is in none; if all are, the one
 * that is in another.
 */
static const struct symbol_frame *caller_of(struct symbols *symbols, const struct tree *tree,
					    uint32_t stack)
{
	const char *module = symbols_find(symbols, tree_at(tree, stack)->address)->module;
	const struct symbol *outside = NULL;

	if (!is_library(module))
		return NULL;
	while ((stack = tree_at(tree, stack)->parent) &&
	       tree_at(tree, stack)->kind != SPLICE_OMITTED) {
		const struct symbol *symbol = symbols_find(symbols, tree_at(tree, stack)->address);
		bool library = is_library(symbol->module);

		if (symbol->module &&
		    (!library || (!outside && strcmp(symbol->module, module) != 0)))
			outside = symbol;
		if (symbol->module && !library)
			break;
	}
	return outside && outside->frames[0].function ? outside->frames : NULL;
}

struct where where_find(struct symbols *symbols, const struct tree *tree, uint32_t stack)
{
	const struct tree_node *node = stack ? tree_at(tree, stack) : NULL;
	struct symbol_frame frame;

	if (!node || node->kind == SPLICE_OMITTED)
		return (struct where){0};
	frame = node->kind == SPLICE_AWAIT ? naming_chain_frame(symbols, node->address, node->state)
					   : symbols_find(symbols, node->address)->frames[0];
	return (struct where){
		.function = frame.function,
		.file = frame.file,
		.line = frame.line,
		.caller = caller_of(symbols, tree, stack),
	};
}
