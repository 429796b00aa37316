/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/perfmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbol/origin.h"
#include "util/cleanup.h"

#define BYTES_MOST (256u * 1024 * 1024)
#define OVERLAPS_MOST 64u /* functions that may lie over each other, as code is made anew */

void perfmap_init(struct perfmap *perfmap, uint32_t pid)
{
	*perfmap = (struct perfmap){.pid = pid};
}

void perfmap_fini(struct perfmap *perfmap)
{
	free(perfmap->text);
	free(perfmap->entries);
	*perfmap = (struct perfmap){.pid = perfmap->pid, .read_at = perfmap->read_at};
}

/* The number that the program itself knows: the last one of the line NSpid. */
static uint32_t inner_pid(uint32_t pid)
{
	char path[64], line[256];
	uint32_t inner = pid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	file = fopen(path, "re");
	if (!file)
		return pid;
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "NSpid:", 6) == 0) {
			const char *last = strrchr(line, '\t');

			if (last)
				inner = (uint32_t)strtoul(last, NULL, 10);
			break;
		}
	fclose(file);
	return inner;
}

/* /tmp is everybody's: the file must be that of the program's user, or root's. */
static bool is_trusted(uint32_t pid, int fd)
{
	struct stat file, process;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	if (fstat(fd, &file) < 0 || stat(path, &process) < 0)
		return false;
	return (file.st_uid == process.st_uid || file.st_uid == 0) && !(file.st_mode & S_IWOTH);
}

static int parse_hex(const char **at, const char *end, uint64_t *ret)
{
	uint64_t value = 0;
	unsigned digits = 0;

	if (end - *at > 2 && (*at)[0] == '0' && (*at)[1] == 'x')
		*at += 2;
	for (; *at < end; ++*at, digits++) {
		char c = **at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			value = value << 4 | (uint64_t)(c - 'A' + 10);
		else
			break;
	}
	*ret = value;
	return digits > 0 && digits <= 16 && *at < end && *(*at)++ == ' ' ? 0 : -EBADMSG;
}

static int compare(const void *a, const void *b)
{
	const struct perfmap_entry *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

static void parse_line(struct perfmap *perfmap, char *line, char *end)
{
	const char *at = line;
	uint64_t start, size;

	*end = '\0';
	if (parse_hex(&at, end, &start) < 0 || parse_hex(&at, end, &size) < 0 || at == end ||
	    size == 0 || size > UINT64_MAX - start)
		return;
	perfmap->entries[perfmap->count] =
		(struct perfmap_entry){.start = start,
				       .end = start + size,
				       .order = perfmap->count,
				       .name = (uint32_t)(at - perfmap->text)};
	perfmap->count++;
}

int perfmap_parse(struct perfmap *perfmap, char *text, size_t bytes)
{
	size_t lines = 0;

	perfmap_fini(perfmap);
	perfmap->text = text;
	perfmap->bytes = bytes;
	for (size_t i = 0; i < bytes; i++)
		lines += text[i] == '\n';
	if (lines == 0)
		return 0;
	perfmap->entries = calloc(lines, sizeof(*perfmap->entries));
	if (!perfmap->entries)
		return -ENOMEM;
	/* The last line may still be being written: it counts from its newline on. */
	for (char *end; (end = memchr(text, '\n', bytes)) != NULL; text = end + 1) {
		bytes -= (size_t)(end + 1 - text);
		parse_line(perfmap, text, end);
	}
	qsort(perfmap->entries, perfmap->count, sizeof(*perfmap->entries), compare);
	return 0;
}

static void read_file(struct perfmap *perfmap)
{
	char path[64];
	cleanup(close_fd) int fd = -1;
	struct stat st;
	char *text;
	ssize_t got;

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", inner_pid(perfmap->pid));
	fd = origin_open(perfmap->pid, path);
	if (fd < 0 || !is_trusted(perfmap->pid, fd) || fstat(fd, &st) < 0)
		return;
	if (st.st_size <= 0 || st.st_size > BYTES_MOST || (size_t)st.st_size == perfmap->bytes)
		return;
	text = malloc((size_t)st.st_size);
	if (!text)
		return;
	got = read(fd, text, (size_t)st.st_size);
	if (got <= 0)
		free(text);
	else
		perfmap_parse(perfmap, text, (size_t)got);
}

static const struct perfmap_entry *look_up(const struct perfmap *perfmap, uint64_t address)
{
	const struct perfmap_entry *found = NULL;
	size_t low = 0, high = perfmap->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (perfmap->entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (unsigned i = 0; i < OVERLAPS_MOST && low-- > 0; i++) {
		const struct perfmap_entry *entry = &perfmap->entries[low];

		if (address < entry->end && (!found || entry->order > found->order))
			found = entry;
	}
	return found;
}

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + 1;
}

const char *perfmap_find(struct perfmap *perfmap, uint64_t address, uint64_t *ret_start)
{
	const struct perfmap_entry *entry = look_up(perfmap, address);

	if (!entry && perfmap->pid && perfmap->read_at != now_s()) {
		perfmap->read_at = now_s();
		read_file(perfmap);
		entry = look_up(perfmap, address);
	}
	if (!entry)
		return NULL;
	*ret_start = entry->start;
	return perfmap->text + entry->name;
}
