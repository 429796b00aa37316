/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a file of names, with the checksum that it should have: what is
 * understood must be written as the same text again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "symbol/cachefile.h"
#include "util/hash.h"

#define HEADER_BYTES 35u

static char *with_header(const uint8_t *bytes, size_t length)
{
	char *text = malloc(HEADER_BYTES + length + 1);

	must(text != NULL);
	snprintf(text, HEADER_BYTES + 1, "unweave symbols 4 %016llx\n",
		 (unsigned long long)hash_xxh64(bytes, length, 0));
	memcpy(text + HEADER_BYTES, bytes, length);
	return text;
}

/* Numbers may be written in several ways, and places said twice: from the second time on it is the
 * same. */
static void write_again(struct cache_file *file, struct buffer *text)
{
	struct buffer again = BUFFER_INIT(CACHE_FILE_MOST);

	must(cache_parse(file, (char *)text->bytes, text->length) == 0);
	cachefile_write(file, &again);
	must(again.length == text->length && memcmp(again.bytes, text->bytes, text->length) == 0);
	buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text = with_header(bytes, length);
	struct buffer written = BUFFER_INIT(CACHE_FILE_MOST);
	struct cache_file *file = NULL;
	struct store store;

	must(store_init(&store) == 0 && cache_file_new(&file, &store) == 0);
	if (cache_parse(file, text, HEADER_BYTES + length) == 0) {
		cachefile_write(file, &written);
		write_again(file, &written);
	} else {
		must(file->count == 0);
	}
	/* As it came, it has no checksum. */
	cache_parse(file, (const char *)bytes, length);
	cache_close(file);
	buffer_fini(&written);
	store_fini(&store);
	free(text);
	return 0;
}
