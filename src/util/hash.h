/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes: XXH64 for the checksums of the file, a quick mix for tables in memory. */
#ifndef UTIL_HASH_H
#define UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH64 as its public specification gives it; the same on every machine. */
uint64_t hash_xxh64(const void *bytes, size_t length, uint64_t seed);

/* Spreads a key over the high bits; use those. */
static inline uint64_t hash_mix(uint64_t key)
{
	key ^= key >> 32;
	return key * UINT64_C(0x9e3779b97f4a7c15);
}

#endif /* UTIL_HASH_H */
