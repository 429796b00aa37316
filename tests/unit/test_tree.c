/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tree.h"

#include "check.h"

static struct tree *made(void)
{
	struct tree *tree = NULL;

	if (tree_new(&tree) < 0) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	return tree;
}

static void equal_stacks_have_equal_numbers(void)
{
	struct tree *tree = made();
	uint32_t root = tree_child(tree, 0, 0x1000, 0, SPLICE_AWAIT);
	uint32_t leaf = tree_child(tree, root, 0x2000, -1, SPLICE_RUNNING);

	CHECK(root && leaf && root != leaf);
	CHECK_EQ(tree_child(tree, 0, 0x1000, 0, SPLICE_AWAIT), root);
	CHECK_EQ(tree_child(tree, root, 0x2000, -1, SPLICE_RUNNING), leaf);
	CHECK_EQ(tree_count(tree), 2);
	CHECK_EQ(tree_at(tree, leaf)->parent, root);
	CHECK_EQ(tree_at(tree, leaf)->depth, 2);
	CHECK_EQ(tree_at(tree, leaf)->state, -1);
	CHECK_EQ(tree_at(tree, leaf)->kind, SPLICE_RUNNING);
	tree_free(tree);
}

static void whatever_differs_makes_another_frame(void)
{
	struct tree *tree = made();
	uint32_t one = tree_child(tree, 0, 0x1000, 0, SPLICE_AWAIT);

	CHECK(tree_child(tree, 0, 0x1001, 0, SPLICE_AWAIT) != one);
	CHECK(tree_child(tree, 0, 0x1000, 1, SPLICE_AWAIT) != one);
	CHECK(tree_child(tree, 0, 0x1000, 0, SPLICE_NATIVE) != one);
	CHECK(tree_child(tree, one, 0x1000, 0, SPLICE_AWAIT) != one);
	CHECK_EQ(tree_count(tree), 5);
	tree_free(tree);
}

static void many_frames_are_all_found_again(void)
{
	enum { MANY = 50000 };
	static uint32_t nodes[MANY];
	struct tree *tree = made();

	for (uint32_t i = 0; i < MANY; i++)
		nodes[i] = tree_child(tree, i ? nodes[i / 2] : 0, i, 0, SPLICE_NATIVE);
	CHECK_EQ(tree_count(tree), MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		CHECK_EQ(tree_child(tree, i ? nodes[i / 2] : 0, i, 0, SPLICE_NATIVE), nodes[i]);
		CHECK_EQ(tree_at(tree, nodes[i])->address, i);
	}
	tree_free(tree);
}

int main(void)
{
	RUN(equal_stacks_have_equal_numbers);
	RUN(whatever_differs_makes_another_frame);
	RUN(many_frames_are_all_found_again);
	return check_done();
}
