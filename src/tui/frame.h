/* SPDX-License-Identifier: Apache-2.0 */
/* What is around every view: the program and its figures, the tabs, the slider, the keys. */
#ifndef TUI_FRAME_H
#define TUI_FRAME_H

#include "tui/top.h"

/* Each draws from line `y` on, and returns how many lines it took. */
int frame_head(struct top *top, int y);
int frame_tabs(struct top *top, int y);
int frame_slider(struct top *top, int y);
void frame_foot(struct top *top, int y);
/* Over all. */
void frame_help(struct top *top);

/* The moment of a trace under a column of the slider. */
uint64_t frame_slider_time(const struct top *top, int x);

/* Draws all of it on the canvas. -ENOMEM. */
int frame_draw(struct top *top);

#endif /* TUI_FRAME_H */
