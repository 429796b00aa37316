/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often values of which size came: sixteen buckets for each power of two, so
 * that what is read off is at most 1/16 too large. Zeroed is empty.
 */
#ifndef UTIL_HISTOGRAM_H
#define UTIL_HISTOGRAM_H

#include <stdint.h>

/* Values below 16 have a bucket each, all others 16 in each of 60 powers of two. */
#define HISTOGRAM_BUCKETS (16u + 60u * 16u)

struct histogram {
	uint64_t count;
	uint64_t sum;
	uint64_t max;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

static inline uint32_t histogram_bucket(uint64_t value)
{
	unsigned power;

	if (value < 16)
		return (uint32_t)value;
	power = 63 - (unsigned)__builtin_clzll(value);
	return (power - 3) * 16 + (uint32_t)(value >> (power - 4) & 15);
}

static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram->count++;
	histogram->sum += value;
	if (value > histogram->max)
		histogram->max = value;
	histogram->buckets[histogram_bucket(value)]++;
}

/* The least value that a bucket holds. */
uint64_t histogram_start(uint32_t bucket);

/*
 * A value that at least `per_mille` of all are not above: the largest that its bucket holds, or
 * that was there. 0 if there were none.
 */
uint64_t histogram_quantile(const struct histogram *histogram, uint32_t per_mille);

#endif /* UTIL_HISTOGRAM_H */
