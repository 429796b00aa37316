/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/store.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/hash.h"

#define CHUNK_BYTES (64u * 1024)
#define STRINGS_MOST (64u * 1024 * 1024)

struct store_chunk {
	struct store_chunk *next;
	size_t size; /* of `bytes` */
	alignas(max_align_t) char bytes[];
};

int store_init(struct store *store)
{
	*store = (struct store){0};
	return map_init(&store->by_hash, STRINGS_MOST);
}

void store_fini(struct store *store)
{
	while (store->chunks) {
		struct store_chunk *next = store->chunks->next;

		free(store->chunks);
		store->chunks = next;
	}
	free(store->strings);
	map_fini(&store->by_hash);
	*store = (struct store){0};
}

static int add_chunk(struct store *store, size_t bytes)
{
	size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	struct store_chunk *chunk = calloc(1, sizeof(*chunk) + size);

	if (!chunk)
		return -ENOMEM;
	chunk->size = size;
	chunk->next = store->chunks;
	store->chunks = chunk;
	store->left = size;
	return 0;
}

void *store_alloc(struct store *store, size_t bytes)
{
	void *start;

	bytes = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (bytes > store->left && add_chunk(store, bytes) < 0)
		return NULL;
	start = store->chunks->bytes + store->chunks->size - store->left;
	store->left -= bytes;
	return start;
}

static int note_string(struct store *store, uint64_t hash, const char *text)
{
	const char **more =
		grow(store->strings, store->count, &store->capacity, 256, sizeof(*more));

	if (!more)
		return -ENOMEM;
	store->strings = more;
	if (map_put(&store->by_hash, hash, store->count) < 0)
		return -ENOMEM;
	store->strings[store->count++] = text;
	return 0;
}

const char *store_text(struct store *store, const char *text, size_t length)
{
	uint64_t hash = hash_xxh64(text, length, 0);
	uint32_t *at = map_find(&store->by_hash, hash);
	char *copy;

	/* Another string with this hash, which hardly happens, costs memory and nothing else. */
	if (at && strncmp(store->strings[*at], text, length) == 0 &&
	    store->strings[*at][length] == '\0')
		return store->strings[*at];
	copy = store_alloc(store, length + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	if (!at && note_string(store, hash, copy) < 0)
		return NULL;
	return copy;
}
