/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tree.h"

#include <errno.h>
#include <stdlib.h>

#include "util/hash.h"

#define FIRST_BITS 10u

struct tree {
	struct tree_node *nodes; /* the first is nobody's */
	uint32_t count;          /* without that one */
	uint32_t capacity;       /* with it */
	uint32_t *slots;         /* hash to node; a power of two, at most half in use; 0: free */
	unsigned shift;          /* 64 - log2 of their number */
};

int tree_new(struct tree **ret)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return -ENOMEM;
	tree->capacity = 1u << (FIRST_BITS - 1);
	tree->shift = 64 - FIRST_BITS;
	tree->nodes = calloc(tree->capacity, sizeof(*tree->nodes));
	tree->slots = calloc(1u << FIRST_BITS, sizeof(*tree->slots));
	if (!tree->nodes || !tree->slots) {
		tree_free(tree);
		return -ENOMEM;
	}
	*ret = tree;
	return 0;
}

struct tree *tree_free(struct tree *tree)
{
	if (tree) {
		free(tree->nodes);
		free(tree->slots);
		free(tree);
	}
	return NULL;
}

static uint64_t hash_of(const struct tree_node *node)
{
	uint64_t rest = (uint64_t)(uint32_t)node->state << 3 | node->kind;

	return hash_mix(hash_mix(node->address) ^ hash_mix((uint64_t)node->parent << 32 ^ rest));
}

/* Where the node is, or belongs. */
static uint32_t *slot_of(const struct tree *tree, const struct tree_node *node)
{
	uint64_t mask = UINT64_MAX >> tree->shift;
	uint64_t at = hash_of(node) >> tree->shift;

	for (; tree->slots[at]; at = (at + 1) & mask) {
		const struct tree_node *other = &tree->nodes[tree->slots[at]];

		if (other->address == node->address && other->parent == node->parent &&
		    other->state == node->state && other->kind == node->kind)
			break;
	}
	return &tree->slots[at];
}

/* Twice the nodes, and slots for them. */
static int grow(struct tree *tree)
{
	struct tree bigger = *tree;

	if (tree->capacity > UINT32_MAX / 4)
		return -ENOMEM;
	bigger.capacity = tree->capacity * 2;
	bigger.shift = tree->shift - 1;
	bigger.slots = calloc((size_t)bigger.capacity * 2, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	bigger.nodes = reallocarray(tree->nodes, bigger.capacity, sizeof(*bigger.nodes));
	if (!bigger.nodes) {
		free(bigger.slots);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i <= tree->count; i++)
		*slot_of(&bigger, &bigger.nodes[i]) = i;
	free(tree->slots);
	*tree = bigger;
	return 0;
}

uint32_t tree_child(struct tree *tree, uint32_t parent, uint64_t address, int32_t state,
		    enum splice_kind kind)
{
	struct tree_node node = {
		.parent = parent,
		.depth = tree->nodes[parent].depth + 1,
		.address = address,
		.state = state,
		.kind = kind,
	};
	uint32_t *slot = slot_of(tree, &node);

	if (*slot)
		return *slot;
	if (tree->count + 1 == tree->capacity) {
		if (grow(tree) < 0)
			return 0;
		slot = slot_of(tree, &node);
	}
	tree->nodes[++tree->count] = node;
	*slot = tree->count;
	return tree->count;
}

const struct tree_node *tree_at(const struct tree *tree, uint32_t node)
{
	return &tree->nodes[node];
}

uint32_t tree_count(const struct tree *tree)
{
	return tree->count;
}
