/* SPDX-License-Identifier: Apache-2.0 */
#include "drain/find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arena/where.h"
#include "util/cleanup.h"

/* Where to look, and for what. */
struct search {
	uint32_t container; /* a process of the container to look in; 0: not in one */
	uint32_t uid;       /* whose directory, as the program numbers them */
	uint32_t pid;       /* as the program is called there */
	uint64_t started;   /* 0: any */
};

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* Reads a small file of a process, ended by a NUL; false if that cannot be. */
static bool read_proc(uint32_t pid, const char *file, char *to, size_t size)
{
	char path[64];
	cleanup(close_fd) int fd = -1;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, to, size - 1);
	to[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/* The last of its numbers, one for each namespace that it is in. */
static uint32_t inner_pid(uint32_t pid)
{
	char status[4096];
	const char *numbers;
	uint32_t inner = pid;
	char *end;

	if (!read_proc(pid, "status", status, sizeof(status)))
		return pid;
	numbers = strstr(status, "\nNSpid:");
	for (numbers = numbers ? numbers + 7 : ""; *numbers == '\t'; numbers = end)
		inner = (uint32_t)strtoul(numbers + 1, &end, 10);
	return inner;
}

/* What a process in a user namespace takes `uid` for. */
static uint32_t inner_uid(uint32_t pid, uint32_t uid)
{
	char map[4096];
	uint32_t inside, outside, count;
	int used;

	if (!read_proc(pid, "uid_map", map, sizeof(map)))
		return uid;
	for (const char *line = map; sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNu32 "%n", &inside,
					    &outside, &count, &used) == 3;
	     line += used)
		if (uid >= outside && uid - outside < count)
			return uid - outside + inside;
	return uid;
}

