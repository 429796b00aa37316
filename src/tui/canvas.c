/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/canvas.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tui/glyph.h"

#define PRINT_ROOM 1024

int canvas_resize(struct canvas *canvas, int width, int height)
{
	size_t count = (size_t)width * (size_t)height;
	struct canvas_cell *cells = reallocarray(canvas->cells, count ? count : 1, sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	canvas->cells = cells;
	canvas->width = width;
	canvas->height = height;
	canvas_clear(canvas);
	return 0;
}

void canvas_fini(struct canvas *canvas)
{
	free(canvas->cells);
	*canvas = (struct canvas){0};
}

void canvas_clear(struct canvas *canvas)
{
	size_t count = (size_t)canvas->width * (size_t)canvas->height;

	for (size_t i = 0; i < count; i++)
		canvas->cells[i] = (struct canvas_cell){.glyph = ' '};
	canvas_clip(canvas, 0, canvas->height);
}

void canvas_clip(struct canvas *canvas, int from, int to)
{
	canvas->from = from;
	canvas->to = to;
}

static struct canvas_cell *drawable(struct canvas *canvas, int y, int x)
{
	return y >= canvas->from && y < canvas->to ? canvas_at(canvas, y, x) : NULL;
}

/* Takes away what is at (y, x), where something else is to be: of what is wide, both halves. */
static void make_room(struct canvas *canvas, int y, int x)
{
	struct canvas_cell *cell = drawable(canvas, y, x);
	struct canvas_cell *left = drawable(canvas, y, x - 1), *right = drawable(canvas, y, x + 1);

	if (cell && left && !cell->glyph)
		left->glyph = ' ';
	if (cell && right && !right->glyph)
		right->glyph = ' ';
}

/* What is wide, and has room for half of it only, is a blank. */
static void put(struct canvas *canvas, int y, int x, const struct glyph *glyph, enum style style)
{
	struct canvas_cell *cell = drawable(canvas, y, x);
	struct canvas_cell *right = glyph->width == 2 ? drawable(canvas, y, x + 1) : NULL;
	uint32_t code = glyph->width == 2 && !right ? ' ' : glyph->code;

	make_room(canvas, y, x);
	if (right)
		make_room(canvas, y, x + 1);
	if (cell)
		*cell = (struct canvas_cell){canvas->ascii ? glyph_ascii(code) : code,
					     (uint8_t)style};
	if (right)
		*right = (struct canvas_cell){cell && !canvas->ascii ? 0 : ' ', (uint8_t)style};
}

/* Draws what fits, and returns the columns that it took. */
static int draw(struct canvas *canvas, int y, int x, int room, enum style style, const char *text)
{
	struct glyph_reader reader = glyph_read(text);
	struct glyph glyph;
	int used = 0;

	while (glyph_next(&reader, &glyph) && used + glyph.width <= room) {
		put(canvas, y, x + used, &glyph, style);
		used += glyph.width;
	}
	return used;
}

static const struct glyph ellipsis = {.code = 0x2026, .width = 1};

int canvas_text(struct canvas *canvas, int y, int x, int room, enum style style, const char *text)
{
	int used;

	if (room <= 0)
		return 0;
	/* A mark is worth more than the word that there is more of it. */
	if (canvas_width(text) <= room || room == 1)
		return draw(canvas, y, x, room, style, text);
	used = draw(canvas, y, x, room - 1, style, text);
	put(canvas, y, x + used, &ellipsis, style);
	return used + 1;
}

int canvas_tail(struct canvas *canvas, int y, int x, int room, enum style style, const char *text)
{
	int excess = canvas_width(text) - room;
	struct glyph_reader reader = glyph_read(text);
	struct glyph glyph;

	if (room <= 0)
		return 0;
	if (excess <= 0)
		return draw(canvas, y, x, room, style, text);
	/* One more, for the ellipsis. */
	for (excess++; excess > 0 && glyph_next(&reader, &glyph);)
		excess -= glyph.width;
	put(canvas, y, x, &ellipsis, style);
	for (int used = 1; glyph_next(&reader, &glyph); used += glyph.width)
		put(canvas, y, x + used, &glyph, style);
	return room;
}

int canvas_right(struct canvas *canvas, int y, int x, int room, enum style style, const char *text)
{
	int width = canvas_width(text);

	canvas_text(canvas, y, width < room ? x + room - width : x, room, style, text);
	return room;
}

/*
 * Bytes of `text` that fit into `width` columns, up to the last blank among them; at least
 * those of one character.
 */
static size_t line_bytes(const char *text, int width)
{
	struct glyph_reader reader = glyph_read(text);
	size_t last = 0, length = 0;
	struct glyph glyph;
	int used = 0;

	while (glyph_next(&reader, &glyph)) {
		used += glyph.width;
		if (used > width && length)
			return last ? last : length;
		/* What is spelled out is not torn apart. */
		if (reader.escaped)
			continue;
		if (glyph.code == ' ')
			last = (size_t)(reader.at - text) - 1;
		length = (size_t)(reader.at - text);
		if (length >= PRINT_ROOM - GLYPH_BYTES)
			return last ? last : length;
	}
	return strlen(text);
}

int canvas_wrap(struct canvas *canvas, int y, int x, int width, enum style style, const char *text)
{
	char line[PRINT_ROOM];
	int lines = 0;

	while (*text && width > 0) {
		size_t bytes = line_bytes(text, width);

		snprintf(line, sizeof(line), "%.*s", (int)bytes, text);
		canvas_text(canvas, y + lines++, x, width, style, line);
		text += bytes;
		while (*text == ' ')
			text++;
	}
	return lines;
}

int canvas_print(struct canvas *canvas, int y, int x, enum style style, const char *format, ...)
{
	char text[PRINT_ROOM];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return canvas_text(canvas, y, x, canvas->width - x, style, text);
}

void canvas_repeat(struct canvas *canvas, int y, int x, int count, enum style style, uint32_t code)
{
	const struct glyph glyph = {.code = code, .width = 1};

	for (int i = 0; i < count; i++)
		put(canvas, y, x + i, &glyph, style);
}

void canvas_restyle(struct canvas *canvas, int y, int x, int count, enum style style)
{
	for (int i = 0; i < count; i++) {
		struct canvas_cell *cell = drawable(canvas, y, x + i);

		if (cell)
			cell->style = (uint8_t)style;
	}
}

int canvas_width(const char *text)
{
	struct glyph_reader reader = glyph_read(text);
	struct glyph glyph;
	int width = 0;

	while (glyph_next(&reader, &glyph))
		width += glyph.width;
	return width;
}

static int row_length(const struct canvas *canvas, int y)
{
	int length = canvas->width;

	while (length && canvas_at(canvas, y, length - 1)->glyph == ' ')
		length--;
	return length;
}

void canvas_write(const struct canvas *canvas, int rows, FILE *to)
{
	char bytes[GLYPH_BYTES];

	for (int y = 0; y < rows && y < canvas->height; y++) {
		for (int x = 0, length = row_length(canvas, y); x < length; x++) {
			uint32_t code = canvas_at(canvas, y, x)->glyph;

			if (code)
				fwrite(bytes, 1, glyph_encode(code, bytes), to);
		}
		fputc('\n', to);
	}
}
