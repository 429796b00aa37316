/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/hash.h"

#define HEADER FORMAT_BLOCK_HEADER_BYTES

struct writer {
	int fd;
	dev_t device; /* with `inode`, what `fd` was opened on */
	ino_t inode;
	writer_compress compress;
	void *data;
	struct flight *flight; /* NULL: blocks go to the file at once */
	struct block block;    /* that is prepared */
	uint64_t bytes;
	size_t prepared; /* bytes of `out` that wait to be committed */
	uint8_t out[HEADER + FORMAT_PAYLOAD_MAX + FORMAT_BLOCK_ALIGN];
};

DEFINE_FREEP(struct writer, writer_free)

static int say(struct diag *diag, int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return diag_set(diag, error, "permission denied");
	case -EISDIR:
		return diag_set(diag, error, "is a directory");
	case -ENOENT:
		return diag_set(diag, error, "the directory it would be in does not exist");
	case -ENOTDIR:
		return diag_set(diag, error, "a part of its path is not a directory");
	case -EROFS:
		return diag_set(diag, error, "the file system is read-only");
	case -ENOSPC:
		return diag_set(diag, error, "no space left on the disk");
	case -EDQUOT:
		return diag_set(diag, error, "the disk quota is used up");
	case -EFBIG:
		return diag_set(diag, error, "the file would be larger than is allowed");
	case -EIO:
		return diag_set(diag, error, "the disk failed");
	case -EBADF:
		return diag_set(diag, error, "the program closed the descriptor of the trace");
	}
	errno = -error;
	return diag_set(diag, error, "%m");
}

/*
 * Whether the descriptor is still the trace. A program that closes them all may
 * by now have a file of its own under the same number.
 */
static bool is_ours(const struct writer *writer)
{
	struct stat st;

	return writer->fd >= 0 && fstat(writer->fd, &st) == 0 && st.st_dev == writer->device &&
	       st.st_ino == writer->inode;
}

