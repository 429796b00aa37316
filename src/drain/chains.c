/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BITS 10u

int chains_init(struct chains *chains, uint32_t limit)
{
	struct chain_slot *slots = calloc(1u << FIRST_BITS, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	*chains = (struct chains){.slots = slots,
				  .mask = (1u << FIRST_BITS) - 1,
				  .shift = 64 - FIRST_BITS,
				  .limit = limit};
	return 0;
}

void chains_fini(struct chains *chains)
{
	free(chains->slots);
	*chains = (struct chains){0};
}

static int grow(struct chains *chains)
{
	struct chains larger = {
		.mask = chains->mask * 2 + 1, .shift = chains->shift - 1, .limit = chains->limit};

	larger.slots = calloc((size_t)larger.mask + 1, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i <= chains->mask; i++)
		if (chains->slots[i].task)
			*chains_find(&larger, chains->slots[i].task) = chains->slots[i];
	larger.count = chains->count;
	free(chains->slots);
	*chains = larger;
	return 0;
}

void chains_add(struct chains *chains, struct chain_slot *slot, uint64_t task,
		const struct unweave_frame *stack)
{
	if (!task || chains->count >= chains->limit)
		return;
	if (chains->count >= chains->mask / 4 * 3) {
		if (grow(chains) < 0)
			return;
		slot = chains_find(chains, task);
	}
	*slot = (struct chain_slot){.task = task, .chain = (uintptr_t)stack};
	chains->last = NULL;
	chains->count++;
}

void chains_clear(struct chains *chains)
{
	memset(chains->slots, 0, ((size_t)chains->mask + 1) * sizeof(*chains->slots));
	chains->count = 0;
	chains->last = NULL;
}

/* Closes the gap, so that no search ends early at it. */
void chains_remove(struct chains *chains, uint64_t task)
{
	uint32_t gap = (uint32_t)(chains_find(chains, task) - chains->slots);
	uint32_t at = gap;

	if (!chains->slots[gap].task)
		return;
	chains->last = NULL;
	for (;;) {
		uint32_t home;

		at = (at + 1) & chains->mask;
		if (!chains->slots[at].task)
			break;
		home = chains_home(chains, chains->slots[at].task);
		/* It may move into the gap unless its home lies between the two. */
		if (((at - home) & chains->mask) < ((at - gap) & chains->mask))
			continue;
		chains->slots[gap] = chains->slots[at];
		gap = at;
	}
	chains->slots[gap] = (struct chain_slot){0};
	chains->count--;
}
