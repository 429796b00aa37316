/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUI_HELP_H
#define TUI_HELP_H

#include "tui/canvas.h"

/* Draws the keys, and what the words mean, over the whole canvas. */
void help_draw(struct canvas *canvas);

#endif /* TUI_HELP_H */
