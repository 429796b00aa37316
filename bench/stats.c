/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint32_t rng_below(struct rng *rng, uint32_t bound)
{
	return (uint32_t)((rng_next(rng) >> 32) * bound >> 32);
}

void rng_shuffle(struct rng *rng, uint32_t *values, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = rng_below(rng, i);
		uint32_t value = values[i - 1];

		values[i - 1] = values[other];
		values[other] = value;
	}
}

int samples_take(struct samples *ret, uint32_t variants, uint32_t repetitions,
		 samples_measure measure, void *context, struct rng *rng)
{
	struct samples samples = {.variants = variants, .repetitions = repetitions};
	uint32_t order[STATS_VARIANTS_MAX];

	assert(variants <= STATS_VARIANTS_MAX);
	samples.ns = calloc((size_t)variants * repetitions, sizeof(*samples.ns));
	if (!samples.ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < variants; i++)
		order[i] = i;
	for (uint32_t r = 0; r < repetitions; r++) {
		rng_shuffle(rng, order, variants);
		for (uint32_t i = 0; i < variants; i++)
			samples.ns[(size_t)order[i] * repetitions + r] =
				measure(context, order[i], r);
	}
	*ret = samples;
	return 0;
}

void samples_fini(struct samples *samples)
{
	free(samples->ns);
	samples->ns = NULL;
}

static const double *row_of(const struct samples *samples, uint32_t variant)
{
	return samples->ns + (size_t)variant * samples->repetitions;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stats_median(double *values, uint32_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : 0;
}

static double best_of(const double *row, uint32_t from, uint32_t to)
{
	double best = row[from];

	for (uint32_t i = from + 1; i < to; i++)
		if (row[i] < best)
			best = row[i];
	return best;
}

double samples_best(const struct samples *samples, uint32_t variant)
{
	return best_of(row_of(samples, variant), 0, samples->repetitions);
}

double samples_usual_difference(const struct samples *samples, uint32_t variant, uint32_t other,
				uint32_t together)
{
	uint32_t groups = (samples->repetitions + together - 1) / together;
	double *values = calloc(groups, sizeof(*values));
	double usual;

	if (!values)
		return 0;
	for (uint32_t i = 0; i < groups; i++) {
		uint32_t from = i * together, to = from + together;

		if (to > samples->repetitions)
			to = samples->repetitions;
		values[i] = best_of(row_of(samples, variant), from, to) -
			    best_of(row_of(samples, other), from, to);
	}
	usual = stats_median(values, groups);
	free(values);
	return usual;
}

/* `variant` less `other` (NULL: less nothing), sorted; to be freed. */
static double *sorted(const struct samples *samples, const double *row, const double *other)
{
	double *values = calloc(samples->repetitions, sizeof(*values));

	for (uint32_t i = 0; values && i < samples->repetitions; i++)
		values[i] = row[i] - (other ? other[i] : 0);
	if (values)
		qsort(values, samples->repetitions, sizeof(*values), compare);
	return values;
}

static double median_of(const struct samples *samples, const double *row, const double *other)
{
	double *values = sorted(samples, row, other);
	double median = values ? stats_median(values, samples->repetitions) : 0;

	free(values);
	return median;
}

double samples_median(const struct samples *samples, uint32_t variant)
{
	return median_of(samples, row_of(samples, variant), NULL);
}

double samples_difference(const struct samples *samples, uint32_t variant, uint32_t other)
{
	return median_of(samples, row_of(samples, variant), row_of(samples, other));
}

double samples_scatter(const struct samples *samples, uint32_t variant, uint32_t other)
{
	double *values = sorted(samples, row_of(samples, variant), row_of(samples, other));
	uint32_t count = samples->repetitions;
	double scatter = values ? (values[count * 3 / 4] - values[count / 4]) / 2 : 0;

	free(values);
	return scatter;
}
