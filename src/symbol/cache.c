/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbol/cachefile.h"
#include "symbol/origin.h"
#include "util/cleanup.h"

#define SUFFIX ".symbols"
#define NEW_SUFFIX ".new"
#define DAY_S (24 * 60 * 60)
#define FILES_MOST 65536u /* in the folder: what is beyond is not looked at */

struct cache {
	char *folder;
	bool wrote; /* there may be too much in it now */
};

static void free_text(char **text)
{
	free(*text);
}

static bool is_set(const char *value)
{
	return value && value[0];
}

/* The usual place of such things; NULL: there is none. */
static char *usual_folder(void)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *folder = NULL;
	int r = -1;

	if (is_set(base) && base[0] == '/')
		r = asprintf(&folder, "%s/unweave", base);
	else if (is_set(home) && home[0] == '/')
		r = asprintf(&folder, "%s/.cache/unweave", home);
	return r < 0 ? NULL : folder;
}

int cache_new(struct cache **ret, const char *folder)
{
	struct cache *cache;
	char *copy = folder ? strdup(folder) : usual_folder();

	if (!copy || !copy[0]) {
		free(copy);
		*ret = NULL;
		return 0;
	}
	cache = calloc(1, sizeof(*cache));
	if (!cache) {
		free(copy);
		return -ENOMEM;
	}
	cache->folder = copy;
	*ret = cache;
	return 0;
}

/* Only our own, and closed to others: what is in there becomes names in reports. */
static bool is_private(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IRWXG | S_IRWXO));
}

static int open_folder(const struct cache *cache)
{
	int fd = open(cache->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && !is_private(fd, S_IFDIR)) {
		close(fd);
		return -EPERM;
	}
	return fd < 0 ? -errno : fd;
}

/* The folder above it may be missing too, in the home of a new user. */
static void make_folder(const struct cache *cache)
{
	char *slash = strrchr(cache->folder, '/');

	if (mkdir(cache->folder, 0700) == 0 || errno != ENOENT || !slash || slash == cache->folder)
		return;
	*slash = '\0';
	mkdir(cache->folder, 0700);
	*slash = '/';
	mkdir(cache->folder, 0700);
}

/* What was found without lines may be found with them now. */
static bool is_outdated(const struct cache_file *file, const struct stat *st)
{
	if (file->has_lines)
		return false;
	return time(NULL) - st->st_mtime > DAY_S || access(file->debug_file, F_OK) == 0 ||
	       (!file->asked_servers && is_set(getenv("DEBUGINFOD_URLS")));
}

static int read_file(struct cache_file *file)
{
	cleanup(close_fd) int folder = open_folder(file->cache);
	cleanup(close_fd) int fd = -1;
	cleanup(free_text) char *text = NULL;
	struct stat st;
	ssize_t got;
	int r;

	if (folder < 0)
		return folder;
	fd = openat(folder, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!is_private(fd, S_IFREG) || fstat(fd, &st) < 0 || st.st_size > CACHE_FILE_MOST)
		return -EPERM;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	got = read(fd, text, (size_t)st.st_size);
	if (got < 0)
		return -errno;
	r = cache_parse(file, text, (size_t)got);
	if (r == 0 && is_outdated(file, &st))
		cachefile_clear(file);
	return r;
}

