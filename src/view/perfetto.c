/* SPDX-License-Identifier: Apache-2.0 */
#include "view/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/varint.h"
#include "view/protobuf.h"

#define PACKET_MOST (UINT32_C(16) << 20)
#define NAMES_MOST 65536u

/* Field numbers, by message. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
};
enum {
	INTERNED_EVENT_NAMES = 2,
	INTERNED_FUNCTION_NAMES = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_BUILD_IDS = 16,
	INTERNED_MAPPING_PATHS = 17,
	INTERNED_SOURCE_PATHS = 18,
	INTERNED_MAPPINGS = 19,
};
enum { STRING_IID = 1, STRING_TEXT = 2 };
enum { CALLSTACK_IID = 1, CALLSTACK_FRAMES = 2 };
enum {
	FRAME_IID = 1,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_OFFSET = 4,
	FRAME_SOURCE = 5,
	FRAME_LINE = 6,
	FRAME_KIND = 8,
};
enum {
	MAPPING_IID = 1,
	MAPPING_BUILD_ID = 2,
	MAPPING_START = 4,
	MAPPING_END = 5,
	MAPPING_PATH = 7,
	MAPPING_OFFSET = 8,
};
#define SEQUENCE 1u
#define FLAG_NEEDS_STATE 2u /* without what earlier packets defined, this one makes no sense */

int perfetto_init(struct perfetto *perfetto, FILE *to, struct code *code)
{
	*perfetto = (struct perfetto){
		.to = to,
		.code = code,
		.packet = BUFFER_INIT(PACKET_MOST),
		.interned = BUFFER_INIT(PACKET_MOST),
		.callstack = BUFFER_INIT(PACKET_MOST),
	};
	if (texts_new(&perfetto->names) < 0 || texts_add(perfetto->names, "") != 0)
		return -ENOMEM;
	return 0;
}

void perfetto_fini(struct perfetto *perfetto)
{
	buffer_fini(&perfetto->packet);
	buffer_fini(&perfetto->interned);
	buffer_fini(&perfetto->callstack);
	free(perfetto->path);
	texts_free(perfetto->names);
	free(perfetto->stacks_told);
	free(perfetto->frames_told);
	*perfetto = (struct perfetto){0};
}

void perfetto_open(struct perfetto *perfetto)
{
	perfetto->packet.length = 0;
	perfetto->interned.length = 0;
	protobuf_number(&perfetto->packet, PACKET_SEQUENCE, SEQUENCE);
}

void perfetto_open_at(struct perfetto *perfetto, uint64_t time)
{
	perfetto_open(perfetto);
	protobuf_number(&perfetto->packet, PACKET_TIMESTAMP, time);
	protobuf_number(&perfetto->packet, PACKET_FLAGS, FLAG_NEEDS_STATE);
}

int perfetto_close(struct perfetto *perfetto)
{
	struct buffer *packet = &perfetto->packet;
	uint8_t head[2 * VARINT_MOST], *at = head;

	if (perfetto->interned.length)
		protobuf_bytes(packet, PACKET_INTERNED, perfetto->interned.bytes,
			       perfetto->interned.length);
	if (packet->bad || perfetto->interned.bad || perfetto->callstack.bad || perfetto->no_memory)
		return -ENOMEM;
	at = varint_put(at, TRACE_PACKET << 3 | 2);
	at = varint_put(at, packet->length);
	fwrite_unlocked(head, 1, (size_t)(at - head), perfetto->to);
	fwrite_unlocked(packet->bytes, 1, packet->length, perfetto->to);
	return 0;
}

static void intern_text(struct perfetto *perfetto, uint32_t field, uint64_t iid, const char *text)
{
	size_t entry = protobuf_open(&perfetto->interned, field);

	protobuf_number(&perfetto->interned, STRING_IID, iid);
	protobuf_text(&perfetto->interned, STRING_TEXT, text);
	protobuf_close(&perfetto->interned, entry);
}

uint64_t perfetto_name(struct perfetto *perfetto, const char *name)
{
	uint32_t known = texts_count(perfetto->names), number;

	if (known > NAMES_MOST)
		return 0;
	number = texts_add(perfetto->names, name);
	if (number == UINT32_MAX)
		perfetto->no_memory = true;
	else if (number == known)
		intern_text(perfetto, INTERNED_EVENT_NAMES, number, name);
	return number;
}

/* Sets bit `number`; whether it was set before. */
static bool tell(struct perfetto *perfetto, uint8_t **bits, uint32_t *room, uint32_t number)
{
	uint8_t bit = (uint8_t)(1u << number % 8);
	bool told;

	if (number >= *room) {
		uint32_t more = *room ? *room : 1024;
		uint8_t *bytes;

		while (more <= number)
			more = more < UINT32_MAX / 2 ? more * 2 : UINT32_MAX - 7;
		bytes = realloc(*bits, more / 8 + 1);
		if (!bytes) {
			perfetto->no_memory = true;
			return true;
		}
		memset(bytes + *room / 8, 0, more / 8 + 1 - *room / 8);
		*bits = bytes;
		*room = more;
	}
	told = (*bits)[number / 8] & bit;
	(*bits)[number / 8] |= bit;
	return told;
}

