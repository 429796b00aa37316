/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tasks a trace speaks of. Ids are given away in dense ranges, so a few
 * bits in a page for 512 neighbours hold all that is known of one.
 */
#ifndef CLI_TASKS_H
#define CLI_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/map.h"

enum tasks_mark { TASKS_SEEN, TASKS_CREATED, TASKS_COMPLETED, TASKS_PLACED, TASKS_MARKS };

struct tasks_page;

struct tasks {
	struct map index; /* id / 512 to a page */
	struct tasks_page *pages;
	uint32_t count;
	uint32_t capacity;
	uint64_t marked[TASKS_MARKS]; /* how many have each mark */
	bool full;                    /* some were left out */
};

/* Returns -ENOMEM. */
int tasks_init(struct tasks *tasks);
void tasks_fini(struct tasks *tasks);

/* Marks a task, and that it was seen. Returns whether it had no such mark. */
bool tasks_mark(struct tasks *tasks, uint64_t task, enum tasks_mark mark);

#endif /* CLI_TASKS_H */
