/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks run, where, and what in their chain. For snapshot.c only. */
#ifndef SNAPSHOT_RUNNING_H
#define SNAPSHOT_RUNNING_H

#include "snapshot/snapshot.h"

/* Marks the tasks that run, and gives them the chains that their threads show. -ENOMEM. */
int running_find(struct snapshot *snapshot, const struct attachment *attachment);

/* In snapshot.c. */
int snapshot_add_frame(struct snapshot *snapshot, uint64_t address, int32_t state, bool omitted);

#endif /* SNAPSHOT_RUNNING_H */
