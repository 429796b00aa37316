/* SPDX-License-Identifier: Apache-2.0 */
/* Where `unweave tree` has its tasks from: a program that lives, a core file, or an arena that was
 * left. */
#ifndef CLI_TREE_SOURCE_H
#define CLI_TREE_SOURCE_H

#include "core/core.h"
#include "snapshot/snapshot.h"
#include "symbol/symbol.h"
#include "util/diag.h"

struct tree_source {
	uint32_t pid;
	char program[256]; /* its file; "": unknown */
	const char *core;  /* the core file; NULL: there is none */
	uint32_t signal;   /* that ended it; 0: none, or unknown */
	uint32_t signal_thread;
	char missing[160]; /* what is not there, in words; or empty */
	char missing_hint[160];
	struct snapshot snapshot;
	struct symbols *symbols;
};

/* Both return 0, or a negative errno with words in `diag`. */
int tree_source_pid(struct tree_source *ret, uint32_t pid, struct diag *diag);
/* `program`: the file that is meant by the core's program; NULL: the one that it names. */
int tree_source_core(struct tree_source *ret, const char *path, const char *program,
		     struct diag *diag);
void tree_source_fini(struct tree_source *source);

#endif /* CLI_TREE_SOURCE_H */
