/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/cache.h"
#include "symbol/demangle.h"
#include "symbol/mappings.h"
#include "symbol/modules.h"
#include "symbol/object.h"
#include "symbol/perfmap.h"
#include "symbol/store.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "util/map.h"

#define ADDRESSES_MOST (16u * 1024 * 1024)
#define FRAMES_MOST 256u /* of one address that somebody says */

/* A file that is mapped, perhaps in several places. */
struct file {
	struct object *object;
	const char *path, *name;
	struct cache_file *cached; /* NULL: nothing is kept of it */
	bool cache_tried;
};

/* What is known of an address. */
struct known {
	const struct symbol *symbol; /* NULL: to be looked up, again if mappings changed */
	const struct symbol *said;   /* by symbols_add(): what is not about the module counts */
	uint64_t address;
};

struct symbols {
	uint32_t pid;
	bool no_files;
	bool crowded; /* a mapping found no room */
	uint64_t revision;
	struct store store;
	struct mappings mappings;
	struct file *files;
	uint32_t file_count, file_capacity;
	struct map by_address; /* -> index in `known` */
	struct known *known;
	uint32_t known_count, known_capacity;
	struct perfmap perfmap;
	struct cache *cache; /* NULL: none */
};

DEFINE_FREEP(struct symbols, symbols_free)

static const struct symbol_frame unknown_frame;
static const struct symbol unknown_symbol = {.count = 1, .frames = &unknown_frame};

int symbols_new(struct symbols **ret, const struct symbols_options *options)
{
	cleanup(symbols_freep) struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	symbols->pid = options->pid;
	symbols->no_files = options->no_files;
	perfmap_init(&symbols->perfmap, options->no_files ? 0 : options->pid);
	if (store_init(&symbols->store) < 0 || map_init(&symbols->by_address, ADDRESSES_MOST) < 0 ||
	    (!options->no_files && cache_new(&symbols->cache, options->cache) < 0))
		return -ENOMEM;
	*ret = take(symbols);
	return 0;
}

struct symbols *symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return NULL;
	for (uint32_t i = 0; i < symbols->file_count; i++) {
		cache_close(symbols->files[i].cached);
		object_free(symbols->files[i].object);
	}
	cache_free(symbols->cache);
	free(symbols->files);
	free(symbols->known);
	mappings_fini(&symbols->mappings);
	map_fini(&symbols->by_address);
	perfmap_fini(&symbols->perfmap);
	store_fini(&symbols->store);
	free(symbols);
	return NULL;
}

/* The last part of a path, without what the kernel adds to that of a deleted file. */
static const char *short_name(struct store *store, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;
	size_t length = strlen(name);

	if (origin_is_deleted(name))
		length -= strlen(" (deleted)");
	return store_text(store, name, length);
}

static int add_file(struct symbols *symbols, const struct symbol_module *module, uint32_t *ret)
{
	struct file file = {0};
	int r;
	struct file *more = grow(symbols->files, symbols->file_count, &symbols->file_capacity, 16,
				 sizeof(*more));

	if (!more)
		return -ENOMEM;
	symbols->files = more;
	file.path = store_text(&symbols->store, module->path, strlen(module->path));
	file.name = short_name(&symbols->store, module->path);
	if (!file.path || !file.name)
		return -ENOMEM;
	r = object_new(&file.object, module, symbols->pid);
	if (r < 0)
		return r;
	*ret = symbols->file_count;
	symbols->files[symbols->file_count++] = file;
	return 0;
}

/* The newest first: mappings of one file follow each other. */
static int find_file(struct symbols *symbols, const struct symbol_module *module, uint32_t *ret)
{
	for (uint32_t i = symbols->file_count; i-- > 0;)
		if (object_is(symbols->files[i].object, module)) {
			*ret = i;
			return 0;
		}
	return add_file(symbols, module, ret);
}

/* What was found in another mapping does not count any more. */
static void forget(struct symbols *symbols, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < symbols->known_count; i++)
		if (symbols->known[i].address >= start && symbols->known[i].address < end)
			symbols->known[i].symbol = NULL;
}

