/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain that each live task has, as far as the drain has seen: a hash table
 * from task to its innermost frame. Tasks leave it when they complete; one that
 * never does stays, up to a limit.
 */
#ifndef DRAIN_CHAINS_H
#define DRAIN_CHAINS_H

#include <stdint.h>

#include "unweave/event.h"
#include "util/hash.h"

struct chain_slot {
	uint64_t task;   /* 0: free */
	uintptr_t chain; /* its innermost frame, or 0; | CHAIN_RUNS while the task runs */
};

#define CHAIN_RUNS ((uintptr_t)1)

static inline const struct unweave_frame *chain_stack(const struct chain_slot *slot)
{
	return (const struct unweave_frame *)(slot->chain & ~CHAIN_RUNS);
}

static inline void chain_change(struct chain_slot *slot, const struct unweave_frame *stack)
{
	slot->chain = (uintptr_t)stack | (slot->chain & CHAIN_RUNS);
}

struct chains {
	struct chain_slot *slots; /* a power of two of them, at most three quarters in use */
	uint32_t mask;
	unsigned shift; /* 64 - log2 of their number */
	uint32_t count;
	uint32_t limit;
	struct chain_slot *last; /* that chains_again() is to find; NULL: none */
};

/* Returns -ENOMEM. */
int chains_init(struct chains *chains, uint32_t limit);
void chains_fini(struct chains *chains);

/* Where the search for a task begins: tasks in a row, as most are, each have a slot of their own.
 */
static inline uint32_t chains_home(const struct chains *chains, uint64_t task)
{
	return (uint32_t)(hash_mix(task) >> chains->shift);
}

static inline void chains_prefetch(const struct chains *chains, uint64_t task)
{
	__builtin_prefetch(&chains->slots[chains_home(chains, task)]);
}

/* The task's slot; or the free one that chains_add() would fill, with no chain. Until the next
 * change. */
static inline struct chain_slot *chains_find(const struct chains *chains, uint64_t task)
{
	uint32_t at = chains_home(chains, task);

	while (chains->slots[at].task && chains->slots[at].task != task)
		at = (at + 1) & chains->mask;
	return &chains->slots[at];
}

/* The same for a task that was noted as `last`: one that runs is looked for at both ends. */
static inline struct chain_slot *chains_again(const struct chains *chains, uint64_t task)
{
	struct chain_slot *last = chains->last;

	return __builtin_expect(last && last->task == task, 1) ? last : chains_find(chains, task);
}

/* Adds a task that was not found. Where there is no room its chain is simply not known. */
void chains_add(struct chains *chains, struct chain_slot *slot, uint64_t task,
		const struct unweave_frame *stack);
void chains_remove(struct chains *chains, uint64_t task);
/* Nothing that was seen counts any more. */
void chains_clear(struct chains *chains);

#endif /* DRAIN_CHAINS_H */
