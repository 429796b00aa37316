/* SPDX-License-Identifier: Apache-2.0 */
#include "view/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/hash.h"

#define FIRST_BITS 8u
#define PIECE (64u * 1024)

struct texts {
	char **texts;
	uint32_t count;
	uint32_t capacity;
	uint32_t *slots; /* hash to number + 1; a power of two, at most half in use */
	unsigned shift;  /* 64 - log2 of their number */
	/* Texts lie one after the other in pieces; long ones have a piece of their own. */
	char **pieces;
	uint32_t piece_count;
	uint32_t piece_capacity;
	char *at, *end;
};

int texts_new(struct texts **ret)
{
	struct texts *texts = calloc(1, sizeof(*texts));

	if (!texts)
		return -ENOMEM;
	texts->shift = 64 - FIRST_BITS;
	texts->slots = calloc(1u << FIRST_BITS, sizeof(*texts->slots));
	if (!texts->slots) {
		free(texts);
		return -ENOMEM;
	}
	*ret = texts;
	return 0;
}

struct texts *texts_free(struct texts *texts)
{
	if (!texts)
		return NULL;
	for (uint32_t i = 0; i < texts->piece_count; i++)
		free(texts->pieces[i]);
	free(texts->pieces);
	free(texts->texts);
	free(texts->slots);
	free(texts);
	return NULL;
}

static uint32_t *slot_of(const struct texts *texts, const char *text, size_t length)
{
	uint64_t mask = UINT64_MAX >> texts->shift;
	uint64_t at = hash_xxh64(text, length, 0) >> texts->shift;

	while (texts->slots[at] && strcmp(texts->texts[texts->slots[at] - 1], text) != 0)
		at = (at + 1) & mask;
	return &texts->slots[at];
}

/* Room for one more number, and slots for twice as many. */
static int double_slots(struct texts *texts)
{
	uint32_t capacity = texts->capacity ? texts->capacity * 2 : 1u << (FIRST_BITS - 1);
	char **list = reallocarray(texts->texts, capacity, sizeof(*list));
	uint32_t *slots;

	if (!list)
		return -ENOMEM;
	texts->texts = list;
	slots = calloc((size_t)capacity * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(texts->slots);
	texts->slots = slots;
	if (texts->capacity)
		texts->shift--;
	texts->capacity = capacity;
	for (uint32_t i = 0; i < texts->count; i++)
		*slot_of(texts, list[i], strlen(list[i])) = i + 1;
	return 0;
}

static char *new_piece(struct texts *texts, size_t size)
{
	char **pieces = grow(texts->pieces, texts->piece_count, &texts->piece_capacity, 16,
			     sizeof(*pieces));

	if (!pieces)
		return NULL;
	texts->pieces = pieces;
	texts->pieces[texts->piece_count] = malloc(size);
	return texts->pieces[texts->piece_count] ? texts->pieces[texts->piece_count++] : NULL;
}

static char *keep(struct texts *texts, const char *text, size_t size)
{
	char *kept;

	if (size > PIECE / 4) {
		kept = new_piece(texts, size);
		return kept ? memcpy(kept, text, size) : NULL;
	}
	if ((size_t)(texts->end - texts->at) < size) {
		kept = new_piece(texts, PIECE);
		if (!kept)
			return NULL;
		texts->at = kept;
		texts->end = kept + PIECE;
	}
	kept = texts->at;
	texts->at += size;
	return memcpy(kept, text, size);
}

uint32_t texts_add(struct texts *texts, const char *text)
{
	size_t length = strlen(text);
	uint32_t *slot = slot_of(texts, text, length);
	char *kept;

	if (*slot)
		return *slot - 1;
	if (texts->count == texts->capacity) {
		if (texts->count > UINT32_MAX / 4 || double_slots(texts) < 0)
			return UINT32_MAX;
		slot = slot_of(texts, text, length);
	}
	kept = keep(texts, text, length + 1);
	if (!kept)
		return UINT32_MAX;
	texts->texts[texts->count++] = kept;
	*slot = texts->count;
	return texts->count - 1;
}

const char *texts_get(const struct texts *texts, uint32_t number)
{
	return texts->texts[number];
}

uint32_t texts_count(const struct texts *texts)
{
	return texts->count;
}
