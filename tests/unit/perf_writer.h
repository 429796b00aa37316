/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes perf.data as perf does, from the kernel's own header; shares no code
 * with what reads it.
 */
#ifndef TESTS_PERF_WRITER_H
#define TESTS_PERF_WRITER_H

#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PERF_WRITER_BYTES (4u << 20)

struct perf_writer {
	uint8_t *bytes;
	size_t length;
	size_t data;   /* where the records begin */
	size_t record; /* the one that is being written */
	bool piped;
};

static inline void perf_put(struct perf_writer *writer, const void *bytes, size_t length)
{
	if (writer->length + length > PERF_WRITER_BYTES) {
		printf("Bail out! the test's file is too large\n");
		exit(1);
	}
	memcpy(writer->bytes + writer->length, bytes, length);
	writer->length += length;
}

static inline void perf_put_u64(struct perf_writer *writer, uint64_t value)
{
	perf_put(writer, &value, sizeof(value));
}

static inline void perf_put_u32(struct perf_writer *writer, uint32_t value)
{
	perf_put(writer, &value, sizeof(value));
}

/* Text with its NUL, up to a multiple of eight bytes. */
static inline void perf_put_text(struct perf_writer *writer, const char *text)
{
	static const char zeros[8];

	perf_put(writer, text, strlen(text) + 1);
	perf_put(writer, zeros, -(strlen(text) + 1) & 7);
}

static inline void perf_begin(struct perf_writer *writer, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};

	writer->record = writer->length;
	perf_put(writer, &header, sizeof(header));
}

static inline void perf_end(struct perf_writer *writer)
{
	struct perf_event_header header;

	memcpy(&header, writer->bytes + writer->record, sizeof(header));
	header.size = (uint16_t)(writer->length - writer->record);
	memcpy(writer->bytes + writer->record, &header, sizeof(header));
}

/* As `perf record -e cpu-clock -F 1000 -k CLOCK_MONOTONIC_RAW` has it. */
static inline struct perf_event_attr perf_usual_attr(uint64_t more)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = 1000,
		.freq = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_PERIOD | more,
	};
}

/* A file with these events; the id of each is 100 and up. */
static inline void perf_start(struct perf_writer *writer, const struct perf_event_attr *attrs,
			      unsigned count)
{
	size_t each = attrs[0].size + 16;
	uint64_t ids = 104 + count * each;

	writer->bytes = calloc(1, PERF_WRITER_BYTES);
	writer->length = 0;
	writer->piped = false;
	perf_put(writer, "PERFILE2", 8);
	perf_put_u64(writer, 104);
	perf_put_u64(writer, each);
	perf_put_u64(writer, 104);
	perf_put_u64(writer, count * each);
	writer->data = ids + count * 8;
	perf_put_u64(writer, writer->data);
	perf_put_u64(writer, 0); /* by perf_finish() */
	writer->length = 104;
	for (unsigned i = 0; i < count; i++) {
		perf_put(writer, &attrs[i], attrs[0].size);
		perf_put_u64(writer, ids + i * 8);
		perf_put_u64(writer, 8);
	}
	for (unsigned i = 0; i < count; i++)
		perf_put_u64(writer, 100 + i);
}

/* The same, as it goes to a pipe. */
static inline void perf_start_pipe(struct perf_writer *writer, const struct perf_event_attr *attrs,
				   unsigned count)
{
	writer->bytes = calloc(1, PERF_WRITER_BYTES);
	writer->length = 0;
	writer->piped = true;
	perf_put(writer, "PERFILE2", 8);
	perf_put_u64(writer, 16);
	writer->data = 16;
	for (unsigned i = 0; i < count; i++) {
		perf_begin(writer, 64, 0);
		perf_put(writer, &attrs[i], attrs[i].size);
		perf_put_u64(writer, 100 + i);
		perf_end(writer);
	}
}

static inline void perf_save(const struct perf_writer *writer, const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(writer->bytes, 1, writer->length, file) != writer->length ||
	    fclose(file) != 0) {
		printf("Bail out! %s cannot be written\n", path);
		exit(1);
	}
}

/* Notes how much there is, and writes the file. */
static inline void perf_finish(struct perf_writer *writer, const char *path)
{
	uint64_t bytes = writer->length - writer->data;

	if (!writer->piped)
		memcpy(writer->bytes + 48, &bytes, sizeof(bytes));
	perf_save(writer, path);
	free(writer->bytes);
	writer->bytes = NULL;
}

/* What perf_usual_attr() has, without what `more` adds behind it. */
static inline void perf_put_usual(struct perf_writer *writer, uint64_t ip, uint32_t pid,
				  uint32_t tid, uint64_t time)
{
	perf_put_u64(writer, ip);
	perf_put_u32(writer, pid);
	perf_put_u32(writer, tid);
	perf_put_u64(writer, time);
	perf_put_u64(writer, 1000000); /* period */
}

/* A sample with a callchain, ended by 0: pc and return addresses of the program. */
static inline void perf_sample_chain(struct perf_writer *writer, uint32_t pid, uint32_t tid,
				     uint64_t time, const uint64_t *chain)
{
	uint64_t count = 0;

	while (chain[count])
		count++;
	perf_begin(writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_usual(writer, chain[0], pid, tid, time);
	perf_put_u64(writer, count + 1);
	perf_put_u64(writer, PERF_CONTEXT_USER);
	perf_put(writer, chain, count * 8);
	perf_end(writer);
}

static inline void perf_mapping(struct perf_writer *writer, uint32_t pid, uint64_t start,
				uint64_t bytes, uint32_t protection, const char *path)
{
	perf_begin(writer, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	perf_put_u32(writer, pid);
	perf_put_u32(writer, pid);
	perf_put_u64(writer, start);
	perf_put_u64(writer, bytes);
	perf_put_u64(writer, 0x1000); /* offset */
	perf_put_u64(writer, 0);      /* device */
	perf_put_u64(writer, 77);     /* inode */
	perf_put_u64(writer, 0);
	perf_put_u32(writer, protection);
	perf_put_u32(writer, MAP_PRIVATE);
	perf_put_text(writer, path);
	perf_end(writer);
}

static inline void perf_name(struct perf_writer *writer, uint32_t pid, uint32_t tid,
			     const char *name)
{
	perf_begin(writer, PERF_RECORD_COMM, 0);
	perf_put_u32(writer, pid);
	perf_put_u32(writer, tid);
	perf_put_text(writer, name);
	perf_end(writer);
}

#endif /* TESTS_PERF_WRITER_H */
