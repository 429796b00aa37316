/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tasks that a block mentions: a hash table from task to its index and to
 * the chain that its reader knows. Both lie in the slot, since with many tasks
 * each place that is looked at is a cache miss.
 *
 * Emptying it takes no time, as with a map.
 */
#ifndef TRACE_MENTIONS_H
#define TRACE_MENTIONS_H

#include <stdint.h>

#include "unweave/event.h"
#include "util/hash.h"

struct mention {
	uint64_t task;
	const struct unweave_frame *chain;
	uint32_t index; /* among the block's tasks, in the order of their first mention */
	uint32_t epoch; /* of no use unless it is the table's */
};

struct mentions {
	struct mention *slots; /* a power of two of them, at most three quarters in use */
	unsigned shift;        /* 64 - log2 of their number */
	uint32_t count;
	uint32_t limit;
	uint32_t epoch;       /* never 0, so that zeroed slots are empty */
	struct mention *last; /* that mentions_again() is to find; NULL: none */
};

/* Returns -ENOMEM. */
int mentions_init(struct mentions *mentions, uint32_t limit);
void mentions_fini(struct mentions *mentions);

/* Borrowed until the next mentions_add(). NULL if the task is not there. */
static inline struct mention *mentions_find(const struct mentions *mentions, uint64_t task)
{
	uint64_t mask = UINT64_MAX >> mentions->shift;
	uint64_t at = hash_mix(task) >> mentions->shift;

	for (; mentions->slots[at].epoch == mentions->epoch; at = (at + 1) & mask)
		if (mentions->slots[at].task == task)
			return &mentions->slots[at];
	return NULL;
}

/* The same for a task that was noted as `last`, as the one that runs is. */
static inline struct mention *mentions_again(const struct mentions *mentions, uint64_t task)
{
	struct mention *last = mentions->last;

	return __builtin_expect(last && last->task == task, 1) ? last
							       : mentions_find(mentions, task);
}

/* For a task that will be looked for soon. A slot may lie on two lines. */
static inline void mentions_prefetch(const struct mentions *mentions, uint64_t task)
{
	const struct mention *slot = &mentions->slots[hash_mix(task) >> mentions->shift];

	__builtin_prefetch(slot, 1);
	__builtin_prefetch(&slot->epoch, 1);
}

/* Adds a task that is not there, without a chain. NULL at the limit, or without memory. */
struct mention *mentions_add(struct mentions *mentions, uint64_t task);

void mentions_clear(struct mentions *mentions);

#endif /* TRACE_MENTIONS_H */
