/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perf/record.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map.h"

#define MAGIC "PERFILE2"
#define PIPE_HEADER_BYTES 16u
#define FILE_HEADER_BYTES 104u
#define ATTRS_MOST 4096u
#define IDS_MOST (1u << 20)
#define WINDOW_BYTES (1u << 20) /* of the file, at a time */

struct perf_file {
	int fd;
	uint64_t size;
	uint64_t data, end; /* where the records are */
	uint64_t at;        /* the next of them */
	bool piped;
	uint8_t *window;
	uint64_t window_at;
	size_t window_length;
	struct perf_attr *attrs;
	uint32_t attr_count;
	uint32_t attr_capacity;
	struct map by_id;
	uint64_t damaged;
	bool torn;
	struct record_room room;
};

DEFINE_FREEP(struct perf_file, perf_free)

struct perf_file *perf_free(struct perf_file *file)
{
	if (!file)
		return NULL;
	if (file->fd >= 0)
		close(file->fd);
	free(file->window);
	free(file->attrs);
	map_fini(&file->by_id);
	free(file);
	return NULL;
}

static int no_memory(struct diag *diag)
{
	return diag_set(diag, -ENOMEM, "out of memory");
}

/* Fills the window from `offset` on. Returns -EIO. */
static int move_window(struct perf_file *file, uint64_t offset, struct diag *diag)
{
	file->window_at = offset;
	file->window_length = 0;
	while (file->window_length < WINDOW_BYTES) {
		ssize_t got = pread(file->fd, file->window + file->window_length,
				    WINDOW_BYTES - file->window_length,
				    (off_t)(offset + file->window_length));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return diag_set(diag, -EIO, "cannot be read: %s", strerror(errno));
		if (got == 0)
			break;
		file->window_length += (size_t)got;
	}
	return 0;
}

/* The bytes there, at most RECORD_MOST. 0; 1 if the file ends before; -EIO. */
static int look(struct perf_file *file, uint64_t offset, size_t length, const uint8_t **ret,
		struct diag *diag)
{
	if (offset > file->size || length > file->size - offset)
		return 1;
	if (offset < file->window_at || offset - file->window_at + length > file->window_length) {
		int r = move_window(file, offset, diag);

		if (r < 0)
			return r;
		if (length > file->window_length)
			return 1;
	}
	*ret = file->window + (offset - file->window_at);
	return 0;
}

static int add_attr(struct perf_file *file, const uint8_t *from, size_t bytes)
{
	struct perf_attr *attrs;

	if (file->attr_count >= ATTRS_MOST)
		return 0;
	attrs = grow(file->attrs, file->attr_count, &file->attr_capacity, 8, sizeof(*attrs));
	if (!attrs)
		return -ENOMEM;
	file->attrs = attrs;
	if (record_attr(from, bytes, &file->attrs[file->attr_count]))
		file->attr_count++;
	else
		file->damaged++;
	return 0;
}

/* An id that samples of the last attribute have. */
static int add_id(struct perf_file *file, uint64_t id)
{
	if (!file->attr_count || file->by_id.count >= IDS_MOST || map_find(&file->by_id, id))
		return 0;
	return map_put(&file->by_id, id, file->attr_count - 1);
}

static int read_ids(struct perf_file *file, uint64_t offset, uint64_t bytes, struct diag *diag)
{
	for (; bytes >= 8 && file->by_id.count < IDS_MOST; offset += 8, bytes -= 8) {
		const uint8_t *at;
		struct wire wire;
		int r = look(file, offset, 8, &at, diag);

		if (r)
			return r < 0 ? r : 0;
		wire = wire_of(at, 8);
		if (add_id(file, wire_u64(&wire)) < 0)
			return no_memory(diag);
	}
	return 0;
}

