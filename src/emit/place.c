/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "arena/table.h"
#include "arena/where.h"
#include "emit/text.h"

/* Arenas of dead programs whose last events nobody fetched: so many are kept. */
#define UNFETCHED_MAX 4
#define MEMFD_LOWEST 100          /* out of the way of programs that count on low numbers */
#define TABLE_RESERVED (1u << 14) /* slots, where all of them must have memory from the start */

_Atomic uint32_t place_chunks_wanted;

/* The file's name and its directory, to take it away again. */
static char file_path[256];

/* Where directories are, if that was said when the process began; empty: see the environment. */
static char remembered[sizeof(((struct place *)NULL)->path) - 64];

/* The memfd, if that is what there is, and what it was opened on. */
static int memfd = -1;
static struct stat memfd_stat;

static bool fail(struct place *place, const char *where, const char *what)
{
	struct text text = text_in(place->note, sizeof(place->note));

	text_put(&text, where);
	text_put(&text, ": ");
	text_put(&text, what);
	return false;
}

static bool fail_errno(struct place *place, const char *where)
{
	return fail(place, where, strerrordesc_np(errno));
}

uint64_t place_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

/* Field 22, after the parenthesis that ends the name, which may hold anything. */
uint64_t place_started(void)
{
	char line[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	const char *at;

	if (fd >= 0)
		close(fd);
	if (length <= 0)
		return 0;
	line[length] = '\0';
	at = strrchr(line, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

void place_program(char *buffer, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", buffer, size - 1);

	buffer[length > 0 ? length : 0] = '\0';
}

/* ftruncate() beyond the limit would be a signal, not an error. */
static bool within_file_limit(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	       bytes <= limit.rlim_cur;
}

static void choose_size(struct place *place)
{
	place->bytes = place_tasks_at(place) + table_all_bytes(place->tasks);
}

/* With a smaller task table, or none; false if there was none already. */
static bool choose_less(struct place *place)
{
	if (!place->tasks)
		return false;
	place->tasks = place->tasks > TABLE_FEW ? TABLE_FEW : 0;
	choose_size(place);
	return true;
}

/* Sizes the file, reserves what is used from the start, and maps all of it. */
static bool map_bytes(struct place *place, int fd, const char *where)
{
	void *memory;

	if (!within_file_limit(place->bytes))
		return fail(place, where, "the limit on file sizes is too low");
	if (ftruncate(fd, (off_t)place->bytes) < 0 || fallocate(fd, 0, 0, ARENA_RING_AT) < 0)
		return fail_errno(place, where);
	memory = mmap(NULL, place->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return fail_errno(place, where);
	place->memory = memory;
	return true;
}

/*
 * The task table gets memory block by block as it grows. A kernel that cannot
 * do that for a mapping gives it to a small table as a whole, through the file.
 */
static void reserve_tasks(struct place *place, int fd)
{
	uint64_t at = place_tasks_at(place);

	if (!place->tasks ||
	    arena_populate((char *)place->memory + at, table_bytes(TABLE_BLOCK)) == 0 ||
	    errno != EINVAL)
		return;
	if (place->tasks > TABLE_RESERVED)
		place->tasks = TABLE_RESERVED;
	place->tasks_reserved =
		fallocate(fd, 0, (off_t)at, (off_t)table_all_bytes(place->tasks)) == 0;
	if (!place->tasks_reserved)
		place->tasks = 0;
}

static bool map_file(struct place *place, int fd, const char *where)
{
	place->tasks = place->tasks_wanted;
	choose_size(place);
	while (!map_bytes(place, fd, where))
		if (!choose_less(place))
			return false;
	place->note[0] = '\0';
	reserve_tasks(place, fd);
	return true;
}

/* Opens BASE/unweave-UID, made if need be: ours alone, on tmpfs, no link. -1 with a note. */
static int open_directory(struct place *place)
{
	const char *base = remembered[0] ? remembered : secure_getenv(ARENA_BASE_VARIABLE);
	struct text path = text_in(place->path, sizeof(place->path));
	struct statfs fs;
	struct stat st;
	int fd;

	text_put(&path, base ? base : ARENA_BASE);
	text_put(&path, "/" ARENA_DIRECTORY_PREFIX);
	text_put_number(&path, geteuid());
	if (mkdir(place->path, 0700) < 0 && errno != EEXIST) {
		fail_errno(place, place->path);
		return -1;
	}
	fd = open(place->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		fail_errno(place, place->path);
		return -1;
	}
	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		fail_errno(place, place->path);
	else if (st.st_uid != geteuid())
		fail(place, place->path, "belongs to another user");
	else if (st.st_mode & 077)
		fail(place, place->path, "others may write or read it");
	else if (fs.f_type != TMPFS_MAGIC)
		fail(place, place->path, "is not on a tmpfs");
	else
		return fd;
	close(fd);
	return -1;
}

/* Tells the recorder of an earlier image of this process that it is gone. */
static void supersede(int directory, const char *name)
{
	uint32_t life = ARENA_REPLACED, recorder = 0, armed = 0;
	int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (pread(fd, &recorder, 4, offsetof(struct arena_control, session.pid)) == 4 &&
	    pread(fd, &armed, 4, offsetof(struct arena_control, armed)) == 4 && !recorder && !armed)
		unlinkat(directory, name, 0);
	else if (pwrite(fd, &life, sizeof(life), offsetof(struct arena_control, life)) < 0)
		unlinkat(directory, name, 0);
	close(fd);
}

static void name_file(char *name, size_t size, uint64_t started, uint64_t image)
{
	struct text text = text_in(name, size);

	text_put_number(&text, (uint64_t)getpid());
	text_put(&text, "-");
	text_put_number(&text, started);
	text_put(&text, "-");
	text_put_number(&text, image);
}

/* Creates PID-STARTED-N for the first N that is not taken, and is the only one in use. */
static int create_file(struct place *place, int directory)
{
	struct text path = {.at = strchr(place->path, '\0'),
			    .end = place->path + sizeof(place->path) - 1};
	uint64_t started = place_started();
	char name[64];
	int fd = -1;

	for (uint64_t image = 0; image < ARENA_IMAGES_MAX; image++) {
		name_file(name, sizeof(name), started, image);
		supersede(directory, name);
	}
	for (uint64_t image = 0; fd < 0 && image < ARENA_IMAGES_MAX; image++) {
		name_file(name, sizeof(name), started, image);
		fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	text_put(&path, "/");
	text_put(&path, name);
	return fd;
}

static bool is_gone(uint32_t pid)
{
	return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/*
 * Whether the file is the arena of a process of our pid namespace that is no more, and that no
 * recorder is about to look at.
 */
static bool is_abandoned(int directory, const char *name, bool *ret_unfetched)
{
	struct {
		uint64_t namespace;
		uint32_t pid, recorder, armed;
	} owner = {0};
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool whole;

	if (fd < 0)
		return false;
	whole = pread(fd, &owner.pid, 4, offsetof(struct arena_control, pid)) == 4 &&
		pread(fd, &owner.recorder, 4, offsetof(struct arena_control, session.pid)) == 4 &&
		pread(fd, &owner.armed, 4, offsetof(struct arena_control, armed)) == 4 &&
		pread(fd, &owner.namespace, 8, offsetof(struct arena_control, pid_namespace)) == 8;
	close(fd);
	*ret_unfetched = owner.recorder || owner.armed;
	return whole && owner.pid > 0 && owner.namespace == place_namespace() &&
	       is_gone(owner.pid) && (owner.armed <= 1 || is_gone(owner.armed));
}

/* A program that crashes again and again must not fill the memory with its remains. */
static void remove_abandoned(int directory)
{
	alignas(struct dirent64) char entries[2048];
	long bytes;
	int kept = 0;

	/* Not readdir(), which allocates: we may be in a signal handler. */
	while ((bytes = syscall(SYS_getdents64, directory, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < bytes;) {
			struct dirent64 *entry = (struct dirent64 *)(entries + at);
			bool unfetched;

			at += entry->d_reclen;
			if (entry->d_name[0] == '.' ||
			    !is_abandoned(directory, entry->d_name, &unfetched))
				continue;
			if (!unfetched || ++kept > UNFETCHED_MAX)
				unlinkat(directory, entry->d_name, 0);
		}
	}
}

static bool find_file(struct place *place)
{
	int directory = open_directory(place);
	int fd;
	bool mapped;

	if (directory < 0)
		return false;
	remove_abandoned(directory);
	fd = create_file(place, directory);
	mapped = fd >= 0 ? map_file(place, fd, place->path) : fail_errno(place, place->path);
	if (fd >= 0 && !mapped)
		unlink(place->path);
	if (fd >= 0)
		close(fd);
	close(directory);
	if (!mapped)
		return false;
	place->kind = ARENA_PLACE_FILE;
	memcpy(file_path, place->path, sizeof(file_path));
	return true;
}

/* The descriptor stays open, for a recorder to open through /proc; the program may close it. */
static bool find_memfd(struct place *place)
{
	struct place attempt = *place;
	int fd = memfd_create(ARENA_MEMFD_NAME, MFD_CLOEXEC);
	int high;

	if (fd < 0)
		return false;
	if (!map_file(&attempt, fd, "memfd")) {
		close(fd);
		return false;
	}
	high = fcntl(fd, F_DUPFD_CLOEXEC, MEMFD_LOWEST);
	if (high >= 0)
		close(fd);
	memfd = high >= 0 ? high : fd;
	fstat(memfd, &memfd_stat);
	memcpy(attempt.note, place->note, sizeof(attempt.note));
	*place = attempt;
	place->kind = ARENA_PLACE_MEMFD;
	return true;
}

static bool find_private(struct place *place)
{
	void *memory;

	place->tasks = place->tasks_wanted;
	choose_size(place);
	while ((memory = mmap(NULL, place->bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) == MAP_FAILED)
		if (!choose_less(place))
			return fail_errno(place, "mmap");
	/* There is no tmpfs that could be full: what the kernel cannot do is not missed. */
	place->tasks_reserved = arena_populate((char *)memory + place_tasks_at(place),
					       table_bytes(place->tasks ? TABLE_BLOCK : 0)) < 0 &&
				errno == EINVAL;
	place->memory = memory;
	place->kind = ARENA_PLACE_PRIVATE;
	return true;
}

/*
 * Most of the arena is room that nobody has used: a core that holds the arena,
 * as that of a program without a tmpfs does, would have all of it, in zeros, for
 * which the kernel would first get memory. Tasks are put back as they come.
 */
static void leave_out_of_cores(const struct place *place)
{
	madvise((char *)place->memory + ARENA_RING_AT, place->bytes - ARENA_RING_AT, MADV_DONTDUMP);
}

static uint32_t chunks_allowed(void)
{
	const char *variable = secure_getenv("UNWEAVE_BUFFER_MAX");
	uint64_t bytes = variable ? strtoull(variable, NULL, 10) : ARENA_POOL_LIMIT;
	uint64_t chunks = bytes / ARENA_CHUNK_BYTES;

	if (chunks < place_chunks_wanted)
		chunks = place_chunks_wanted;
	if (chunks < 2)
		chunks = 2;
	return chunks < ARENA_CHUNKS_MAX ? (uint32_t)chunks : ARENA_CHUNKS_MAX;
}

/* Address space is cheap, but for a program that has a limit on it. */
static uint32_t tasks_allowed(void)
{
	const char *variable = secure_getenv("UNWEAVE_TASKS_MAX");
	uint64_t wanted = variable ? strtoull(variable, NULL, 10) : TABLE_DEFAULT;
	uint32_t tasks = TABLE_LEAST;
	struct rlimit limit;

	if (!variable && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		wanted = TABLE_FEW;
	while (tasks < wanted && tasks < TABLE_MOST)
		tasks *= 2;
	return tasks;
}

void place_remember(void)
{
	const char *base = secure_getenv(ARENA_BASE_VARIABLE);

	if (base && strlen(base) < sizeof(remembered))
		memcpy(remembered, base, strlen(base) + 1);
}

bool place_find(struct place *ret)
{
	bool found;

	memset(ret, 0, sizeof(*ret));
	file_path[0] = '\0';
	if (secure_getenv("UNWEAVE_DISABLE"))
		return fail(ret, "UNWEAVE_DISABLE", "set in the environment");
	ret->chunks = chunks_allowed();
	ret->tasks_wanted = tasks_allowed();
	found = find_file(ret);
	if (!found) {
		ret->path[0] = '\0';
		found = find_memfd(ret) || find_private(ret);
	}
	if (found)
		leave_out_of_cores(ret);
	return found;
}

void place_abandon(struct place *place)
{
	munmap(place->memory, place->bytes);
	if (place->path[0])
		unlink(place->path);
}

const char *place_file(void)
{
	return file_path;
}

void place_forget(void)
{
	struct stat st;

	/* The number may be a file of the program's by now. */
	if (memfd >= 0 && fstat(memfd, &st) == 0 && st.st_dev == memfd_stat.st_dev &&
	    st.st_ino == memfd_stat.st_ino)
		close(memfd);
	memfd = -1;
	file_path[0] = '\0';
}

void place_remove(void)
{
	if (file_path[0])
		unlink(file_path);
	file_path[0] = '\0';
}
