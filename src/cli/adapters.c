/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/adapters.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/executable.h"
#include "symbol/closure.h"
#include "util/cleanup.h"

#define ANCHOR_SECTION "unweave_anchor" /* of a program that has libunweave linked into it */

static const struct known {
	const char *name;
	const char *function;   /* that every program with it has */
	const char *sonames[3]; /* the names that programs need it by */
} known[ADAPTERS] = {
	[ADAPTER_LIBUV] = {"libuv", "uv_run", {"libuv.so.1"}},
	[ADAPTER_LIBEVENT] = {"libevent",
			      "event_base_loop",
			      {"libevent-2.1.so.7", "libevent_core-2.1.so.7"}},
	[ADAPTER_GLIB] = {"glib", "g_main_context_iteration", {"libglib-2.0.so.0"}},
};

const char *adapters_name(enum adapter adapter)
{
	return known[adapter].name;
}

bool adapters_read(const char *list, uint32_t *ret)
{
	uint32_t found = 0;

	for (;;) {
		size_t length = strcspn(list, ",");
		uint32_t one = 0;

		if (length == 3 && memcmp(list, "all", 3) == 0)
			one = ADAPTERS_ALL;
		for (unsigned i = 0; i < ADAPTERS; i++)
			if (strlen(known[i].name) == length &&
			    memcmp(list, known[i].name, length) == 0)
				one = 1u << i;
		if (!one)
			return false;
		found |= one;
		if (!list[length]) {
			*ret = found;
			return true;
		}
		list += length + 1;
	}
}

uint32_t adapters_of_file(const char *name)
{
	char whole[64];

	for (unsigned i = 0; i < ADAPTERS; i++) {
		snprintf(whole, sizeof(whole), "libunweave-%s.so", known[i].name);
		if (strcmp(name, whole) == 0)
			return 1u << i;
	}
	return 0;
}

/* As the name of a file that is one of its versions does. */
static bool begins_with_name(const char *file, const char *name)
{
	size_t length = strlen(name);

	return strncmp(file, name, length) == 0 && (!file[length] || file[length] == '.');
}

uint32_t adapters_of_library(const char *name)
{
	for (unsigned i = 0; i < ADAPTERS; i++)
		for (unsigned j = 0; j < 3 && known[i].sonames[j]; j++)
			if (begins_with_name(name, known[i].sonames[j]))
				return 1u << i;
	return 0;
}

/* What a program's file says. */
struct finding {
	uint32_t linked; /* whose library is given to it */
	uint32_t inside; /* whose library is linked into it */
	bool carries;    /* libunweave is linked into it */
	bool alone;      /* no loader brings it anything */
	bool foreign;    /* it is for another sort of machine */
};

static void note_library(void *data, const char *name)
{
	struct finding *finding = data;

	finding->linked |= adapters_of_library(name);
}

static int read_program(const struct executable *program, struct finding *ret)
{
	cleanup(closure_close) struct closure_file file = {0};
	const char *functions[ADAPTERS];
	struct linkage linkage;
	int r = closure_open(&file, program->path);

	if (r == 0)
		r = linkage_read(&linkage, file.bytes, file.length);
	/* Of what cannot be read nothing is known, and nothing kept out. */
	ret->foreign = r == -EPROTONOSUPPORT;
	if (r < 0)
		return 0;
	for (unsigned i = 0; i < ADAPTERS; i++)
		functions[i] = known[i].function;
	ret->alone = !linkage.loaded;
	ret->inside = (uint32_t)linkage_defines(file.bytes, file.length, functions, ADAPTERS);
	ret->carries = linkage_has_section(file.bytes, file.length, ANCHOR_SECTION);
	r = closure_walk(program->path, &linkage, getenv("LD_LIBRARY_PATH"), note_library, ret);
	return r == -ENOMEM ? r : 0;
}

__attribute__((format(printf, 2, 3))) static void say_why(char why[160], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, 160, format, arguments);
	va_end(arguments);
}

/* What keeps all of them out; and, by the result, what must not even be tried. */
static bool is_hopeless(struct adapters *adapters, const struct executable *program,
			const struct finding *finding)
{
	const char *name = strrchr(program->path, '/');

	name = name ? name + 1 : program->path;
	if (finding->foreign)
		say_why(adapters->why_none, "%.64s is for another sort of machine", name);
	else if (finding->carries)
		say_why(adapters->why_none,
			"%.64s has libunweave linked into it, and there can be only one", name);
	else if (finding->alone)
		say_why(adapters->why_none, "%.64s is linked statically, and loads nothing", name);
	else if (program->secure)
		say_why(adapters->why_none,
			"%.64s gets rights of its own (set-user-ID, set-group-ID or capabilities), "
			"and loads nothing that its caller names",
			name);
	adapters->secure =
		program->secure && !finding->foreign && !finding->carries && !finding->alone;
	/* What these two pass over may still take hold in what they start. */
	return adapters->why_none[0] && !finding->alone && !program->secure;
}

