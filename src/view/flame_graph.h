/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a flame graph, for the files that build it. */
#ifndef VIEW_FLAME_GRAPH_H
#define VIEW_FLAME_GRAPH_H

#include <stddef.h>

#include "util/map.h"
#include "view/flame.h"

/* An array that grows. */
struct flame_array {
	void *at;
	uint32_t count, capacity;
};

struct flame {
	struct flame_array nodes;               /* struct flame_node */
	struct flame_array values[FLAME_SIDES]; /* struct flame_values; the other's may be empty */
	struct flame_array names;               /* struct flame_name */
	struct flame_array strings;             /* char * */
	struct flame_array tasks;               /* struct flame_task */
	struct flame_array shares;              /* struct flame_share */
	struct map children;                    /* parent and name to node */
	struct map name_index;                  /* hash to name; the next seed if it is another */
	struct map string_index;                /* the same for strings */
	struct map task_index;                  /* id to task */
	uint32_t folded;
	bool bad;
};

/* One more element, zeroed; NULL if there is no memory. */
void *flame_array_add(struct flame_array *array, size_t size);

/* Makes room for the values of all nodes there are; false if there is no memory. */
bool flame_make_values(struct flame *flame, enum flame_side side);

/* Leaves at most `most` shares: those with the most time. */
void flame_trim_shares(struct flame *flame, uint32_t most);

#endif /* VIEW_FLAME_GRAPH_H */