/* The attributes of a file: each, then where its ids are. */
static int read_attrs(struct perf_file *file, uint64_t offset, uint64_t bytes, uint64_t each,
		      struct diag *diag)
{
	if (each < 16 || each > RECORD_MOST)
		return diag_set(diag, -EBADMSG, "its header makes no sense");
	for (; bytes >= each && file->attr_count < ATTRS_MOST; offset += each, bytes -= each) {
		const uint8_t *at;
		struct wire wire;
		uint64_t ids;
		int r = look(file, offset, each, &at, diag);

		if (r)
			return r < 0 ? r : diag_set(diag, -EBADMSG, "ends before its data begins");
		if (add_attr(file, at, each - 16) < 0)
			return no_memory(diag);
		wire = wire_of(at + each - 16, 16);
		ids = wire_u64(&wire);
		r = read_ids(file, ids, wire_u64(&wire), diag);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The rest of a header that is not a pipe's. */
static int read_header(struct perf_file *file, struct diag *diag)
{
	const uint8_t *header;
	uint64_t attr_bytes, attrs, attrs_bytes, data_bytes;
	struct wire wire;
	int r = look(file, 0, FILE_HEADER_BYTES, &header, diag);

	if (r)
		return r < 0 ? r : diag_set(diag, -EBADMSG, "ends before its data begins");
	wire = wire_of(header + 16, FILE_HEADER_BYTES - 16);
	attr_bytes = wire_u64(&wire);
	attrs = wire_u64(&wire);
	attrs_bytes = wire_u64(&wire);
	file->data = wire_u64(&wire);
	data_bytes = wire_u64(&wire);
	if (file->data > file->size)
		return diag_set(diag, -EBADMSG, "ends before its data begins");
	/* A perf that was killed has not noted how much there is. */
	file->torn = !data_bytes || data_bytes > file->size - file->data;
	file->end = file->torn ? file->size : file->data + data_bytes;
	return read_attrs(file, attrs, attrs_bytes, attr_bytes, diag);
}

static int open_file(struct perf_file *file, const char *path, struct diag *diag)
{
	const uint8_t *header;
	struct stat st;
	struct wire wire;
	int r;

	file->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0 || fstat(file->fd, &st) < 0)
		return diag_set(diag, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return diag_set(diag, -EINVAL, "not a file");
	file->size = (uint64_t)st.st_size;
	r = look(file, 0, PIPE_HEADER_BYTES, &header, diag);
	if (r < 0)
		return r;
	if (r || memcmp(header, MAGIC, 8) != 0) {
		diag_set(diag, 0, "not a perf.data");
		return diag_hint(diag, -EBADMSG, "'perf record -k CLOCK_MONOTONIC_RAW' makes one");
	}
	wire = wire_of(header + 8, 8);
	file->piped = wire_u64(&wire) == PIPE_HEADER_BYTES;
	file->data = PIPE_HEADER_BYTES;
	file->end = file->size;
	return file->piped ? 0 : read_header(file, diag);
}

int perf_open(struct perf_file **ret, const char *path, struct diag *diag)
{
	cleanup(perf_freep) struct perf_file *file = calloc(1, sizeof(*file));
	int r;

	if (!file)
		return no_memory(diag);
	file->fd = -1;
	file->window = malloc(WINDOW_BYTES);
	if (!file->window || map_init(&file->by_id, UINT32_MAX) < 0)
		return no_memory(diag);
	r = open_file(file, path, diag);
	if (r < 0)
		return r;
	file->at = file->data;
	*ret = take(file);
	return 0;
}

void perf_rewind(struct perf_file *file)
{
	file->at = file->data;
	file->damaged = 0;
	if (file->piped) {
		file->attr_count = 0;
		map_clear(&file->by_id);
	}
}

/* The attribute that a sample is of; 0, the first, where all are alike. */
static uint32_t attr_of(const struct perf_file *file, struct wire from)
{
	int place = record_id_place(&file->attrs[0]);
	uint32_t *found;

	if (place < 0 || file->attr_count == 1)
		return 0;
	wire_bytes(&from, (size_t)place * 8);
	found = map_find(&file->by_id, wire_u64(&from));
	return found ? *found : 0;
}

/* True if it is a record for the caller. */
static bool read_record(struct perf_file *file, const struct record_header *header,
			struct wire from, struct perf_record *ret)
{
	struct wire lost = from;

	switch (header->type) {
	case RECORD_SAMPLE:
		if (file->attr_count) {
			uint32_t attr = attr_of(file, from);

			ret->kind = PERF_SAMPLE;
			if (record_sample(from, header->misc, &file->attrs[attr], &file->room,
					  &ret->sample)) {
				ret->sample.attr = attr;
				return true;
			}
		}
		file->damaged++;
		return false;
	case RECORD_MMAP:
	case RECORD_MMAP2:
		ret->kind = PERF_MAPPING;
		return record_mapping(from, header, &ret->mapping);
	case RECORD_COMM:
		ret->kind = PERF_NAME;
		return record_name(from, &ret->name);
	case RECORD_LOST:
		wire_u64(&lost); /* whose */
				 /* fall through */
	case RECORD_LOST_SAMPLES:
		ret->kind = PERF_LOST;
		ret->lost = wire_u64(&lost);
		return !lost.bad;
	default:
		return false;
	}
}

/* An attribute as a record, where the file was written to a pipe. */
static int read_attr_record(struct perf_file *file, struct wire from)
{
	struct wire size = from;
	size_t left = (size_t)(from.end - from.at), bytes;

	wire_u32(&size);
	bytes = wire_u32(&size);
	if (size.bad || bytes > left) {
		file->damaged++;
		return 0;
	}
	if (add_attr(file, from.at, bytes) < 0)
		return -ENOMEM;
	wire_bytes(&from, bytes);
	while (from.end - from.at >= 8)
		if (add_id(file, wire_u64(&from)) < 0)
			return -ENOMEM;
	return 0;
}

/* Bytes that follow a record without being part of it. */
static uint64_t bytes_behind(const struct record_header *header, struct wire from)
{
	if (header->type == RECORD_AUXTRACE)
		return wire_u64(&from);
	if (header->type == RECORD_HEADER_TRACING_DATA)
		return ((uint64_t)wire_u32(&from) + 7) & ~UINT64_C(7);
	return 0;
}

static int refuse_compressed(struct diag *diag)
{
	diag_set(diag, 0, "its records are compressed, which unweave does not read");
	return diag_hint(diag, -EOPNOTSUPP, "record without -z, or run 'perf inject -i' on it");
}

/* Whole and at least a header; 0, PERF_END or an error. */
static int next_header(struct perf_file *file, struct record_header *ret, struct wire *ret_body,
		       struct diag *diag)
{
	const uint8_t *at;
	struct wire wire;
	uint32_t misc_size;
	int r;

	if (file->end - file->at < RECORD_HEADER_BYTES)
		return PERF_END;
	r = look(file, file->at, RECORD_HEADER_BYTES, &at, diag);
	if (r < 0)
		return r;
	if (r == 0) {
		wire = wire_of(at, RECORD_HEADER_BYTES);
		ret->type = wire_u32(&wire);
		misc_size = wire_u32(&wire);
		ret->misc = (uint16_t)misc_size;
		ret->size = (uint16_t)(misc_size >> 16);
		/* Zeros are what a file system may leave of a tail that was not written. */
		if (ret->size < RECORD_HEADER_BYTES && file->torn)
			return PERF_END;
		if (ret->size < RECORD_HEADER_BYTES)
			return diag_set(diag, -EBADMSG, "not a record at offset %" PRIu64,
					file->at);
		r = look(file, file->at, ret->size, &at, diag);
	}
	if (r < 0)
		return r;
	if (r || ret->size > file->end - file->at) {
		file->torn = true;
		return PERF_END;
	}
	*ret_body = wire_of(at + RECORD_HEADER_BYTES, ret->size - RECORD_HEADER_BYTES);
	return 0;
}

int perf_next(struct perf_file *file, struct perf_record *ret, struct diag *diag)
{
	for (;;) {
		struct record_header header;
		struct wire body;
		uint64_t behind;
		int r = next_header(file, &header, &body, diag);

		if (r)
			return r;
		if (header.type == RECORD_COMPRESSED || header.type == RECORD_COMPRESSED2)
			return refuse_compressed(diag);
		behind = bytes_behind(&header, body);
		file->at += header.size;
		file->at += behind < file->end - file->at ? behind : file->end - file->at;
		if (header.type == RECORD_HEADER_ATTR && file->piped) {
			if (read_attr_record(file, body) < 0)
				return no_memory(diag);
		} else if (read_record(file, &header, body, ret)) {
			return 0;
		}
	}
}

uint32_t perf_attr_count(const struct perf_file *file)
{
	return file->attr_count;
}

const struct perf_attr *perf_attr(const struct perf_file *file, uint32_t index)
{
	return index < file->attr_count ? &file->attrs[index] : NULL;
}

uint64_t perf_damaged(const struct perf_file *file)
{
	return file->damaged;
}

bool perf_torn(const struct perf_file *file)
{
	return file->torn;
}
