/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/object.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/bounds.h"
#include "symbol/demangle.h"
#include "symbol/symtab.h"
#include "util/cleanup.h"

#define SEGMENTS_MOST 64u

/* A part of the file that is mapped to be run. */
struct segment {
	uint64_t offset, bytes, address;
};

enum state { STATE_NEW, STATE_OPEN, STATE_UNUSABLE };

struct object {
	char *path;
	uint32_t pid;
	uint64_t start, end; /* of a mapping of it */
	uint8_t build_id[BUILD_ID_MOST];
	size_t build_id_bytes;
	enum state state;
	struct diag complaint;
	char *debug_path; /* where separate debug files are looked for */
	Dwfl_Callbacks callbacks;
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct segment segments[SEGMENTS_MOST];
	unsigned segment_count;
	bool names_read;
	struct symtab symtab;
	struct debug_index *debug; /* NULL: there is none */
	struct bounds bounds;
	bool frames_read;
	Dwarf_CFI *cfi; /* NULL: there is none */
	Dwarf_Addr cfi_bias;
};

DEFINE_FREEP(struct object, object_free)

static void free_text(char **text)
{
	free(*text);
}

int object_new(struct object **ret, const struct symbol_module *module, uint32_t pid)
{
	cleanup(object_freep) struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return -ENOMEM;
	object->path = strdup(module->path);
	if (!object->path)
		return -ENOMEM;
	object->pid = pid;
	object->start = module->start;
	object->end = module->end;
	if (module->build_id && module->build_id_bytes <= BUILD_ID_MOST) {
		memcpy(object->build_id, module->build_id, module->build_id_bytes);
		object->build_id_bytes = module->build_id_bytes;
	}
	*ret = take(object);
	return 0;
}

struct object *object_free(struct object *object)
{
	if (!object)
		return NULL;
	debug_index_free(object->debug);
	symtab_fini(&object->symtab);
	if (object->dwfl)
		dwfl_end(object->dwfl);
	free(object->debug_path);
	free(object->path);
	free(object);
	return NULL;
}

bool object_is(const struct object *object, const struct symbol_module *module)
{
	size_t bytes = module->build_id ? module->build_id_bytes : 0;

	return strcmp(object->path, module->path) == 0 && object->build_id_bytes == bytes &&
	       (bytes == 0 || memcmp(object->build_id, module->build_id, bytes) == 0);
}

bool object_has_file(const struct object *object)
{
	if (strcmp(object->path, "[vdso]") == 0)
		return true;
	return object->path[0] == '/' && strncmp(object->path, "/memfd:", 7) != 0 &&
	       strncmp(object->path, "/dev/", 5) != 0 && strncmp(object->path, "/SYSV", 5) != 0;
}

size_t object_build_id(const struct object *object, const uint8_t **ret)
{
	*ret = object->build_id;
	return object->build_id_bytes;
}

const char *object_complaint(const struct object *object)
{
	return object->state == STATE_UNUSABLE && object->complaint.text[0] ? object->complaint.text
									    : NULL;
}

/* Says why a file is not the one that was mapped, and returns false. */
static bool is_same_build(struct object *object, int fd)
{
	uint8_t id[BUILD_ID_MOST];
	size_t bytes = origin_build_id(fd, id);

	if (bytes == object->build_id_bytes && memcmp(id, object->build_id, bytes) == 0)
		return true;
	if (object->build_id_bytes == 0)
		diag_set(&object->complaint, -ENOENT,
			 "%.150s: not used: nothing says which build of it was mapped",
			 object->path);
	else
		diag_set(&object->complaint, -ENOENT,
			 "%.150s: not used: it is another build than the one that ran",
			 object->path);
	return false;
}

/* The path without what the kernel adds to that of a file which is gone. */
static char *plain_path(const struct object *object)
{
	size_t length = strlen(object->path);

	if (origin_is_deleted(object->path))
		length -= strlen(" (deleted)");
	return strndup(object->path, length);
}

