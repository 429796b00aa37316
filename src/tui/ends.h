/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that ask us to end. A recording must be ended before we are, so from ends_catch() on
 * they are only noted, for good: who ends because of one raises it again when all is done.
 */
#ifndef TUI_ENDS_H
#define TUI_ENDS_H

#include <signal.h>

void ends_catch(void);
/* The signal that came; 0: none did. */
int ends_came(void);
/* Adds them to a set. */
void ends_add(sigset_t *set);

#endif /* TUI_ENDS_H */
