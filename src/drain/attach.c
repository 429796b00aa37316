/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arena/where.h"
#include "util/cleanup.h"

/* What never changes in a control page; the rest of the struct is left alone. */
#define TOLD_BYTES offsetof(struct arena_control, config)

/* What a mapping must have to be walked safely, by a copy of it: it may change under us. */
static int check(struct attachment *attachment, const struct arena_control *control,
		 struct diag *diag)
{
	if (control->magic != ARENA_MAGIC)
		return diag_set(diag, -EBADMSG, "not an arena of unweave");
	if (control->layout != ARENA_LAYOUT || control->lines != ARENA_LINES ||
	    control->pool_at != ARENA_POOL_AT) {
		diag_set(diag, 0, "the program carries another version of libunweave");
		return diag_hint(diag, -EPROTONOSUPPORT,
				 "use the unweave tool that came with that library");
	}
	attachment->clock = (enum arena_clock)control->clock;
	if (attachment->clock < ARENA_CLOCK_TSC || attachment->clock > ARENA_CLOCK_RAW)
		return diag_set(diag, -EBADMSG,
				"the program's arena has a clock that does not exist");
	attachment->pool = (struct arena_chunk *)((char *)attachment->control + ARENA_POOL_AT);
	attachment->chunks_max =
		(uint32_t)((attachment->bytes - ARENA_POOL_AT) / ARENA_CHUNK_BYTES);
	if (attachment->chunks_max > control->chunks_max)
		attachment->chunks_max = control->chunks_max;
	if (attachment->chunks_max > ARENA_CHUNKS_MAX)
		attachment->chunks_max = ARENA_CHUNKS_MAX;
	if (!table_view(&attachment->table, attachment->control, control, attachment->bytes))
		return diag_set(diag, -EBADMSG,
				"the program's arena has a task table that does not fit it");
	attachment->pool_address = control->pool_address;
	attachment->pid = control->pid;
	attachment->pid_namespace = control->pid_namespace;
	attachment->started = control->started;
	return 0;
}

/* The same of one in memory that is ours. */
static int check_memory(struct attachment *attachment, struct diag *diag)
{
	struct arena_control told;

	/* Pairs with the release of `magic` in the program. */
	told.magic = atomic_load_explicit(&attachment->control->magic, memory_order_acquire);
	memcpy((char *)&told + sizeof(told.magic),
	       (const char *)attachment->control + sizeof(told.magic),
	       TOLD_BYTES - sizeof(told.magic));
	return check(attachment, &told, diag);
}

static int map_and_check(struct attachment *attachment, int protection, struct diag *diag)
{
	struct arena_control told;
	struct stat st;
	void *memory;

	if (fstat(attachment->fd, &st) < 0)
		return diag_set(diag, -errno, "%m");
	attachment->device = st.st_dev;
	attachment->inode = st.st_ino;
	attachment->bytes = (uint64_t)st.st_size;
	if (attachment->bytes < ARENA_POOL_AT + ARENA_CHUNK_BYTES ||
	    pread(attachment->fd, &told, TOLD_BYTES, 0) != TOLD_BYTES)
		return diag_set(diag, -EBADMSG, "not an arena of unweave");
	memory = mmap(NULL, attachment->bytes, protection, MAP_SHARED, attachment->fd, 0);
	if (memory == MAP_FAILED)
		return diag_set(diag, -errno, "%m");
	attachment->control = memory;
	return check(attachment, &told, diag);
}

static int attach_file(struct attachment *ret, int fd, const char *path, bool left,
		       struct diag *diag)
{
	struct attachment attachment = {.fd = fd, .directory = -1, .copied = left};
	int r;

	snprintf(attachment.path, sizeof(attachment.path), "%s", path);
	r = map_and_check(&attachment, left ? PROT_READ : PROT_READ | PROT_WRITE, diag);
	if (r < 0 && attachment.control)
		attach_fini(&attachment);
	else if (r < 0)
		close(fd);
	else
		*ret = attachment;
	return r;
}