static int open_named(struct object *object)
{
	cleanup(free_text) char *path = plain_path(object);
	int fd;

	if (!path)
		return -ENOMEM;
	fd = origin_open(object->pid, path);
	if (fd < 0 && object->pid)
		fd = origin_open(0, path);
	return fd;
}

/* Returns a descriptor of the file that was mapped, or -1. */
static int open_mapped(struct object *object)
{
	int fd;

	if (object->pid) {
		fd = origin_open_mapped(object->pid, object->start, object->end);
		if (fd >= 0 && is_same_build(object, fd))
			return fd;
		close_fd(&fd);
	}
	/* One that was deleted may be there again; nothing but a build id can tell. */
	if (origin_is_deleted(object->path) && object->build_id_bytes == 0) {
		diag_set(&object->complaint, -ENOENT, "%.200s: not there any more", object->path);
		return -1;
	}
	fd = open_named(object);
	if (fd < 0)
		diag_set(&object->complaint, fd, "%.150s: %s", object->path, strerror(-fd));
	else if (is_same_build(object, fd))
		return fd;
	close_fd(&fd);
	return -1;
}

static int open_file(struct object *object)
{
	int fd = -1;

	if (strcmp(object->path, "[vdso]") == 0) {
		fd = origin_open_vdso();
		if (fd >= 0 && !is_same_build(object, fd)) {
			close(fd);
			fd = -1;
		}
	} else if (object_has_file(object)) {
		fd = open_mapped(object);
	}
	return fd;
}

static void read_segments(struct object *object)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(object->module, &bias);
	size_t count = 0;

	if (!elf || elf_getphdrnum(elf, &count) < 0)
		return;
	for (size_t i = 0; i < count && object->segment_count < SEGMENTS_MOST; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
		    header.p_flags & PF_X)
			object->segments[object->segment_count++] =
				(struct segment){.offset = header.p_offset,
						 .bytes = header.p_filesz,
						 .address = header.p_vaddr + bias};
	}
}

/*
 * Debug files lie beside the file, and in the program's and our own
 * /usr/lib/debug. The folder of the file once more is for a program that has
 * ended when they are looked for: nothing is to be seen below its root then.
 */
static int make_debug_path(struct object *object, const char *root)
{
	const char *slash = strrchr(object->path, '/');
	int length = slash ? (int)(slash - object->path) : 0;

	char *made;

	if (asprintf(&made, "+:.debug:%s/usr/lib/debug:/usr/lib/debug%s%.*s", root,
		     length ? ":" : "", length, object->path) < 0)
		return -ENOMEM;
	free(object->debug_path);
	object->debug_path = made;
	return 0;
}

/*
 * The search for debug files itself is libdw's: by build id, by debug link, and
 * from servers if DEBUGINFOD_URLS names any.
 */
static int report_file(struct object *object, int fd)
{
	cleanup(free_text) char *name = NULL;
	char root[64] = "";

	if (object->pid)
		snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", object->pid);
	if (asprintf(&name, "%s%s", root, object->path) < 0 || make_debug_path(object, root) < 0) {
		close(fd);
		return -ENOMEM;
	}
	object->callbacks = (Dwfl_Callbacks){.find_elf = dwfl_build_id_find_elf,
					     .find_debuginfo = dwfl_standard_find_debuginfo,
					     .debuginfo_path = &object->debug_path};
	object->dwfl = dwfl_begin(&object->callbacks);
	if (!object->dwfl) {
		close(fd);
		return -ENOMEM;
	}
	dwfl_report_begin(object->dwfl);
	/* Base 0: addresses are those that the file itself has. It takes `fd` if it likes it. */
	object->module = dwfl_report_elf(object->dwfl, object->path, name, fd, 0, true);
	if (!object->module) {
		close(fd);
		return diag_set(&object->complaint, -ENOENT, "%.150s: %.80s", object->path,
				dwfl_errmsg(-1));
	}
	dwfl_report_end(object->dwfl, NULL, NULL);
	read_segments(object);
	return 0;
}

static bool is_usable(struct object *object)
{
	int fd;

	if (object->state != STATE_NEW)
		return object->state == STATE_OPEN;
	object->state = STATE_UNUSABLE;
	fd = open_file(object);
	if (fd < 0 || report_file(object, fd) < 0)
		return false;
	object->state = STATE_OPEN;
	return true;
}

