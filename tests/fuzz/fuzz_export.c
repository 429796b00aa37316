/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at all as a trace, exported to every format: that must end, and
 * must not touch what is not its own. As they are, and with checksums made right.
 */
#include <errno.h>
#include <stdio.h>

#include "trace_file.h"
#include "view/export.h"
#include "view/naming.h"

static void export_all(struct reader *reader)
{
	struct symbols *symbols = NULL;
	FILE *to = fopen("/dev/null", "w");

	must(to && naming_new(&symbols, reader, true, NULL) == 0);
	for (size_t i = 0; export_formats[i]; i++) {
		struct export export = {.reader = reader, .symbols = symbols, .to = to};
		int r = export_formats[i]->write(&export, NULL);

		must(r == 0 || r == -EIO || r == -ENOMEM);
	}
	fclose(to);
	symbols_free(symbols);
}

static void export_trace(const char *path)
{
	struct reader *reader = NULL;

	if (reader_open(&reader, path, NULL, NULL, NULL) < 0)
		return;
	export_all(reader);
	reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	export_trace(trace_file(bytes, length));
	export_trace(trace_file_repaired(bytes, length));
	return 0;
}
