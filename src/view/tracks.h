/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where timelines have come to while they are written: for each thread and depth
 * of its nest a lane, for each live task a track. On neither does anything
 * overlap, whatever the trace says: what would is cut where the last one ended.
 *
 * Nested runs end, and so are told, before those around them. With a lane for
 * each depth they can be written as they come, and a lane is still in order.
 */
#ifndef VIEW_TRACKS_H
#define VIEW_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "util/map.h"

#define TRACKS_DEPTH_MOST 255u /* deeper runs share a lane */

struct lane {
	uint32_t thread;
	uint32_t depth;
	uint32_t number; /* from 0, in the order in which they came */
	uint64_t end;    /* of what was written last */
	bool told;       /* its name was written */
};

/* A task's; lives with it. */
struct task_track {
	struct task_track *next;      /* of all that there are */
	struct task_track *next_free; /* of those that no task has */
	char *name;                   /* what the task was called when its track began; owned */
	uint64_t end;                 /* of what was written last */
	uint64_t woken;               /* when the run to come was made possible; 0: unknown */
	uint32_t wake_on;             /* thread; 0: unknown */
	uint32_t flow;                /* number of that wake; 0: none */
	bool told;                    /* its name was written */
	bool context_told;            /* the same, for its samples */
};

/* A stretch of time. */
struct span {
	uint64_t start, end;
};

struct tracks {
	struct map by_lane;
	struct lane **lanes;
	uint32_t lane_count;
	struct task_track *all, *free;
};

/* Returns -ENOMEM. */
int tracks_init(struct tracks *tracks);
void tracks_fini(struct tracks *tracks);

/* Both are made when they are first asked for; NULL: no memory. */
struct lane *tracks_lane(struct tracks *tracks, uint32_t thread, uint32_t depth);
struct task_track *tracks_of(struct tracks *tracks, struct model_task *task, const char *name);
/* The task is over: forgets its track. */
void tracks_end(struct tracks *tracks, struct model_task *task);

/* What of [start, end] lies after `*last`, which moves to its end. */
struct span tracks_cut(uint64_t *last, uint64_t start, uint64_t end);

#endif /* VIEW_TRACKS_H */
