/* SPDX-License-Identifier: Apache-2.0 */
#include "view/naming.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "unweave/callback.h"
#include "util/cleanup.h"

#define TEXT_MAX 4096u
#define LABEL_MAX 300u
#define FRAMES_MAX META_SYMBOL_FRAMES

DEFINE_FREEP(struct symbols, symbols_free)

/* Texts of a trace end without a NUL. What is longer than the room is cut. */
static const char *copy_text(struct meta_text text, char *room, size_t size)
{
	size_t length = text.length < size ? text.length : size - 1;

	memcpy(room, text.bytes, length);
	room[length] = 0;
	return room;
}

static int add_module(void *data, const struct meta_module *module)
{
	char path[TEXT_MAX];
	struct symbol_module made = {
		.start = module->start,
		.end = module->end,
		.offset = module->offset,
		.path = copy_text(module->path, path, sizeof(path)),
		.build_id_bytes = module->build_id.length,
	};

	if (module->build_id.length)
		made.build_id = (const uint8_t *)module->build_id.bytes;
	return made.start < made.end ? symbols_add_module(data, &made) : 0;
}

/* The part of `room` that holds a copy of the text; NULL if there is none. Moves `room` on. */
static const char *keep_text(struct meta_text text, char **room, const char *end)
{
	size_t left = (size_t)(end - *room);
	const char *kept = *room;

	if (!text.length || left < 2)
		return NULL;
	copy_text(text, *room, left < TEXT_MAX ? left : TEXT_MAX);
	*room += strlen(kept) + 1;
	return kept;
}

static int add_symbol(void *data, uint64_t address, uint64_t start,
		      const struct meta_symbol_frame *frames, uint32_t count)
{
	struct symbol_frame made[FRAMES_MAX];
	char room[64 * 1024], *at = room;

	for (uint32_t i = 0; i < count; i++)
		made[i] = (struct symbol_frame){
			.function = keep_text(frames[i].function, &at, room + sizeof(room)),
			.file = keep_text(frames[i].file, &at, room + sizeof(room)),
			.line = frames[i].line <= UINT32_MAX ? (uint32_t)frames[i].line : 0,
		};
	return count ? symbols_add(data, address, start, made, count) : 0;
}

int naming_new(struct symbols **ret, struct reader *reader, bool no_files, struct diag *diag)
{
	cleanup(symbols_freep) struct symbols *symbols = NULL;
	struct symbols_options options = {.no_files = no_files};
	int r = symbols_new(&symbols, &options);

	if (r == 0)
		r = reader_each_module(reader, add_module, symbols);
	if (r == 0)
		r = reader_each_symbol(reader, add_symbol, symbols);
	if (r < 0)
		return diag_set(diag, r, "out of memory");
	*ret = take(symbols);
	return 0;
}

void naming_nameless(const struct symbol *symbol, uint64_t address, char *to, size_t room)
{
	uint64_t into = symbol->start ? address - symbol->start : 0;

	if (symbol->module)
		snprintf(to, room, "%s+%#" PRIx64, symbol->module, symbol->offset - into);
	else
		snprintf(to, room, "%#" PRIx64, address - into);
}

void naming_function(struct symbols *symbols, uint64_t address, char *to, size_t room)
{
	const struct symbol *symbol = symbols_find(symbols, address);
	const char *function = symbol->frames[symbol->count - 1].function;

	if (function)
		snprintf(to, room, "%s", function);
	else
		naming_nameless(symbol, address, to, room);
}

struct symbol_frame naming_chain_frame(struct symbols *symbols, uint64_t address, int32_t state)
{
	const struct symbol *symbol = symbols_find(symbols, address);
	struct symbol_frame frame = symbol->frames[symbol->count - 1];

	if (UNWEAVE_STATE_IS_LINE(state) && naming_line(state))
		frame.line = naming_line(state);
	return frame;
}

struct symbol_frame naming_origin(struct symbols *symbols, const struct reader_site *site)
{
	struct symbol_frame origin = {site->function, site->file, site->line};

	/* What a call returns to may be in the next function already. */
	if (site->place)
		origin = symbols_find(symbols, site->place - 1)->frames[0];
	origin.function = origin.function ? origin.function : "";
	origin.file = origin.file ? origin.file : "";
	return origin;
}

static void callback_label(struct symbols *symbols, const struct reader_site *site, char *to,
			   size_t room)
{
	const char *kind = site->kind ? site->kind : "";
	char function[LABEL_MAX];

	/* All loops of a library go through one function: what a loop is in tells it from others.
	 */
	if (site->flags & UNWEAVE_SITE_LOOP && site->place) {
		naming_function(symbols, site->place - 1, function, sizeof(function));
		snprintf(to, room, "%s in %s", kind[0] ? kind : "loop", function);
		return;
	}
	naming_function(symbols, site->code, function, sizeof(function));
	snprintf(to, room, "%s%s%s", kind, kind[0] ? " " : "", function);
}

void naming_label(struct symbols *symbols, const struct reader_site *site, char *to, size_t room)
{
	if (site->name[0])
		snprintf(to, room, "%s", site->name);
	else if (site->function[0])
		snprintf(to, room, "task in %s", site->function);
	else if (site->code)
		callback_label(symbols, site, to, room);
	else
		snprintf(to, room, "%s", site->kind ? site->kind : "");
}

char *naming_site_label(void *symbols, const struct reader_site *site)
{
	char label[LABEL_MAX];

	naming_label(symbols, site, label, sizeof(label));
	return strdup(label);
}

enum naming_role naming_role(const struct reader_site *site)
{
	if (!site || !(site->flags & UNWEAVE_SITE_STANDING))
		return NAMING_TASK;
	return site->flags & UNWEAVE_SITE_LOOP ? NAMING_LOOP : NAMING_STANDING;
}

const char *naming_role_word(enum naming_role role)
{
	static const char *const words[NAMING_ROLES] = {
		[NAMING_STANDING] = "standing",
		[NAMING_LOOP] = "loop",
	};

	return words[role];
}

/* Whether two addresses without names may be in one function: who knows, but in one file they are.
 */
static bool may_be_same(const struct symbol *one, const struct symbol *other)
{
	return one->path && other->path ? strcmp(one->path, other->path) == 0
					: one->path == other->path;
}

bool naming_same_function(void *symbols, uint64_t one, uint64_t other)
{
	const struct symbol *first = symbols_find(symbols, one);
	const struct symbol *second = symbols_find(symbols, other);

	/* A function that is known covers all of its addresses: one without a name is not in it. */
	if (first->start || second->start)
		return first->start == second->start;
	return may_be_same(first, second);
}

bool naming_surely_same(void *symbols, uint64_t one, uint64_t other)
{
	uint64_t start = symbols_find(symbols, one)->start;

	return one == other || (start && start == symbols_find(symbols, other)->start);
}
