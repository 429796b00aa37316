/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/hash.h"
#include "util/wire.h"

#define WINDOW_BYTES (64u << 10)
/* Headers of large blocks are far apart, those of small ones share a page. */
#define WINDOW_STEP 4096u

/* Reads up to `length` bytes; less only at the end of the file. Returns -EIO and the like. */
static ssize_t read_at(const struct blocks *blocks, uint64_t offset, void *to, size_t length,
		       struct diag *diag)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = pread(blocks->fd, (uint8_t *)to + done, length - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return diag_set(diag, -errno, "reading at offset %" PRIu64 ": %s",
					offset + done, strerror(errno));
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/*
 * Borrows the bytes at `offset` until the next call. Returns how many there
 * are: at least `wanted` unless the file ends, or -EIO.
 */
static ssize_t look_at(struct blocks *blocks, uint64_t offset, size_t wanted, const uint8_t **ret,
		       struct diag *diag)
{
	uint64_t skip = offset - blocks->window_at;

	if (offset < blocks->window_at || skip > blocks->window_length ||
	    blocks->window_length - skip < wanted) {
		size_t length = wanted > WINDOW_STEP ? wanted : WINDOW_STEP;
		ssize_t n;

		blocks->window_length = 0;
		n = read_at(blocks, offset, blocks->window, length, diag);
		if (n < 0)
			return n;
		blocks->window_at = offset;
		blocks->window_length = (size_t)n;
		skip = 0;
	}
	*ret = blocks->window + skip;
	return (ssize_t)(blocks->window_length - skip);
}

/* Decodes the header in `bytes` if it is one: -EBADMSG. */
static int header_decode(const uint8_t *bytes, struct block *ret, uint32_t *ret_hash)
{
	struct wire wire = wire_of(bytes, FORMAT_BLOCK_HEADER_BYTES);
	uint32_t magic = wire_u32(&wire);
	uint32_t kinds, hash;

	if (magic != FORMAT_BLOCK_MAGIC)
		return -EBADMSG;
	hash = (uint32_t)hash_xxh64(bytes, FORMAT_BLOCK_HEADER_BYTES - 4, 0);
	kinds = wire_u32(&wire);
	ret->kind = (uint8_t)kinds;
	ret->codec = (uint8_t)(kinds >> 8);
	ret->flags = (uint16_t)(kinds >> 16);
	ret->stored = wire_u32(&wire);
	ret->raw = wire_u32(&wire);
	ret->first = wire_u64(&wire);
	ret->last = wire_u64(&wire);
	ret->number = wire_u64(&wire);
	ret->events = wire_u64(&wire);
	ret->thread = wire_u32(&wire);
	*ret_hash = wire_u32(&wire);
	wire_u32(&wire); /* reserved */
	return wire_u32(&wire) == hash ? 0 : -EBADMSG;
}

int blocks_header(struct blocks *blocks, uint64_t offset, struct block *ret, struct diag *diag)
{
	const uint8_t *bytes;
	uint32_t hash;
	ssize_t n;

	n = look_at(blocks, offset, FORMAT_BLOCK_HEADER_BYTES, &bytes, diag);
	if (n < 0)
		return (int)n;
	return n < FORMAT_BLOCK_HEADER_BYTES ? -EBADMSG : header_decode(bytes, ret, &hash);
}

/* Bytes from one block's start to the next one's. */
static uint64_t block_bytes(const struct block *block)
{
	uint64_t bytes = FORMAT_BLOCK_HEADER_BYTES + (uint64_t)block->stored;

	return (bytes + FORMAT_BLOCK_ALIGN - 1) & ~(uint64_t)(FORMAT_BLOCK_ALIGN - 1);
}

/* Moves `at` to the next header that is good, or to the end. -EIO. */
static int resync(struct blocks *blocks, struct diag *diag)
{
	uint64_t start = blocks->at;
	uint64_t at = (start + FORMAT_BLOCK_ALIGN) & ~(uint64_t)(FORMAT_BLOCK_ALIGN - 1);

	for (;;) {
		const uint8_t *bytes;
		struct block block;
		uint32_t hash;
		ssize_t n, i;

		n = look_at(blocks, at, FORMAT_BLOCK_HEADER_BYTES, &bytes, diag);
		if (n >= FORMAT_BLOCK_HEADER_BYTES && n <= WINDOW_STEP)
			n = look_at(blocks, at, WINDOW_BYTES, &bytes, diag);
		if (n < 0)
			return (int)n;
		if (n < FORMAT_BLOCK_HEADER_BYTES)
			break;
		for (i = 0; i + FORMAT_BLOCK_HEADER_BYTES <= n; i += FORMAT_BLOCK_ALIGN)
			if (header_decode(bytes + i, &block, &hash) == 0) {
				blocks->at = at + (uint64_t)i;
				faults_add(blocks->faults, start,
					   "%" PRIu64 " bytes are no block, and are skipped",
					   blocks->at - start);
				return 0;
			}
		at += (uint64_t)i;
	}
	blocks->at = blocks->size;
	faults_add(blocks->faults, start, "the last %" PRIu64 " bytes are no block",
		   blocks->size - start);
	return 0;
}

/* A block that the file does not hold to its end: the last. */
static int cut_short(struct blocks *blocks, uint64_t wanted)
{
	faults_add(blocks->faults, blocks->at,
		   "the last block is cut short: %" PRIu64 " bytes of at least %" PRIu64,
		   blocks->size - blocks->at, wanted);
	blocks->at = blocks->size;
	return BLOCKS_END;
}

int blocks_next(struct blocks *blocks, struct block *ret, uint64_t *ret_offset, struct diag *diag)
{
	while (blocks->at < blocks->size) {
		uint64_t left = blocks->size - blocks->at;
		struct block block;
		int r;

		if (left < FORMAT_BLOCK_HEADER_BYTES)
			return cut_short(blocks, FORMAT_BLOCK_HEADER_BYTES);
		r = blocks_header(blocks, blocks->at, &block, diag);
		if (r == -EBADMSG)
			r = resync(blocks, diag);
		else if (r == 0 && left < FORMAT_BLOCK_HEADER_BYTES + (uint64_t)block.stored)
			return cut_short(blocks,
					 FORMAT_BLOCK_HEADER_BYTES + (uint64_t)block.stored);
		else if (r == 0)
			break;
		if (r < 0)
			return r;
	}
	if (blocks->at >= blocks->size)
		return BLOCKS_END;
	blocks_header(blocks, blocks->at, ret, NULL);
	*ret_offset = blocks->at;
	blocks->at += block_bytes(ret);
	if (blocks->at > blocks->size)
		faults_add(blocks->faults, blocks->size,
			   "the file is cut short in the padding of its last block");
	return 0;
}

bool blocks_readable(struct blocks *blocks, uint64_t offset, const struct block *block)
{
	const char *what = NULL;

	if (block->codec > BLOCK_ZSTD)
		what = "the block is compressed in a way that this build does not know";
	else if (block->raw > FORMAT_PAYLOAD_MAX)
		what = "the block claims to be larger than a block can be";
	else if (block->codec == BLOCK_PLAIN ? block->stored != block->raw
					     : block->stored > FORMAT_PAYLOAD_MAX)
		what = "the block's two sizes contradict each other";
	if (what)
		faults_add(blocks->faults, offset, "%s", what);
	return !what;
}

/* Reads the block, header and all, into `stored`. */
static int read_stored(struct blocks *blocks, uint64_t offset, const struct block *block,
		       struct diag *diag)
{
	size_t length = FORMAT_BLOCK_HEADER_BYTES + (size_t)block->stored;
	struct block again;
	uint32_t hash;
	ssize_t n;

	if (length > blocks->stored_capacity) {
		uint8_t *stored = realloc(blocks->stored, length);

		if (!stored)
			return -ENOMEM;
		blocks->stored = stored;
		blocks->stored_capacity = length;
	}
	n = read_at(blocks, offset, blocks->stored, length, diag);
	if (n < 0)
		return (int)n;
	if ((size_t)n < length || header_decode(blocks->stored, &again, &hash) < 0 ||
	    again.stored != block->stored || again.raw != block->raw) {
		faults_add(blocks->faults, offset, "the file changed while it was read");
		return -EBADMSG;
	}
	if ((uint32_t)hash_xxh64(blocks->stored + FORMAT_BLOCK_HEADER_BYTES, block->stored, 0) !=
	    hash) {
		faults_add(blocks->faults, offset, "the block's checksum is wrong");
		return -EBADMSG;
	}
	return 0;
}

int blocks_payload(struct blocks *blocks, uint64_t offset, const struct block *block, uint8_t *to,
		   struct diag *diag)
{
	int r;

	r = read_stored(blocks, offset, block, diag);
	if (r < 0)
		return r;
	if (block->codec == BLOCK_PLAIN) {
		memcpy(to, blocks->stored + FORMAT_BLOCK_HEADER_BYTES, block->raw);
		return 0;
	}
	if (!blocks->decompressor && decompressor_new(&blocks->decompressor) < 0)
		return -ENOMEM;
	r = decompressor_run(blocks->decompressor, to, block->raw,
			     blocks->stored + FORMAT_BLOCK_HEADER_BYTES, block->stored);
	if (r < 0)
		faults_add(blocks->faults, offset, "the block cannot be decompressed");
	return r;
}

static int cannot_open(int error, struct diag *diag)
{
	diag_set(diag, error, "%s", strerror(-error));
	if (error == -ENOENT)
		diag_hint(diag, error, "'unweave record' or UNWEAVE_TRACE=FILE makes one");
	if (error == -EACCES)
		diag_hint(diag, error, "a trace is private to the user who recorded it");
	return error;
}

static int open_file(const char *path, uint64_t *ret_size, struct diag *diag)
{
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int kept;

	if (fd < 0 || fstat(fd, &st) < 0)
		return cannot_open(-errno, diag);
	if (S_ISDIR(st.st_mode)) {
		diag_set(diag, -EISDIR, "is a directory");
		return diag_hint(diag, -EISDIR, "name a trace file in it");
	}
	if (!S_ISREG(st.st_mode)) {
		diag_set(diag, -EBADMSG, "is not a regular file");
		return diag_hint(diag, -EBADMSG, "write it to a file first");
	}
	if (st.st_size == 0) {
		diag_set(diag, -EBADMSG, "the file is empty");
		return diag_hint(diag, -EBADMSG, "nothing was recorded, or the disk was full");
	}
	*ret_size = (uint64_t)st.st_size;
	kept = fd;
	fd = -1;
	return kept;
}

static bool block_at(struct blocks *blocks, uint64_t offset)
{
	struct block block;

	return blocks_header(blocks, offset, &block, NULL) == 0;
}

static int not_a_trace(const uint8_t *bytes, struct diag *diag)
{
	if (memcmp(bytes, FORMAT_MAGIC, 4) == 0) {
		diag_set(diag, -EBADMSG, "the trace was changed by a copy in text mode");
		return diag_hint(diag, -EBADMSG, "copy it again, as a binary file");
	}
	diag_set(diag, -EBADMSG, "not a trace file");
	return diag_hint(diag, -EBADMSG, "'unweave record' or UNWEAVE_TRACE=FILE makes one");
}

/*
 * Finds where the blocks begin. A header with a flipped bit is forgiven if a
 * block follows it, so that it does not cost the whole file.
 */
static int check_file_header(struct blocks *blocks, struct diag *diag)
{
	uint8_t bytes[FORMAT_FILE_HEADER_BYTES] = {0};
	struct wire wire = wire_of(bytes, sizeof(bytes));
	uint32_t version, start;
	bool damaged;
	ssize_t n;

	n = read_at(blocks, 0, bytes, sizeof(bytes), diag);
	if (n < 0)
		return (int)n;
	if (n < (ssize_t)sizeof(bytes)) {
		if (memcmp(bytes, FORMAT_MAGIC, n < 8 ? (size_t)n : 8) == 0)
			return diag_set(diag, -EBADMSG, "the file ends within its header");
		return not_a_trace((const uint8_t *)"none", diag);
	}
	damaged = memcmp(wire_bytes(&wire, 8), FORMAT_MAGIC, 8) != 0;
	version = wire_u32(&wire);
	start = wire_u32(&wire);
	if (!damaged && version > FORMAT_VERSION) {
		diag_set(diag, -EPROTONOSUPPORT,
			 "written in format %" PRIu32 ", this build reads up to %u", version,
			 FORMAT_VERSION);
		return diag_hint(diag, -EPROTONOSUPPORT,
				 "a newer unweave is needed, or record again with this one");
	}
	damaged = damaged || version != FORMAT_VERSION || start < FORMAT_FILE_HEADER_BYTES ||
		  start % FORMAT_BLOCK_ALIGN != 0 ||
		  (!block_at(blocks, start) && block_at(blocks, FORMAT_FILE_HEADER_BYTES));
	if (damaged && !block_at(blocks, FORMAT_FILE_HEADER_BYTES))
		return not_a_trace(bytes, diag);
	if (damaged)
		faults_add(blocks->faults, 0, "the file's header is damaged");
	blocks->at = damaged ? FORMAT_FILE_HEADER_BYTES : start;
	return 0;
}

int blocks_open(struct blocks *ret, const char *path, struct faults *faults, struct diag *diag)
{
	cleanup(blocks_fini) struct blocks blocks = {.fd = -1, .faults = faults};
	int r;

	blocks.fd = open_file(path, &blocks.size, diag);
	if (blocks.fd < 0)
		return blocks.fd;
	blocks.window = malloc(WINDOW_BYTES);
	if (!blocks.window)
		return diag_set(diag, -ENOMEM, "out of memory");
	r = check_file_header(&blocks, diag);
	if (r < 0)
		return r;
	*ret = blocks;
	blocks = (struct blocks){.fd = -1};
	return 0;
}

void blocks_fini(struct blocks *blocks)
{
	close_fd(&blocks->fd);
	free(blocks->window);
	free(blocks->stored);
	decompressor_free(blocks->decompressor);
	*blocks = (struct blocks){.fd = -1};
}