/* Build ids are raw bytes here. */
static void tell_build_id(struct perfetto *perfetto, uint32_t number, const char *digits)
{
	uint8_t bytes[128];
	size_t length = 0, entry;
	unsigned byte;

	for (; length < sizeof(bytes) && sscanf(digits, "%2x", &byte) == 1; digits += 2)
		bytes[length++] = (uint8_t)byte;
	entry = protobuf_open(&perfetto->interned, INTERNED_BUILD_IDS);
	protobuf_number(&perfetto->interned, STRING_IID, number);
	protobuf_bytes(&perfetto->interned, STRING_TEXT, bytes, length);
	protobuf_close(&perfetto->interned, entry);
}

/* What belongs to a module or a function has its number, in whichever table it is. */
static void tell_module(struct perfetto *perfetto, uint32_t number)
{
	const struct code_module *module = code_module(perfetto->code, number);
	struct buffer *to = &perfetto->interned;
	size_t entry;

	intern_text(perfetto, INTERNED_MAPPING_PATHS, number,
		    code_text(perfetto->code, module->path));
	if (module->build_id)
		tell_build_id(perfetto, number, code_text(perfetto->code, module->build_id));
	entry = protobuf_open(to, INTERNED_MAPPINGS);
	protobuf_number(to, MAPPING_IID, number);
	if (module->build_id)
		protobuf_number(to, MAPPING_BUILD_ID, number);
	protobuf_number(to, MAPPING_OFFSET, module->offset);
	protobuf_number(to, MAPPING_START, module->start);
	protobuf_number(to, MAPPING_END, module->end);
	protobuf_number(to, MAPPING_PATH, number);
	protobuf_close(to, entry);
}

static void tell_function(struct perfetto *perfetto, uint32_t number)
{
	const struct code_function *function = code_function(perfetto->code, number);

	intern_text(perfetto, INTERNED_FUNCTION_NAMES, number,
		    code_text(perfetto->code, function->name));
	if (function->file)
		intern_text(perfetto, INTERNED_SOURCE_PATHS, number,
			    code_text(perfetto->code, function->file));
}

static void tell_frame(struct perfetto *perfetto, uint64_t iid,
		       const struct code_location *location, const struct code_line *line,
		       bool awaits)
{
	struct buffer *to = &perfetto->interned;
	size_t entry = protobuf_open(to, INTERNED_FRAMES);

	protobuf_number(to, FRAME_IID, iid);
	protobuf_number(to, FRAME_FUNCTION, line->function);
	if (location->module) {
		protobuf_number(to, FRAME_MAPPING, location->module);
		protobuf_number(to, FRAME_OFFSET, location->offset);
	}
	if (code_function(perfetto->code, line->function)->file)
		protobuf_number(to, FRAME_SOURCE, line->function);
	if (line->line)
		protobuf_number(to, FRAME_LINE, line->line);
	protobuf_text(to, FRAME_KIND, awaits ? "await" : "native");
	protobuf_close(to, entry);
}

/* Writes what a location consists of, and appends the numbers of its frames, outermost first. */
static void put_location(struct perfetto *perfetto, uint32_t number, bool awaits)
{
	const struct code_location *location = code_location(perfetto->code, number);

	for (uint32_t i = location->count; i-- > 0;) {
		uint32_t frame = (location->first + i) * 2 + awaits;

		if (!tell(perfetto, &perfetto->frames_told, &perfetto->frames_room, frame))
			tell_frame(perfetto, frame + 1, location,
				   code_line(perfetto->code, location, i), awaits);
		protobuf_number(&perfetto->callstack, CALLSTACK_FRAMES, frame + 1);
	}
}

/* Locations of a stack, outermost first, in `path`; how many there are. */
static uint32_t find_path(struct perfetto *perfetto, const struct tree *tree, uint32_t stack)
{
	uint32_t depth = tree_at(tree, stack)->depth;
	struct perfetto_step *path = perfetto->path;

	if (depth > perfetto->path_room) {
		path = reallocarray(path, depth, sizeof(*path));
		if (!path)
			return 0;
		perfetto->path = path;
		perfetto->path_room = depth;
	}
	for (uint32_t i = depth; i-- > 0 && stack;) {
		const struct tree_node *node = tree_at(tree, stack);

		path[i].location = code_locate(perfetto->code, node);
		path[i].awaits = code_awaits(node);
		if (!path[i].location)
			return 0;
		stack = node->parent;
	}
	return depth;
}

static void tell_stack(struct perfetto *perfetto, const struct tree *tree, uint32_t stack)
{
	uint32_t depth = find_path(perfetto, tree, stack);

	if (!depth) {
		perfetto->no_memory = true;
		return;
	}
	while (perfetto->modules_told < perfetto->code->module_count)
		tell_module(perfetto, ++perfetto->modules_told);
	while (perfetto->functions_told < perfetto->code->function_count)
		tell_function(perfetto, ++perfetto->functions_told);
	perfetto->callstack.length = 0;
	protobuf_number(&perfetto->callstack, CALLSTACK_IID, stack);
	for (uint32_t i = 0; i < depth; i++)
		put_location(perfetto, perfetto->path[i].location, perfetto->path[i].awaits);
	protobuf_bytes(&perfetto->interned, INTERNED_CALLSTACKS, perfetto->callstack.bytes,
		       perfetto->callstack.length);
}

uint64_t perfetto_stack(struct perfetto *perfetto, const struct tree *tree, uint32_t stack)
{
	if (stack && !tell(perfetto, &perfetto->stacks_told, &perfetto->stacks_room, stack))
		tell_stack(perfetto, tree, stack);
	return stack;
}
