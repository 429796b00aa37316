/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/maps.h"
#include "trace/sample.h"
#include "util/grow.h"

#define NAMED_MOST 1000000u
#define BLOCK_BYTES (96u << 10) /* a block of names or modules is closed after so much */
#define ADDRESS_BYTES (FORMAT_PAYLOAD_MAX - 64 - BLOCK_BYTES) /* for which there is room then */
#define TEXT_MOST 4096u

int modules_init(struct modules *modules, struct recorder *recorder,
		 const struct attachment *attachment)
{
	struct symbols_options options = {.pid = attachment->pid};

	*modules = (struct modules){.recorder = recorder,
				    .attachment = attachment,
				    .pid = attachment->pid,
				    .anchors = attachment->control->anchors,
				    .dispatch = attachment->control->dispatch,
				    .dispatch_end = attachment->control->dispatch_end};
	if (map_init(&modules->known, UINT32_MAX) < 0 ||
	    map_init(&modules->named, NAMED_MOST) < 0 ||
	    symbols_new(&modules->symbols, &options) < 0 ||
	    unwinder_new(&modules->unwinder, modules->symbols) < 0) {
		modules_fini(modules);
		return -ENOMEM;
	}
	return 0;
}

void modules_fini(struct modules *modules)
{
	unwinder_free(modules->unwinder);
	symbols_free(modules->symbols);
	map_fini(&modules->known);
	map_fini(&modules->named);
	free(modules->addresses);
	*modules = (struct modules){0};
}

static int put(struct modules *modules, enum block_kind kind, struct buffer *payload)
{
	struct block block = {.kind = kind, .raw = (uint32_t)payload->length};
	int r = payload->bad ? -ENOMEM : recorder_put(modules->recorder, &block, payload->bytes);

	buffer_fini(payload);
	return r;
}

struct look {
	struct modules *modules;
	struct buffer list;
	uint64_t count;
};

static void tell_modules(struct look *look)
{
	struct modules *modules = look->modules;
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);

	if (!look->count || look->list.bad)
		return;
	buffer_put_varint(&payload, modules->anchors);
	buffer_put_varint(&payload, look->count);
	buffer_put(&payload, look->list.bytes, look->list.length);
	buffer_put_varint(&payload, modules->anchors - modules->dispatch);
	buffer_put_varint(&payload, modules->dispatch_end - modules->dispatch);
	put(modules, BLOCK_MODULES, &payload);
	look->list.length = 0;
	look->count = 0;
}

/* Another file in the place of one that was unmapped is another module. */
static uint64_t key_of(const struct symbol_module *module)
{
	uint64_t key = hash_mix(module->start) ^ hash_mix(module->end + module->offset);

	key = hash_xxh64(module->path, strlen(module->path), key);
	return module->build_id ? hash_xxh64(module->build_id, module->build_id_bytes, key) : key;
}

static int on_module(void *data, const struct symbol_module *module)
{
	struct look *look = data;
	struct modules *modules = look->modules;
	struct meta_module meta = {
		.start = module->start,
		.end = module->end,
		.offset = module->offset,
		.path = {module->path, strlen(module->path)},
		.build_id = {(const char *)module->build_id, module->build_id_bytes},
	};
	uint64_t key = key_of(module);

	if (map_find(&modules->known, key))
		return 0;
	if (map_put(&modules->known, key, 1) < 0 ||
	    symbols_add_module(modules->symbols, module) < 0)
		return -ENOMEM;
	meta_module_encode(&look->list, &meta);
	look->count++;
	if (look->list.length >= BLOCK_BYTES)
		tell_modules(look);
	return 0;
}

/* What the program kept of its mappings, copied out: it is not to be believed. */
static int look_at_kept(const struct modules *modules, struct look *look)
{
	struct arena_control *control = modules->attachment->control;
	uint32_t bytes = control->mapped_bytes;
	char *lines;
	int r;

	if (!bytes || bytes > ARENA_MAPPED_BYTES)
		return 0;
	lines = malloc(bytes);
	if (!lines)
		return -ENOMEM;
	memcpy(lines, arena_mapped(control), bytes);
	r = maps_each_in(lines, bytes, modules->pid, on_module, look);
	free(lines);
	return r;
}

int modules_look(struct modules *modules)
{
	struct look look = {.modules = modules, .list = BUFFER_INIT(FORMAT_PAYLOAD_MAX - 64)};
	int r = 0;

	/* Of a dead one, another may have the number. */
	if (attach_is_alive(modules->attachment))
		r = maps_each(modules->pid, on_module, &look);
	/* It was gone before anybody could look: then it says itself what it began with. */
	if (r != -ENOMEM && !modules->known.count)
		r = look_at_kept(modules, &look);
	tell_modules(&look);
	buffer_fini(&look.list);
	return r;
}

void modules_note(struct modules *modules, uint64_t address)
{
	uint64_t *addresses;

	if (map_find(&modules->named, address))
		return;
	addresses = grow(modules->addresses, modules->count, &modules->capacity, 1024,
			 sizeof(*addresses));
	if (!addresses)
		return;
	modules->addresses = addresses;
	if (map_put(&modules->named, address, 1) == 0)
		modules->addresses[modules->count++] = address;
}

static struct meta_text text_of(const char *text, size_t most)
{
	return (struct meta_text){text ? text : "", text ? strnlen(text, most) : 0};
}

/* False if nothing is known of it. */
static bool encode_name(struct modules *modules, struct buffer *to, uint64_t address)
{
	const struct symbol *symbol = symbols_find(modules->symbols, address);
	struct meta_symbol_frame frames[META_SYMBOL_FRAMES];
	uint32_t count = symbol->count < META_SYMBOL_FRAMES ? symbol->count : META_SYMBOL_FRAMES;
	size_t most;

	if (!count || (!symbol->frames[count - 1].function && !symbol->start))
		return false;
	/* Two texts for each frame, and some numbers. */
	most = ADDRESS_BYTES / count / 2 - 16;
	if (most > TEXT_MOST)
		most = TEXT_MOST;
	for (uint32_t i = 0; i < count; i++)
		frames[i] = (struct meta_symbol_frame){
			.function = text_of(symbol->frames[i].function, most),
			.file = text_of(symbol->frames[i].file, most),
			.line = symbol->frames[i].line};
	meta_symbol_encode(to, address, symbol->start, frames, count);
	return true;
}

static int put_names(struct modules *modules, struct buffer *list, uint64_t count)
{
	struct buffer payload = BUFFER_INIT(FORMAT_PAYLOAD_MAX);

	if (!count || list->bad)
		return list->bad ? -ENOMEM : 0;
	buffer_put_varint(&payload, count);
	buffer_put(&payload, list->bytes, list->length);
	list->length = 0;
	return put(modules, BLOCK_SYMBOLS, &payload);
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int modules_tell_names(struct modules *modules)
{
	struct buffer list = BUFFER_INIT(FORMAT_PAYLOAD_MAX - 64);
	uint64_t count = 0;
	int r = 0;

	/* Module after module, each is opened once; and what is alike stands together. */
	if (modules->count)
		qsort(modules->addresses, modules->count, sizeof(*modules->addresses), by_address);
	for (uint32_t i = 0; i < modules->count && r >= 0; i++) {
		count += encode_name(modules, &list, modules->addresses[i]);
		if (list.length < BLOCK_BYTES)
			continue;
		r = put_names(modules, &list, count);
		count = 0;
	}
	if (r >= 0)
		r = put_names(modules, &list, count);
	buffer_fini(&list);
	return r;
}
