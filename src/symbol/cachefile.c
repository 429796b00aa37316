/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/cachefile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/grow.h"
#include "util/hash.h"

#define ENTRIES_MOST 262144u
#define HEADER "unweave symbols 4 "
#define HEADER_BYTES (sizeof(HEADER) - 1 + 16 + 1) /* the checksum and a newline */

int cache_file_new(struct cache_file **ret, struct store *store)
{
	struct cache_file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	if (map_init(&file->by_offset, ENTRIES_MOST) < 0) {
		free(file);
		return -ENOMEM;
	}
	file->store = store;
	*ret = file;
	return 0;
}

static void drop_entries(struct cache_file *file)
{
	file->count = 0;
	map_clear(&file->by_offset);
}

void cachefile_clear(struct cache_file *file)
{
	file->has_lines = file->asked_servers = file->changed = false;
	drop_entries(file);
}

const struct cache_entry *cache_find(const struct cache_file *file, uint64_t offset)
{
	uint32_t *at = map_find(&file->by_offset, offset);

	return at ? &file->entries[*at] : NULL;
}

/* A full file stays as it is. */
static int append(struct cache_file *file, const struct cache_entry *entry)
{
	struct cache_entry *more;

	if (file->count == ENTRIES_MOST || map_find(&file->by_offset, entry->offset))
		return 0;
	more = grow(file->entries, file->count, &file->capacity, 64, sizeof(*more));
	if (!more)
		return -ENOMEM;
	file->entries = more;
	if (map_put(&file->by_offset, entry->offset, file->count) < 0)
		return -ENOMEM;
	file->entries[file->count++] = *entry;
	return 0;
}

