/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of durations, drawn with block characters. */
#ifndef TUI_BARS_H
#define TUI_BARS_H

#include "tui/canvas.h"
#include "util/histogram.h"

#define BARS_ROWS 6   /* lines that one takes: title, figures, three of bars, axis */
#define BARS_LEAST 24 /* columns */
#define BARS_MOST 120

/*
 * Spreads the values over `width` columns, from the least to the largest; an equal step is an
 * equal ratio. Returns how many columns it used: fewer, if there are not so many buckets.
 */
int bars_spread(const struct histogram *histogram, int width, uint64_t *ret);

/* `histogram` may be NULL: it is not known. */
void bars_draw(struct canvas *canvas, int y, int x, int width, const char *title,
	       const struct histogram *histogram);

/* A share of the whole, as a bar of `width` columns. */
void bars_share(struct canvas *canvas, int y, int x, int width, uint64_t part, uint64_t whole);

#endif /* TUI_BARS_H */
