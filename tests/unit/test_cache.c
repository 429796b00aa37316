/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "symbol/cachefile.h"
#include "symbol/origin.h"
#include "util/hash.h"

#define BASE UINT64_C(0x400000000)
#define CODE 0x1000u /* where the linker puts it in the file: the next page */
#define OFFSETS 0x400u

static const char *subject; /* a program with debug information */
static char folder[PATH_MAX];
static char program[PATH_MAX]; /* a copy of it */
static char place[PATH_MAX];   /* where the cache is */
static uint8_t build_id[BUILD_ID_MOST];
static size_t build_id_bytes;

static void run(const char *format, const char *what)
{
	char command[3 * PATH_MAX];

	snprintf(command, sizeof(command), format, what);
	CHECK_EQ(system(command), 0);
}

static void copy_program(void)
{
	char command[3 * PATH_MAX];

	snprintf(command, sizeof(command), "cp '%s' '%s'", subject, program);
	CHECK_EQ(system(command), 0);
}

static void fresh_folder(void)
{
	if (folder[0])
		run("rm -rf '%s'", folder);
	snprintf(folder, sizeof(folder), "/tmp/unweave-cache-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	snprintf(program, sizeof(program), "%.200s/program", folder);
	snprintf(place, sizeof(place), "%.200s/above/unweave", folder);
	copy_program();
}

static struct symbols *open_symbols(const char *cache)
{
	struct symbols *symbols = NULL;
	struct symbols_options options = {.cache = cache};
	struct symbol_module module = {.start = BASE,
				       .end = BASE + 0x100000,
				       .path = program,
				       .build_id = build_id,
				       .build_id_bytes = build_id_bytes};

	CHECK_EQ(symbols_new(&symbols, &options), 0);
	CHECK_EQ(symbols_add_module(symbols, &module), 0);
	return symbols;
}

/* Looks at all of the program; returns how many places have a name. */
static unsigned count_names(const char *cache)
{
	struct symbols *symbols = open_symbols(cache);
	unsigned names = 0;

	for (unsigned i = 0; i < OFFSETS; i++)
		names += symbols_find(symbols, BASE + CODE + i)->frames[0].function != NULL;
	symbols_free(symbols);
	return names;
}

static bool is_same_text(const char *left, const char *right)
{
	return left == right || (left && right && strcmp(left, right) == 0);
}

static bool is_same_symbol(const struct symbol *left, const struct symbol *right)
{
	bool same = left->count == right->count && left->start == right->start &&
		    left->offset == right->offset && is_same_text(left->module, right->module);

	for (uint32_t i = 0; same && i < left->count; i++)
		same = is_same_text(left->frames[i].function, right->frames[i].function) &&
		       is_same_text(left->frames[i].file, right->frames[i].file) &&
		       left->frames[i].line == right->frames[i].line;
	return same;
}

static void what_was_found_needs_no_program_any_more(void)
{
	struct symbols *before, *after;
	unsigned names = 0;

	fresh_folder();
	CHECK(count_names(place) > 100);
	before = open_symbols("");
	for (unsigned i = 0; i < OFFSETS; i++)
		symbols_find(before, BASE + CODE + i);
	unlink(program);
	after = open_symbols(place);
	for (unsigned i = 0; i < OFFSETS; i++) {
		const struct symbol *symbol = symbols_find(after, BASE + CODE + i);

		CHECK(is_same_symbol(symbol, symbols_find(before, BASE + CODE + i)));
		names += symbol->frames[0].function != NULL;
	}
	CHECK(names > 100);
	symbols_free(before);
	symbols_free(after);
	/* Without the cache there is nothing left. */
	CHECK_EQ(count_names(""), 0);
}

static char *file_path(char path[2 * PATH_MAX])
{
	size_t at = (size_t)snprintf(path, PATH_MAX, "%s/", place);

	for (size_t i = 0; i < build_id_bytes; i++)
		at += (size_t)snprintf(path + at, 3, "%02x", build_id[i]);
	snprintf(path + at, 16, ".symbols");
	return path;
}

static void nobody_else_can_look_into_it(void)
{
	char path[2 * PATH_MAX];
	struct stat st;

	umask(0);
	fresh_folder();
	count_names(place);
	CHECK(stat(place, &st) == 0 && (st.st_mode & 0777) == 0700);
	CHECK(stat(file_path(path), &st) == 0 && (st.st_mode & 0777) == 0600);
	umask(022);
}

/* Makes the cache as it would be used, and says how many names come from it alone. */
static unsigned names_left(void)
{
	unsigned names;

	unlink(program);
	names = count_names(place);
	copy_program();
	return names;
}

static void what_others_could_have_written_is_not_used(void)
{
	char path[2 * PATH_MAX], other[3 * PATH_MAX];

	fresh_folder();
	count_names(place);
	CHECK(names_left() > 100);
	CHECK_EQ(chmod(place, 0770), 0);
	CHECK_EQ(names_left(), 0);
	CHECK_EQ(chmod(place, 0700), 0);
	CHECK_EQ(chmod(file_path(path), 0606), 0);
	CHECK_EQ(names_left(), 0);
	CHECK_EQ(chmod(path, 0600), 0);
	CHECK(names_left() > 100);

	/* Links: to the file, and to the folder. */
	snprintf(other, sizeof(other), "%s.other", path);
	CHECK(rename(path, other) == 0 && symlink(other, path) == 0);
	CHECK_EQ(names_left(), 0);
	CHECK(unlink(path) == 0 && rename(other, path) == 0);
	snprintf(other, sizeof(other), "%s.other", place);
	CHECK(rename(place, other) == 0 && symlink(other, place) == 0);
	CHECK_EQ(names_left(), 0);
}

static void a_folder_that_cannot_be_written_does_no_harm(void)
{
	fresh_folder();
	CHECK(count_names("/proc/nowhere/at/all") > 100);
	CHECK(count_names(program) > 100);
}

static void names_without_lines_count_for_a_day(void)
{
	char path[2 * PATH_MAX], command[4 * PATH_MAX];
	struct timespec old[2] = {{.tv_sec = time(NULL) - 25 * 60 * 60}, {0}};

	fresh_folder();
	snprintf(command, sizeof(command), "objcopy --strip-debug '%s'", program);
	CHECK_EQ(system(command), 0);
	CHECK(count_names(place) > 100);
	unlink(program);
	CHECK(count_names(place) > 100);
	old[1] = old[0];
	CHECK_EQ(utimensat(AT_FDCWD, file_path(path), old, 0), 0);
	CHECK_EQ(count_names(place), 0);
}

/* The same build may be met with its debug information and without. */
static void names_with_lines_replace_those_without(void)
{
	static const struct symbol_frame poor = {.function = "f"}, nameless = {0};
	static const struct symbol_frame rich = {.function = "f", .file = "f.c", .line = 7};
	struct cache_entry first = {.offset = 1, .address = 1, .count = 1, .frames = &poor};
	struct cache_entry second = {.offset = 2, .address = 2, .count = 1, .frames = &nameless};
	struct cache_entry third = {.offset = 3, .address = 3, .count = 1, .frames = &rich};
	struct cache_file *file = NULL;
	struct store store;

	CHECK_EQ(store_init(&store), 0);
	CHECK_EQ(cache_file_new(&file, &store), 0);
	CHECK_EQ(cache_add(file, &first, false), 0);
	CHECK_EQ(cache_add(file, &second, false), 0);
	CHECK(cache_find(file, 1) && !cache_find(file, 2));
	CHECK_EQ(cache_add(file, &third, true), 0);
	CHECK(!cache_find(file, 1) && cache_find(file, 3));
	CHECK_EQ(cache_add(file, &first, false), 0);
	CHECK(!cache_find(file, 1) && cache_find(file, 3));
	cache_close(file);
	store_fini(&store);
}

static void make_old_file(const char *name, off_t bytes, time_t age)
{
	struct timespec old[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
	char path[2 * PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", place, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && ftruncate(fd, bytes) == 0 && futimens(fd, old) == 0);
	close(fd);
}

static bool is_there(const char *name)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", place, name);
	return access(path, F_OK) == 0;
}

static void the_oldest_make_room(void)
{
	char path[2 * PATH_MAX];

	fresh_folder();
	count_names(place);
	unlink(file_path(path));
	make_old_file("aa.symbols", CACHE_FOLDER_MOST / 2, 3000);
	make_old_file("bb.symbols", CACHE_FOLDER_MOST / 2, 5000);
	make_old_file("cc.symbols", CACHE_FOLDER_MOST / 4, 1000);
	make_old_file("dd.symbols.1.new", 10, 100000);
	make_old_file("of-somebody", CACHE_FOLDER_MOST, 100000);
	count_names(place);
	CHECK(is_there("aa.symbols") && !is_there("bb.symbols") && is_there("cc.symbols"));
	CHECK(!is_there("dd.symbols.1.new"));
	CHECK(is_there("of-somebody"));
	CHECK_EQ(access(path, F_OK), 0);
}

/* With the right checksum, so that it is what follows that counts. */
static int parse_body(struct cache_file *file, const char *body)
{
	char text[4096];

	snprintf(text, sizeof(text), "unweave symbols 4 %016" PRIx64 "\n%s",
		 hash_xxh64(body, strlen(body), 0), body);
	return cache_parse(file, text, strlen(text));
}

static void what_is_written_is_what_is_read(void)
{
	struct store store;
	struct cache_file *file = NULL;
	const struct cache_entry *entry;

	CHECK_EQ(store_init(&store), 0);
	CHECK_EQ(cache_file_new(&file, &store), 0);
	CHECK_EQ(parse_body(file, "lines yes\nservers no\n"), 0);
	CHECK_EQ(parse_body(file, "lines yes\nservers no\n@1a 40001a 0\n0\t\t\n"
				  "@ff 4000ff 4000f0\n12\tinner\ta b.c\n7\touter(int)\t\n"),
		 0);
	entry = cache_find(file, 0x1a);
	CHECK(entry && entry->count == 1 && !entry->frames[0].function && !entry->frames[0].file);
	entry = cache_find(file, 0xff);
	CHECK(entry && entry->count == 2 && entry->address == 0x4000ff && entry->start == 0x4000f0);
	CHECK_STR_EQ(entry->frames[0].function, "inner");
	CHECK_STR_EQ(entry->frames[0].file, "a b.c");
	CHECK_EQ(entry->frames[0].line, 12);
	CHECK_STR_EQ(entry->frames[1].function, "outer(int)");
	CHECK(!entry->frames[1].file && entry->frames[1].line == 7);
	CHECK(!cache_find(file, 0x1b));
	cache_close(file);
	store_fini(&store);
}

static void anything_else_counts_as_not_there(void)
{
	static const char *const bodies[] = {
		"",
		"lines yes\n",
		"lines maybe\nservers no\n",
		"lines yes\nservers no\n@",
		"lines yes\nservers no\n@1 2 3\n",
		"lines yes\nservers no\n@1 2 3\n@4 5 6\n1\tf\tx\n",
		"lines yes\nservers no\n@1 2 3\n1\tf\tx",
		"lines yes\nservers no\n@1 2 3\n1\tf\n1\tg\tx\n",
		"lines yes\nservers no\n@1 2\n1\tf\tx\n",
		"lines yes\nservers no\n@g 2 3\n1\tf\tx\n",
		"lines yes\nservers no\n@11111111111111111 2 3\n1\tf\tx\n",
		"lines yes\nservers no\n@1 2 3\n4294967296\tf\tx\n",
		"lines yes\nservers no\n@1 2 3\n-1\tf\tx\n",
		"lines yes\nservers no\n1\tf\tx\n",
	};
	struct store store;
	struct cache_file *file = NULL;

	CHECK_EQ(store_init(&store), 0);
	CHECK_EQ(cache_file_new(&file, &store), 0);
	for (unsigned i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		CHECK_EQ(parse_body(file, bodies[i]), -EBADMSG);
		CHECK_EQ(file->count, 0);
	}
	cache_close(file);
	store_fini(&store);
}

static void no_byte_can_change_unnoticed(void)
{
	static const struct symbol_frame frames[] = {{"inner", "a.c", 1}, {"outer", "b.c", 2}};
	struct cache_entry entry = {
		.offset = 1, .address = 2, .start = 2, .count = 2, .frames = frames};
	struct buffer text = BUFFER_INIT(CACHE_FILE_MOST);
	struct store store;
	struct cache_file *file = NULL;

	CHECK_EQ(store_init(&store), 0);
	CHECK_EQ(cache_file_new(&file, &store), 0);
	CHECK_EQ(cache_add(file, &entry, true), 0);
	cachefile_write(file, &text);
	CHECK_EQ(cache_parse(file, (char *)text.bytes, text.length), 0);
	for (size_t i = 0; i < text.length; i++) {
		text.bytes[i] ^= 1;
		CHECK_EQ(cache_parse(file, (char *)text.bytes, text.length), -EBADMSG);
		text.bytes[i] ^= 1;
		CHECK_EQ(cache_parse(file, (char *)text.bytes, i), -EBADMSG);
	}
	buffer_fini(&text);
	cache_close(file);
	store_fini(&store);
}

static double time_names(const char *cache)
{
	struct timespec start, end;

	clock_gettime(CLOCK_MONOTONIC, &start);
	count_names(cache);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (double)(end.tv_sec - start.tv_sec) * 1e3 +
	       (double)(end.tv_nsec - start.tv_nsec) / 1e6;
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 2)
		return 2;
	subject = argv[1];
	fd = open(subject, O_RDONLY | O_CLOEXEC);
	build_id_bytes = origin_build_id(fd, build_id);
	close(fd);
	RUN(what_was_found_needs_no_program_any_more);
	RUN(nobody_else_can_look_into_it);
	RUN(what_others_could_have_written_is_not_used);
	RUN(a_folder_that_cannot_be_written_does_no_harm);
	RUN(names_without_lines_count_for_a_day);
	RUN(names_with_lines_replace_those_without);
	RUN(the_oldest_make_room);
	RUN(what_is_written_is_what_is_read);
	RUN(anything_else_counts_as_not_there);
	RUN(no_byte_can_change_unnoticed);
	fresh_folder();
	printf("# %.2f ms without", time_names(place));
	printf(", %.2f ms with it\n", time_names(place));
	run("rm -rf '%s'", folder);
	return check_done();
}