/* Neither what would not come back as it went, nor what could confuse a terminal. */
static bool is_clean(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

static bool is_clean_text(const char *text)
{
	return !text || is_clean(text, strlen(text));
}

int cache_add(struct cache_file *file, const struct cache_entry *entry, bool has_lines)
{
	if (entry->count == 0 || entry->count > CACHE_FRAMES_MOST)
		return 0;
	for (uint32_t i = 0; i < entry->count; i++)
		if (!is_clean_text(entry->frames[i].function) ||
		    !is_clean_text(entry->frames[i].file))
			return 0;
	/* A file of this build with debug information has more to say, or had. */
	if (!has_lines && (file->has_lines || !entry->frames[0].function))
		return 0;
	if (has_lines && !file->has_lines)
		drop_entries(file);
	file->has_lines = has_lines;
	file->changed = true;
	return append(file, entry);
}

static void put(struct buffer *buffer, const char *text)
{
	if (text)
		buffer_put(buffer, text, strlen(text));
}

static void write_entry(struct buffer *buffer, const struct cache_entry *entry)
{
	char line[96];

	snprintf(line, sizeof(line), "@%" PRIx64 " %" PRIx64 " %" PRIx64 "\n", entry->offset,
		 entry->address, entry->start);
	put(buffer, line);
	for (uint32_t i = 0; i < entry->count; i++) {
		snprintf(line, sizeof(line), "%" PRIu32 "\t", entry->frames[i].line);
		put(buffer, line);
		put(buffer, entry->frames[i].function);
		put(buffer, "\t");
		put(buffer, entry->frames[i].file);
		put(buffer, "\n");
	}
}

void cachefile_write(const struct cache_file *file, struct buffer *buffer)
{
	char header[HEADER_BYTES + 1];

	/* Its place first: it has the checksum of the rest. */
	memset(header, ' ', sizeof(header));
	buffer_put(buffer, header, HEADER_BYTES);
	put(buffer, file->has_lines ? "lines yes\n" : "lines no\n");
	put(buffer, file->asked_servers ? "servers yes\n" : "servers no\n");
	for (uint32_t i = 0; i < file->count; i++)
		write_entry(buffer, &file->entries[i]);
	if (buffer->bad)
		return;
	snprintf(header, sizeof(header), HEADER "%016" PRIx64 "\n",
		 hash_xxh64(buffer->bytes + HEADER_BYTES, buffer->length - HEADER_BYTES, 0));
	memcpy(buffer->bytes, header, HEADER_BYTES);
}

/* Bytes of a file that may be anything. A failure is for good. */
struct cursor {
	const char *at, *end;
	bool bad;
};

/* The part before `stop`, which is taken too. */
static const char *take_until(struct cursor *cursor, char stop, size_t *ret_length)
{
	const char *start = cursor->at;
	const char *end = cursor->bad ? NULL : memchr(start, stop, (size_t)(cursor->end - start));

	if (!end) {
		cursor->bad = true;
		*ret_length = 0;
		return start;
	}
	cursor->at = end + 1;
	*ret_length = (size_t)(end - start);
	return start;
}

static uint64_t take_number(struct cursor *cursor, char stop, unsigned base)
{
	size_t length;
	const char *digits = take_until(cursor, stop, &length);
	uint64_t value = 0;

	cursor->bad |= length == 0 || length > 16;
	for (size_t i = 0; i < length && !cursor->bad; i++) {
		unsigned digit = digits[i] >= 'a' ? (unsigned)(digits[i] - 'a') + 10
						  : (unsigned)(digits[i] - '0');

		cursor->bad |= digit >= base;
		value = value * base + digit;
	}
	return value;
}

static bool take_flag(struct cursor *cursor, const char *yes, const char *no)
{
	size_t length;
	const char *line = take_until(cursor, '\n', &length);

	if (length == strlen(yes) && memcmp(line, yes, length) == 0)
		return true;
	cursor->bad |= length != strlen(no) || memcmp(line, no, length) != 0;
	return false;
}

/* A name or a path; NULL: empty, or no memory. */
static const char *take_text(struct cursor *cursor, char stop, struct store *store)
{
	size_t length;
	const char *text = take_until(cursor, stop, &length);

	cursor->bad |= !is_clean(text, length);
	return cursor->bad || length == 0 ? NULL : store_text(store, text, length);
}

/* Frames follow until the next entry. */
static int take_entry(struct cursor *cursor, struct cache_file *file)
{
	struct symbol_frame frames[CACHE_FRAMES_MOST];
	struct symbol_frame *copy;
	struct cache_entry entry = {0};

	cursor->bad |= *cursor->at++ != '@';
	entry.offset = take_number(cursor, ' ', 16);
	entry.address = take_number(cursor, ' ', 16);
	entry.start = take_number(cursor, '\n', 16);
	while (!cursor->bad && cursor->at < cursor->end && *cursor->at != '@') {
		struct symbol_frame *frame = &frames[entry.count];
		uint64_t line = take_number(cursor, '\t', 10);

		cursor->bad |= line > UINT32_MAX || entry.count == CACHE_FRAMES_MOST;
		if (cursor->bad)
			break;
		frame->line = (uint32_t)line;
		frame->function = take_text(cursor, '\t', file->store);
		frame->file = take_text(cursor, '\n', file->store);
		entry.count++;
	}
	if (cursor->bad || entry.count == 0)
		return -EBADMSG;
	copy = store_alloc(file->store, entry.count * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, frames, entry.count * sizeof(*copy));
	entry.frames = copy;
	return append(file, &entry);
}

int cache_parse(struct cache_file *file, const char *text, size_t bytes)
{
	struct cursor cursor = {.at = text + HEADER_BYTES, .end = text + bytes};
	char header[HEADER_BYTES + 1];
	int r = 0;

	if (bytes < HEADER_BYTES)
		return -EBADMSG;
	snprintf(header, sizeof(header), HEADER "%016" PRIx64 "\n",
		 hash_xxh64(text + HEADER_BYTES, bytes - HEADER_BYTES, 0));
	if (memcmp(text, header, HEADER_BYTES) != 0)
		return -EBADMSG;
	cachefile_clear(file);
	file->has_lines = take_flag(&cursor, "lines yes", "lines no");
	file->asked_servers = take_flag(&cursor, "servers yes", "servers no");
	while (r == 0 && !cursor.bad && cursor.at < cursor.end)
		r = take_entry(&cursor, file);
	if (r == 0 && cursor.bad)
		r = -EBADMSG;
	if (r < 0)
		cachefile_clear(file);
	return r;
}
