/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapters: shared objects that say for an event library what its callbacks do.
 * They are preloaded into the command and all that it starts. Which of them, and
 * why not the others, is found out from the command's file.
 */
#ifndef CLI_ADAPTERS_H
#define CLI_ADAPTERS_H

#include <stdbool.h>
#include <stdint.h>

enum adapter { ADAPTER_LIBUV, ADAPTER_LIBEVENT, ADAPTER_GLIB, ADAPTERS };

#define ADAPTERS_ALL ((1u << ADAPTERS) - 1)

/* What the user wants: a bit for each. */
struct adapters_wish {
	uint32_t with;
	uint32_t without;
};

const char *adapters_name(enum adapter adapter);

/* Reads a list such as "libuv,glib", or "all". False if a name in it is unknown. */
bool adapters_read(const char *list, uint32_t *ret);
/* Their names, as a list to be shown. */
#define ADAPTERS_NAMES "libuv, libevent, glib or all"

/* Which of them a file is, or the library of which, by its name: a bit, or 0. */
uint32_t adapters_of_file(const char *name);
uint32_t adapters_of_library(const char *name);

struct adapters {
	uint32_t wanted;    /* loaded, since the program uses the library, or by wish */
	uint32_t loaded;    /* these, and those that lie dormant until it does */
	uint32_t forbidden; /* the library is there, and the adapter not wished for */
	/* Why one that was wanted cannot be; "" if it can, or was not wanted. */
	char why[ADAPTERS][160];
	/* Why none can be; "" if some can. */
	char why_none[160];
	bool secure;   /* that is since the program gets rights of its own */
	char *preload; /* for LD_PRELOAD, with what is there already; NULL: as it is */
};

/* What is said of one that was wanted and did not take hold. */
#define ADAPTER_UNUSED "was loaded, but the program has not used its event loop"

/* Returns -ENOMEM. To be given up by adapters_fini(). */
int adapters_choose(struct adapters *ret, const char *command, const struct adapters_wish *wish);
void adapters_fini(struct adapters *adapters);

#endif /* CLI_ADAPTERS_H */
