/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the arena of a process: in the user's directory, in its container's, or in a memfd. */
#ifndef DRAIN_FIND_H
#define DRAIN_FIND_H

#include "drain/attach.h"

/*
 * Maps the arena of process `pid`, living or dead. Returns -ENOENT if it has
 * none, -ESRCH if there is no such process either, -EACCES, -EBADMSG if it is
 * not an arena of this build's layout; `diag` says it in words.
 */
int find_pid(struct attachment *ret, uint32_t pid, struct diag *diag);

/* Whether the process has the arena mapped: not if it became another program, by exec. */
bool find_is_mapped(const struct attachment *attachment);

/*
 * Maps an arena of ours whose program began by itself for `recorder`, locks it
 * and takes the order off it, so that it is found once. `pid`: that program only,
 * 0 for any. -ENOENT if there is none.
 */
int find_armed(struct attachment *ret, uint32_t recorder, uint32_t pid);

/*
 * The same for a process that has said that it began, wherever its arena is; `uid`
 * counts if it has ended since. -EAGAIN if that is to be tried again.
 */
int find_begun(struct attachment *ret, uint32_t recorder, uint32_t pid, uint32_t uid);

/*
 * Removes arenas of ours whose processes are no more, if nobody was to record
 * them: those that leave by _exit() cannot do so themselves.
 */
void find_sweep(void);

#endif /* DRAIN_FIND_H */
