/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings, as views show them: as a cell, as sentences. */
#ifndef TUI_WARNING_H
#define TUI_WARNING_H

#include "tui/view.h"

#define WARNING_TEXT 512u /* room for a sentence */

/* "! " and the titles of these warnings; empty if there are none. */
void warning_cell(uint32_t warnings, struct cell *ret);

/* One as a sentence; "" if there is no memory for it. */
void warning_sentence(const struct watch_warning *warning, char to[WARNING_TEXT]);

/* A sentence for each warning that names the task; returns the line after the last. */
int warning_lines(struct top *top, uint64_t task, int y, int x, int width);

#endif /* TUI_WARNING_H */
