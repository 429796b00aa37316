/* SPDX-License-Identifier: Apache-2.0 */
#include "view/code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/hash.h"
#include "view/naming.h"

#define BUILD_ID_MOST 64u /* bytes; more are cut off */
#define PATH_MOST 4096u
#define NO_TEXT UINT32_MAX

/* Room for one more at the end of `*items`, which grows by doubling. */
static int room(void *items, uint32_t count, size_t size)
{
	void *old, *more;

	memcpy(&old, items, sizeof(old));
	more = grow_by_count(old, count, size);
	if (!more)
		return -ENOMEM;
	memcpy(items, &more, sizeof(more));
	return 0;
}

static int add_module(void *data, const struct meta_module *module)
{
	struct code *code = data;
	struct code_module to = {
		.start = module->start, .end = module->end, .offset = module->offset};
	char path[PATH_MOST + 1], id[BUILD_ID_MOST * 2 + 1] = "";
	int length = module->path.length < PATH_MOST ? (int)module->path.length : (int)PATH_MOST;

	snprintf(path, sizeof(path), "%.*s", length, length ? module->path.bytes : "");
	for (size_t i = 0; i < module->build_id.length && i < BUILD_ID_MOST; i++)
		sprintf(id + i * 2, "%02x", (uint8_t)module->build_id.bytes[i]);
	to.path = texts_add(code->texts, path);
	to.name = texts_add(code->texts, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	to.build_id = texts_add(code->texts, id);
	if (to.path == NO_TEXT || to.name == NO_TEXT || to.build_id == NO_TEXT ||
	    room(&code->modules, code->module_count, sizeof(*code->modules)) < 0)
		return -ENOMEM;
	code->modules[code->module_count++] = to;
	return 0;
}

int code_init(struct code *code, const struct reader *reader, struct symbols *symbols)
{
	*code = (struct code){.symbols = symbols};
	if (texts_new(&code->texts) < 0 || texts_add(code->texts, "") != 0 ||
	    map_init(&code->by_address, UINT32_MAX) < 0 ||
	    map_init(&code->by_function, UINT32_MAX) < 0)
		return -ENOMEM;
	return reader_each_module(reader, add_module, code);
}

void code_fini(struct code *code)
{
	texts_free(code->texts);
	map_fini(&code->by_address);
	map_fini(&code->by_function);
	free(code->modules);
	free(code->functions);
	free(code->lines);
	free(code->locations);
	*code = (struct code){0};
}

/* What was mapped later took the place of what was there. */
static uint32_t find_module(const struct code *code, uint64_t address)
{
	for (uint32_t number = code->module_count; number > 0; number--) {
		const struct code_module *module = code_module(code, number);

		if (address >= module->start && address < module->end)
			return number;
	}
	return 0;
}

static uint32_t add_function(struct code *code, const char *name, const char *file, uint32_t module)
{
	struct code_function to = {.module = module};
	uint32_t *known;
	uint64_t key;

	to.name = texts_add(code->texts, name);
	to.file = texts_add(code->texts, file ? file : "");
	if (to.name == NO_TEXT || to.file == NO_TEXT)
		return 0;
	for (uint64_t seed = 0;; seed++) {
		key = hash_xxh64(&to, sizeof(to), seed);
		known = map_find(&code->by_function, key);
		if (!known)
			break;
		if (memcmp(code_function(code, *known), &to, sizeof(to)) == 0)
			return *known;
	}
	if (room(&code->functions, code->function_count, sizeof(to)) < 0 ||
	    map_put(&code->by_function, key, code->function_count + 1) < 0)
		return 0;
	code->functions[code->function_count++] = to;
	return code->function_count;
}

static int add_line(struct code *code, uint32_t function, uint32_t line)
{
	if (!function || room(&code->lines, code->line_count, sizeof(*code->lines)) < 0)
		return -ENOMEM;
	code->lines[code->line_count++] = (struct code_line){.function = function, .line = line};
	return 0;
}

static uint32_t add_location(struct code *code, const struct code_location *location)
{
	if (room(&code->locations, code->location_count, sizeof(*location)) < 0)
		return 0;
	code->locations[code->location_count++] = *location;
	return code->location_count;
}

/* A location that is nothing but words; made once. */
static uint32_t words(struct code *code, uint32_t *once, const char *text)
{
	struct code_location location = {.first = code->line_count, .count = 1};

	if (!*once && add_line(code, add_function(code, text, NULL, 0), 0) == 0)
		*once = add_location(code, &location);
	return *once;
}

uint32_t code_unknown(struct code *code)
{
	return words(code, &code->unknown, "[unknown]");
}

uint32_t code_locate(struct code *code, const struct tree_node *node)
{
	const uint32_t *known;
	const struct symbol *symbol;
	struct code_location location = {.address = node->address, .first = code->line_count};
	uint32_t number, line = node->kind == SPLICE_AWAIT ? naming_line(node->state) : 0;
	/* A coroutine is another place for each line that it waits in; no address has these bits.
	 */
	uint64_t key = node->address ^ (uint64_t)line << 48 ^ (uint64_t)(line >> 16) << 8;

	if (node->kind == SPLICE_OMITTED)
		return words(code, &code->omission, "[...]");
	known = map_find(&code->by_address, key);
	if (known)
		return *known;

	symbol = symbols_find(code->symbols, node->address);
	location.offset = symbol->offset;
	location.module = find_module(code, node->address);
	location.count = symbol->count;
	for (uint32_t i = 0; i < symbol->count; i++) {
		const struct symbol_frame *frame = &symbol->frames[i];
		char name[PATH_MOST];

		if (!frame->function)
			naming_nameless(symbol, node->address, name, sizeof(name));
		number = add_function(code, frame->function ? frame->function : name, frame->file,
				      location.module);
		if (add_line(code, number, line && i + 1 == symbol->count ? line : frame->line) < 0)
			return 0;
	}
	number = add_location(code, &location);
	if (number && map_put(&code->by_address, key, number) < 0)
		return 0;
	return number;
}
