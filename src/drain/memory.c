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

/* Some of the pieces, in the order of their addresses, and the ranges that cover them. */
struct group {
	const uint8_t *order; /* of the first */
	uint32_t count;
	struct iovec ranges[MEMORY_PIECES];
	uint32_t range_count;
	size_t bytes;
};

/* Adds a piece to the last range, or to a new one; false if it would be too much. */
static bool add(struct group *group, const struct iovec *piece)
{
	struct iovec *last = &group->ranges[group->range_count ? group->range_count - 1 : 0];
	uintptr_t start = (uintptr_t)piece->iov_base, until = start + piece->iov_len;
	uintptr_t end = group->range_count ? (uintptr_t)last->iov_base + last->iov_len : 0;
	bool near = group->range_count && start <= end + GAP_MOST;
	size_t more = !near ? piece->iov_len : until > end ? until - end : 0;

	if (until < start || group->bytes + more > TOGETHER_BYTES)
		return false;
	if (near)
		last->iov_len += more;
	else
		group->ranges[group->range_count++] = *piece;
	group->bytes += more;
	group->count++;
	return true;
}

static bool read_group(uint32_t pid, const struct group *group, const struct iovec *local,
		       const struct iovec *remote)
{
	char block[TOGETHER_BYTES], *from = block;
	const struct iovec all = {block, group->bytes}, *range = group->ranges;

	if (process_vm_readv((pid_t)pid, &all, 1, range, group->range_count, 0) !=
	    (ssize_t)group->bytes)
		return false;
	for (uint32_t i = 0; i < group->count; i++) {
		const struct iovec *piece = &remote[group->order[i]];
		uintptr_t start = (uintptr_t)piece->iov_base;

		for (; start >= (uintptr_t)range->iov_base + range->iov_len; range++)
			from += range->iov_len;
		memcpy(local[group->order[i]].iov_base, from + (start - (uintptr_t)range->iov_base),
		       piece->iov_len);
	}
	return true;
}

/* False if something of it, or between, could not be read. */
static bool read_together(uint32_t pid, const struct iovec *local, const struct iovec *remote,
			  uint32_t count)
{
	uint8_t order[MEMORY_PIECES];
	uint32_t done = 0;

	sort(remote, count, order);
	while (done < count) {
		struct group group = {.order = order + done};

		while (done + group.count < count && add(&group, &remote[group.order[group.count]]))
			;
		if (!group.count || !read_group(pid, &group, local, remote))
			return false;
		done += group.count;
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
