/* SPDX-License-Identifier: Apache-2.0 */
#include "view/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct say_number say_count(uint64_t number)
{
	struct say_number result;
	char *at = result.text + sizeof(result.text);
	unsigned digits = 0;

	*--at = 0;
	do {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + number % 10);
		number /= 10;
		digits++;
	} while (number);
	memmove(result.text, at, strlen(at) + 1);
	return result;
}

struct say_number say_duration(uint64_t ns)
{
	struct say_number result;
	uint64_t s = ns / 1000000000;

	if (s >= 3600)
		snprintf(result.text, sizeof(result.text), "%" PRIu64 " h %02u min", s / 3600,
			 (unsigned)(s % 3600 / 60));
	else if (s >= 60)
		snprintf(result.text, sizeof(result.text), "%" PRIu64 " min %02u s", s / 60,
			 (unsigned)(s % 60));
	else if (s)
		snprintf(result.text, sizeof(result.text), "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		snprintf(result.text, sizeof(result.text), "%.3f ms", (double)ns / 1e6);
	else if (ns >= 1000)
		snprintf(result.text, sizeof(result.text), "%.3f us", (double)ns / 1e3);
	else
		snprintf(result.text, sizeof(result.text), "%u ns", (unsigned)ns);
	return result;
}

struct say_number say_bytes(uint64_t bytes)
{
	struct say_number size;

	if (bytes < 10000)
		snprintf(size.text, sizeof(size.text), "%" PRIu64 " B", bytes);
	else if (bytes < 10000000)
		snprintf(size.text, sizeof(size.text), "%.1f kB", (double)bytes / 1e3);
	else
		snprintf(size.text, sizeof(size.text), "%.1f MB", (double)bytes / 1e6);
	return size;
}

/* A number in three digits. */
static void three_digits(struct say_number *to, double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(to->text, sizeof(to->text), "%.*f %s", decimals, value, unit);
}

struct say_number say_span(uint64_t ns)
{
	struct say_number result;

	if (ns < 1000)
		snprintf(result.text, sizeof(result.text), "%u ns", (unsigned)ns);
	else if (ns < 999500)
		three_digits(&result, (double)ns / 1e3, say_utf8() ? "µs" : "us");
	else if (ns < 999500000)
		three_digits(&result, (double)ns / 1e6, "ms");
	else if (ns < UINT64_C(59950000000))
		three_digits(&result, (double)ns / 1e9, "s");
	else
		result = say_duration(ns + 500000000);
	return result;
}

struct say_number say_percent(uint64_t part, uint64_t whole)
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;
	struct say_number result;

	if (!part || !whole)
		snprintf(result.text, sizeof(result.text), "0 %%");
	else if (share < 0.01)
		snprintf(result.text, sizeof(result.text), "<0.01 %%");
	else if (share < 0.995)
		snprintf(result.text, sizeof(result.text), "%.2f %%", share);
	/* Only all is 100 %. */
	else if (share >= 99.95 && part < whole)
		snprintf(result.text, sizeof(result.text), "99.9 %%");
	else
		snprintf(result.text, sizeof(result.text), share >= 99.95 ? "%.0f %%" : "%.1f %%",
			 share);
	return result;
}

bool say_utf8(void)
{
	const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (unsigned i = 0; i < 3; i++) {
		const char *value = getenv(names[i]);

		/* The first that is set counts. */
		if (value && value[0])
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

bool figures_time(const char *text, uint64_t *ret)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"min", 60e9}};
	char *end;
	double number;

	if (text[0] != '.' && (text[0] < '0' || text[0] > '9'))
		return false;
	number = strtod(text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].name) == 0 && number * units[i].ns < 1e18) {
			*ret = (uint64_t)(number * units[i].ns + 0.5);
			return true;
		}
	return false;
}
