/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena/clock.h"
#include "unweave/link.h"
#include "util/hash.h"

#define FRAMES_MOST 1024u
#define LOOK_NS UINT64_C(200000000) /* between two looks for code that was mapped since */

struct stack_finder {
	struct modules *modules;
	uint64_t looked_ns;
	uint64_t addresses[FRAMES_MOST];
	uint64_t sps[FRAMES_MOST];
	uint32_t count;
};

int stack_finder_new(struct stack_finder **ret, struct modules *modules)
{
	struct stack_finder *finder = calloc(1, sizeof(*finder));

	if (!finder)
		return -ENOMEM;
	finder->modules = modules;
	*ret = finder;
	return 0;
}

struct stack_finder *stack_finder_free(struct stack_finder *finder)
{
	free(finder);
	return NULL;
}

static bool is_anchor(const struct stack_finder *finder, uint64_t address)
{
	uint64_t anchors = finder->modules->anchors;

	return anchors && address - anchors < UNWEAVE_ANCHORS * UNWEAVE_ANCHOR_BYTES;
}

static uint32_t count_anchors(const struct stack_finder *finder, uint32_t count)
{
	uint32_t anchors = 0;

	for (uint32_t i = 0; i < count; i++)
		anchors += is_anchor(finder, finder->addresses[i]);
	return anchors;
}

/*
 * Where the walk broke off, the anchors that it would have come to are still
 * there: return addresses into a range that nothing else on a stack points to.
 */
static uint32_t scan_for_anchors(struct stack_finder *finder, const struct taken *taken,
				 uint32_t count)
{
	uint64_t from = count ? finder->sps[count - 1] : taken->sp;
	uint64_t at = from > taken->sp ? (from - taken->sp + 7) & ~UINT64_C(7) : 0;

	for (; at + 8 <= taken->bytes && count < FRAMES_MOST; at += 8) {
		uint64_t word;

		memcpy(&word, taken->stack + at, sizeof(word));
		if (!is_anchor(finder, word - 1))
			continue;
		finder->sps[count] = taken->sp + at;
		finder->addresses[count++] = word - 1;
	}
	return count;
}

static struct unwind_result walk(struct stack_finder *finder, const struct taken *taken)
{
	struct unwind_input input = {.sp = taken->sp, .stack = taken->stack, .bytes = taken->bytes};
	uint32_t count =
		taken->register_count < UNWIND_REGISTERS ? taken->register_count : UNWIND_REGISTERS;

	memcpy(input.registers, taken->registers, count * sizeof(*taken->registers));
	return unwind(finder->modules->unwinder, &input, finder->addresses, finder->sps,
		      FRAMES_MOST);
}

/* Code that was mapped since we looked last is a reason for a walk to fail: looks again. */
static bool may_be_new_code(struct stack_finder *finder)
{
	uint64_t now = clock_monotonic();

	if (now - finder->looked_ns < LOOK_NS)
		return false;
	finder->looked_ns = now;
	return modules_look(finder->modules) >= 0;
}

void stack_finder_find(struct stack_finder *finder, const struct taken *taken,
		       struct samples_input *ret)
{
	struct unwind_result result = walk(finder, taken);
	uint32_t chains = 0, count;
	bool whole;

	for (uint32_t i = 0; i < taken->run_count; i++)
		chains += taken->runs[i].count != 0;
	whole = result.complete || (chains && count_anchors(finder, result.count) >= chains);
	if (!whole && may_be_new_code(finder)) {
		result = walk(finder, taken);
		whole = result.complete ||
			(chains && count_anchors(finder, result.count) >= chains);
	}
	count = result.count;
	if (!whole && chains)
		count = scan_for_anchors(finder, taken, count);
	finder->count = count;
	ret->native = (struct samples_stack){.addresses = finder->addresses, .count = count};
	ret->flags |= whole ? 0 : SAMPLE_CUT;
	for (uint32_t i = 0; i < count; i++)
		modules_note(finder->modules, finder->addresses[i]);
}

uint64_t stack_finder_place(const struct stack_finder *finder)
{
	return hash_xxh64(finder->addresses, finder->count * sizeof(*finder->addresses), 0);
}
