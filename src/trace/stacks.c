/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "util/hash.h"

#define SLAB_NODES 512u /* 16 KiB; nodes never move, since chains point at them */
#define FIRST_BITS 9u

struct stacks {
	struct unweave_frame **slabs;
	struct unweave_frame **slots; /* a hash table, a power of two of them: at most a quarter is
					 in use, so that few others are looked at */
	unsigned shift;               /* 64 - log2 of their number */
	uint32_t slab_count;
	uint32_t count;
	uint32_t limit;
};

static size_t slot_count(unsigned shift)
{
	return (size_t)1 << (64 - shift);
}

int stacks_new(struct stacks **ret, uint32_t limit)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	stacks->limit = limit;
	stacks->shift = 64 - FIRST_BITS;
	stacks->slots = calloc(slot_count(stacks->shift), sizeof(*stacks->slots));
	stacks->slabs =
		calloc((limit + (uint64_t)SLAB_NODES - 1) / SLAB_NODES + 1, sizeof(*stacks->slabs));
	if (!stacks->slots || !stacks->slabs) {
		stacks_free(stacks);
		return -ENOMEM;
	}
	*ret = stacks;
	return 0;
}

struct stacks *stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return NULL;
	for (uint32_t i = 0; i < stacks->slab_count; i++)
		free(stacks->slabs[i]);
	free(stacks->slabs);
	free(stacks->slots);
	free(stacks);
	return NULL;
}

static struct unweave_frame *node_of(const struct stacks *stacks, uint32_t id)
{
	return &stacks->slabs[(id - 1) / SLAB_NODES][(id - 1) % SLAB_NODES];
}

/* Two products that need not wait for each other, nor for what the awaiter holds. */
static inline uint64_t hash_frame(const struct unweave_frame *awaiter, uint64_t address,
				  int32_t state, uint32_t kind)
{
	uint64_t own = address ^ (uint64_t)((uint32_t)state * 2u + kind) << 32;

	return hash_mix((uintptr_t)awaiter) ^ own * UINT64_C(0xc2b2ae3d27d4eb4f);
}

static uint64_t hash_node(const struct unweave_frame *node)
{
	return hash_frame(node->awaiter, node->address, node->state, node->kind);
}

static void insert(struct unweave_frame **slots, unsigned shift, struct unweave_frame *node)
{
	uint64_t mask = UINT64_MAX >> shift;
	uint64_t at = hash_node(node) >> shift;

	while (slots[at])
		at = (at + 1) & mask;
	slots[at] = node;
}

static int grow_slots(struct stacks *stacks)
{
	unsigned shift = stacks->shift - 1;
	struct unweave_frame **slots = calloc(slot_count(shift), sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t id = 1; id <= stacks->count; id++)
		insert(slots, shift, node_of(stacks, id));
	free(stacks->slots);
	stacks->slots = slots;
	stacks->shift = shift;
	return 0;
}

/* Makes sure that one more node has its memory and its slot. */
static int reserve(struct stacks *stacks)
{
	struct unweave_frame *slab;

	if (stacks->count == stacks->limit)
		return -ENOMEM;
	if (stacks->count >= slot_count(stacks->shift) / 4 && grow_slots(stacks) < 0)
		return -ENOMEM;
	if (stacks->count < stacks->slab_count * SLAB_NODES)
		return 0;
	slab = malloc(SLAB_NODES * sizeof(*slab));
	if (!slab)
		return -ENOMEM;
	stacks->slabs[stacks->slab_count++] = slab;
	return 0;
}

/* Seldom needed, and so apart: stacks_push() does without its registers. */
static __attribute__((noinline)) const struct unweave_frame *
add_node(struct stacks *stacks, const struct unweave_frame *awaiter, uint64_t address,
	 int32_t state, uint32_t kind)
{
	struct unweave_frame *node;

	if (reserve(stacks) < 0)
		return NULL;
	node = node_of(stacks, ++stacks->count);
	*node = (struct unweave_frame){
		.awaiter = awaiter,
		.address = address,
		.state = state,
		.depth = awaiter ? awaiter->depth + 1 : 1,
		.kind = kind,
		.id = stacks->count,
	};
	insert(stacks->slots, stacks->shift, node);
	return node;
}

const struct unweave_frame *stacks_push(struct stacks *stacks, const struct unweave_frame *awaiter,
					uint64_t address, int32_t state, uint32_t kind)
{
	uint64_t at = hash_frame(awaiter, address, state, kind) >> stacks->shift;
	uint64_t mask = UINT64_MAX >> stacks->shift;
	const struct unweave_frame *node;

	for (; (node = stacks->slots[at]) != NULL; at = (at + 1) & mask)
		if (node->awaiter == awaiter && node->address == address && node->state == state &&
		    node->kind == kind)
			return node;
	return add_node(stacks, awaiter, address, state, kind);
}

uint32_t stacks_count(const struct stacks *stacks)
{
	return stacks->count;
}

const struct unweave_frame *stacks_at(const struct stacks *stacks, uint32_t id)
{
	return node_of(stacks, id);
}
