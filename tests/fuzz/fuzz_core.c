/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at all as a core file: what is read from it must end, must not read
 * outside of it, and what is found must be one that a snapshot can be taken of.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/core.h"
#include "fuzz.h"
#include "snapshot/remains.h"
#include "snapshot/snapshot.h"

#define READS_MOST 64u

static void read_around(struct core *core)
{
	char some[64];

	for (uint32_t i = 0; i < core->segment_count && i < READS_MOST; i++) {
		const struct core_segment *segment = &core->segments[i];

		must(segment->start <= segment->end && segment->end <= segment->last);
		must(!i || core->segments[i - 1].last <= segment->start);
		must(segment->end == segment->start ||
		     segment->offset + (segment->end - segment->start) <= core->bytes);
		core_read(core, segment->start, some, sizeof(some));
		core_read(core, segment->end - sizeof(some) / 2, some, sizeof(some));
		core_has(core, segment->start, segment->last - segment->start);
		core_mapping_at(core, segment->start);
	}
	for (uint32_t i = 0; i < core->mapping_count; i++)
		must(strlen(core->mappings[i].path) < core->bytes);
}

static void take_snapshot(struct core *core)
{
	struct attachment attachment;
	struct snapshot snapshot;

	if (remains_attach(&attachment, core, NULL) < 0)
		return;
	remains_are_whole(&attachment, core);
	must(snapshot_take(&snapshot, &attachment) == 0);
	must(snapshot.ended);
	snapshot_fini(&snapshot);
	attach_fini(&attachment);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	int fd = memfd_create("core", MFD_CLOEXEC);
	struct core *core = NULL;
	struct diag diag;

	must(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
	if (core_open(&core, fd, &diag) < 0)
		return 0;
	read_around(core);
	take_snapshot(core);
	core_free(core);
	return 0;
}
