/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/origin.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libelf.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"

/* Nothing here may wait for a pipe or become our terminal. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
#define VDSO_BYTES_MOST (1024u * 1024)

static const char deleted[] = " (deleted)";

static int check_regular(int fd)
{
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

/* A link that leads out of a container must be followed inside of it. */
static int open_in_root(int root, const char *path)
{
	struct open_how how = {.flags = OPEN_FLAGS, .resolve = RESOLVE_IN_ROOT};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root, path + strspn(path, "/"), OPEN_FLAGS | O_NOFOLLOW);
	return fd < 0 ? -errno : (int)fd;
}

int origin_open(uint32_t pid, const char *path)
{
	char root_path[64];
	cleanup(close_fd) int root = -1;
	int fd;

	if (path[0] != '/')
		return -ENOENT;
	if (pid == 0) {
		fd = open(path, OPEN_FLAGS);
		return check_regular(fd < 0 ? -errno : fd);
	}
	snprintf(root_path, sizeof(root_path), "/proc/%" PRIu32 "/root", pid);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	return check_regular(open_in_root(root, path));
}

int origin_open_mapped(uint32_t pid, uint64_t start, uint64_t end)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, start,
		 end);
	fd = open(path, OPEN_FLAGS);
	return check_regular(fd < 0 ? -errno : fd);
}

bool origin_is_deleted(const char *path)
{
	size_t length = strlen(path);

	return length > sizeof(deleted) - 1 &&
	       strcmp(path + length - (sizeof(deleted) - 1), deleted) == 0;
}

/* Of an ELF image in memory: up to the end of what it loads, or of its section headers. */
static size_t image_bytes(const Elf64_Ehdr *header)
{
	const Elf64_Phdr *segment = (const Elf64_Phdr *)((const char *)header + header->e_phoff);
	size_t bytes = header->e_shoff + (size_t)header->e_shentsize * header->e_shnum;

	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_LOAD &&
		    segment[i].p_offset + segment[i].p_filesz > bytes)
			bytes = segment[i].p_offset + segment[i].p_filesz;
	return bytes;
}

int origin_open_vdso(void)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t bytes = header ? image_bytes(header) : 0;
	int fd;

	if (bytes == 0 || bytes > VDSO_BYTES_MOST)
		return -ENOENT;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, header, bytes) != (ssize_t)bytes) {
		close(fd);
		return -EIO;
	}
	return fd;
}

static size_t take_build_id(Elf *elf, uint8_t id[BUILD_ID_MOST])
{
	const void *bits;
	ssize_t bytes = elf ? dwelf_elf_gnu_build_id(elf, &bits) : 0;

	if (bytes <= 0 || bytes > (ssize_t)BUILD_ID_MOST)
		bytes = 0;
	else
		memcpy(id, bits, (size_t)bytes);
	elf_end(elf);
	return (size_t)bytes;
}

size_t origin_build_id(int fd, uint8_t id[BUILD_ID_MOST])
{
	elf_version(EV_CURRENT);
	return take_build_id(elf_begin(fd, ELF_C_READ, NULL), id);
}

size_t origin_build_id_in(char *image, size_t bytes, uint8_t id[BUILD_ID_MOST])
{
	elf_version(EV_CURRENT);
	return take_build_id(elf_memory(image, bytes), id);
}
