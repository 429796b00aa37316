/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "trace/mentions.h"

static void tasks_are_numbered_in_the_order_of_their_mention(void)
{
	struct mentions mentions;

	CHECK_EQ(mentions_init(&mentions, 100000), 0);
	for (uint64_t i = 0; i < 50000; i++)
		CHECK(mentions_add(&mentions, i * i * i) != NULL);
	for (uint64_t i = 0; i < 50000; i++) {
		const struct mention *mention = mentions_find(&mentions, i * i * i);

		CHECK(mention && mention->index == i && !mention->chain);
	}
	CHECK(!mentions_find(&mentions, 2));
	CHECK(!mentions_find(&mentions, UINT64_MAX));
	mentions_fini(&mentions);
}

static void chains_stay_when_the_table_grows(void)
{
	static const struct unweave_frame frame;
	struct mentions mentions;

	CHECK_EQ(mentions_init(&mentions, 1000), 0);
	mentions_add(&mentions, 7)->chain = &frame;
	for (uint64_t i = 100; i < 1000; i++)
		CHECK(mentions_add(&mentions, i) != NULL);
	CHECK(mentions_find(&mentions, 7)->chain == &frame);
	mentions_fini(&mentions);
}

static void a_cleared_table_is_empty_even_when_the_epoch_wraps(void)
{
	struct mentions mentions;

	CHECK_EQ(mentions_init(&mentions, 10), 0);
	CHECK(mentions_add(&mentions, 0) != NULL);
	mentions_clear(&mentions);
	CHECK(!mentions_find(&mentions, 0));
	mentions.epoch = UINT32_MAX;
	CHECK(mentions_add(&mentions, 8) != NULL);
	mentions_clear(&mentions);
	CHECK(!mentions_find(&mentions, 0));
	CHECK(!mentions_find(&mentions, 8));
	CHECK_EQ(mentions_add(&mentions, 9)->index, 0);
	mentions_fini(&mentions);
}

static void nothing_goes_in_past_the_limit(void)
{
	struct mentions mentions;

	CHECK_EQ(mentions_init(&mentions, 3), 0);
	for (uint64_t i = 0; i < 3; i++)
		CHECK(mentions_add(&mentions, i) != NULL);
	CHECK(!mentions_add(&mentions, 3));
	CHECK(mentions_find(&mentions, 2) != NULL);
	mentions_fini(&mentions);
}

int main(void)
{
	RUN(tasks_are_numbered_in_the_order_of_their_mention);
	RUN(chains_stay_when_the_table_grows);
	RUN(a_cleared_table_is_empty_even_when_the_epoch_wraps);
	RUN(nothing_goes_in_past_the_limit);
	return check_done();
}
