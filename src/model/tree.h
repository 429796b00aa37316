/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All the logical stacks of a trace as one tree, from the root outwards. A
 * stack is the number of its innermost frame; equal stacks have equal numbers.
 */
#ifndef MODEL_TREE_H
#define MODEL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/splice.h"

struct tree_node {
	uint32_t parent; /* who called or awaits it; 0: nobody */
	uint32_t depth;  /* frames from here to the root, this one included */
	uint64_t address;
	int32_t state;
	uint32_t kind; /* enum splice_kind */
};

struct tree;

/* Returns -ENOMEM. */
int tree_new(struct tree **ret);
struct tree *tree_free(struct tree *tree);

/* The child of `parent` (0: a root) that this frame is, made if it is not there; 0: no memory. */
uint32_t tree_child(struct tree *tree, uint32_t parent, uint64_t address, int32_t state,
		    enum splice_kind kind);

/* Of 1 to tree_count(); until the next tree_child(). */
const struct tree_node *tree_at(const struct tree *tree, uint32_t node);
uint32_t tree_count(const struct tree *tree);

#endif /* MODEL_TREE_H */
