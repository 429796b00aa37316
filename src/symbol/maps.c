/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "symbol/origin.h"
#include "util/cleanup.h"

#define IMAGE_BYTES_MOST (1024u * 1024) /* of a file that is only in memory: the vdso */

/* The line of a mapping, and what was found for the file of the one before. */
struct line {
	uint64_t start, end, offset, inode;
	char device[16];
	const char *path;
};

struct known {
	char *path;
	uint64_t inode;
	char device[16];
	uint8_t id[BUILD_ID_MOST];
	size_t id_bytes;
};

static void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static void free_text(char **text)
{
	free(*text);
}

/* The kernel writes a newline in a path as \012, so a line is a mapping. */
static bool parse_line(char *text, struct line *line, bool *ret_code)
{
	char rights[8];
	int path_at = 0;
	size_t length = strcspn(text, "\n");

	text[length] = '\0';
	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %15s %" SCNu64 " %n",
		   &line->start, &line->end, rights, &line->offset, line->device, &line->inode,
		   &path_at) != 6 ||
	    path_at == 0 || line->start >= line->end)
		return false;
	line->path = text[path_at] ? text + path_at : "[anon]";
	*ret_code = strlen(rights) >= 3 && rights[2] == 'x';
	return true;
}

static size_t build_id_in_memory(uint32_t pid, const struct line *line, uint8_t id[BUILD_ID_MOST])
{
	size_t bytes = line->end - line->start;
	cleanup(free_text) char *image = NULL;
	cleanup(close_fd) int fd = -1;
	char path[64];
	ssize_t got;

	if (line->offset != 0 || bytes > IMAGE_BYTES_MOST)
		return 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	image = malloc(bytes);
	if (fd < 0 || !image)
		return 0;
	got = pread(fd, image, bytes, (off_t)line->start);
	return got > 0 ? origin_build_id_in(image, (size_t)got, id) : 0;
}

/* The path may be ours rather than the program's, as after a chroot(): the same file, then. */
static int open_here(const struct line *line)
{
	unsigned major_number, minor_number;
	struct stat st;
	int fd = origin_open(0, line->path);

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == line->inode &&
	    sscanf(line->device, "%x:%x", &major_number, &minor_number) == 2 &&
	    st.st_dev == makedev(major_number, minor_number))
		return fd;
	close_fd(&fd);
	return -ENOENT;
}

/*
 * The file itself is the surest; it takes rights that few have. Else the one of
 * that name.
 */
static size_t find_build_id(uint32_t pid, const struct line *line, uint8_t id[BUILD_ID_MOST])
{
	cleanup(close_fd) int fd = -1;

	if (strcmp(line->path, "[vdso]") == 0)
		return build_id_in_memory(pid, line, id);
	if (line->inode == 0)
		return 0;
	fd = origin_open_mapped(pid, line->start, line->end);
	if (fd < 0 && !origin_is_deleted(line->path))
		fd = origin_open(pid, line->path);
	if (fd < 0)
		fd = open_here(line);
	return fd >= 0 ? origin_build_id(fd, id) : 0;
}

static bool is_known(const struct known *known, const struct line *line)
{
	return known->path && line->inode != 0 && known->inode == line->inode &&
	       strcmp(known->device, line->device) == 0 && strcmp(known->path, line->path) == 0;
}

static int learn(struct known *known, uint32_t pid, const struct line *line)
{
	free(known->path);
	known->path = strdup(line->path);
	if (!known->path)
		return -ENOMEM;
	known->inode = line->inode;
	memcpy(known->device, line->device, sizeof(known->device));
	known->id_bytes = find_build_id(pid, line, known->id);
	return 0;
}

static int visit_line(uint32_t pid, const struct line *line, struct known *known, maps_visit visit,
		      void *data)
{
	struct symbol_module module = {
		.start = line->start, .end = line->end, .offset = line->offset, .path = line->path};

	if (!is_known(known, line)) {
		int r = learn(known, pid, line);

		if (r < 0)
			return r;
	}
	module.build_id = known->id_bytes ? known->id : NULL;
	module.build_id_bytes = known->id_bytes;
	return visit(data, &module);
}

static int visit_file(FILE *file, uint32_t pid, maps_visit visit, void *data)
{
	cleanup(free_text) char *text = NULL;
	struct known known = {0};
	size_t capacity = 0;
	int r = 0;

	while (r == 0 && getline(&text, &capacity, file) > 0) {
		struct line line;
		bool code;

		if (parse_line(text, &line, &code) && code)
			r = visit_line(pid, &line, &known, visit, data);
	}
	if (r == 0 && ferror(file))
		r = -EIO;
	free(known.path);
	return r;
}

int maps_each(uint32_t pid, maps_visit visit, void *data)
{
	char name[64];
	cleanup(close_file) FILE *file = NULL;

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/maps", pid);
	file = fopen(name, "re");
	return file ? visit_file(file, pid, visit, data) : -errno;
}

int maps_each_in(const char *lines, size_t bytes, uint32_t pid, maps_visit visit, void *data)
{
	cleanup(close_file) FILE *file = NULL;

	if (!bytes)
		return 0;
	file = fmemopen((char *)lines, bytes, "r");
	return file ? visit_file(file, pid, visit, data) : -errno;
}
