/* SPDX-License-Identifier: Apache-2.0 */
#include "view/firefox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

#define NO_ROW UINT32_MAX
#define RESOURCE_LIBRARY 1u

int firefox_init(struct firefox *firefox, struct code *code, const struct tree *tree)
{
	*firefox = (struct firefox){.code = code, .tree = tree};
	return map_init(&firefox->by_line, UINT32_MAX);
}

void firefox_fini(struct firefox *firefox)
{
	map_fini(&firefox->by_line);
	free(firefox->rows);
	free(firefox->stacks);
	free(firefox->frames);
	*firefox = (struct firefox){0};
}

static int add_frame(struct firefox *firefox, uint32_t location, uint32_t line, bool awaits,
		     uint32_t *ret)
{
	const struct code_location *where = code_location(firefox->code, location);
	uint64_t key = ((uint64_t)where->first + line) << 1 | awaits;
	const uint32_t *known = map_find(&firefox->by_line, key);
	uint32_t count = firefox->frame_count;
	struct firefox_frame *more;

	if (known) {
		*ret = *known;
		return 0;
	}
	more = grow_by_count(firefox->frames, count, sizeof(*more));
	if (!more)
		return -ENOMEM;
	firefox->frames = more;
	if (map_put(&firefox->by_line, key, count) < 0)
		return -ENOMEM;
	firefox->frames[count] = (struct firefox_frame){
		.location = location,
		.line = line,
		.category = awaits           ? FIREFOX_AWAIT
			    : where->address ? FIREFOX_NATIVE
					     : FIREFOX_OTHER,
	};
	firefox->frame_count++;
	*ret = count;
	return 0;
}

static int add_stack(struct firefox *firefox, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint32_t count = firefox->stack_count;
	struct firefox_stack *more;

	more = grow_by_count(firefox->stacks, count, sizeof(*more));
	if (!more)
		return -ENOMEM;
	firefox->stacks = more;
	firefox->stacks[count] = (struct firefox_stack){.parent = parent, .frame = frame};
	firefox->stack_count++;
	*ret = count;
	return 0;
}

/* Adds a node, whose parent is there, with what is inlined in it. */
static int add_node(struct firefox *firefox, uint32_t number)
{
	const struct tree_node *node = tree_at(firefox->tree, number);
	uint32_t location = code_locate(firefox->code, node);
	uint32_t row = node->parent ? firefox->rows[node->parent] - 1 : NO_ROW, frame;

	if (!location)
		return -ENOMEM;
	for (uint32_t i = code_location(firefox->code, location)->count; i-- > 0;)
		if (add_frame(firefox, location, i, code_awaits(node), &frame) < 0 ||
		    add_stack(firefox, row, frame, &row) < 0)
			return -ENOMEM;
	firefox->rows[number] = row + 1;
	return 0;
}

