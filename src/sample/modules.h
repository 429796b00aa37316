/* SPDX-License-Identifier: Apache-2.0 */
/* What code the program has mapped, and what its addresses are called, for the trace. */
#ifndef SAMPLE_MODULES_H
#define SAMPLE_MODULES_H

#include "drain/recorder.h"
#include "symbol/symbol.h"
#include "symbol/unwind.h"
#include "util/map.h"

struct modules {
	struct recorder *recorder; /* borrowed, as the next one */
	const struct attachment *attachment;
	uint32_t pid;
	uint64_t anchors;
	uint64_t dispatch, dispatch_end;
	struct symbols *symbols;
	struct unwinder *unwinder;
	struct map known; /* starts of mappings that were told */
	struct map named; /* addresses that are to get names */
	uint64_t *addresses;
	uint32_t count;
	uint32_t capacity;
};

/* Returns -ENOMEM. */
int modules_init(struct modules *modules, struct recorder *recorder,
		 const struct attachment *attachment);
void modules_fini(struct modules *modules);

/* Looks at the program's mappings, and tells the trace those that are new. -ENOMEM, or -errno. */
int modules_look(struct modules *modules);

/* Has an address named at the end. */
void modules_note(struct modules *modules, uint64_t address);

/* Tells the names of all addresses that were noted. */
int modules_tell_names(struct modules *modules);

#endif /* SAMPLE_MODULES_H */