static int write_all(int fd, const uint8_t *bytes, size_t length, uint64_t offset)
{
	while (length > 0) {
		ssize_t n = pwrite(fd, bytes, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		length -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* At the end of the file, all of it or nothing. */
static int append_bytes(struct writer *writer, const uint8_t *bytes, size_t length,
			struct diag *diag)
{
	int r;

	if (!is_ours(writer))
		return say(diag, -EBADF);
	r = write_all(writer->fd, bytes, length, writer->bytes);
	if (r < 0) {
		/* If this fails too, the next block overwrites the torn one. */
		(void)!ftruncate(writer->fd, (off_t)writer->bytes);
		return say(diag, r);
	}
	writer->bytes += length;
	return 0;
}

/* Opens without waiting for the other end of a pipe, and without a terminal of its own. */
static int open_file(struct writer *writer, const char *path, struct diag *diag)
{
	struct stat st;

	writer->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
	if (writer->fd < 0 && errno == ENXIO)
		return diag_set(diag, -ENXIO, "is not a regular file");
	if (writer->fd < 0 || fstat(writer->fd, &st) < 0)
		return say(diag, -errno);
	writer->device = st.st_dev;
	writer->inode = st.st_ino;
	if (!S_ISREG(st.st_mode))
		return diag_set(diag, -EINVAL, "is not a regular file");
	if (ftruncate(writer->fd, 0) < 0)
		return say(diag, -errno);
	return 0;
}

static void put_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *at, uint32_t value)
{
	put_u16(at, (uint16_t)value);
	put_u16(at + 2, (uint16_t)(value >> 16));
}

static void put_u64(uint8_t *at, uint64_t value)
{
	put_u32(at, (uint32_t)value);
	put_u32(at + 4, (uint32_t)(value >> 32));
}

static struct writer *new_without_file(writer_compress compress, void *data)
{
	struct writer *writer = malloc(sizeof(*writer));

	if (!writer)
		return NULL;
	memset(writer, 0, offsetof(struct writer, out));
	writer->fd = -1;
	writer->compress = compress;
	writer->data = data;
	return writer;
}

/* Opens the file, and begins it. */
static int begin_file(struct writer *writer, const char *path, struct diag *diag)
{
	int r = open_file(writer, path, diag);

	if (r < 0)
		return r;
	memcpy(writer->out, FORMAT_MAGIC, 8);
	put_u32(writer->out + 8, FORMAT_VERSION);
	put_u32(writer->out + 12, FORMAT_FILE_HEADER_BYTES);
	return append_bytes(writer, writer->out, FORMAT_FILE_HEADER_BYTES, diag);
}

int writer_new(struct writer **ret, const char *path, writer_compress compress, void *data,
	       struct diag *diag)
{
	cleanup(writer_freep) struct writer *writer = new_without_file(compress, data);
	int r;

	if (!writer)
		return diag_set(diag, -ENOMEM, "out of memory");
	r = begin_file(writer, path, diag);
	if (r < 0)
		return r;
	*ret = take(writer);
	return 0;
}

int writer_new_flight(struct writer **ret, const struct flight_limits *limits,
		      writer_compress compress, void *data, struct diag *diag)
{
	cleanup(writer_freep) struct writer *writer = new_without_file(compress, data);

	if (!writer || flight_new(&writer->flight, limits) < 0)
		return diag_set(diag, -ENOMEM, "out of memory");
	*ret = take(writer);
	return 0;
}

struct writer *writer_free(struct writer *writer)
{
	if (writer && is_ours(writer)) {
		/* What was kept for more goes back. */
		(void)!ftruncate(writer->fd, (off_t)writer->bytes);
		close(writer->fd);
	}
	if (writer)
		flight_free(writer->flight);
	free(writer);
	return NULL;
}

static void put_header(uint8_t *to, const struct block *block, uint32_t payload_hash)
{
	put_u32(to, FORMAT_BLOCK_MAGIC);
	to[4] = block->kind;
	to[5] = block->codec;
	put_u16(to + 6, block->flags);
	put_u32(to + 8, block->stored);
	put_u32(to + 12, block->raw);
	put_u64(to + 16, block->first);
	put_u64(to + 24, block->last);
	put_u64(to + 32, block->number);
	put_u64(to + 40, block->events);
	put_u32(to + 48, block->thread);
	put_u32(to + 52, payload_hash);
	put_u32(to + 56, 0);
	put_u32(to + 60, (uint32_t)hash_xxh64(to, 60, 0));
}

int writer_prepare(struct writer *writer, const struct block *block, const uint8_t *payload)
{
	uint8_t *stored = writer->out + HEADER;
	struct block header = *block;
	size_t end;

	if (block->raw > FORMAT_PAYLOAD_MAX)
		return -EMSGSIZE;

	header.codec = BLOCK_PLAIN;
	header.stored = header.raw;
	if (writer->compress && header.raw > 1) {
		size_t n =
			writer->compress(writer->data, stored, header.raw - 1, payload, header.raw);

		if (n > 0 && n < header.raw) {
			header.codec = BLOCK_ZSTD;
			header.stored = (uint32_t)n;
		}
	}
	if (header.codec == BLOCK_PLAIN && header.raw > 0)
		memcpy(stored, payload, header.raw);

	end = HEADER + (size_t)header.stored;
	writer->prepared = (end + FORMAT_BLOCK_ALIGN - 1) / FORMAT_BLOCK_ALIGN * FORMAT_BLOCK_ALIGN;
	memset(writer->out + end, 0, writer->prepared - end);
	put_header(writer->out, &header, (uint32_t)hash_xxh64(stored, header.stored, 0));
	writer->block = header;
	return 0;
}

int writer_commit(struct writer *writer, struct diag *diag)
{
	size_t length = writer->prepared;
	int r;

	writer->prepared = 0;
	if (!writer->flight)
		return append_bytes(writer, writer->out, length, diag);
	r = flight_add(writer->flight, &writer->block, writer->out, length);
	if (r < 0)
		return say(diag, r);
	writer->bytes += length;
	return 0;
}

static int save_block(void *data, const uint8_t *bytes, size_t length)
{
	return append_bytes(data, bytes, length, NULL);
}

int writer_save(struct writer *writer, const char *path, struct diag *diag)
{
	int r;

	writer->bytes = 0;
	r = begin_file(writer, path, diag);
	if (r >= 0)
		r = flight_each(writer->flight, save_block, writer);
	if (writer->fd >= 0)
		close(writer->fd);
	writer->fd = -1;
	return r < 0 ? say(diag, r) : 0;
}

struct flight_totals writer_kept(const struct writer *writer)
{
	return writer->flight ? flight_totals(writer->flight) : (struct flight_totals){0};
}

/* Keeps room on the disk for what is prepared and so many bytes after it. */
static int keep_room(const struct writer *writer, uint64_t bytes)
{
	struct rlimit limit;

	bytes += writer->prepared;
	/* Not every file system looks at the limit, nor knows how to reserve. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && writer->bytes + bytes > limit.rlim_cur)
		return -EFBIG;
	if (fallocate(writer->fd, FALLOC_FL_KEEP_SIZE, (off_t)writer->bytes, (off_t)bytes) < 0 &&
	    (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
		return -errno;
	return 0;
}

int writer_reserve(struct writer *writer, uint64_t most, uint64_t least)
{
	int r;

	if (writer->flight)
		return 0;
	r = is_ours(writer) ? keep_room(writer, most) : -EBADF;
	if (r < 0 && r != -EBADF && least < most)
		r = keep_room(writer, least);
	if (r < 0)
		writer->prepared = 0;
	return r;
}

int writer_put(struct writer *writer, const struct block *block, const uint8_t *payload,
	       struct diag *diag)
{
	int r = writer_prepare(writer, block, payload);

	if (r < 0)
		return say(diag, r);
	return writer_commit(writer, diag);
}

uint64_t writer_bytes(const struct writer *writer)
{
	return writer->bytes;
}

uint64_t writer_file_bytes(const struct writer *writer)
{
	return writer->flight ? flight_bytes(writer->flight) : writer->bytes;
}

uint64_t writer_bytes_after(const struct writer *writer)
{
	return writer->bytes + writer->prepared;
}
