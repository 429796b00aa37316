/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "util/hash.h"

static void published_vectors_come_out(void)
{
	const char *text = "Nobody inspects the spammish repetition";

	CHECK_EQ(hash_xxh64("", 0, 0), UINT64_C(0xef46db3751d8e999));
	CHECK_EQ(hash_xxh64("a", 1, 0), UINT64_C(0xd24ec4f1a98c6e5b));
	CHECK_EQ(hash_xxh64("abc", 3, 0), UINT64_C(0x44bc2cf5ad770999));
	CHECK_EQ(hash_xxh64(text, strlen(text), 0), UINT64_C(0xfbcea83c8a378bf1));
}

/* The sum over all lengths up to 256, as libxxhash 0.8.1 gives it. */
static void every_length_agrees_with_the_reference_library(void)
{
	uint8_t bytes[257];
	uint64_t sum = 0;

	for (unsigned i = 0; i <= 256; i++)
		bytes[i] = (uint8_t)i;
	CHECK_EQ(hash_xxh64(bytes, 256, 0), UINT64_C(0x1facbe8406cd904b));
	CHECK_EQ(hash_xxh64(bytes, 101, 2654435761u), UINT64_C(0xa1c6d4174c37136d));
	for (unsigned length = 0; length <= 256; length++)
		sum = sum * 31 + hash_xxh64(bytes, length, length);
	CHECK_EQ(sum, UINT64_C(0xd4cc2b7ef5fd3e11));
}

static void where_the_bytes_lie_does_not_matter(void)
{
	uint8_t bytes[80];
	uint64_t first = 0;

	for (unsigned shift = 0; shift < 8; shift++) {
		for (unsigned i = 0; i < 64; i++)
			bytes[shift + i] = (uint8_t)(i * 7);
		if (shift == 0)
			first = hash_xxh64(bytes, 64, 0);
		CHECK_EQ(hash_xxh64(bytes + shift, 64, 0), first);
	}
}

static void one_flipped_bit_changes_the_low_half(void)
{
	uint8_t bytes[60] = {0};
	uint32_t before = (uint32_t)hash_xxh64(bytes, sizeof(bytes), 0);

	for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= 1u << bit % 8;
		CHECK((uint32_t)hash_xxh64(bytes, sizeof(bytes), 0) != before);
		bytes[bit / 8] ^= 1u << bit % 8;
	}
}

int main(void)
{
	RUN(published_vectors_come_out);
	RUN(every_length_agrees_with_the_reference_library);
	RUN(where_the_bytes_lie_does_not_matter);
	RUN(one_flipped_bit_changes_the_low_half);
	return check_done();
}
