/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/bars.h"

#include <string.h>

#include "tui/figure.h"

#define LEVELS 8 /* of a block character */
#define BAR_ROWS 3
#define BAR_MOST 2 /* columns of one */
#define FULL_BLOCK 0x2588
#define LINE 0x2500

/* The first and the last bucket that is not empty; false: all are. */
static bool find_ends(const struct histogram *histogram, uint32_t *ret_first, uint32_t *ret_last)
{
	bool found = false;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!histogram->buckets[i])
			continue;
		if (!found)
			*ret_first = i;
		*ret_last = i;
		found = true;
	}
	return found;
}

static int spread(const struct histogram *histogram, uint32_t first, uint32_t last, int width,
		  uint64_t *ret)
{
	uint32_t count = last - first + 1;
	uint32_t columns = count < (uint32_t)width ? count : (uint32_t)width;

	memset(ret, 0, columns * sizeof(*ret));
	for (uint32_t i = 0; i < count; i++)
		ret[(uint64_t)i * columns / count] += histogram->buckets[first + i];
	return (int)columns;
}

/* No ratio leads to nothing at all: that has a column of its own, and a gap. */
int bars_spread(const struct histogram *histogram, int width, uint64_t *ret)
{
	uint32_t first = 0, last = 0;

	if (width <= 0 || !find_ends(histogram, &first, &last))
		return 0;
	if (first || width < 3)
		return spread(histogram, first, last, width, ret);
	ret[0] = histogram->buckets[0];
	ret[1] = 0;
	for (first = 1; first < last && !histogram->buckets[first];)
		first++;
	return last ? 2 + spread(histogram, first, last, width - 2, ret + 2) : 1;
}

/* What is there at all is at least one level high, so that the rare ones show. */
static unsigned level_of(uint64_t value, uint64_t most)
{
	unsigned level =
		(unsigned)((double)value / (double)most * (double)(LEVELS * BAR_ROWS) + 0.5);

	return value && !level ? 1 : level;
}

static void draw_column(struct canvas *canvas, int y, int x, int width, unsigned level)
{
	for (int row = 0; row < BAR_ROWS; row++) {
		unsigned below = (unsigned)(BAR_ROWS - 1 - row) * LEVELS;
		unsigned here = level > below ? level - below : 0;

		if (here)
			canvas_repeat(canvas, y + row, x, width, STYLE_BAR,
				      FULL_BLOCK - LEVELS + (here < LEVELS ? here : LEVELS));
	}
}

static void draw_figures(struct canvas *canvas, int y, int x, int width,
			 const struct histogram *histogram)
{
	char text[96];

	snprintf(text, sizeof(text), "p50 %s  p99 %s",
		 figure_span(histogram_quantile(histogram, 500)).text,
		 figure_span(histogram_quantile(histogram, 990)).text);
	canvas_text(canvas, y, x, width, STYLE_PLAIN, text);
}

/* From the least to the largest, below `used` columns of bars. */
static void draw_axis(struct canvas *canvas, int y, int x, int width, int used,
		      const struct histogram *histogram)
{
	uint32_t first = 0, last = 0;
	struct figure most = figure_span(histogram->max);
	int x_most = x + used - canvas_width(most.text);

	find_ends(histogram, &first, &last);
	canvas_repeat(canvas, y, x, used, STYLE_FAINT, LINE);
	x += canvas_text(canvas, y, x, width, STYLE_FAINT,
			 figure_span(histogram_start(first)).text);
	canvas_text(canvas, y, x_most > x ? x_most : x + 1, width, STYLE_FAINT, most.text);
}

void bars_draw(struct canvas *canvas, int y, int x, int width, const char *title,
	       const struct histogram *histogram)
{
	uint64_t columns[BARS_MOST], most = 1;
	int used, each;

	width = width < BARS_MOST ? width : BARS_MOST;
	canvas_text(canvas, y, x, width, STYLE_STRONG, title);
	if (!histogram || !histogram->count) {
		canvas_text(canvas, y + 1, x, width, STYLE_FAINT,
			    histogram ? "none seen" : "not known");
		return;
	}
	canvas_right(canvas, y, x + canvas_width(title), width - canvas_width(title), STYLE_PLAIN,
		     figure_count(histogram->count).text);
	draw_figures(canvas, y + 1, x, width, histogram);
	used = bars_spread(histogram, width, columns);
	each = used && width / used < BAR_MOST ? width / used : BAR_MOST;
	for (int i = 0; i < used; i++)
		most = columns[i] > most ? columns[i] : most;
	for (int i = 0; i < used; i++)
		draw_column(canvas, y + 2, x + i * each, each, level_of(columns[i], most));
	draw_axis(canvas, y + 2 + BAR_ROWS, x, width, used * each, histogram);
}

void bars_share(struct canvas *canvas, int y, int x, int width, uint64_t part, uint64_t whole)
{
	int full = whole ? (int)((double)part / (double)whole * (double)width + 0.5) : 0;

	full = full < width ? full : width;
	canvas_repeat(canvas, y, x, full, STYLE_BAR, FULL_BLOCK);
	canvas_repeat(canvas, y, x + full, width - full, STYLE_FAINT, LINE);
}
