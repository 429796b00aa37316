/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this library is in the process because the program wants it. */
#ifndef EMIT_GUEST_H
#define EMIT_GUEST_H

#include <stdbool.h>

/*
 * True if an adapter was preloaded and the program itself has nothing to do with
 * this library: most such programs, a shell and all that it starts, never call it.
 */
bool guest_is_uncalled(void);

#endif /* EMIT_GUEST_H */