int attach_fd(struct attachment *ret, int fd, const char *path, struct diag *diag)
{
	return attach_file(ret, fd, path, false, diag);
}

int attach_left(struct attachment *ret, int fd, const char *path, struct diag *diag)
{
	return attach_file(ret, fd, path, true, diag);
}

/* A word of the control page, at `offset`, as it is now; 0 if it is gone. */
static uint32_t read_word(const struct attachment *attachment, size_t offset)
{
	uint32_t word = 0;

	if (attachment->fd < 0)
		return atomic_load_explicit(
			(_Atomic uint32_t *)((char *)attachment->control + offset),
			memory_order_acquire);
	return pread(attachment->fd, &word, sizeof(word), (off_t)offset) == sizeof(word) ? word : 0;
}

uint32_t attach_armed(const struct attachment *attachment)
{
	return read_word(attachment, offsetof(struct arena_control, armed));
}

/* Field 22 of /proc/PID/stat. */
uint64_t attach_started_at(uint32_t pid)
{
	char path[32], line[1024];
	cleanup(close_fd) int fd = -1;
	const char *at;
	ssize_t length;
	bool zombie;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	if (length <= 0)
		return 0;
	line[length] = '\0';
	at = strrchr(line, ')');
	zombie = at && at[1] && (at[2] == 'Z' || at[2] == 'X');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at + 1, ' ');
		/* It has ended, though its parent has not looked yet; or only its first thread has.
		 */
		if (at && field + 1 == 20 && zombie && strtoull(at + 1, NULL, 10) <= 1)
			return 0;
	}
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* A memfd is found among the descriptors of the process, or among its mappings if it closed that.
 */