/* Whether `module` is there already, and said better: with a build id. */
static bool says_less(const struct symbols *symbols, const struct symbol_module *module)
{
	const struct mapping *there = mappings_find(&symbols->mappings, module->start);
	const uint8_t *build_id;
	const struct file *file;

	if (!there || module->build_id || there->end < module->end ||
	    module->start - there->start != module->offset - there->offset)
		return false;
	file = &symbols->files[there->file];
	return strcmp(file->path, module->path) == 0 &&
	       object_build_id(file->object, &build_id) > 0;
}

int symbols_add_module(struct symbols *symbols, const struct symbol_module *module)
{
	struct mapping mapping = {
		.start = module->start, .end = module->end, .offset = module->offset};
	int r = 0;

	if (says_less(symbols, module))
		return 0;
	if (symbols->mappings.count + 2 <= MAPPINGS_MOST)
		r = find_file(symbols, module, &mapping.file);
	else
		r = -E2BIG;
	if (r == 0 && mappings_has(&symbols->mappings, &mapping))
		return 0;
	if (r == 0)
		r = mappings_add(&symbols->mappings, &mapping);
	if (r == -E2BIG) {
		symbols->crowded = true;
		return 0;
	}
	if (r < 0)
		return r;
	symbols->revision++;
	forget(symbols, module->start, module->end);
	return 0;
}

/* The place of `address`, new if need be. NULL: no memory. */
static struct known *know(struct symbols *symbols, uint64_t address)
{
	uint32_t *at = map_find(&symbols->by_address, address);
	struct known *more;

	if (at)
		return &symbols->known[*at];
	more = grow(symbols->known, symbols->known_count, &symbols->known_capacity, 256,
		    sizeof(*more));
	if (!more)
		return NULL;
	symbols->known = more;
	if (map_put(&symbols->by_address, address, symbols->known_count) < 0)
		return NULL;
	symbols->known[symbols->known_count] = (struct known){.address = address};
	return &symbols->known[symbols->known_count++];
}

static const char *copy_text(struct symbols *symbols, const char *text, int *r)
{
	const char *copy;

	if (!text || !text[0])
		return NULL;
	copy = store_text(&symbols->store, text, strlen(text));
	if (!copy)
		*r = -ENOMEM;
	return copy;
}

/* Copies frames; `mangled` says that functions are named as in a file. NULL: no memory. */
static const struct symbol_frame *copy_frames(struct symbols *symbols,
					      const struct symbol_frame *frames, uint32_t count,
					      bool mangled)
{
	struct symbol_frame *copies = store_alloc(&symbols->store, count * sizeof(*copies));
	char name[DEMANGLE_MOST];
	int r = 0;

	for (uint32_t i = 0; copies && i < count; i++) {
		const char *function = frames[i].function;

		if (mangled && function) {
			demangle(function, name);
			function = name;
		}
		copies[i] = (struct symbol_frame){.function = copy_text(symbols, function, &r),
						  .file = copy_text(symbols, frames[i].file, &r),
						  .line = frames[i].line};
	}
	return r < 0 ? NULL : copies;
}

int symbols_add(struct symbols *symbols, uint64_t address, uint64_t start,
		const struct symbol_frame *frames, uint32_t count)
{
	struct known *known = know(symbols, address);
	struct symbol *symbol = store_alloc(&symbols->store, sizeof(*symbol));

	if (!known || !symbol)
		return -ENOMEM;
	if (count > FRAMES_MOST)
		count = FRAMES_MOST;
	*symbol = (struct symbol){.start = start, .count = 1, .frames = &unknown_frame};
	if (count > 0) {
		symbol->count = count;
		symbol->frames = copy_frames(symbols, frames, count, false);
		if (!symbol->frames)
			return -ENOMEM;
	}
	known->said = symbol;
	known->symbol = NULL;
	return 0;
}

/* What is kept of a file on disk; NULL: nothing. */
static struct cache_file *open_cached(struct symbols *symbols, struct file *file)
{
	const uint8_t *build_id;
	size_t bytes;

	if (file->cache_tried || !symbols->cache)
		return file->cached;
	file->cache_tried = true;
	bytes = object_build_id(file->object, &build_id);
	if (cache_open(symbols->cache, build_id, bytes, &symbols->store, &file->cached) < 0)
		file->cached = NULL;
	return file->cached;
}

