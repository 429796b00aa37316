/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at all as a perf.data: the reader must end, must not read outside of
 * them, and every pointer that it gives must be good.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "perf/file.h"

/* So that nothing that is read can be left out by a compiler. */
static volatile uint64_t sink;

static void check_sample(const struct perf_sample *sample, const struct perf_file *file)
{
	must(perf_attr(file, sample->attr) != NULL);
	for (uint32_t i = 0; i < sample->callchain_count; i++)
		sink += sample->callchain[i];
	for (uint32_t i = 0; sample->registers_mask && i < PERF_REGISTERS; i++)
		sink += sample->registers[i];
	for (uint32_t i = 0; sample->stack && i < sample->stack_bytes; i++)
		sink += sample->stack[i];
}

static void check_record(const struct perf_record *record, const struct perf_file *file)
{
	switch (record->kind) {
	case PERF_SAMPLE:
		check_sample(&record->sample, file);
		break;
	case PERF_MAPPING:
		must(record->mapping.bytes > 0);
		must(record->mapping.start + record->mapping.bytes > record->mapping.start);
		must(record->mapping.build_id_bytes <= 20);
		sink += strlen(record->mapping.path);
		for (size_t i = 0; i < record->mapping.build_id_bytes; i++)
			sink += record->mapping.build_id[i];
		break;
	case PERF_NAME:
		sink += strlen(record->name.name);
		break;
	case PERF_LOST:
		break;
	}
}

static uint64_t read_all(struct perf_file *file, struct diag *diag)
{
	struct perf_record record;
	uint64_t count = 0;
	int r;

	while ((r = perf_next(file, &record, diag)) == 0) {
		check_record(&record, file);
		count++;
	}
	must(r == PERF_END || diag->text[0]);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static int fd = -1;
	struct perf_file *file = NULL;
	struct diag diag = {0};
	uint64_t count;
	char path[64];

	if (fd < 0)
		fd = memfd_create("perf.data", MFD_CLOEXEC);
	must(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, bytes, length, 0) == (ssize_t)length);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (perf_open(&file, path, &diag) < 0) {
		must(diag.text[0]);
		return 0;
	}
	count = read_all(file, &diag);
	perf_rewind(file);
	must(read_all(file, &diag) == count);
	perf_free(file);
	return 0;
}
