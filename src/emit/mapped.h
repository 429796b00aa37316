/* SPDX-License-Identifier: Apache-2.0 */
/* What code the program has mapped, told to the arena when it begins for a recorder. */
#ifndef EMIT_MAPPED_H
#define EMIT_MAPPED_H

#include "arena/arena.h"

/*
 * For a program that is over before anybody could look at its mappings, and had
 * no time to load more. No lock, no allocation: the first hook may be anywhere.
 */
void mapped_tell(struct arena_control *control);

#endif /* EMIT_MAPPED_H */
