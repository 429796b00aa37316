/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of single records and attributes of a perf.data, as linux/perf_event.h has it. */
#ifndef PERF_RECORD_H
#define PERF_RECORD_H

#include "perf/file.h"
#include "util/wire.h"

#define RECORD_HEADER_BYTES 8u
#define RECORD_MOST 65536u /* bytes: their length is 16 bits */

/* What the kernel writes, and from 64 on what perf adds. */
enum record_type {
	RECORD_MMAP = 1,
	RECORD_LOST = 2,
	RECORD_COMM = 3,
	RECORD_SAMPLE = 9,
	RECORD_MMAP2 = 10,
	RECORD_LOST_SAMPLES = 13,
	RECORD_HEADER_ATTR = 64,
	RECORD_HEADER_TRACING_DATA = 66,
	RECORD_AUXTRACE = 71,
	RECORD_COMPRESSED = 81,
	RECORD_COMPRESSED2 = 83,
};

struct record_header {
	uint32_t type;
	uint16_t misc;
	uint16_t size; /* with the header */
};

/* Room for the parts of a sample that are copied out of it. */
struct record_room {
	uint64_t callchain[RECORD_MOST / 8];
	uint64_t registers[PERF_REGISTERS];
};

/* Reads an attribute of `bytes` bytes; an older, shorter one has zeros where it ends. */
bool record_attr(const uint8_t *from, size_t bytes, struct perf_attr *ret);

/* Where samples of this attribute have their id, in words; < 0: nowhere that can be found. */
int record_id_place(const struct perf_attr *attr);

/* Each reads what is behind the header. False if it is not whole. */
bool record_sample(struct wire from, uint16_t misc, const struct perf_attr *attr,
		   struct record_room *room, struct perf_sample *ret);
/* False also for a mapping that is not code. */
bool record_mapping(struct wire from, const struct record_header *header, struct perf_mapping *ret);
bool record_name(struct wire from, struct perf_name *ret);

#endif /* PERF_RECORD_H */
