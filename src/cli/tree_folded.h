/* SPDX-License-Identifier: Apache-2.0 */
/* Where tasks are now, as folded stacks: a line for each chain, and how many tasks are there. */
#ifndef CLI_TREE_FOLDED_H
#define CLI_TREE_FOLDED_H

#include <stdio.h>

#include "snapshot/snapshot.h"
#include "symbol/symbol.h"

/* Tasks that only stand, and loops, are left out. -ENOMEM. */
int tree_folded(const struct snapshot *snapshot, struct symbols *symbols, FILE *to);

#endif /* CLI_TREE_FOLDED_H */
