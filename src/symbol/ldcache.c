/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/ldcache.h"

#include <string.h>

#include "util/wire.h"

/*
 * The present form: a header of 48 bytes, that is the magic, the number of entries
 * and the length of the texts behind them; then entries of 24 bytes: flags, two
 * offsets of texts from the header on, the name's and the path's, and more. It may
 * stand behind one of the old form: a header of 16 bytes, with entries of 12.
 */
#define MAGIC "glibc-ld.so.cache1.1"
#define OLD_MAGIC "ld.so-1.7.0"
#define HEADER_BYTES 48u
#define ENTRY_BYTES 24u

/* The present form within the bytes; an empty one if there is none. */
static struct wire skip_old(const void *bytes, size_t length)
{
	struct wire from = wire_of(bytes, length);
	uint64_t old;

	if (length < 16 || memcmp(bytes, OLD_MAGIC, sizeof(OLD_MAGIC) - 1) != 0)
		return from;
	wire_bytes(&from, 12);
	old = (uint64_t)wire_u32(&from) * 12;
	/* The present form is aligned to its largest field. */
	wire_bytes(&from, (old + 7) / 8 * 8);
	return from;
}

static const char *text_at(const struct wire *cache, uint32_t offset)
{
	size_t length = (size_t)(cache->end - cache->at);

	if (offset >= length || !memchr(cache->at + offset, '\0', length - offset))
		return NULL;
	return (const char *)cache->at + offset;
}

const char *ldcache_find(const void *bytes, size_t length, const char *name, uint32_t index)
{
	struct wire cache = skip_old(bytes, length), from = cache;
	const uint8_t *magic = wire_bytes(&from, sizeof(MAGIC) - 1);
	uint32_t count = wire_u32(&from);

	wire_bytes(&from, HEADER_BYTES - sizeof(MAGIC) + 1 - 4);
	if (from.bad || memcmp(magic, MAGIC, sizeof(MAGIC) - 1) != 0)
		return NULL;
	for (; count && !from.bad; count--) {
		struct wire entry = wire_of(from.at, ENTRY_BYTES);
		const char *key, *path;

		if (!wire_bytes(&from, ENTRY_BYTES))
			break;
		wire_u32(&entry); /* flags: the file itself says better what it is for */
		key = text_at(&cache, wire_u32(&entry));
		path = text_at(&cache, wire_u32(&entry));
		if (key && path && strcmp(key, name) == 0 && !index--)
			return path;
	}
	return NULL;
}
