/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screenful of characters in memory. What a view shows is drawn here, and then put
 * on a terminal, or printed: neither knows of the other, and a test can read it.
 *
 * All text is UTF-8 and may come from the program that is watched. What a terminal
 * might obey becomes \xNN, and what takes no place (marks, changes of direction) is
 * left out.
 */
#ifndef TUI_CANVAS_H
#define TUI_CANVAS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What a character is, not how it looks: terminals differ, and so do tastes. */
enum style {
	STYLE_PLAIN,
	STYLE_FAINT,    /* of no weight: unknown figures, frames of less interest */
	STYLE_STRONG,   /* titles, keys */
	STYLE_HEAD,     /* column titles */
	STYLE_SORTED,   /* the title of the column that rows are sorted by */
	STYLE_SELECTED, /* the row that keys are for */
	STYLE_RUNNING,
	STYLE_QUEUED,
	STYLE_WARNING,
	STYLE_BAR, /* of histograms, and the time slider */
	STYLE_COUNT
};

struct canvas_cell {
	uint32_t glyph; /* code point; 0: the right half of the one before */
	uint8_t style;  /* enum style */
};

struct canvas {
	int width, height;
	int from, to; /* lines that may be drawn on: from, up to but not including to */
	bool ascii;   /* draw nothing that ASCII does not have */
	struct canvas_cell *cells;
};

/* Gives it another size and clears it. -ENOMEM, and it is as it was. */
int canvas_resize(struct canvas *canvas, int width, int height);
void canvas_fini(struct canvas *canvas);
void canvas_clear(struct canvas *canvas);

/* Until canvas_clear(), what is drawn on other lines is cut off. */
void canvas_clip(struct canvas *canvas, int from, int to);

/* NULL: it lies outside. */
static inline struct canvas_cell *canvas_at(const struct canvas *canvas, int y, int x)
{
	if (y < 0 || y >= canvas->height || x < 0 || x >= canvas->width)
		return NULL;
	return &canvas->cells[(size_t)y * (size_t)canvas->width + (size_t)x];
}

/*
 * Text in at most `room` columns; what is longer ends with an ellipsis, if there is more than
 * one. Returns how many columns it took.
 */
int canvas_text(struct canvas *canvas, int y, int x, int room, enum style style, const char *text);
/* The same, but what is longer begins with the ellipsis: of a path, the end says most. */
int canvas_tail(struct canvas *canvas, int y, int x, int room, enum style style, const char *text);
/* The same as canvas_text(), but at the right end of the room. Returns `room`. */
int canvas_right(struct canvas *canvas, int y, int x, int room, enum style style, const char *text);

/* Text on as many lines as it takes, broken between words; returns how many these are. */
int canvas_wrap(struct canvas *canvas, int y, int x, int width, enum style style, const char *text);

__attribute__((format(printf, 5, 6))) int canvas_print(struct canvas *canvas, int y, int x,
						       enum style style, const char *format, ...);

/* One character, `count` times. */
void canvas_repeat(struct canvas *canvas, int y, int x, int count, enum style style,
		   uint32_t glyph);
/* Gives what is there another style. */
void canvas_restyle(struct canvas *canvas, int y, int x, int count, enum style style);

/* Columns that the text would take with room enough. */
int canvas_width(const char *text);

/* The first `rows` rows as lines of text, without the blanks at their ends. */
void canvas_write(const struct canvas *canvas, int rows, FILE *to);

#endif /* TUI_CANVAS_H */
