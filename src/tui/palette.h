/* SPDX-License-Identifier: Apache-2.0 */
/* How styles look on a terminal. */
#ifndef TUI_PALETTE_H
#define TUI_PALETTE_H

#include <stdbool.h>

#include "tui/canvas.h"

/* Without colours there is the rest, and what is said is also said in words or signs. */
struct palette_look {
	bool bold, faint, reverse, underline;
	bool colour;
	short of_8;   /* of the eight that all terminals with colours have */
	short of_256; /* of xterm's 256: as far from black as from white */
};

const struct palette_look *palette_look(enum style style);

#endif /* TUI_PALETTE_H */