static int open_memfd_in(const char *directory)
{
	struct dirent *entry;
	DIR *entries = opendir(directory);
	int fd = -ENOENT;

	while (entries && fd < 0 && (entry = readdir(entries))) {
		char path[sizeof(entry->d_name) + 64], target[64] = "";

		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (readlink(path, target, sizeof(target) - 1) < 0 ||
		    strncmp(target, "/memfd:" ARENA_MEMFD_NAME,
			    sizeof("/memfd:" ARENA_MEMFD_NAME) - 1) != 0)
			continue;
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	if (entries)
		closedir(entries);
	return fd;
}

int attach_open_memfd(uint32_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	fd = open_memfd_in(path);
	if (fd != -ENOENT)
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/map_files", pid);
	return open_memfd_in(path);
}

int attach_own(struct attachment *ret, struct arena_control *control, const char *path,
	       struct diag *diag)
{
	struct attachment attachment = {.control = control,
					.bytes = control->bytes,
					.own = true,
					.fd = -1,
					.directory = -1};
	struct stat st;
	int r;

	snprintf(attachment.path, sizeof(attachment.path), "%s", path);
	if (path[0]) {
		attachment.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (attachment.fd < 0)
			return diag_set(diag, -errno, "the arena cannot be opened again: %m");
	} else if (control->place == ARENA_PLACE_MEMFD) {
		/* To be locked against others, who find it there too. */
		attachment.fd = attach_open_memfd((uint32_t)getpid());
	}
	if (attachment.fd >= 0 && fstat(attachment.fd, &st) == 0) {
		attachment.device = st.st_dev;
		attachment.inode = st.st_ino;
	}
	r = check_memory(&attachment, diag);
	if (r < 0)
		attach_fini(&attachment);
	else
		*ret = attachment;
	return r;
}

int attach_copy(struct attachment *ret, void *memory, uint64_t bytes, struct diag *diag)
{
	struct attachment attachment = {
		.control = memory, .bytes = bytes, .copied = true, .fd = -1, .directory = -1};
	int r = bytes < ARENA_POOL_AT + ARENA_CHUNK_BYTES
			? diag_set(diag, -EBADMSG, "not an arena of unweave")
			: check_memory(&attachment, diag);

	if (r < 0)
		attach_fini(&attachment);
	else
		*ret = attachment;
	return r;
}

int attach_lock(struct attachment *attachment, struct diag *diag)
{
	uint32_t other = read_word(attachment, offsetof(struct arena_control, session.pid));

	/* An arena without a file can be reached by its own process only: embed sees to that. */
	if (attachment->fd < 0 || flock(attachment->fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return diag_set(diag, -errno, "the arena cannot be locked: %m");
	diag_set(diag, -EBUSY, "process %u is being recorded already", attachment->pid);
	return other ? diag_hint(diag, -EBUSY, "by process %u", other) : -EBUSY;
}

void attach_unlock(struct attachment *attachment)
{
	if (attachment->fd >= 0)
		flock(attachment->fd, LOCK_UN);
}

void attach_fini(struct attachment *attachment)
{
	struct stat st;

	if (attachment->control && !attachment->own)
		munmap(attachment->control, attachment->bytes);
	/* In the program itself, which may have closed it and have its own file there by now. */
	if (attachment->control && attachment->fd >= 0 && fstat(attachment->fd, &st) == 0 &&
	    st.st_dev == attachment->device && st.st_ino == attachment->inode)
		close(attachment->fd);
	if (attachment->control && attachment->directory >= 0)
		close(attachment->directory);
	*attachment = (struct attachment){.fd = -1, .directory = -1};
}

/*
 * Gives the first `chunks` of the pool memory, so that no store can meet a full
 * tmpfs later. In our own process the pages are mapped too, which saves the
 * threads the faults; a kernel that cannot do that is no obstacle.
 */
static int reserve(struct attachment *attachment, uint32_t chunks)
{
	off_t bytes = (off_t)chunks * ARENA_CHUNK_BYTES;

	if (attachment->fd >= 0 && fallocate(attachment->fd, 0, ARENA_POOL_AT, bytes) < 0)
		return -1;
	if (attachment->own && arena_populate(attachment->pool, (size_t)bytes) < 0 &&
	    errno != EINVAL)
		return -1;
	return 0;
}

int attach_reserve(struct attachment *attachment, uint32_t chunks)
{
	if (chunks > attachment->chunks_max)
		chunks = attachment->chunks_max;
	while (reserve(attachment, chunks) < 0) {
		if (errno == EINTR)
			continue;
		if ((errno != ENOSPC && errno != ENOMEM) || chunks <= 2)
			return -errno;
		/* A small tmpfs: what it has, rather than nothing. */
		chunks /= 2;
	}
	return (int)chunks;
}

int attach_reserve_ring(struct attachment *attachment)
{
	while (attachment->fd >= 0 &&
	       fallocate(attachment->fd, 0, ARENA_RING_AT, ARENA_RING_WORDS * 8) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

bool attach_is_alive(const struct attachment *attachment)
{
	if (attachment->own)
		return true;
	if (attachment->cut || attachment->copied)
		return false;
	if (read_word(attachment, offsetof(struct arena_control, life)) == ARENA_REPLACED)
		return false;
	/* In a chroot without /proc it could not find out itself. */
	if (!attachment->started)
		return kill((pid_t)attachment->pid, 0) == 0 || errno != ESRCH;
	return attach_started_at(attachment->pid) == attachment->started;
}

bool attach_thread_is_alive(const struct attachment *attachment, uint32_t tid)
{
	if (attachment->foreign)
		return true;
	return syscall(SYS_tgkill, attachment->pid, tid, 0) == 0 || errno != ESRCH;
}

void attach_program(const struct attachment *attachment, char ret[256])
{
	char path[32];
	ssize_t length;

	memcpy(ret, attachment->control->program, 256);
	ret[255] = '\0';
	if (ret[0] || attachment->own)
		return;
	snprintf(path, sizeof(path), "/proc/%u/exe", attachment->pid);
	length = readlink(path, ret, 255);
	ret[length > 0 ? length : 0] = '\0';
}

void attach_remove(struct attachment *attachment)
{
	const char *name = strrchr(attachment->path, '/');

	/* What a dead process called its file is no path of ours. */
	if (name && attachment->directory >= 0)
		unlinkat(attachment->directory, name + 1, 0);
	else if (name)
		unlink(attachment->path);
}
