/* SPDX-License-Identifier: Apache-2.0 */
/* What keys and clicks do. */
#ifndef TUI_KEYS_H
#define TUI_KEYS_H

#include "tui/term.h"
#include "tui/top.h"

enum { KEYS_QUIT = 1 };

/* Returns 0, KEYS_QUIT, -ENOMEM or -EIO. */
int keys_take(struct top *top, const struct term_event *event);

#endif /* TUI_KEYS_H */
