/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beginning without being asked: `unweave record -- CMD` lets the program, and the
 * programs that it starts, record from their first hook on, and comes after.
 */
#ifndef EMIT_ARM_H
#define EMIT_ARM_H

#include "arena/arena.h"

/* Begins a session if the environment says so; before the arena is to be seen. */
void arm_begin(struct arena_control *control);

#endif /* EMIT_ARM_H */
