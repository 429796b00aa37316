/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/memory.h"

#include <errno.h>

static void read_kept(const struct attach_kept *kept, const struct iovec *local,
		      const struct iovec *remote, uint32_t count, bool *ret_there)
{
	for (uint32_t i = 0; i < count; i++)
		ret_there[i] = kept->read(kept->data, (uintptr_t)remote[i].iov_base,
					  local[i].iov_base, local[i].iov_len);
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
