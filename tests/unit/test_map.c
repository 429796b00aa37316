/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "check.h"
#include "util/map.h"

static void keys_come_back_with_their_values(void)
{
	struct map map;

	CHECK_EQ(map_init(&map, 100000), 0);
	for (uint64_t i = 0; i < 50000; i++)
		CHECK_EQ(map_put(&map, i * i * i, (uint32_t)i), 0);
	CHECK_EQ(map.count, 50000);
	for (uint64_t i = 0; i < 50000; i++) {
		const uint32_t *value = map_find(&map, i * i * i);

		CHECK(value && *value == i);
	}
	CHECK(!map_find(&map, 2));
	CHECK(!map_find(&map, UINT64_MAX));
	map_fini(&map);
}

static void zero_is_a_key_like_any_other(void)
{
	struct map map;

	CHECK_EQ(map_init(&map, 10), 0);
	CHECK(!map_find(&map, 0));
	CHECK_EQ(map_put(&map, 0, 5), 0);
	CHECK(map_find(&map, 0) && *map_find(&map, 0) == 5);
	map_fini(&map);
}

/* The key whose hash_mix() is `hash`: small ones all want the first slot. */
static uint64_t key_of(uint64_t hash)
{
	uint64_t product = hash * UINT64_C(0xf1de83e19937733d);

	return product ^ product >> 32;
}

static void keys_of_one_slot_do_not_hide_each_other(void)
{
	struct map map;

	CHECK_EQ(map_init(&map, 1000), 0);
	for (uint64_t i = 0; i < 300; i++) {
		CHECK_EQ(hash_mix(key_of(i)), i);
		CHECK_EQ(map_put(&map, key_of(i), (uint32_t)i), 0);
	}
	for (uint64_t i = 0; i < 300; i++)
		CHECK(map_find(&map, key_of(i)) && *map_find(&map, key_of(i)) == i);
	CHECK(!map_find(&map, key_of(300)));
	map_fini(&map);
}

static void a_cleared_map_is_empty_and_keeps_its_memory(void)
{
	struct map map;
	struct map_slot *slots;

	CHECK_EQ(map_init(&map, 1000), 0);
	for (uint64_t i = 0; i < 200; i++)
		CHECK_EQ(map_put(&map, i, 1), 0);
	slots = map.slots;
	map_clear(&map);
	CHECK_EQ(map.count, 0);
	CHECK(map.slots == slots);
	for (uint64_t i = 0; i < 200; i++)
		CHECK(!map_find(&map, i));
	CHECK_EQ(map_put(&map, 7, 3), 0);
	CHECK(map_find(&map, 7) && *map_find(&map, 7) == 3);
	map_fini(&map);
}

static void old_keys_stay_gone_when_the_epoch_wraps(void)
{
	struct map map;

	CHECK_EQ(map_init(&map, 1000), 0);
	CHECK_EQ(map_put(&map, 7, 3), 0);
	map_clear(&map);
	map.epoch = UINT32_MAX;
	CHECK_EQ(map_put(&map, 8, 4), 0);
	map_clear(&map);
	CHECK(!map_find(&map, 7));
	CHECK(!map_find(&map, 8));
	CHECK_EQ(map_put(&map, 9, 5), 0);
	CHECK(map_find(&map, 9) != NULL);
	map_fini(&map);
}

static void nothing_goes_in_past_the_limit(void)
{
	struct map map;

	CHECK_EQ(map_init(&map, 3), 0);
	for (uint64_t i = 0; i < 3; i++)
		CHECK_EQ(map_put(&map, i, 1), 0);
	CHECK_EQ(map_put(&map, 3, 1), -ENOMEM);
	CHECK(!map_find(&map, 3));
	CHECK(map_find(&map, 2) != NULL);
	map_fini(&map);
}

int main(void)
{
	RUN(keys_come_back_with_their_values);
	RUN(zero_is_a_key_like_any_other);
	RUN(keys_of_one_slot_do_not_hide_each_other);
	RUN(a_cleared_map_is_empty_and_keeps_its_memory);
	RUN(old_keys_stay_gone_when_the_epoch_wraps);
	RUN(nothing_goes_in_past_the_limit);
	return check_done();
}
