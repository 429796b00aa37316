/* SPDX-License-Identifier: Apache-2.0 */
#include "view/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map.h"
#include "view/naming.h"
#include "view/texts.h"

struct frames {
	const struct tree *tree;
	struct symbols *symbols;
	struct texts *texts;
	struct profile_name *names;
	uint32_t count;
	uint32_t capacity;
	struct map index; /* function, module and kind to a name */
	uint32_t *found;  /* what frames_of() gives */
	uint32_t found_capacity;
};

DEFINE_FREEP(struct frames, frames_free)

int frames_new(struct frames **ret, const struct tree *tree, struct symbols *symbols)
{
	cleanup(frames_freep) struct frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	frames->tree = tree;
	frames->symbols = symbols;
	if (map_init(&frames->index, UINT32_MAX) < 0 || texts_new(&frames->texts) < 0)
		return -ENOMEM;
	*ret = take(frames);
	return 0;
}

struct frames *frames_free(struct frames *frames)
{
	if (!frames)
		return NULL;
	texts_free(frames->texts);
	map_fini(&frames->index);
	free(frames->names);
	free(frames->found);
	free(frames);
	return NULL;
}

static struct profile_name *add_name(struct frames *frames)
{
	struct profile_name *names =
		grow(frames->names, frames->count, &frames->capacity, 64, sizeof(*names));

	if (!names)
		return NULL;
	frames->names = names;
	return &frames->names[frames->count++];
}

/* The name with this function, module and kind; `file` and `line` count if it is new. */
static uint32_t name_of(struct frames *frames, const char *function, const char *module,
			const char *file, uint32_t line, enum profile_kind kind)
{
	uint32_t text = texts_add(frames->texts, function);
	uint32_t place = texts_add(frames->texts, module);
	uint32_t where = texts_add(frames->texts, file);
	uint64_t key = (uint64_t)text << 32 | place << 3 | kind;
	struct profile_name *name;
	uint32_t *known;

	if (text == UINT32_MAX || place >= UINT32_MAX >> 3 || where == UINT32_MAX)
		return UINT32_MAX;
	known = map_find(&frames->index, key);
	if (known)
		return *known;
	name = add_name(frames);
	if (!name || map_put(&frames->index, key, frames->count - 1) < 0)
		return UINT32_MAX;
	*name = (struct profile_name){
		.function = texts_get(frames->texts, text),
		.module = texts_get(frames->texts, place),
		.file = texts_get(frames->texts, where),
		.line = line,
		.kind = kind,
	};
	return frames->count - 1;
}

uint32_t frames_note(struct frames *frames, const char *text)
{
	return name_of(frames, text, "", "", 0, PROFILE_NOTE);
}

/* Where the function that `symbol` is in begins; else the line of the address itself. */
static uint32_t first_line(struct frames *frames, const struct symbol *symbol)
{
	const struct symbol_frame *own = &symbol->frames[symbol->count - 1];
	const struct symbol *start =
		symbol->start ? symbols_find(frames->symbols, symbol->start) : NULL;

	if (start && start->count && start->frames[start->count - 1].line)
		return start->frames[start->count - 1].line;
	return own->line;
}

/* Without a name: where it is. */
static uint32_t place_of(struct frames *frames, const struct symbol *symbol, uint64_t address,
			 enum profile_kind kind)
{
	char text[4096];

	naming_nameless(symbol, address, text, sizeof(text));
	return name_of(frames, text, symbol->module ? symbol->module : "", "", 0, kind);
}

/* A coroutine that awaits: with the line where it does, which tells one co_await from another. */
static uint32_t name_with_line(struct frames *frames, const struct symbol *symbol, uint32_t line,
			       enum profile_kind kind)
{
	const struct symbol_frame *frame = &symbol->frames[symbol->count - 1];
	const char *file = strrchr(frame->file, '/');
	char text[4096];

	snprintf(text, sizeof(text), "%s %s:%" PRIu32, frame->function,
		 file ? file + 1 : frame->file, line);
	return name_of(frames, text, symbol->module ? symbol->module : "", frame->file, line, kind);
}

static uint32_t name_at(struct frames *frames, const struct symbol *symbol, uint32_t at,
			uint64_t address, enum profile_kind kind)
{
	const struct symbol_frame *frame = &symbol->frames[at];
	/* Of what armed a callback, the line is where it did. */
	bool outermost = at + 1 == symbol->count, begin = outermost && kind != PROFILE_ARMED;

	if (!frame->function)
		return place_of(frames, symbol, address, kind);
	return name_of(frames, frame->function, symbol->module ? symbol->module : "",
		       frame->file ? frame->file : "",
		       begin ? first_line(frames, symbol) : frame->line,
		       outermost ? kind : PROFILE_INLINED);
}

static int reserve(struct frames *frames, uint32_t count)
{
	uint32_t *found;

	if (count <= frames->found_capacity)
		return 0;
	found = reallocarray(frames->found, count, sizeof(*found));
	if (!found)
		return -ENOMEM;
	frames->found = found;
	frames->found_capacity = count;
	return 0;
}

uint32_t frames_of(struct frames *frames, uint32_t node, const uint32_t **ret)
{
	static const enum profile_kind kinds[] = {
		[SPLICE_NATIVE] = PROFILE_NATIVE,
		[SPLICE_RUNNING] = PROFILE_RUNNING,
		[SPLICE_AWAIT] = PROFILE_AWAIT,
		[SPLICE_ARMED] = PROFILE_ARMED,
	};
	struct tree_node at = *tree_at(frames->tree, node);
	const struct symbol *symbol = NULL;
	uint32_t count = 1, used = 0, line = naming_line(at.state);

	if (at.kind != SPLICE_OMITTED) {
		symbol = symbols_find(frames->symbols, at.address);
		count = symbol->count;
	}
	if (reserve(frames, count) < 0)
		return 0;
	*ret = frames->found;
	if (symbol && at.kind == SPLICE_AWAIT && line && symbol->frames[count - 1].function &&
	    symbol->frames[count - 1].file) {
		frames->found[0] = name_with_line(frames, symbol, line, PROFILE_AWAIT);
		return frames->found[0] != UINT32_MAX;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t name =
			symbol ? name_at(frames, symbol, count - 1 - i, at.address, kinds[at.kind])
			       : frames_note(frames, "[...]");

		if (name == UINT32_MAX)
			return 0;
		/* The body of a function, inlined into a shell of the same name, says nothing. */
		if (!used ||
		    frames->names[name].function != frames->names[frames->found[used - 1]].function)
			frames->found[used++] = name;
	}
	return used;
}

uint32_t frames_count(const struct frames *frames)
{
	return frames->count;
}

const struct profile_name *frames_name(const struct frames *frames, uint32_t name)
{
	return &frames->names[name];
}
