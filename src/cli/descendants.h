/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command has started and left behind: a daemon, whose first process ends
 * before the one that does the work has begun.
 */
#ifndef CLI_DESCENDANTS_H
#define CLI_DESCENDANTS_H

#include "cli/follow.h"

/* From here on processes of ours whose parent ends are our children. */
void descendants_adopt(void);

/* Takes note of the end of those that nobody else waits for. */
void descendants_reap(const struct follow *follow);

/* The same, when a child of ours has ended, or a signal has come. */
void descendants_await(const struct follow *follow);

/*
 * Whether there is one that is not recorded yet but may be any moment: it has
 * an adapter, and the library that it is for.
 */
bool descendants_may_begin(const struct follow *follow);

/*
 * One like that of another user than ours, who has an arena that nobody records:
 * maps it and locks it.
 */
bool descendants_find(const struct follow *follow, struct attachment *ret);

#endif /* CLI_DESCENDANTS_H */
