/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/mentions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BITS 6u

int mentions_init(struct mentions *mentions, uint32_t limit)
{
	struct mention *slots = calloc(1u << FIRST_BITS, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	*mentions = (struct mentions){
		.slots = slots, .shift = 64 - FIRST_BITS, .limit = limit, .epoch = 1};
	return 0;
}

void mentions_fini(struct mentions *mentions)
{
	free(mentions->slots);
	*mentions = (struct mentions){0};
}

static size_t slot_count(const struct mentions *mentions)
{
	return (size_t)1 << (64 - mentions->shift);
}

static struct mention *free_slot(const struct mentions *mentions, uint64_t task)
{
	uint64_t mask = UINT64_MAX >> mentions->shift;
	uint64_t at = hash_mix(task) >> mentions->shift;

	while (mentions->slots[at].epoch == mentions->epoch)
		at = (at + 1) & mask;
	return &mentions->slots[at];
}

static int grow(struct mentions *mentions)
{
	struct mentions larger = *mentions;
	size_t count = slot_count(mentions);

	larger.shift--;
	larger.slots = calloc(count * 2, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (mentions->slots[i].epoch == mentions->epoch)
			*free_slot(&larger, mentions->slots[i].task) = mentions->slots[i];
	free(mentions->slots);
	*mentions = larger;
	return 0;
}

struct mention *mentions_add(struct mentions *mentions, uint64_t task)
{
	struct mention *slot;

	if (mentions->count == mentions->limit)
		return NULL;
	if (mentions->count >= slot_count(mentions) / 4 * 3 && grow(mentions) < 0)
		return NULL;
	mentions->last = NULL;
	slot = free_slot(mentions, task);
	*slot = (struct mention){
		.task = task, .index = mentions->count++, .epoch = mentions->epoch};
	return slot;
}

void mentions_clear(struct mentions *mentions)
{
	mentions->count = 0;
	mentions->last = NULL;
	if (++mentions->epoch == 0) {
		memset(mentions->slots, 0, slot_count(mentions) * sizeof(*mentions->slots));
		mentions->epoch = 1;
	}
}
