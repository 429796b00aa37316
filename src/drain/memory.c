/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/memory.h"

#include <errno.h>
#include <string.h>

static void read_kept(const struct attach_kept *kept, const struct iovec *local,
		      const struct iovec *remote, uint32_t count, bool *ret_there)
{
	for (uint32_t i = 0; i < count; i++)
		ret_there[i] = kept->read(kept->data, (uintptr_t)remote[i].iov_base,
					  local[i].iov_base, local[i].iov_len);
}

/* What lies close together is read as one: a page costs more than what is on it. */
#define TOGETHER_BYTES 16384u
#define GAP_MOST 1024u

/* The pieces in the order of their addresses. Mostly they are already. */
static void sort(const struct iovec *remote, uint32_t count, uint8_t *ret_order)
{
	for (uint32_t i = 0; i < count; i++) {
		uintptr_t address = (uintptr_t)remote[i].iov_base;
		uint32_t at = i;

		for (; at && (uintptr_t)remote[ret_order[at - 1]].iov_base > address; at--)
			ret_order[at] = ret_order[at - 1];
		ret_order[at] = (uint8_t)i;
	}
}

/* Ranges that cover all pieces. Returns how many; 0: they would be too large. */
static uint32_t cover(const struct iovec *remote, uint32_t count, const uint8_t *order,
		      struct iovec *ret_ranges, size_t *ret_bytes)
{
	uint32_t ranges = 0;
	uintptr_t end = 0;
	size_t bytes = 0;

	for (uint32_t i = 0; i < count && bytes <= TOGETHER_BYTES; i++) {
		const struct iovec *piece = &remote[order[i]];
		uintptr_t start = (uintptr_t)piece->iov_base, until = start + piece->iov_len;

		if (until < start)
			return 0;
		if (!ranges || start > end + GAP_MOST) {
			ret_ranges[ranges++] = (struct iovec){piece->iov_base, 0};
			end = start;
		}
		if (until > end) {
			bytes += until - end;
			ret_ranges[ranges - 1].iov_len += until - end;
			end = until;
		}
	}
	*ret_bytes = bytes;
	return bytes <= TOGETHER_BYTES ? ranges : 0;
}

/* False if that saves nothing, or if something between the pieces could not be read. */
static bool read_together(uint32_t pid, const struct iovec *local, const struct iovec *remote,
			  uint32_t count)
{
	uint8_t order[MEMORY_PIECES];
	struct iovec ranges[MEMORY_PIECES], all;
	char block[TOGETHER_BYTES], *from = block;
	uint32_t range_count, range = 0;
	size_t bytes;

	sort(remote, count, order);
	range_count = cover(remote, count, order, ranges, &bytes);
	all = (struct iovec){block, bytes};
	if (!range_count || range_count > count / 2 ||
	    process_vm_readv((pid_t)pid, &all, 1, ranges, range_count, 0) != (ssize_t)bytes)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct iovec *piece = &remote[order[i]];
		uintptr_t start = (uintptr_t)piece->iov_base;

		while (start >= (uintptr_t)ranges[range].iov_base + ranges[range].iov_len)
			from += ranges[range++].iov_len;
		memcpy(local[order[i]].iov_base, from + (start - (uintptr_t)ranges[range].iov_base),
		       piece->iov_len);
	}
	return true;
}

static void read_process(uint32_t pid, const struct iovec *local, const struct iovec *remote,
			 uint32_t count, bool *ret_there, int *error)
{
	uint32_t done = 0;

	while (done < count && !*error) {
		ssize_t got = process_vm_readv((pid_t)pid, local + done, count - done,
					       remote + done, count - done, 0);

		if (got < 0 && errno != EFAULT)
			*error = errno;
		for (; got > 0 && (size_t)got >= local[done].iov_len; done++) {
			got -= (ssize_t)local[done].iov_len;
			ret_there[done] = true;
		}
		/* It ended at one that is not there, or not all of it. */
		if (done < count)
			ret_there[done++] = false;
	}
	while (done < count)
		ret_there[done++] = false;
}

void memory_read_pieces(const struct attachment *attachment, const struct iovec *local,
			const struct iovec *remote, uint32_t count, bool *ret_there, int *error)
{
	if (attachment->kept.read)
		read_kept(&attachment->kept, local, remote, count, ret_there);
	else if (!*error && count <= MEMORY_PIECES &&
		 read_together(attachment->pid, local, remote, count))
		memset(ret_there, true, count * sizeof(*ret_there));
	else
		read_process(attachment->pid, local, remote, count, ret_there, error);
}

bool memory_read(const struct attachment *attachment, void *to, uint64_t address, size_t bytes,
		 int *error)
{
	const struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
	bool there = false;

	memory_read_pieces(attachment, &local, &remote, 1, &there, error);
	return there;
}