static void name_file(struct cache_file *file, const uint8_t *build_id, size_t bytes)
{
	char hex[2 * BUILD_ID_MOST + 1];

	for (size_t i = 0; i < bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", build_id[i]);
	snprintf(file->name, sizeof(file->name), "%s" SUFFIX, hex);
	snprintf(file->debug_file, sizeof(file->debug_file),
		 "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
}

int cache_open(struct cache *cache, const uint8_t *build_id, size_t bytes, struct store *store,
	       struct cache_file **ret)
{
	struct cache_file *file;
	int r;

	/* One that is too short says little; it may be that of many. */
	if (bytes < 8 || bytes > BUILD_ID_MOST) {
		*ret = NULL;
		return 0;
	}
	r = cache_file_new(&file, store);
	if (r < 0)
		return r;
	file->cache = cache;
	name_file(file, build_id, bytes);
	if (read_file(file) == -ENOMEM) {
		cache_close(file);
		return -ENOMEM;
	}
	*ret = file;
	return 0;
}

/* A file in the folder, to be removed if there are too many. */
struct old {
	char name[256];
	time_t time;
	off_t bytes;
};

static bool ends_with(const char *name, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);

	return length > end && length < sizeof(((struct old *)NULL)->name) &&
	       strcmp(name + length - end, suffix) == 0;
}

static int compare_age(const void *a, const void *b)
{
	const struct old *left = a, *right = b;

	return left->time < right->time ? -1 : left->time > right->time;
}

/* Lists our files; what a writer that died has left behind goes at once. */
static size_t list_files(int folder, struct old *files, off_t *ret_bytes)
{
	DIR *dir = fdopendir(dup(folder));
	struct dirent *entry;
	size_t count = 0;

	*ret_bytes = 0;
	if (!dir)
		return 0;
	rewinddir(dir);
	while (count < FILES_MOST && (entry = readdir(dir)) != NULL) {
		struct stat st;
		bool is_new = ends_with(entry->d_name, NEW_SUFFIX);

		if ((!is_new && !ends_with(entry->d_name, SUFFIX)) ||
		    fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (is_new && time(NULL) - st.st_mtime > DAY_S)
			unlinkat(folder, entry->d_name, 0);
		if (is_new)
			continue;
		snprintf(files[count].name, sizeof(files[count].name), "%s", entry->d_name);
		files[count].time = st.st_mtime;
		files[count++].bytes = st.st_size;
		*ret_bytes += st.st_size;
	}
	closedir(dir);
	return count;
}

/* Keeps the folder within its bounds. */
static void remove_oldest(int folder)
{
	struct old *files = malloc(FILES_MOST * sizeof(*files));
	off_t bytes;
	size_t count;

	if (!files)
		return;
	count = list_files(folder, files, &bytes);
	if (bytes > CACHE_FOLDER_MOST)
		qsort(files, count, sizeof(*files), compare_age);
	for (size_t i = 0; i < count && bytes > CACHE_FOLDER_MOST; i++)
		if (unlinkat(folder, files[i].name, 0) == 0)
			bytes -= files[i].bytes;
	free(files);
}

/* The new one takes the place of the old at once, so that a reader finds one or the other. */
static void replace_file(const struct cache_file *file, int folder, const struct buffer *text)
{
	char name[sizeof(file->name) + 32];
	ssize_t put;
	int fd;

	snprintf(name, sizeof(name), "%s.%d" NEW_SUFFIX, file->name, (int)getpid());
	unlinkat(folder, name, 0);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	put = write(fd, text->bytes, text->length);
	if (close(fd) < 0 || put != (ssize_t)text->length ||
	    renameat(folder, name, folder, file->name) < 0)
		unlinkat(folder, name, 0);
}

static void save(struct cache_file *file)
{
	struct buffer text = BUFFER_INIT(CACHE_FILE_MOST);
	int folder;

	file->asked_servers = is_set(getenv("DEBUGINFOD_URLS"));
	cachefile_write(file, &text);
	if (!text.bad) {
		make_folder(file->cache);
		folder = open_folder(file->cache);
		if (folder >= 0) {
			replace_file(file, folder, &text);
			file->cache->wrote = true;
			close(folder);
		}
	}
	buffer_fini(&text);
}

struct cache_file *cache_close(struct cache_file *file)
{
	if (!file)
		return NULL;
	if (file->changed && file->cache)
		save(file);
	map_fini(&file->by_offset);
	free(file->entries);
	free(file);
	return NULL;
}

struct cache *cache_free(struct cache *cache)
{
	int folder;

	if (!cache)
		return NULL;
	folder = cache->wrote ? open_folder(cache) : -1;
	if (folder >= 0) {
		remove_oldest(folder);
		close(folder);
	}
	free(cache->folder);
	free(cache);
	return NULL;
}
