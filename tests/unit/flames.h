/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs by hand: a path is frames "K function", K one of N R A I for their kind, or "-" for
 * a note. */
#ifndef TESTS_FLAMES_H
#define TESTS_FLAMES_H

#include <stdlib.h>
#include <string.h>

#include "view/flame.h"

#define FLAMES_MS UINT64_C(1000000)

static inline uint32_t flames_kind(char letter)
{
	static const char letters[] = "NRAI-";

	return (uint32_t)(strchr(letters, letter) - letters);
}

/* The library that a function is in, by its first letters. */
static inline const char *flames_module(const char *function)
{
	if (*function == '[')
		return "";
	if (strncmp(function, "mem", 3) == 0 || strncmp(function, "epoll", 5) == 0)
		return "libc.so.6";
	if (strncmp(function, "sha", 3) == 0 || strncmp(function, "EVP", 3) == 0)
		return "libcrypto.so.3";
	if (strncmp(function, "json", 4) == 0)
		return "libjson.so.5";
	return "server";
}

static inline uint32_t flames_node(struct flame *flame, const char *path)
{
	char *copy = strdup(path), *rest = copy;
	uint32_t node = 0;

	for (char *frame = strsep(&rest, ";"); frame; frame = strsep(&rest, ";")) {
		const char *function = frame + 2, *module = flames_module(function);
		uint32_t kind = flames_kind(frame[0]);

		node = flame_add_child(
			flame, node,
			flame_add_name(
				flame,
				&(struct profile_name){
					.function = function,
					.module = module,
					.file = strcmp(module, "server") == 0 ? "src/server.c" : "",
					.line = (uint32_t)strlen(function) * 7,
					.kind = kind,
				}));
	}
	free(copy);
	return node;
}

static inline void flames_add(struct flame *flame, enum flame_side side, const char *path,
			      enum profile_value value, uint64_t ms)
{
	flame_add_self(flame, flames_node(flame, path), side, value, ms * FLAMES_MS, ms);
}

static inline void flames_task(struct flame *flame, const char *path, enum profile_value value,
			       uint64_t id, const char *label, uint64_t ms)
{
	flame_add_task(flame, flames_node(flame, path), value,
		       &(struct profile_task){.id = id, .label = label, .value = ms * FLAMES_MS});
}

#endif /* TESTS_FLAMES_H */
