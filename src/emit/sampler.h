/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples: a signal, sent to a thread by a clock or by the recorder, has it copy
 * its registers, a piece of its stack, and the chains of the tasks that run there.
 *
 * The signal is one that is ignored where nobody handles it: a program that was
 * replaced by exec(), or a child that gets one late, does not notice.
 */
#ifndef EMIT_SAMPLER_H
#define EMIT_SAMPLER_H

#include "emit/emit.h"

/* Takes the signal, unless the program has it; once the arena is there. */
void sampler_install(struct arena_control *control);

/* Gives the signal up if the program has taken it since. When a session begins, or changes. */
void sampler_check(struct arena_control *control);

/* In a child of fork(), which has none of its parent's timers. */
void sampler_forget(void);

#endif /* EMIT_SAMPLER_H */
