/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beginning without being asked: `unweave record -- CMD` lets the program, and the
 * programs that it starts, record from their first hook on, and comes after.
 */
#ifndef EMIT_ARM_H
#define EMIT_ARM_H

#include <stdbool.h>

#include "arena/arena.h"

/*
 * Keeps what the environment says, and the recorder's board, for when the arena is
 * made: a program may by then have another environment, another user or another
 * root. To be called when the process begins; false if there is no order.
 */
bool arm_prepare(void);

/* Begins a session if the environment says so; before the arena is to be seen. */
void arm_begin(struct arena_control *control);

#endif /* EMIT_ARM_H */
