/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a snapshot. Tasks mostly wait in the same few places: equal
 * chains are kept once, so that a million tasks take no more room than their chains differ.
 */
#include <errno.h>

#include "snapshot/parts.h"
#include "util/grow.h"

int snapshot_add_frame(struct snapshot *snapshot, uint64_t address, int32_t state, bool omitted)
{
	struct snapshot_frame *frames = grow(snapshot->frames, snapshot->frame_count,
					     &snapshot->frame_capacity, 1024, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	snapshot->frames = frames;
	frames[snapshot->frame_count++] = (struct snapshot_frame){address, state, omitted};
	return 0;
}

static uint64_t hash_frames(const struct snapshot_frame *frames, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++) {
		hash = hash_mix(hash ^ frames[i].address);
		hash = hash_mix(hash ^
				((uint64_t)(uint32_t)frames[i].state << 1 | frames[i].omitted));
	}
	return hash;
}

static bool are_equal(const struct snapshot_frame *a, const struct snapshot_frame *b,
		      uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (a[i].address != b[i].address || a[i].state != b[i].state ||
		    a[i].omitted != b[i].omitted)
			return false;
	return true;
}

int snapshot_end_chain(struct snapshot *snapshot, struct snapshot_task *task, uint32_t start)
{
	const struct snapshot_frame *frames = snapshot->frames;
	uint32_t count = snapshot->frame_count - start;
	uint64_t key = count ? hash_frames(frames + start, count) : 0;
	const uint32_t *known = count ? map_find(&snapshot->chains, key) : NULL;

	task->chain = start;
	task->chain_count = count;
	task->chain_known = true;
	if (!count)
		return 0;
	if (!known)
		return map_put(&snapshot->chains, key, start);
	if (*known + count <= start && are_equal(frames + *known, frames + start, count)) {
		task->chain = *known;
		snapshot->frame_count = start;
	}
	return 0;
}