static int make_room(struct firefox *firefox)
{
	uint32_t count = tree_count(firefox->tree) + 1;
	uint32_t room = count < UINT32_MAX / 2 ? count * 2 : count;
	uint32_t *rows = reallocarray(firefox->rows, room, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	memset(rows + firefox->rows_room, 0, (room - firefox->rows_room) * sizeof(*rows));
	firefox->rows = rows;
	firefox->rows_room = room;
	return 0;
}

/*
 * Nodes that are missing between a stack and the root are added from the
 * outermost on. No recursion: a stack may have any depth.
 */
int firefox_stack(struct firefox *firefox, uint32_t stack, uint32_t *ret)
{
	uint32_t *missing, count = 0, most;
	int r = 0;

	if (stack >= firefox->rows_room && make_room(firefox) < 0)
		return -ENOMEM;
	if (!firefox->rows[stack]) {
		most = tree_at(firefox->tree, stack)->depth;
		missing = calloc(most, sizeof(*missing));
		if (!missing)
			return -ENOMEM;
		for (uint32_t node = stack; node && count < most && !firefox->rows[node];
		     node = tree_at(firefox->tree, node)->parent)
			missing[count++] = node;
		while (count-- > 0 && r == 0)
			r = add_node(firefox, missing[count]);
		free(missing);
	}
	if (r == 0)
		*ret = firefox->rows[stack] - 1;
	return r;
}

/* A column of `count` times the same. */
static void put_nulls(struct json *json, const char *name, uint32_t count)
{
	json_open(json, name, '[');
	for (uint32_t i = 0; i < count; i++)
		json_null(json, NULL);
	json_close(json, ']');
}

static void put_same(struct json *json, const char *name, uint32_t count, uint64_t number)
{
	json_open(json, name, '[');
	for (uint32_t i = 0; i < count; i++)
		json_number(json, NULL, number);
	json_close(json, ']');
}

static void put_falses(struct json *json, const char *name, uint32_t count)
{
	json_open(json, name, '[');
	for (uint32_t i = 0; i < count; i++)
		json_bool(json, NULL, false);
	json_close(json, ']');
}

/* The rows of one column, each by `cell`. */
static void put_column(struct json *json, const char *name, const struct firefox *firefox,
		       uint32_t count,
		       void (*cell)(struct json *, const struct firefox *, uint32_t))
{
	json_open(json, name, '[');
	for (uint32_t i = 0; i < count; i++)
		cell(json, firefox, i);
	json_close(json, ']');
}

static void stack_frame(struct json *json, const struct firefox *firefox, uint32_t row)
{
	json_number(json, NULL, firefox->stacks[row].frame);
}

/* How many rows before this one its parent is; 0: it has none. */
static void stack_prefix(struct json *json, const struct firefox *firefox, uint32_t row)
{
	uint32_t parent = firefox->stacks[row].parent;

	json_number(json, NULL, parent == NO_ROW ? 0 : row - parent);
}

static void put_stacks(struct json *json, const struct firefox *firefox)
{
	json_open(json, "stackTable", '{');
	json_number(json, "length", firefox->stack_count);
	put_column(json, "frame", firefox, firefox->stack_count, stack_frame);
	put_column(json, "prefixOffset", firefox, firefox->stack_count, stack_prefix);
	json_close(json, '}');
}

static const struct code_location *location_of(const struct firefox *firefox, uint32_t row)
{
	return code_location(firefox->code, firefox->frames[row].location);
}

static const struct code_line *line_of(const struct firefox *firefox, uint32_t row)
{
	return code_line(firefox->code, location_of(firefox, row), firefox->frames[row].line);
}

static void frame_address(struct json *json, const struct firefox *firefox, uint32_t row)
{
	const struct code_location *location = location_of(firefox, row);

	json_signed(json, NULL, location->module ? (int64_t)location->offset : -1);
}

static void frame_depth(struct json *json, const struct firefox *firefox, uint32_t row)
{
	json_number(json, NULL, location_of(firefox, row)->count - 1 - firefox->frames[row].line);
}

static void frame_category(struct json *json, const struct firefox *firefox, uint32_t row)
{
	json_number(json, NULL, firefox->frames[row].category);
}

static void frame_function(struct json *json, const struct firefox *firefox, uint32_t row)
{
	json_number(json, NULL, line_of(firefox, row)->function - 1);
}

static void frame_line(struct json *json, const struct firefox *firefox, uint32_t row)
{
	uint32_t line = line_of(firefox, row)->line;

	if (line)
		json_number(json, NULL, line);
	else
		json_null(json, NULL);
}

static void put_frames(struct json *json, const struct firefox *firefox)
{
	uint32_t count = firefox->frame_count;

	json_open(json, "frameTable", '{');
	json_number(json, "length", count);
	put_column(json, "address", firefox, count, frame_address);
	put_column(json, "inlineDepth", firefox, count, frame_depth);
	put_column(json, "category", firefox, count, frame_category);
	put_same(json, "subcategory", count, 0);
	put_column(json, "func", firefox, count, frame_function);
	put_nulls(json, "nativeSymbol", count);
	put_same(json, "innerWindowID", count, 0);
	put_column(json, "line", firefox, count, frame_line);
	put_nulls(json, "column", count);
	put_nulls(json, "originalLocation", count);
	json_close(json, '}');
}

static void function_name(struct json *json, const struct firefox *firefox, uint32_t row)
{
	json_number(json, NULL, code_function(firefox->code, row + 1)->name);
}

static void function_resource(struct json *json, const struct firefox *firefox, uint32_t row)
{
	json_signed(json, NULL, (int64_t)code_function(firefox->code, row + 1)->module - 1);
}

/* Each function that has a file has a row of sources to itself, in the same order. */
static void put_function_sources(struct json *json, const struct firefox *firefox)
{
	uint32_t source = 0;

	json_open(json, "source", '[');
	for (uint32_t i = 1; i <= firefox->code->function_count; i++)
		if (code_function(firefox->code, i)->file)
			json_number(json, NULL, source++);
		else
			json_null(json, NULL);
	json_close(json, ']');
}

static void put_functions(struct json *json, const struct firefox *firefox)
{
	uint32_t count = firefox->code->function_count;

	json_open(json, "funcTable", '{');
	json_number(json, "length", count);
	put_column(json, "name", firefox, count, function_name);
	put_falses(json, "isJS", count);
	put_falses(json, "relevantForJS", count);
	put_column(json, "resource", firefox, count, function_resource);
	put_function_sources(json, firefox);
	put_nulls(json, "lineNumber", count);
	put_nulls(json, "columnNumber", count);
	put_nulls(json, "originalLocation", count);
	json_close(json, '}');
}

static void put_sources(struct json *json, const struct firefox *firefox)
{
	uint32_t count = 0;

	json_open(json, "sources", '{');
	json_open(json, "filename", '[');
	for (uint32_t i = 1; i <= firefox->code->function_count; i++) {
		uint32_t file = code_function(firefox->code, i)->file;

		if (file)
			json_number(json, NULL, file);
		count += file != 0;
	}
	json_close(json, ']');
	json_number(json, "length", count);
	put_nulls(json, "id", count);
	put_same(json, "startLine", count, 1);
	put_same(json, "startColumn", count, 1);
	put_nulls(json, "sourceMapURL", count);
	put_nulls(json, "content", count);
	json_close(json, '}');
}

/* A resource for each library, under its number. */
static void put_resources(struct json *json, const struct firefox *firefox)
{
	uint32_t count = firefox->code->module_count;

	json_open(json, "resourceTable", '{');
	json_number(json, "length", count);
	json_open(json, "lib", '[');
	for (uint32_t i = 0; i < count; i++)
		json_number(json, NULL, i);
	json_close(json, ']');
	json_open(json, "name", '[');
	for (uint32_t i = 1; i <= count; i++)
		json_number(json, NULL, code_module(firefox->code, i)->name);
	json_close(json, ']');
	put_nulls(json, "host", count);
	put_same(json, "type", count, RESOURCE_LIBRARY);
	json_close(json, '}');
}

/* Tables that our profiles have no rows for. */
static void put_empty(struct json *json)
{
	static const char *const symbols[] = {"libIndex", "address", "name", "functionSize", NULL};
	static const char *const places[] = {"source", "line", "column", NULL};

	json_open(json, "nativeSymbols", '{');
	json_number(json, "length", 0);
	for (const char *const *name = symbols; *name; name++)
		put_nulls(json, *name, 0);
	json_close(json, '}');
	json_open(json, "sourceLocationTable", '{');
	json_number(json, "length", 0);
	for (const char *const *name = places; *name; name++)
		put_nulls(json, *name, 0);
	json_close(json, '}');
}

static void put_texts(struct json *json, const struct code *code)
{
	json_open(json, "stringArray", '[');
	for (uint32_t i = 0; i < texts_count(code->texts); i++)
		json_text(json, NULL, code_text(code, i));
	json_close(json, ']');
}

/* The first 16 bytes as a GUID, whose first three parts are the other way round, and an age. */
static void put_breakpad_id(struct json *json, const char *digits)
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	char id[34];
	size_t length = strlen(digits);

	for (size_t i = 0; i < 16; i++) {
		size_t from = (size_t)order[i] * 2;
		unsigned byte = 0;

		if (from + 2 <= length)
			sscanf(digits + from, "%2x", &byte);
		snprintf(id + i * 2, 3, "%02X", byte);
	}
	memcpy(id + 32, "0", 2);
	json_text(json, "breakpadId", id);
}

static void put_library(struct json *json, const struct code *code, uint32_t number)
{
	const struct code_module *module = code_module(code, number);
	const char *path = code_text(code, module->path), *name = code_text(code, module->name);

	json_open(json, NULL, '{');
	json_null(json, "arch");
	json_text(json, "name", name);
	json_text(json, "path", path);
	json_text(json, "debugName", name);
	json_text(json, "debugPath", path);
	put_breakpad_id(json, code_text(code, module->build_id));
	if (module->build_id)
		json_text(json, "codeId", code_text(code, module->build_id));
	else
		json_null(json, "codeId");
	json_close(json, '}');
}

void firefox_put(struct firefox *firefox, struct json *json)
{
	json_open(json, "libs", '[');
	for (uint32_t i = 1; i <= firefox->code->module_count; i++)
		put_library(json, firefox->code, i);
	json_close(json, ']');
	json_open(json, "shared", '{');
	put_stacks(json, firefox);
	put_frames(json, firefox);
	put_functions(json, firefox);
	put_resources(json, firefox);
	put_sources(json, firefox);
	put_empty(json);
	put_texts(json, firefox->code);
	json_close(json, '}');
}
