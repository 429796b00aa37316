/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/closure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "symbol/ldcache.h"
#include "util/cleanup.h"

#define LD_CACHE "/etc/ld.so.cache"
#define OBJECTS_MAX 1024u

/* A program or library, of which it is known who needs it first. */
struct object {
	char *name;  /* as it is needed; NULL for the program itself */
	char *path;  /* NULL: it was not found */
	char *rpath; /* that those which it needs look at, too; or NULL */
	uint32_t parent;
};

struct walk {
	struct object objects[OBJECTS_MAX];
	uint32_t count;
	const char *library_path;
	struct closure_file cache;
	bool no_memory;
};

int closure_open(struct closure_file *ret, const char *path)
{
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return -ENOEXEC;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	*ret = (struct closure_file){.bytes = bytes, .length = (size_t)st.st_size};
	return 0;
}

void closure_close(struct closure_file *file)
{
	if (file->bytes)
		munmap((void *)file->bytes, file->length);
	*file = (struct closure_file){0};
}

/* Whether the loader would take the file: it passes over those of other machines. */
static bool is_usable(const char *path)
{
	cleanup(closure_close) struct closure_file file = {0};
	struct linkage linkage;

	return closure_open(&file, path) == 0 &&
	       linkage_read(&linkage, file.bytes, file.length) == 0;
}

/* Puts one directory of a list into `to`, with the place of `origin` where it asks for that. */
static bool expand(char *to, size_t size, const char *directory, size_t length, const char *origin)
{
	static const char *const tokens[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(origin, '/');
	size_t used = 0;

	while (length) {
		size_t step = 1;
		int put = -1;

		for (int i = 0; i < 2 && *directory == '$'; i++) {
			size_t token = strlen(tokens[i]);

			if (length < token || memcmp(directory, tokens[i], token) != 0)
				continue;
			step = token;
			put = snprintf(to + used, size - used, "%.*s",
				       slash ? (int)(slash - origin) : 1, slash ? origin : ".");
		}
		if (put < 0)
			put = snprintf(to + used, size - used, "%c", *directory);
		used += (size_t)put;
		if (used >= size)
			return false;
		directory += step;
		length -= step;
	}
	return used > 0;
}

/* Looks in a list of directories, divided as LD_LIBRARY_PATH is. */
static char *search_list(const char *list, const char *origin, const char *name)
{
	while (list && *list) {
		size_t length = strcspn(list, ":;");
		char directory[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];

		if (strlen(name) <= NAME_MAX &&
		    expand(directory, sizeof(directory), list, length, origin)) {
			snprintf(path, sizeof(path), "%s/%s", directory, name);
			if (is_usable(path))
				return strdup(path);
		}
		list += length + (list[length] != '\0');
	}
	return NULL;
}

/* A path of the old sort counts for all that is needed below it. */
static char *search_rpaths(const struct walk *walk, uint32_t from, const char *name)
{
	char *found = NULL;

	for (uint32_t at = from; !found; at = walk->objects[at].parent) {
		const struct object *object = &walk->objects[at];

		found = search_list(object->rpath, object->path, name);
		if (!at)
			break;
	}
	return found;
}

static char *search_cache(const struct walk *walk, const char *name)
{
	const char *path;

	for (uint32_t i = 0; walk->cache.bytes; i++) {
		path = ldcache_find(walk->cache.bytes, walk->cache.length, name, i);
		if (!path || is_usable(path))
			return path ? strdup(path) : NULL;
	}
	return NULL;
}

/* Where the loader finds `name`, which object number `from` needs; NULL: nowhere. */
static char *search(const struct walk *walk, uint32_t from, const struct linkage *linkage,
		    const char *name)
{
	const struct object *object = &walk->objects[from];
	char *found;

	if (strchr(name, '/'))
		return strdup(name);
	found = linkage->runpath ? NULL : search_rpaths(walk, from, name);
	if (!found)
		found = search_list(walk->library_path, object->path, name);
	if (!found)
		found = search_list(linkage->runpath, object->path, name);
	if (!found)
		found = search_cache(walk, name);
	if (!found)
		found = search_list("/lib64:/usr/lib64:/lib:/usr/lib", "", name);
	return found;
}

static bool is_known(const struct walk *walk, const char *name)
{
	for (uint32_t i = 1; i < walk->count; i++)
		if (strcmp(walk->objects[i].name, name) == 0)
			return true;
	return false;
}

/* Adds what object number `from` needs. */
static void add_needed(struct walk *walk, uint32_t from, const struct linkage *linkage)
{
	struct object *object = &walk->objects[from];

	if (linkage->rpath && !linkage->runpath)
		object->rpath = strdup(linkage->rpath);
	for (uint32_t i = 0; i < linkage->needed_count && walk->count < OBJECTS_MAX; i++) {
		const char *name = linkage->needed[i];
		struct object *added = &walk->objects[walk->count];

		if (is_known(walk, name))
			continue;
		*added = (struct object){.name = strdup(name),
					 .path = search(walk, from, linkage, name),
					 .parent = from};
		if (!added->name) {
			free(added->path);
			walk->no_memory = true;
			return;
		}
		walk->count++;
	}
}

static struct walk *walk_free(struct walk *walk)
{
	for (uint32_t i = 0; walk && i < walk->count; i++) {
		free(walk->objects[i].name);
		free(walk->objects[i].path);
		free(walk->objects[i].rpath);
	}
	if (walk)
		closure_close(&walk->cache);
	free(walk);
	return NULL;
}

DEFINE_FREEP(struct walk, walk_free)

/* What cannot be read needs nothing that is known. */
static void look_into(struct walk *walk, uint32_t index)
{
	cleanup(closure_close) struct closure_file file = {0};
	const char *path = walk->objects[index].path;
	struct linkage linkage;

	if (path && closure_open(&file, path) == 0 &&
	    linkage_read(&linkage, file.bytes, file.length) == 0)
		add_needed(walk, index, &linkage);
}

int closure_walk(const char *program, const struct linkage *linkage, const char *library_path,
		 closure_visit visit, void *data)
{
	cleanup(walk_freep) struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return -ENOMEM;
	walk->library_path = library_path;
	walk->objects[0].path = realpath(program, NULL);
	walk->count = 1;
	if (!walk->objects[0].path)
		return -errno;
	closure_open(&walk->cache, LD_CACHE);
	add_needed(walk, 0, linkage);
	for (uint32_t i = 1; i < walk->count; i++) {
		visit(data, walk->objects[i].name);
		look_into(walk, i);
	}
	return walk->no_memory ? -ENOMEM : 0;
}
