/* SPDX-License-Identifier: Apache-2.0 */
#include "util/histogram.h"

#include <stdlib.h>

#include "check.h"

static struct histogram histogram;

static void buckets_meet_and_hold_what_they_begin_with(void)
{
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t start = histogram_start(i);

		CHECK_EQ(histogram_bucket(start), i);
		if (i)
			CHECK_EQ(histogram_bucket(start - 1), i - 1);
	}
	CHECK_EQ(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static int by_value(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

	return one < two ? -1 : one > two;
}

static void quantiles_are_those_of_the_sorted_values(void)
{
	static uint64_t values[5000];
	uint64_t seed = 1, sum = 0;

	histogram = (struct histogram){0};
	for (uint32_t i = 0; i < 5000; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		values[i] = seed >> 20 >> (seed & 31);
		sum += values[i];
		histogram_add(&histogram, values[i]);
	}
	qsort(values, 5000, sizeof(values[0]), by_value);
	CHECK_EQ(histogram.count, 5000);
	CHECK_EQ(histogram.sum, sum);
	CHECK_EQ(histogram.max, values[4999]);
	for (uint32_t per_mille = 1; per_mille <= 1000; per_mille++) {
		uint64_t exact = values[(5000 * per_mille + 999) / 1000 - 1];
		uint64_t found = histogram_quantile(&histogram, per_mille);

		CHECK(found >= exact);
		CHECK(found <= exact + exact / 16);
	}
	CHECK_EQ(histogram_quantile(&histogram, 1000), values[4999]);
}

static void few_values_have_quantiles_too(void)
{
	histogram = (struct histogram){0};
	CHECK_EQ(histogram_quantile(&histogram, 500), 0);
	histogram_add(&histogram, 1000);
	CHECK_EQ(histogram_quantile(&histogram, 0), 1000);
	CHECK_EQ(histogram_quantile(&histogram, 500), 1000);
	CHECK_EQ(histogram_quantile(&histogram, 2000), 1000);
	histogram_add(&histogram, UINT64_MAX);
	CHECK_EQ(histogram_quantile(&histogram, 1000), UINT64_MAX);
}

int main(void)
{
	RUN(buckets_meet_and_hold_what_they_begin_with);
	RUN(quantiles_are_those_of_the_sorted_values);
	RUN(few_values_have_quantiles_too);
	return check_done();
}