/* Links in a container are its own: they do not lead out of it. */
static int open_inside(uint32_t pid, const char *path)
{
	char name[64];
	cleanup(close_fd) int root = -1;
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	long fd;

	snprintf(name, sizeof(name), "/proc/%u/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

static void directory_of(const struct search *search, char *to, size_t size)
{
	const char *base = getenv(ARENA_BASE_VARIABLE);

	snprintf(to, size, "%s/" ARENA_DIRECTORY_PREFIX "%u", base ? base : ARENA_BASE,
		 search->uid);
}

static int open_directory(const struct search *search, const char *path)
{
	int fd;

	if (search->container)
		return open_inside(search->container, path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_arena(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* Whether the arena is of an image that exec has replaced. */
static bool is_replaced(int directory, const char *name)
{
	cleanup(close_fd) int fd = open_arena(directory, name);
	uint32_t life = ARENA_LIVING;

	return fd >= 0 &&
	       pread(fd, &life, sizeof(life), offsetof(struct arena_control, life)) ==
		       sizeof(life) &&
	       life == ARENA_REPLACED;
}

static DIR *list(int directory)
{
	int fd = fcntl(directory, F_DUPFD_CLOEXEC, 0);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries && fd >= 0)
		close(fd);
	return entries;
}

/*
 * The present image of the process: the only one of PID-STARTED-N that was not
 * replaced. Of a process that is no more, what comes last by name.
 */
static bool choose(const struct search *search, int directory, char best[64])
{
	cleanup(close_directory) DIR *entries = list(directory);
	struct dirent *entry;
	char prefix[64];

	if (search->started)
		snprintf(prefix, sizeof(prefix), "%u-%" PRIu64 "-", search->pid, search->started);
	else
		snprintf(prefix, sizeof(prefix), "%u-", search->pid);
	best[0] = '\0';
	while (entries && (entry = readdir(entries)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    strcmp(entry->d_name, best) > 0 && strlen(entry->d_name) < 64 &&
		    !is_replaced(directory, entry->d_name))
			strcpy(best, entry->d_name);
	return best[0] != '\0';
}

/* Maps the file `fd`, which is `name` in `directory`, both of which it takes over. */
static int attach_file(struct attachment *ret, int fd, int directory, const char *folder,
		       const char *name, struct diag *diag)
{
	char path[sizeof(ret->path)];
	int r;

	snprintf(path, sizeof(path), "%.180s/%.64s", folder, name);
	r = attach_fd(ret, fd, path, diag);
	if (r < 0)
		close(directory);
	else
		ret->directory = directory;
	return r;
}

static int search_file(struct attachment *ret, const struct search *search, struct diag *diag)
{
	char folder[200], name[64];
	int directory, fd;

	directory_of(search, folder, sizeof(folder));
	directory = open_directory(search, folder);
	if (directory < 0)
		return directory;
	fd = choose(search, directory, name) ? open_arena(directory, name) : -ENOENT;
	if (fd >= 0)
		return attach_file(ret, fd, directory, folder, name, diag);
	close(directory);
	return fd;
}

static uint64_t namespace_of(const char *process)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", process);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* A child of fork() has what is left of its parent's among its own; and others share names. */
static bool is_its_own(struct attachment *attachment, uint32_t pid)
{
	uint64_t namespace = attachment->pid_namespace;
	char process[16];

	snprintf(process, sizeof(process), "%u", pid);
	/* In a chroot without /proc it could not find out itself. */
	if (!namespace)
	namespace = namespace_of(process);
	attachment->foreign = namespace != namespace_of("self");
	if (!attachment->foreign)
		return attachment->pid == pid;
	return attachment->pid == inner_pid(pid) && namespace == namespace_of(process);
}

static void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

/* Calls `is_it` for each line of the mappings, until one is; `unknown` if they may not be seen. */
static bool any_mapping(uint32_t pid, bool (*is_it)(const void *data, const char *line),
			const void *data, bool unknown)
{
	char path[32], line[512];
	cleanup(close_file) FILE *maps = NULL;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return unknown;
	while (fgets(line, sizeof(line), maps))
		if (is_it(data, line))
			return true;
	return false;
}

static bool is_memfd(const void *data, const char *line)
{
	(void)data;
	return strstr(line, "/memfd:" ARENA_MEMFD_NAME) != NULL;
}

static bool is_file(const void *data, const char *line)
{
	const struct attachment *attachment = data;
	uint64_t inode;

	return sscanf(line, "%*s %*s %*s %*s %" SCNu64, &inode) == 1 && inode == attachment->inode;
}

bool find_is_mapped(const struct attachment *attachment)
{
	return any_mapping(attachment->pid, is_file, attachment, true);
}

static int search_memfd(struct attachment *ret, uint32_t pid, struct diag *diag)
{
	/* Of a thousand processes few have one, and some have a thousand descriptors. */
	int fd = any_mapping(pid, is_memfd, NULL, false) ? attach_open_memfd(pid) : -ENOENT;

	return fd < 0 ? fd : attach_fd(ret, fd, "", diag);
}

/* In the order in which they are likely; -EACCES anywhere is remembered. */
static int search_all(struct attachment *ret, uint32_t pid, const struct stat *st,
		      struct diag *diag)
{
	struct search own = {.uid = st->st_uid, .pid = pid, .started = attach_started_at(pid)};
	struct search contained = {.container = pid,
				   .uid = inner_uid(pid, st->st_uid),
				   .pid = inner_pid(pid),
				   .started = own.started};
	struct search dropped = {.uid = geteuid(), .pid = pid, .started = own.started};
	int r = search_file(ret, &own, diag);
	int other;

	if (r == -ENOENT || r == -EACCES) {
		other = search_file(ret, &contained, diag);
		r = other == -ENOENT || other == -EACCES ? r : other;
	}
	if (r < 0 && st->st_uid != geteuid()) {
		other = search_file(ret, &dropped, diag);
		r = other == -ENOENT || other == -EACCES ? r : other;
	}
	if (r < 0) {
		other = search_memfd(ret, pid, diag);
		r = other == -ENOENT ? r : other;
	}
	return r;
}

/* `st`: of the process in /proc; NULL if it is no more. */
static int say_why_not(uint32_t pid, const struct stat *st, int error, struct diag *diag)
{
	if (!st)
		return diag_set(diag, -ESRCH, "there is no process %u, and it left nothing", pid);
	if (error == -EACCES || error == -EPERM ||
	    (geteuid() != 0 && st->st_uid != geteuid() && error == -ENOENT)) {
		diag_set(diag, 0, "process %u belongs to another user", pid);
		return diag_hint(diag, -EACCES, "run unweave as that user, or as root");
	}
	diag_set(
		diag, 0,
		"process %u says nothing of its tasks: it carries no libunweave, or called no hook",
		pid);
	return diag_hint(diag, -ENOENT,
			 "link it with libunweave; if it uses libuv, libevent or GLib, start it by "
			 "`unweave record -- COMMAND`, or with an adapter: see unweave-record(1)");
}

/* What a process left that is no more: in our own directory and, for root, in anybody's. */
static int search_left(struct attachment *ret, uint32_t pid, struct diag *diag)
{
	const char *base = getenv(ARENA_BASE_VARIABLE);
	cleanup(close_directory) DIR *entries = NULL;
	struct search left = {.uid = geteuid(), .pid = pid};
	struct dirent *entry;
	int r = search_file(ret, &left, diag);

	if (r != -ENOENT || geteuid() != 0)
		return r;
	entries = opendir(base ? base : ARENA_BASE);
	while (r == -ENOENT && entries && (entry = readdir(entries)))
		if (sscanf(entry->d_name, ARENA_DIRECTORY_PREFIX "%" SCNu32, &left.uid) == 1)
			r = search_file(ret, &left, diag);
	return r;
}

int find_pid(struct attachment *ret, uint32_t pid, struct diag *diag)
{
	struct attachment attachment;
	char proc[32];
	struct stat st;
	bool exists;
	int r;

	snprintf(proc, sizeof(proc), "/proc/%u", pid);
	exists = stat(proc, &st) == 0;
	r = exists ? search_all(&attachment, pid, &st, diag) : search_left(&attachment, pid, diag);
	if (r == -ENOENT || r == -EACCES || r == -EPERM)
		return say_why_not(pid, exists ? &st : NULL, r, diag);
	if (r < 0)
		return r;
	if (!is_its_own(&attachment, pid)) {
		attach_fini(&attachment);
		return say_why_not(pid, exists ? &st : NULL, -ENOENT, diag);
	}
	attachment.pid = pid;
	*ret = attachment;
	return 0;
}

static bool is_armed_for(int fd, uint32_t recorder)
{
	uint64_t magic = 0;
	uint32_t armed = 0;

	return pread(fd, &magic, sizeof(magic), offsetof(struct arena_control, magic)) ==
		       sizeof(magic) &&
	       magic == ARENA_MAGIC &&
	       pread(fd, &armed, sizeof(armed), offsetof(struct arena_control, armed)) ==
		       sizeof(armed) &&
	       armed == recorder;
}

/* Locks it, and takes the order off: what is left says only that somebody comes. */
static int claim(struct attachment *attachment)
{
	const uint32_t claimed = 1;
	int r = attach_lock(attachment, NULL);

	if (r == 0 && pwrite(attachment->fd, &claimed, sizeof(claimed),
			     offsetof(struct arena_control, armed)) < 0)
		r = -errno;
	if (r < 0)
		attach_fini(attachment);
	return r;
}

int find_armed(struct attachment *ret, uint32_t recorder, uint32_t pid)
{
	struct search search = {.uid = geteuid()};
	cleanup(close_directory) DIR *entries = NULL;
	cleanup(close_fd) int directory = -1;
	struct dirent *entry;
	char folder[200], prefix[16] = "";

	if (pid)
		snprintf(prefix, sizeof(prefix), "%u-", pid);
	directory_of(&search, folder, sizeof(folder));
	directory = open_directory(&search, folder);
	entries = directory < 0 ? NULL : list(directory);
	while (entries && (entry = readdir(entries))) {
		int fd = entry->d_name[0] == '.' ||
					 strncmp(entry->d_name, prefix, strlen(prefix)) != 0
				 ? -1
				 : open_arena(directory, entry->d_name);
		int kept = fd >= 0 && is_armed_for(fd, recorder)
				   ? fcntl(directory, F_DUPFD_CLOEXEC, 0)
				   : -1;

		if (kept < 0) {
			if (fd >= 0)
				close(fd);
			continue;
		}
		if (attach_file(ret, fd, kept, folder, entry->d_name, NULL) == 0 && claim(ret) == 0)
			return 0;
	}
	return -ENOENT;
}

int find_begun(struct attachment *ret, uint32_t recorder, uint32_t pid, uint32_t uid)
{
	struct search left = {.uid = uid, .pid = pid};
	struct attachment attachment;
	char proc[32];
	int r;

	snprintf(proc, sizeof(proc), "/proc/%u", pid);
	if (access(proc, F_OK) == 0) {
		r = find_pid(&attachment, pid, NULL);
		/* It says so shortly before its arena is whole. */
		if (r < 0)
			return r == -ENOENT || r == -EBADMSG ? -EAGAIN : r;
	} else {
		r = search_file(&attachment, &left, NULL);
		if (r < 0)
			return r;
	}
	if (attach_armed(&attachment) == recorder) {
		*ret = attachment;
		return claim(ret);
	}
	attach_fini(&attachment);
	return -ENOENT;
}

static bool is_abandoned(int directory, const char *name)
{
	cleanup(close_fd) int fd = open_arena(directory, name);
	struct {
		uint64_t namespace;
		uint32_t pid, recorder, armed;
	} owner = {0};

	return fd >= 0 && pread(fd, &owner.pid, 4, offsetof(struct arena_control, pid)) == 4 &&
	       pread(fd, &owner.recorder, 4, offsetof(struct arena_control, session.pid)) == 4 &&
	       pread(fd, &owner.armed, 4, offsetof(struct arena_control, armed)) == 4 &&
	       pread(fd, &owner.namespace, 8, offsetof(struct arena_control, pid_namespace)) == 8 &&
	       owner.pid && !owner.recorder && !owner.armed &&
	       owner.namespace == namespace_of("self") && kill((pid_t)owner.pid, 0) < 0 &&
	       errno == ESRCH;
}

void find_sweep(void)
{
	struct search search = {.uid = geteuid()};
	cleanup(close_directory) DIR *entries = NULL;
	cleanup(close_fd) int directory = -1;
	struct dirent *entry;
	char folder[200];

	directory_of(&search, folder, sizeof(folder));
	directory = open_directory(&search, folder);
	entries = directory < 0 ? NULL : list(directory);
	while (entries && (entry = readdir(entries)))
		if (entry->d_name[0] != '.' && is_abandoned(directory, entry->d_name))
			unlinkat(directory, entry->d_name, 0);
}