static void judge(struct adapters *adapters, const struct executable *program,
		  const struct finding *finding, const struct adapters_wish *wish)
{
	uint32_t asked = (wish->with | finding->linked | finding->inside) & ~wish->without;
	bool hopeless = is_hopeless(adapters, program, finding);

	adapters->forbidden = (finding->linked | finding->inside) & wish->without;
	adapters->loaded = hopeless ? 0 : ADAPTERS_ALL & ~wish->without;
	for (unsigned i = 0; i < ADAPTERS; i++) {
		uint32_t bit = 1u << i;

		if (!(asked & bit))
			continue;
		if (adapters->why_none[0])
			say_why(adapters->why[i], "%s", adapters->why_none);
		else if (finding->inside & bit)
			say_why(adapters->why[i], "%s is linked into the program itself",
				known[i].name);
		else
			adapters->wanted |= bit;
	}
}

/* Where they lie: where the user says; in the build directory; where they are installed. */
static bool find_file(enum adapter adapter, char ret[PATH_MAX])
{
	const char *name = known[adapter].name, *said = getenv("UNWEAVE_ADAPTERS");
	char here[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);
	char *slash;

	here[length > 0 ? length : 0] = '\0';
	slash = strrchr(here, '/');
	if (slash)
		*slash = '\0';
	if (said) {
		length = snprintf(ret, PATH_MAX, "%s/libunweave-%s.so", said, name);
		return length < PATH_MAX && access(ret, R_OK) == 0;
	}
	length = snprintf(ret, PATH_MAX, "%s/../../adapters/%s/libunweave-%s.so", here, name, name);
	if (length < PATH_MAX && access(ret, R_OK) == 0)
		return true;
	length = snprintf(ret, PATH_MAX, "%s%s" UNWEAVE_LIBDIR "/unweave/libunweave-%s.so",
			  UNWEAVE_LIBDIR[0] == '/' ? "" : here,
			  UNWEAVE_LIBDIR[0] == '/' ? "" : "/../", name);
	return length < PATH_MAX && access(ret, R_OK) == 0;
}

/* One that cannot be loaded is missed only if it was wanted. */
static void give_up(struct adapters *adapters, unsigned index, const char *why)
{
	if (adapters->wanted >> index & 1)
		say_why(adapters->why[index], "%s", why);
	adapters->wanted &= ~(1u << index);
	adapters->loaded &= ~(1u << index);
}

static int make_preload(struct adapters *adapters)
{
	const char *before = getenv("LD_PRELOAD");
	char *list = before && *before ? strdup(before) : strdup("");

	/* The last one first, since each goes in front. */
	for (unsigned i = ADAPTERS; list && i-- > 0;) {
		char path[PATH_MAX], *whole = NULL, *longer = NULL;

		if (!(adapters->loaded >> i & 1))
			continue;
		if (!find_file(i, path) || !(whole = realpath(path, NULL))) {
			give_up(adapters, i, "the adapter is not installed");
			continue;
		}
		if (strpbrk(whole, " :")) {
			give_up(adapters, i,
				"the adapter lies at a path with a space or a colon, which the "
				"loader takes for its end");
		} else if (asprintf(&longer, "%s%s%s", whole, *list ? ":" : "", list) < 0) {
			longer = NULL;
		}
		free(whole);
		if (!(adapters->loaded >> i & 1))
			continue;
		free(list);
		list = longer;
	}
	adapters->preload = list;
	return list ? 0 : -ENOMEM;
}

int adapters_choose(struct adapters *ret, const char *command, const struct adapters_wish *wish)
{
	struct finding finding = {0};
	struct executable program;
	int r;

	*ret = (struct adapters){0};
	/* What cannot be found or read fails soon enough. */
	if (executable_find(&program, command) < 0)
		return 0;
	r = read_program(&program, &finding);
	if (r < 0)
		return r;
	judge(ret, &program, &finding, wish);
	return ret->loaded ? make_preload(ret) : 0;
}

void adapters_fini(struct adapters *adapters)
{
	free(adapters->preload);
	adapters->preload = NULL;
}
