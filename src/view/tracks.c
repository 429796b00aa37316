/* SPDX-License-Identifier: Apache-2.0 */
#include "view/tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tracks_init(struct tracks *tracks)
{
	*tracks = (struct tracks){0};
	return map_init(&tracks->by_lane, UINT32_MAX);
}

static void free_all(struct task_track *track)
{
	while (track) {
		struct task_track *next = track->next;

		free(track->name);
		free(track);
		track = next;
	}
}

void tracks_fini(struct tracks *tracks)
{
	for (uint32_t i = 0; i < tracks->lane_count; i++)
		free(tracks->lanes[i]);
	free(tracks->lanes);
	map_fini(&tracks->by_lane);
	free_all(tracks->all);
	*tracks = (struct tracks){0};
}

static struct lane *add_lane(struct tracks *tracks, uint64_t key)
{
	struct lane **lanes, *lane;

	lanes = reallocarray(tracks->lanes, tracks->lane_count + 1, sizeof(struct lane *));
	if (!lanes)
		return NULL;
	tracks->lanes = lanes;
	lane = calloc(1, sizeof(*lane));
	if (!lane)
		return NULL;
	*lane = (struct lane){.thread = (uint32_t)(key >> 8),
			      .depth = (uint32_t)(key & 0xff),
			      .number = tracks->lane_count};
	if (map_put(&tracks->by_lane, key, tracks->lane_count) < 0) {
		free(lane);
		return NULL;
	}
	lanes[tracks->lane_count++] = lane;
	return lane;
}

struct lane *tracks_lane(struct tracks *tracks, uint32_t thread, uint32_t depth)
{
	uint64_t key =
		(uint64_t)thread << 8 | (depth < TRACKS_DEPTH_MOST ? depth : TRACKS_DEPTH_MOST);
	const uint32_t *number = map_find(&tracks->by_lane, key);

	return number ? tracks->lanes[*number] : add_lane(tracks, key);
}

/* One that no task has. */
static struct task_track *take_track(struct tracks *tracks)
{
	struct task_track *track = tracks->free;

	if (track) {
		tracks->free = track->next_free;
		*track = (struct task_track){.next = track->next};
		return track;
	}
	track = calloc(1, sizeof(*track));
	if (track) {
		track->next = tracks->all;
		tracks->all = track;
	}
	return track;
}

struct task_track *tracks_of(struct tracks *tracks, struct model_task *task, const char *name)
{
	struct task_track *track = task->user;

	if (track)
		return track;
	track = take_track(tracks);
	if (!track)
		return NULL;
	track->name = strdup(name);
	if (!track->name)
		return NULL;
	track->end = task->created;
	task->user = track;
	return track;
}

void tracks_end(struct tracks *tracks, struct model_task *task)
{
	struct task_track *track = task->user;

	if (!track)
		return;
	task->user = NULL;
	free(track->name);
	track->name = NULL;
	track->next_free = tracks->free;
	tracks->free = track;
}

struct span tracks_cut(uint64_t *last, uint64_t start, uint64_t end)
{
	struct span span = {.start = start > *last ? start : *last};

	span.end = end > span.start ? end : span.start;
	*last = span.end;
	return span;
}
