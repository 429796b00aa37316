/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "trace/stacks.h"

static const struct unweave_frame *push(struct stacks *stacks, const struct unweave_frame *awaiter,
					uint64_t address)
{
	return stacks_push(stacks, awaiter, address, 0, UNWEAVE_FRAME_CODE);
}

static void equal_chains_are_the_same_pointer(void)
{
	struct stacks *stacks = NULL;
	const struct unweave_frame *root, *leaf;

	CHECK_EQ(stacks_new(&stacks, 100), 0);
	root = push(stacks, NULL, 0x1000);
	leaf = push(stacks, root, 0x2000);
	CHECK(root && leaf && root != leaf);
	CHECK(push(stacks, NULL, 0x1000) == root);
	CHECK(push(stacks, root, 0x2000) == leaf);
	CHECK_EQ(root->depth, 1);
	CHECK_EQ(leaf->depth, 2);
	CHECK(leaf->awaiter == root);
	CHECK_EQ(leaf->address, 0x2000);
	CHECK(leaf->id != root->id && root->id >= 1);
	stacks_free(stacks);
}

static void chains_that_differ_in_anything_are_different(void)
{
	struct stacks *stacks = NULL;
	const struct unweave_frame *all[7];

	CHECK_EQ(stacks_new(&stacks, 100), 0);
	all[0] = push(stacks, NULL, 0x1000);
	all[1] = push(stacks, NULL, 0x1001);
	all[2] = push(stacks, all[0], 0x1000);
	all[3] = stacks_push(stacks, NULL, 0x1000, 1, UNWEAVE_FRAME_CODE);
	all[4] = stacks_push(stacks, NULL, 0x1000, 0, UNWEAVE_FRAME_OMITTED);
	all[5] = stacks_push(stacks, NULL, 0x1000, -1, UNWEAVE_FRAME_CODE);
	/* In the table this one is not told from the first by its hash. */
	all[6] = stacks_push(stacks, NULL, 0x1000, INT32_MIN, UNWEAVE_FRAME_CODE);
	for (unsigned i = 0; i < 7; i++)
		for (unsigned k = 0; k < i; k++)
			CHECK(all[i] != all[k] && all[i]->id != all[k]->id);
	CHECK_EQ(all[5]->state, -1);
	CHECK_EQ(all[4]->kind, UNWEAVE_FRAME_OMITTED);
	stacks_free(stacks);
}

static void frames_do_not_move_as_their_number_grows(void)
{
	static const struct unweave_frame *frames[50000];
	struct stacks *stacks = NULL;

	CHECK_EQ(stacks_new(&stacks, 50000), 0);
	for (unsigned i = 0; i < 50000; i++)
		frames[i] = push(stacks, i ? frames[i / 2] : NULL, i % 7 + i);
	for (unsigned i = 0; i < 50000; i++) {
		CHECK(push(stacks, i ? frames[i / 2] : NULL, i % 7 + i) == frames[i]);
		CHECK_EQ(frames[i]->address, i % 7 + i);
	}
	stacks_free(stacks);
}

static void when_it_is_full_only_known_chains_are_found(void)
{
	struct stacks *stacks = NULL;
	const struct unweave_frame *second;

	CHECK_EQ(stacks_new(&stacks, 2), 0);
	CHECK(push(stacks, NULL, 1) != NULL);
	second = push(stacks, NULL, 2);
	CHECK(second != NULL);
	CHECK(push(stacks, NULL, 3) == NULL);
	CHECK(push(stacks, NULL, 2) == second);
	stacks_free(stacks);
	CHECK(stacks_free(NULL) == NULL);
}

int main(void)
{
	RUN(equal_chains_are_the_same_pointer);
	RUN(chains_that_differ_in_anything_are_different);
	RUN(frames_do_not_move_as_their_number_grows);
	RUN(when_it_is_full_only_known_chains_are_found);
	return check_done();
}
