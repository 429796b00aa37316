/* SPDX-License-Identifier: Apache-2.0 */
/* Exports with allocations failing, one or all from a point on, at each point in turn. */
#include <errno.h>

#include "check.h"
#include "failing_alloc.h"
#include "known.h"
#include "view/export.h"
#include "view/naming.h"

#define REQUESTS 5u
#define POINTS_MOST 100000u

static const char *path;

/* Returns whether an allocation failed. */
static bool write_one(const struct export_format *format, unsigned left, unsigned most)
{
	struct reader *reader = NULL;
	struct symbols *symbols = NULL;
	struct export export = {.to = fopen("/dev/null", "w")};
	struct diag diag = {.text = ""};
	int r;

	CHECK_EQ(reader_open(&reader, path, NULL, NULL, NULL), 0);
	CHECK_EQ(naming_new(&symbols, reader, true, NULL), 0);
	export.reader = reader;
	export.symbols = symbols;
	alloc_watch(left, most);
	r = format->write(&export, &diag);
	alloc_watched = false;
	CHECK(r == 0 || r == -ENOMEM);
	CHECK(r == 0 || diag.text[0]);
	CHECK(r == 0 || alloc_failed);
	/* Names may be missing for want of memory, and what tells them apart; not all of it. */
	CHECK(alloc_failed || r == 0);
	fclose(export.to);
	symbols_free(symbols);
	reader_free(reader);
	return alloc_failed;
}

/* At each point in turn. */
static void fail_everywhere(const struct export_format *format, unsigned most)
{
	unsigned left = 0, points = 0;

	while (write_one(format, left, most) && left < POINTS_MOST) {
		left++;
		points++;
	}
	CHECK(points > 20);
}

static void no_format_minds_one_failure(void)
{
	for (size_t i = 0; export_formats[i]; i++)
		fail_everywhere(export_formats[i], 1);
}

static void no_format_minds_failures_for_good(void)
{
	for (size_t i = 0; export_formats[i]; i++)
		fail_everywhere(export_formats[i], UINT32_MAX);
}

int main(void)
{
	path = maker_path();
	known_make(path, REQUESTS);
	RUN(no_format_minds_one_failure);
	RUN(no_format_minds_failures_for_good);
	unlink(path);
	return check_done();
}
