/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/palette.h"

/* The first eight colours, as ECMA-48 counts them. */
enum { RED = 1, GREEN = 2, MAGENTA = 5, CYAN = 6 };

static const struct palette_look looks[STYLE_COUNT] = {
	[STYLE_FAINT] = {.faint = true},
	[STYLE_STRONG] = {.bold = true},
	[STYLE_HEAD] = {.underline = true},
	[STYLE_SORTED] = {.underline = true, .bold = true},
	[STYLE_SELECTED] = {.reverse = true},
	[STYLE_RUNNING] = {.bold = true, .colour = true, .of_8 = GREEN, .of_256 = 28},
	[STYLE_QUEUED] = {.colour = true, .of_8 = MAGENTA, .of_256 = 133},
	[STYLE_WARNING] = {.bold = true, .colour = true, .of_8 = RED, .of_256 = 160},
	[STYLE_BAR] = {.colour = true, .of_8 = CYAN, .of_256 = 31},
};

const struct palette_look *palette_look(enum style style)
{
	return &looks[style];
}
