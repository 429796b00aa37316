/* SPDX-License-Identifier: Apache-2.0 */
/* What is around every view: the program and its figures, the tabs, the slider, the keys. */
#ifndef TUI_FRAME_H
#define TUI_FRAME_H

#include "tui/top.h"

/* What is known of all of it, from line `y` on; returns how many lines that took. */
int frame_head(struct top *top, int y);

/* The moment of a trace under a column of the slider. */
uint64_t frame_slider_time(const struct top *top, int x);

/* Draws all of it on the canvas. -ENOMEM. */
int frame_draw(struct top *top);

#endif /* TUI_FRAME_H */