bool object_address(struct object *object, uint64_t offset, uint64_t *ret)
{
	if (!is_usable(object))
		return false;
	for (unsigned i = 0; i < object->segment_count; i++) {
		const struct segment *segment = &object->segments[i];

		if (offset >= segment->offset && offset - segment->offset < segment->bytes) {
			*ret = offset - segment->offset + segment->address;
			return true;
		}
	}
	return false;
}

static int read_names(struct object *object)
{
	int r;

	if (object->names_read)
		return 0;
	/* The debug file first: it may have the symbol table that the file has lost. */
	r = debug_index_new(&object->debug, object->module);
	if (r == 0)
		r = symtab_init(&object->symtab, object->module);
	if (r < 0)
		object->debug = debug_index_free(object->debug);
	if (r == 0)
		bounds_init(&object->bounds, object->module);
	object->names_read = r == 0;
	return r;
}

/* Whether users of the library know `entry` rather than `name`, as `read` for `__GI___libc_read`.
 */
static bool is_better_known(const struct symtab_entry *entry, const char *name)
{
	return name[0] == '_' && !is_mangled(name) && symtab_is_public(entry);
}

/* Also where a part of the function was inlined into the rest of it. */
static void rename_outermost(struct debug_place *place, const char *name)
{
	const char *before = place->frames[place->count - 1].function;

	for (uint32_t i = 0; i < place->count; i++) {
		const char **at = &place->frames[i].function;

		if (*at && strcmp(*at, before) == 0)
			*at = name;
	}
}

/*
 * Gives the outermost frame the name that the symbol table has, if the debug
 * information has none, or only the last part of it: so it is with functions
 * that other units cannot see.
 */
static void name_outermost(const struct symtab *symtab, uint64_t address, struct debug_place *place)
{
	const char **name = &place->frames[place->count - 1].function;
	const struct symtab_entry *entry = symtab_find(symtab, *name ? place->start : address);

	if (!entry)
		return;
	if (!*name) {
		*name = entry->name;
		place->start = entry->start;
	} else if (entry->start == place->start && !is_mangled(*name) &&
		   (is_mangled(entry->name) || is_better_known(entry, *name))) {
		rename_outermost(place, entry->name);
	}
}

int object_find(struct object *object, uint64_t address, struct debug_place *ret)
{
	int r;

	if (!is_usable(object))
		return -ENOENT;
	r = read_names(object);
	if (r < 0)
		return r;
	*ret = (struct debug_place){0};
	if (object->debug)
		r = debug_index_find(object->debug, address, ret);
	if (r < 0)
		return r;
	if (ret->count == 0)
		ret->count = 1;
	name_outermost(&object->symtab, address, ret);
	if (!ret->frames[ret->count - 1].function)
		ret->start = bounds_find(&object->bounds, address);
	return 0;
}

bool object_has_lines(const struct object *object)
{
	return object->debug != NULL;
}

static bool has_section(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) < 0)
		return false;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr header;
		const char *other =
			gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (other && strcmp(other, name) == 0)
			return true;
	}
	return false;
}

/* A separate debug file is not looked for here: it might have to be fetched, and a sample waits. */
static void read_frames(struct object *object)
{
	GElf_Addr bias;

	if (object->frames_read)
		return;
	object->frames_read = true;
	object->cfi = dwfl_module_eh_cfi(object->module, &object->cfi_bias);
	if (!object->cfi && has_section(dwfl_module_getelf(object->module, &bias), ".debug_frame"))
		object->cfi = dwfl_module_dwarf_cfi(object->module, &object->cfi_bias);
}

Dwarf_Frame *object_frame(struct object *object, uint64_t address)
{
	Dwarf_Frame *frame;

	if (!is_usable(object))
		return NULL;
	read_frames(object);
	if (!object->cfi ||
	    dwarf_cfi_addrframe(object->cfi, address - object->cfi_bias, &frame) != 0)
		return NULL;
	return frame;
}
