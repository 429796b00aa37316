/* SPDX-License-Identifier: Apache-2.0 */
/* What `unweave tree` shows: a snapshot, the names in it, and which of its tasks. */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/tree_source.h"
#include "snapshot/snapshot.h"
#include "symbol/symbol.h"

#define TREE_LABEL_ROOM 320u

enum tree_order {
	TREE_BY_PARENT, /* each task below the one that created it */
	TREE_BY_TIME,   /* the rest are lists: the longest in its state first */
	TREE_BY_BUSY,
	TREE_BY_RUNS,
	TREE_BY_ID,
};

struct tree_choice {
	enum tree_order order;
	uint64_t task;     /* this one and those below it; 0: all */
	const char *site;  /* whose label, function or file has this text; NULL: all */
	const char *state; /* as tree_state() says it; NULL: all */
};

/* A task that is shown, and how deep. */
struct tree_row {
	uint32_t task;
	uint32_t depth;
};

struct tree {
	const struct tree_source *source;
	const struct snapshot *snapshot;
	struct symbols *symbols;
	char **labels; /* one for each site; NULL: not asked for yet */
	struct tree_row *rows;
	uint32_t row_count;
	uint32_t shown; /* of them, the first ones */
	bool chains;
};

/* Names and choices; `tree` is zeroed but for what it shows. -ENOMEM; -ENOENT: there is no such
 * task.
 */
int tree_init(struct tree *tree, const struct tree_choice *choice);
void tree_fini(struct tree *tree);

/* What a task is called: by itself or by its site. */
const char *tree_label(const struct tree *tree, const struct snapshot_task *task);
/* One word: "running", "queued", "waiting", "new", "suspended", "unknown"; "standing", "loop". */
const char *tree_state(const struct tree *tree, const struct snapshot_task *task);
/* Whether what it waits for is to be told: not of one that runs, or can run. */
bool tree_waits(const struct tree *tree, const struct snapshot_task *task);
/* Ticks that it ran, as nanoseconds. */
uint64_t tree_busy_ns(const struct tree *tree, const struct snapshot_task *task);

/* The forms. -ENOMEM. */
int tree_text(const struct tree *tree, FILE *to);
int tree_json(const struct tree *tree, FILE *to);
int tree_folded(const struct tree *tree, FILE *to);

#endif /* CLI_TREE_H */
