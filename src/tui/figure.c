/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/figure.h"

#include <inttypes.h>
#include <stdio.h>

static const struct figure unknown = {"-"};

/* A number in three digits. */
static struct figure three_digits(double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	struct figure figure;

	snprintf(figure.text, sizeof(figure.text), "%.*f %s", decimals, value, unit);
	return figure;
}

/* Two units that follow each other: 5h 07m. */
static struct figure two_units(uint64_t large, char large_unit, uint64_t small, char small_unit)
{
	struct figure figure;

	snprintf(figure.text, sizeof(figure.text), "%" PRIu64 "%c %02u%c", large, large_unit,
		 (unsigned)small, small_unit);
	return figure;
}

static struct figure long_span(uint64_t s)
{
	struct figure figure;

	if (s < 3600)
		return two_units(s / 60, 'm', s % 60, 's');
	if (s < 86400)
		return two_units(s / 3600, 'h', s % 3600 / 60, 'm');
	if (s < 100 * 86400)
		return two_units(s / 86400, 'd', s % 86400 / 3600, 'h');
	snprintf(figure.text, sizeof(figure.text), "%" PRIu64 "d", s / 86400);
	return figure;
}

struct figure figure_span(uint64_t ns)
{
	struct figure figure;

	if (ns == FIGURE_UNKNOWN)
		return unknown;
	if (ns >= UINT64_C(59950000000))
		return long_span(ns / 1000000000 + (ns % 1000000000 >= 500000000));
	if (ns >= 999500000)
		return three_digits((double)ns / 1e9, "s");
	if (ns >= 999500)
		return three_digits((double)ns / 1e6, "ms");
	if (ns >= 1000)
		return three_digits((double)ns / 1e3, "µs");
	snprintf(figure.text, sizeof(figure.text), "%u ns", (unsigned)ns);
	return figure;
}

struct figure figure_count(uint64_t count)
{
	struct figure figure;

	if (count == FIGURE_UNKNOWN)
		return unknown;
	if (count >= UINT64_C(999500000000))
		return three_digits((double)count / 1e12, "T");
	if (count >= 999500000)
		return three_digits((double)count / 1e9, "G");
	if (count >= 1000000)
		return three_digits((double)count / 1e6, "M");
	if (count >= 1000)
		snprintf(figure.text, sizeof(figure.text), "%u,%03u", (unsigned)(count / 1000),
			 (unsigned)(count % 1000));
	else
		snprintf(figure.text, sizeof(figure.text), "%u", (unsigned)count);
	return figure;
}

struct figure figure_share(uint64_t part, uint64_t whole)
{
	struct figure figure;
	double share;

	if (part == FIGURE_UNKNOWN || whole == FIGURE_UNKNOWN || !whole)
		return unknown;
	share = 100.0 * (double)part / (double)whole;
	if (part && share < 1)
		snprintf(figure.text, sizeof(figure.text), "<1 %%");
	else if (part < whole && share > 99)
		snprintf(figure.text, sizeof(figure.text), "99 %%");
	else
		snprintf(figure.text, sizeof(figure.text), "%.0f %%", share);
	return figure;
}