/* Finds what the file itself says of `entry->offset`. False: it says nothing, or cannot be used. */
static bool look_in_object(struct symbols *symbols, struct object *object,
			   struct cache_entry *entry)
{
	struct debug_place place;

	if (!object_address(object, entry->offset, &entry->address) ||
	    object_find(object, entry->address, &place) < 0)
		return false;
	entry->frames = copy_frames(symbols, place.frames, place.count, true);
	entry->count = place.count;
	entry->start = place.start;
	return entry->frames != NULL;
}

/* Fills what is known of `address`, which lies at `offset` in the file. */
static bool look_in_file(struct symbols *symbols, struct file *file, uint64_t address,
			 struct symbol *symbol)
{
	struct cache_file *cached = symbols->no_files ? NULL : open_cached(symbols, file);
	const struct cache_entry *known = cached ? cache_find(cached, symbol->offset) : NULL;
	struct cache_entry found = {.offset = symbol->offset};

	if (symbols->no_files)
		return false;
	if (!known) {
		if (!look_in_object(symbols, file->object, &found))
			return false;
		if (cached)
			cache_add(cached, &found, object_has_lines(file->object));
		known = &found;
	}
	symbol->offset = known->address;
	symbol->count = known->count;
	symbol->frames = known->frames;
	symbol->start = known->start ? known->start - known->address + address : 0;
	return true;
}

static void look_in_perfmap(struct symbols *symbols, uint64_t address, struct symbol *symbol)
{
	uint64_t start;
	const char *name = perfmap_find(&symbols->perfmap, address, &start);
	const struct symbol_frame frame = {.function = name};
	const struct symbol_frame *frames;

	if (!name)
		return;
	frames = copy_frames(symbols, &frame, 1, true);
	if (!frames)
		return;
	symbol->frames = frames;
	symbol->start = start;
}

static const struct symbol *look_up(struct symbols *symbols, uint64_t address,
				    const struct symbol *said)
{
	const struct mapping *mapping = mappings_find(&symbols->mappings, address);
	struct file *file = mapping ? &symbols->files[mapping->file] : NULL;
	struct symbol *symbol = store_alloc(&symbols->store, sizeof(*symbol));
	/* Of one without a name, a file may know more. */
	bool named = said && said->frames[said->count - 1].function;

	if (!symbol)
		return NULL;
	*symbol = named ? *said : unknown_symbol;
	if (file) {
		symbol->module = file->name;
		symbol->path = file->path;
		symbol->offset = address - mapping->start + mapping->offset;
	}
	if (!named && !(file && look_in_file(symbols, file, address, symbol)) &&
	    !(file && object_has_file(file->object)))
		look_in_perfmap(symbols, address, symbol);
	if (said && !symbol->start)
		symbol->start = said->start;
	return symbol;
}

const struct symbol *symbols_find(struct symbols *symbols, uint64_t address)
{
	struct known *known = know(symbols, address);

	if (!known)
		return &unknown_symbol;
	if (!known->symbol)
		known->symbol = look_up(symbols, address, known->said);
	return known->symbol ? known->symbol : &unknown_symbol;
}

void symbols_complaints(const struct symbols *symbols, void (*tell)(void *data, const char *what),
			void *data)
{
	for (uint32_t i = 0; i < symbols->file_count; i++) {
		const char *what = object_complaint(symbols->files[i].object);

		if (what)
			tell(data, what);
	}
	if (symbols->crowded)
		tell(data,
		     "the program has more mappings of code than are kept; some have no names");
}

bool symbols_is_mapped(const struct symbols *symbols, uint64_t address)
{
	return mappings_find(&symbols->mappings, address) != NULL;
}

struct object *symbols_object(struct symbols *symbols, uint64_t address, uint64_t *ret)
{
	const struct mapping *mapping = mappings_find(&symbols->mappings, address);
	struct object *object = mapping ? symbols->files[mapping->file].object : NULL;

	if (!object || symbols->no_files ||
	    !object_address(object, address - mapping->start + mapping->offset, ret))
		return NULL;
	return object;
}

uint64_t symbols_revision(const struct symbols *symbols)
{
	return symbols->revision;
}
