/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that a program made while it ran: /tmp/perf-PID.map, which
 * compilers in programs write for profilers. Each line is the start and the
 * size of a function, in hex, and its name.
 */
#ifndef SYMBOL_PERFMAP_H
#define SYMBOL_PERFMAP_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct perfmap_entry {
	uint64_t start, end;
	uint32_t order; /* of its line: what came later counts */
	uint32_t name;  /* where it begins in `text` */
};

struct perfmap {
	uint32_t pid;
	time_t read_at; /* on the monotonic clock; 0: never */
	char *text;
	size_t bytes;
	struct perfmap_entry *entries; /* by start, then by order */
	uint32_t count;
};

void perfmap_init(struct perfmap *perfmap, uint32_t pid);
void perfmap_fini(struct perfmap *perfmap);

/*
 * NULL: no function is known there. The file is read at the first call, and
 * again, but not more than once a second, if a name is missing and it has grown.
 */
const char *perfmap_find(struct perfmap *perfmap, uint64_t address, uint64_t *ret_start);

/* Takes the text of such a file, of which it becomes the owner. Returns -ENOMEM. */
int perfmap_parse(struct perfmap *perfmap, char *text, size_t bytes);

#endif /* SYMBOL_PERFMAP_H */
