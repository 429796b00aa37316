/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena of a program that left a core file.
 *
 * A kernel puts shared memory into a core if it has no name: memfds and private
 * arenas are there, and one in a file on tmpfs is only if the program's
 * coredump_filter has bit 3. But that file itself stays when a program dies.
 */
#ifndef SNAPSHOT_REMAINS_H
#define SNAPSHOT_REMAINS_H

#include "core/core.h"
#include "drain/attach.h"

/*
 * Finds the arena in a core, or beside it, and lets chains be read from the core,
 * which must outlive the attachment. Returns -ENOENT if there is none, -EBUSY if the
 * program still runs, -EBADMSG, -ENOMEM; `diag` says it in words.
 */
int remains_attach(struct attachment *ret, struct core *core, struct diag *diag);

/* Whether all that the arena says of tasks was there. */
bool remains_are_whole(const struct attachment *attachment, const struct core *core);

#endif /* SNAPSHOT_REMAINS_H */
