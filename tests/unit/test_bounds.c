/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin in a program that has lost its names. */
#include "symbol/bounds.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "check.h"
#include "symbol/origin.h"
#include "symbol/symbol.h"

#define BASE UINT64_C(0x7f0012340000)
#define LINE 2048

static char *subjects; /* folder of the programs to look into */

/* The same program with names and without, as if both were mapped from their beginning on. */
static struct symbols *open_subject(const char *name)
{
	struct symbols_options options = {.cache = ""};
	struct symbols *symbols = NULL;
	char path[PATH_MAX];
	uint8_t id[BUILD_ID_MOST];
	struct symbol_module module = {
		.start = BASE, .end = BASE + (1 << 24), .path = path, .build_id = id};
	int fd;

	snprintf(path, sizeof(path), "%s/%s", subjects, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	module.build_id_bytes = origin_build_id(fd, id);
	close(fd);
	CHECK_EQ(symbols_new(&symbols, &options), 0);
	CHECK_EQ(symbols_add_module(symbols, &module), 0);
	return symbols;
}

/* What the compiler made: the assembler's own functions have no call frame information. */
static bool is_of_c(const char *name)
{
	static const char *const names[] = {"main", "outer", "hidden", "unlikely"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void functions_without_names_are_told_apart(void)
{
	struct symbols *named = open_subject("shapes_O2");
	struct symbols *stripped = open_subject("shapes_stripped");
	char command[PATH_MAX + 64], line[LINE], name[256];
	uint64_t start, size;
	unsigned found = 0;
	FILE *file;

	snprintf(command, sizeof(command), "nm -S '%s/shapes_O2'", subjects);
	file = popen(command, "r");
	while (file && fgets(line, sizeof(line), file)) {
		const struct symbol *symbol;

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %*[tT] %255s", &start, &size, name) != 3)
			continue;
		for (uint64_t at = start; at < start + size; at++) {
			symbol = symbols_find(stripped, BASE + at);
			CHECK(!symbol->frames[0].function);
			if (symbol->start || is_of_c(name))
				CHECK_EQ(symbol->start, symbols_find(named, BASE + at)->start);
		}
		found += is_of_c(name) && symbols_find(stripped, BASE + start)->start;
	}
	CHECK(file && pclose(file) == 0);
	CHECK_EQ(found, 4);
	symbols_free(named);
	symbols_free(stripped);
}

static void what_is_in_no_function_has_no_beginning(void)
{
	struct symbols *stripped = open_subject("shapes_stripped");

	CHECK_EQ(symbols_find(stripped, BASE)->start, 0);
	CHECK_EQ(symbols_find(stripped, BASE + (1 << 23))->start, 0);
	symbols_free(stripped);
}

static uint64_t find_outer(void)
{
	char command[PATH_MAX + 64], line[LINE];
	uint64_t start = 0, outer = 0;
	FILE *file;

	snprintf(command, sizeof(command), "nm '%s/shapes_O2'", subjects);
	file = popen(command, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " T", &start) == 1 && strstr(line, " T outer\n"))
			outer = BASE + start;
	CHECK(file && pclose(file) == 0 && outer);
	return outer;
}

/* As a trace of a machine without the names says it. */
static void a_beginning_that_was_said_does_not_hide_a_name(void)
{
	const struct symbol_frame nameless = {0};
	struct symbols *named = open_subject("shapes_O2"), *nowhere = NULL;
	uint64_t outer = find_outer();
	const struct symbol *symbol;

	CHECK_EQ(symbols_add(named, outer + 1, outer - 8, &nameless, 1), 0);
	symbol = symbols_find(named, outer + 1);
	CHECK_STR_EQ(symbol->frames[0].function, "outer");
	CHECK_EQ(symbol->start, outer);
	CHECK_EQ(symbols_new(&nowhere, &(struct symbols_options){.no_files = true, .cache = ""}),
		 0);
	CHECK_EQ(symbols_add(nowhere, outer + 1, outer, &nameless, 1), 0);
	symbol = symbols_find(nowhere, outer + 1);
	CHECK(!symbol->frames[0].function);
	CHECK_EQ(symbol->start, outer);
	symbols_free(named);
	symbols_free(nowhere);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	subjects = realpath(argv[1], NULL);
	if (!subjects)
		return 2;
	RUN(functions_without_names_are_told_apart);
	RUN(what_is_in_no_function_has_no_beginning);
	RUN(a_beginning_that_was_said_does_not_hide_a_name);
	free(subjects);
	return check_done();
}
