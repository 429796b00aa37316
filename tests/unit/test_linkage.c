/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "check.h"
#include "symbol/closure.h"
#include "symbol/ldcache.h"

static const char *directory; /* of the programs to look at */

static struct closure_file open_subject(const char *name)
{
	struct closure_file file = {0};
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	CHECK_EQ(closure_open(&file, path), 0);
	return file;
}

/* All names that are needed, each with a space behind it. */
static void note_name(void *data, const char *name)
{
	char *names = data;
	size_t used = strlen(names);

	snprintf(names + used, 4096 - used, "%s ", name);
}

static const char *needed_by(const char *name, const char *library_path)
{
	static char names[4096];
	struct closure_file file = open_subject(name);
	struct linkage linkage = {0};
	char path[4096];

	names[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	CHECK_EQ(linkage_read(&linkage, file.bytes, file.length), 0);
	CHECK_EQ(closure_walk(path, &linkage, library_path, note_name, names), 0);
	closure_close(&file);
	return names;
}

static void says_what_a_program_needs(void)
{
	struct closure_file file = open_subject("linked-runpath");
	struct linkage linkage;
	bool found = false;

	CHECK_EQ(linkage_read(&linkage, file.bytes, file.length), 0);
	CHECK(linkage.loaded);
	CHECK(linkage.runpath != NULL && linkage.rpath == NULL);
	for (uint32_t i = 0; i < linkage.needed_count; i++)
		found |= strcmp(linkage.needed[i], "liblinked-outer.so") == 0;
	CHECK(found);
	closure_close(&file);
}

static void knows_the_old_sort_of_path(void)
{
	struct closure_file file = open_subject("linked-rpath");
	struct linkage linkage;

	CHECK_EQ(linkage_read(&linkage, file.bytes, file.length), 0);
	CHECK(linkage.rpath != NULL && linkage.runpath == NULL);
	closure_close(&file);
}

static void a_static_program_needs_nothing(void)
{
	struct closure_file file = open_subject("linked-static");
	struct linkage linkage;

	CHECK_EQ(linkage_read(&linkage, file.bytes, file.length), 0);
	CHECK(!linkage.loaded);
	CHECK_EQ(linkage.needed_count, 0);
	closure_close(&file);
}

static void finds_the_functions_that_it_has_itself(void)
{
	static const char *const names[] = {"outer", "own_function", "main", "nothing"};
	struct closure_file dynamic = open_subject("linked-runpath");
	struct closure_file alone = open_subject("linked-static");

	CHECK_EQ(linkage_defines(dynamic.bytes, dynamic.length, names, 4), 6);
	CHECK_EQ(linkage_defines(alone.bytes, alone.length, names, 4), 7);
	closure_close(&dynamic);
	closure_close(&alone);
}

static void finds_sections(void)
{
	struct closure_file file = open_subject("linked-runpath");

	CHECK(linkage_has_section(file.bytes, file.length, ".dynamic"));
	CHECK(!linkage_has_section(file.bytes, file.length, ".dynami"));
	closure_close(&file);
}

/* The innermost library is found, and so what it needs, by a path that counts for all. */
static void goes_where_the_loader_goes(void)
{
	CHECK(strstr(needed_by("linked-rpath", NULL), "libm.so.6 ") != NULL);
	CHECK(strstr(needed_by("linked-rpath", NULL), "libc.so.6 ") != NULL);
	CHECK(strstr(needed_by("linked-runpath", NULL), "liblinked-inner.so ") != NULL);
	CHECK(strstr(needed_by("linked-runpath", NULL), "libm.so.6 ") == NULL);
	CHECK(strstr(needed_by("linked-runpath", directory), "libm.so.6 ") != NULL);
	CHECK_STR_EQ(needed_by("linked-static", NULL), "");
}

static void write_file(const char *path, const void *bytes, size_t length)
{
	FILE *file = fopen(path, "wb");

	CHECK(file && fwrite(bytes, 1, length, file) == length);
	if (file)
		fclose(file);
}

/* A file of that name that is for another sort of machine is passed over, as the loader does. */
static void passes_over_what_is_not_for_this_machine(void)
{
	char folder[] = "/tmp/unweave-linkage-XXXXXX", path[4096], list[8192];
	struct closure_file file = open_subject("liblinked-outer.so");
	unsigned char *copy = malloc(file.length);

	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/liblinked-outer.so", folder);
	memcpy(copy, file.bytes, file.length);
	copy[EI_CLASS] = ELFCLASS32;
	write_file(path, copy, file.length);
	snprintf(list, sizeof(list), "/nowhere:%s;%s", folder, directory);
	CHECK(strstr(needed_by("linked-runpath", list), "libm.so.6 ") != NULL);
	unlink(path);
	rmdir(folder);
	free(copy);
	closure_close(&file);
}

static void says_what_is_no_program(void)
{
	struct closure_file file = open_subject("linked-runpath");
	unsigned char *copy = malloc(file.length);
	struct linkage linkage;

	CHECK_EQ(linkage_read(&linkage, "#!/bin/sh\n", 10), -ENOEXEC);
	CHECK_EQ(linkage_read(&linkage, "", 0), -ENOEXEC);
	memcpy(copy, file.bytes, file.length);
	CHECK_EQ(linkage_read(&linkage, copy, 20), -EBADMSG);
	copy[offsetof(Elf64_Ehdr, e_machine)] ^= 1;
	CHECK_EQ(linkage_read(&linkage, copy, file.length), -EPROTONOSUPPORT);
	copy[offsetof(Elf64_Ehdr, e_machine)] ^= 1;
	copy[offsetof(Elf64_Ehdr, e_phoff) + 7] = 0xff;
	CHECK_EQ(linkage_read(&linkage, copy, file.length), -EBADMSG);
	free(copy);
	closure_close(&file);
}

/* Copied to memory of that length, so that a sanitizer sees who reads beyond. */
static void a_file_may_end_anywhere(void)
{
	static const char *const names[] = {"outer"};
	struct closure_file file = open_subject("linked-runpath");

	for (size_t length = 0; length < file.length; length += 1 + length / 16) {
		unsigned char *copy = malloc(length + 1);
		struct linkage linkage;

		memcpy(copy, file.bytes, length);
		linkage_read(&linkage, copy, length);
		CHECK_EQ(linkage_defines(copy, length, names, 1), 0);
		linkage_has_section(copy, length, "none");
		free(copy);
	}
	closure_close(&file);
}

/* A cache with two libraries of one name, as there are for two sorts of machines. */
#define NAMES "libx.so.1\0/lib32/libx.so.1\0/lib64/libx.so.1"
#define NAMES_AT (48 + 2 * 24)

static size_t make_cache(unsigned char *bytes)
{
	uint32_t numbers[] = {2, sizeof(NAMES)};
	uint32_t entries[2][6] = {{3, NAMES_AT, NAMES_AT + 10}, {0x303, NAMES_AT, NAMES_AT + 27}};

	memset(bytes, 0, 48);
	memcpy(bytes, "glibc-ld.so.cache1.1", 20);
	memcpy(bytes + 20, numbers, sizeof(numbers));
	memcpy(bytes + 48, entries, sizeof(entries));
	memcpy(bytes + NAMES_AT, NAMES, sizeof(NAMES));
	return NAMES_AT + sizeof(NAMES);
}

static void reads_the_cache_of_the_loader(void)
{
	unsigned char bytes[256];
	size_t length = make_cache(bytes);

	CHECK_STR_EQ(ldcache_find(bytes, length, "libx.so.1", 0), "/lib32/libx.so.1");
	CHECK_STR_EQ(ldcache_find(bytes, length, "libx.so.1", 1), "/lib64/libx.so.1");
	CHECK(!ldcache_find(bytes, length, "libx.so.1", 2));
	CHECK(!ldcache_find(bytes, length, "libx.so", 0));
}

static void reads_it_behind_an_old_one(void)
{
	unsigned char bytes[512] = "ld.so-1.7.0";
	size_t length;

	bytes[12] = 1; /* one entry of 12 bytes, and four to align */
	length = 32 + make_cache(bytes + 32);
	CHECK_STR_EQ(ldcache_find(bytes, length, "libx.so.1", 0), "/lib32/libx.so.1");
}

static void a_cache_may_end_anywhere(void)
{
	unsigned char bytes[256];
	size_t length = make_cache(bytes);

	for (size_t cut = 0; cut < length; cut++) {
		unsigned char *copy = malloc(cut + 1);

		memcpy(copy, bytes, cut);
		ldcache_find(copy, cut, "libx.so.1", 1);
		CHECK(!ldcache_find(copy, cut, "liby.so.1", 0));
		free(copy);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	directory = argv[1];
	RUN(says_what_a_program_needs);
	RUN(knows_the_old_sort_of_path);
	RUN(a_static_program_needs_nothing);
	RUN(finds_the_functions_that_it_has_itself);
	RUN(finds_sections);
	RUN(goes_where_the_loader_goes);
	RUN(passes_over_what_is_not_for_this_machine);
	RUN(says_what_is_no_program);
	RUN(a_file_may_end_anywhere);
	RUN(reads_the_cache_of_the_loader);
	RUN(reads_it_behind_an_old_one);
	RUN(a_cache_may_end_anywhere);
	return check_done();
}
