/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into the tool: as soon as it has mapped an arena, the arena is cut to as many bytes as
 * UNWEAVE_TEST_CUT says. A program could do that at any moment; this is the first one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void cut_if_arena(int fd)
{
	const char *length = getenv("UNWEAVE_TEST_CUT");
	char link[32], path[512] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (length && readlink(link, path, sizeof(path) - 1) > 0 &&
	    (strstr(path, "/unweave-live-") || strstr(path, "/memfd:unweave")) &&
	    ftruncate(fd, (off_t)strtoull(length, NULL, 10)) < 0)
		_exit(99);
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	long mapped = syscall(SYS_mmap, address, length, protection, flags, fd, offset);

	if (fd >= 0 && flags & MAP_SHARED)
		cut_if_arena(fd);
	return (void *)mapped;
}
