/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot is put together from. For this folder only. */
#ifndef SNAPSHOT_PARTS_H
#define SNAPSHOT_PARTS_H

#include "snapshot/snapshot.h"

/* Adds a frame to the chain that is being read. -ENOMEM. */
int snapshot_add_frame(struct snapshot *snapshot, uint64_t address, int32_t state, bool omitted);
/* Gives a task the chain of all frames from `start` on, or an equal one. -ENOMEM. */
int snapshot_end_chain(struct snapshot *snapshot, struct snapshot_task *task, uint32_t start);

/* Marks the tasks that run, and gives them the chains that their threads show. -ENOMEM. */
int running_find(struct snapshot *snapshot, const struct attachment *attachment);

#endif /* SNAPSHOT_PARTS_H */
