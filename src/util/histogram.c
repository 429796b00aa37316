/* SPDX-License-Identifier: Apache-2.0 */
#include "util/histogram.h"

uint64_t histogram_start(uint32_t bucket)
{
	unsigned power = bucket / 16 + 3;

	return bucket < 16 ? bucket : (UINT64_C(16) + bucket % 16) << (power - 4);
}

/* How many of `count` are `per_mille` of them, rounded up; without an overflow. */
static uint64_t share(uint64_t count, uint32_t per_mille)
{
	return count / 1000 * per_mille + (count % 1000 * per_mille + 999) / 1000;
}

uint64_t histogram_quantile(const struct histogram *histogram, uint32_t per_mille)
{
	uint64_t wanted = share(histogram->count, per_mille < 1000 ? per_mille : 1000), seen = 0;

	for (uint32_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		uint64_t last = histogram_start(i + 1) - 1;

		seen += histogram->buckets[i];
		if (seen && seen >= wanted)
			return last < histogram->max ? last : histogram->max;
	}
	return histogram->max;
}
