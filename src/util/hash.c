/* SPDX-License-Identifier: Apache-2.0 */
#include "util/hash.h"

#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME_5 UINT64_C(0x27d4eb2f165667c5)

#define STRIPE 32u /* bytes: four lanes of eight */

static uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

static uint64_t read_u32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

static uint64_t read_u64(const uint8_t *at)
{
	return read_u32(at) | read_u32(at + 4) << 32;
}

static uint64_t round_lane(uint64_t lane, uint64_t input)
{
	return rotate(lane + input * PRIME_2, 31) * PRIME_1;
}

static uint64_t merge_lane(uint64_t hash, uint64_t lane)
{
	return (hash ^ round_lane(0, lane)) * PRIME_1 + PRIME_4;
}

/* Takes whole stripes off the front; `*at` ends at what is left. */
static uint64_t hash_stripes(const uint8_t **at, const uint8_t *end, uint64_t seed)
{
	uint64_t a = seed + PRIME_1 + PRIME_2;
	uint64_t b = seed + PRIME_2;
	uint64_t c = seed;
	uint64_t d = seed - PRIME_1;
	uint64_t hash;

	for (; (size_t)(end - *at) >= STRIPE; *at += STRIPE) {
		a = round_lane(a, read_u64(*at));
		b = round_lane(b, read_u64(*at + 8));
		c = round_lane(c, read_u64(*at + 16));
		d = round_lane(d, read_u64(*at + 24));
	}
	hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
	hash = merge_lane(hash, a);
	hash = merge_lane(hash, b);
	hash = merge_lane(hash, c);
	return merge_lane(hash, d);
}

static uint64_t hash_rest(uint64_t hash, const uint8_t *at, const uint8_t *end)
{
	for (; end - at >= 8; at += 8)
		hash = rotate(hash ^ round_lane(0, read_u64(at)), 27) * PRIME_1 + PRIME_4;
	if (end - at >= 4) {
		hash = rotate(hash ^ read_u32(at) * PRIME_1, 23) * PRIME_2 + PRIME_3;
		at += 4;
	}
	for (; at < end; at++)
		hash = rotate(hash ^ *at * PRIME_5, 11) * PRIME_1;
	return hash;
}

uint64_t hash_xxh64(const void *bytes, size_t length, uint64_t seed)
{
	const uint8_t *at = bytes;
	const uint8_t *end = at + length;
	uint64_t hash = length >= STRIPE ? hash_stripes(&at, end, seed) : seed + PRIME_5;

	hash = hash_rest(hash + length, at, end);
	hash = (hash ^ hash >> 33) * PRIME_2;
	hash = (hash ^ hash >> 29) * PRIME_3;
	return hash ^ hash >> 32;
}
