/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at all as a trace, exported to every format: that must end, and
 * must not touch what is not its own. As they are, and with checksums made right.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "repair.h"
#include "view/export.h"
#include "view/naming.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void must(int condition)
{
	if (!condition)
		abort();
}

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

static void export_trace(int fd)
{
	struct reader *reader = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (reader_open(&reader, path, NULL, NULL, NULL) < 0)
		return;
	export_all(reader);
	reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static int fd = -1;
	uint8_t *copy = malloc(length + 1);

	if (fd < 0)
		fd = memfd_create("trace", MFD_CLOEXEC);
	must(copy && fd >= 0);
	must(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, length, 0) == (ssize_t)length);
	export_trace(fd);
	memcpy(copy, bytes, length);
	repair(copy, length);
	must(pwrite(fd, copy, length, 0) == (ssize_t)length);
	export_trace(fd);
	free(copy);
	return 0;
}
