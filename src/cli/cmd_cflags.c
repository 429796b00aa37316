/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a compiler needs to build a program so that its coroutines or handlers are seen. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/say.h"

/* Where headers and library lie, from the directory of this program: where it was built, or is
 * installed. */
struct tree {
	const char *coro, *asio, *headers, *library;
};

static const struct tree built = {
	.coro = "../../adapters/coro/include",
	.asio = "../../adapters/asio/include",
	.headers = "../../include",
	.library = "../..",
};

#define FROM_PREFIX(path) (path[0] == '/' ? path : "../" path)

static const struct tree installed = {
	.coro = FROM_PREFIX(UNWEAVE_INCLUDEDIR "/unweave/coro"),
	.asio = FROM_PREFIX(UNWEAVE_INCLUDEDIR),
	.headers = FROM_PREFIX(UNWEAVE_INCLUDEDIR),
	.library = FROM_PREFIX(UNWEAVE_LIBDIR),
};

static bool find_here(char ret[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", ret, PATH_MAX - 1);

	if (length <= 0)
		return false;
	ret[length] = '\0';
	*strrchr(ret, '/') = '\0';
	return true;
}

/* The path without detours; NULL: there is no such. */
static const char *resolve(const char *here, const char *path, char ret[PATH_MAX])
{
	char whole[2 * PATH_MAX];

	snprintf(whole, sizeof(whole), "%s%s%s", path[0] == '/' ? "" : here,
		 path[0] == '/' ? "" : "/", path);
	return realpath(whole, ret);
}

static const struct tree *find_tree(const char *here)
{
	static const struct tree *const trees[] = {&built, &installed};
	char path[PATH_MAX], header[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		if (!resolve(here, trees[i]->coro, path))
			continue;
		snprintf(header, sizeof(header), "%s/coroutine", path);
		if (access(header, R_OK) == 0)
			return trees[i];
	}
	return NULL;
}

/* What the compiler looks at anyway must not come earlier: its own headers rely on that. */
static bool is_searched_anyway(const char *path)
{
	return strcmp(path, "/usr/include") == 0 || strcmp(path, "/usr/local/include") == 0;
}

static void print_include(const char *here, const char *path)
{
	char whole[PATH_MAX];

	if (resolve(here, path, whole) && !is_searched_anyway(whole))
		printf(" -I%s", whole);
}

static void print_library(const char *here, const char *path)
{
	char whole[PATH_MAX];

	if (!resolve(here, path, whole))
		return;
	/* The loader looks there by itself. */
	if (strncmp(whole, "/usr/lib", 8) == 0)
		printf(" -lunweave");
	else
		printf(" -L%s -Wl,-rpath,%s -lunweave", whole, whole);
}

struct wanted {
	bool coro, asio, libs;
};

static int run(struct options *options)
{
	struct wanted wanted = {0};
	const struct tree *tree;
	char here[PATH_MAX];

	if (!options_read(options, &wanted))
		return options->status;
	if (options->operand_count || (!wanted.coro && !wanted.asio)) {
		say_error(NULL, options->operand_count ? "cflags: there is nothing to be named"
						       : "cflags: for what?");
		say_hint("unweave cflags --coro, or --asio, and --libs to link");
		return EXIT_USAGE;
	}
	tree = find_here(here) ? find_tree(here) : NULL;
	if (!tree) {
		say_error(NULL, "cflags: the headers are not where they were installed");
		return EXIT_FAILED;
	}
	/* Also for Asio, whose coroutines are no others. */
	printf("-I%s", resolve(here, tree->coro, (char[PATH_MAX]){0}));
	if (wanted.asio && strcmp(tree->asio, tree->headers) != 0)
		print_include(here, tree->asio);
	print_include(here, tree->headers);
	if (wanted.asio)
		printf(" -include unweave/asio.hpp");
	if (wanted.libs)
		print_library(here, tree->library);
	printf("\n");
	return EXIT_OK;
}

static const struct option_entry entries[] = {
	{0, "coro", NULL, "C++20 coroutines", OPTION_FLAG(struct wanted, coro)},
	{0, "asio", NULL, "handlers of Asio, and coroutines", OPTION_FLAG(struct wanted, asio)},
	{0, "libs", NULL, "also what it is to be linked with", OPTION_FLAG(struct wanted, libs)},
	{0},
};

const struct cmd cmd_cflags = {
	.name = "cflags",
	.arguments = "--coro | --asio",
	.summary = "Print compiler options that let coroutines be seen",
	.details =
		"For a program that is not to be changed:\n"
		"c++ -std=c++20 $(unweave cflags --coro) app.cpp $(unweave cflags --coro --libs)\n",
	.options = entries,
	.run = run,
};
