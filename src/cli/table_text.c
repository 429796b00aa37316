/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/brief.h"
#include "cli/say.h"
#include "cli/source.h"
#include "cli/table_cell.h"
#include "view/utf8.h"

#define TEXT_WIDTH_MOST 44 /* of a column that others follow */
#define PAGE_WIDTH 80
#define FRAMES_HEAD 8u /* of a stack that is too long to be shown whole */
#define FRAMES_TAIL 20u

/* What people see of a cell; texts of the trace are shown by say_text(). */
static struct say_number number_text(const struct table_column *column,
				     const struct table_cell *cell)
{
	struct say_number result;

	switch (column->kind) {
	case TABLE_COUNT:
		return say_count(cell->number);
	case TABLE_SPAN:
		return say_span(cell->number);
	case TABLE_TIME:
		snprintf(result.text, sizeof(result.text), "%.6f s", (double)cell->number / 1e9);
		return result;
	case TABLE_SHARE:
		return say_percent(cell->number, cell->whole);
	default:
		snprintf(result.text, sizeof(result.text), "%" PRIu64, cell->number);
		return result;
	}
}

const char *table_cell_text(const struct table_column *column, const struct table_cell *cell)
{
	static char place[4200];

	if (cell->instead)
		return cell->instead;
	if (!cell->known || !cell->text || !cell->text[0])
		return "-";
	if (column->kind != TABLE_PLACE)
		return cell->text;
	if (cell->number)
		snprintf(place, sizeof(place), "%s:%" PRIu64, cell->text, cell->number);
	else
		snprintf(place, sizeof(place), "%s", cell->text);
	return place;
}

static int cell_width(const struct table_column *column, const struct table_cell *cell)
{
	if (!table_is_number(column))
		return say_width(table_cell_text(column, cell));
	if (cell->instead)
		return say_width(cell->instead);
	return cell->known ? say_width(number_text(column, cell).text) : 1;
}

static bool is_shown(const struct table *table, uint32_t i)
{
	const struct table_column *column = &table->columns[i];

	return column->title && column->kind != TABLE_STACK && !(i < 64 && table->absent >> i & 1);
}

/* The last text needs no end; others are cut there. */
static int find_widths(const struct table *table, int *widths)
{
	int last = -1;

	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct table_column *column = &table->columns[i];

		if (!is_shown(table, i))
			continue;
		last = (int)i;
		widths[i] = say_width(column->title);
		for (uint32_t k = 0; k < table->shown; k++) {
			const struct table_cell *cell = table_at(table, table->order[k], i);
			int width = cell_width(column, cell);

			if (!i)
				width += 2 * (int)table->depths[k];
			if (width > widths[i])
				widths[i] = width;
		}
	}
	for (int i = 0; i < last; i++)
		if (is_shown(table, (uint32_t)i) && !table_is_number(&table->columns[i]) &&
		    widths[i] > TEXT_WIDTH_MOST)
			widths[i] = TEXT_WIDTH_MOST;
	return last;
}

/* The bytes of the first character of a text, and how wide it is shown. */
static size_t first_character(const char *text, int *ret_width)
{
	size_t length = utf8_length(text);
	char one[5] = {0};

	length = length ? length : 1;
	memcpy(one, text, length);
	*ret_width = say_width(one);
	return length;
}

/*
 * At most `width` characters of a text, of which the middle is left out: what tells two long names
 * apart is as often at their end. Returns how many were put.
 */
static int put_cut(FILE *to, const char *text, int width)
{
	char head[TEXT_WIDTH_MOST * 4 + 4];
	int left = say_width(text), taken = 0, one;
	size_t at = 0, length;

	if (left <= width)
		return say_text(to, text);
	for (; *text; text += length, at += length, taken += one) {
		length = first_character(text, &one);
		if (taken + one > width - 2 - width / 3 || at + 5 > sizeof(head))
			break;
		memcpy(head + at, text, length);
	}
	head[at] = 0;
	for (left -= taken; *text && left > width / 3; left -= one)
		text += first_character(text, &one);
	taken = say_text(to, head);
	fputs("..", to);
	return taken + 2 + say_text(to, text);
}

static void put_spaces(FILE *to, int count)
{
	fprintf(to, "%*s", count > 0 ? count : 0, "");
}

static void put_cell(const struct table *table, uint32_t i, const struct table_cell *cell,
		     int width, bool last, int depth, FILE *to)
{
	const struct table_column *column = &table->columns[i];
	int taken;

	if (table_is_number(column)) {
		struct say_number number = number_text(column, cell);
		const char *text = cell->instead ? cell->instead : cell->known ? number.text : "-";

		put_spaces(to, width - say_width(text));
		say_text(to, text);
		return;
	}
	taken = i ? 0 : 2 * depth;
	put_spaces(to, taken);
	if (last)
		say_text(to, table_cell_text(column, cell));
	else
		put_spaces(to, width - taken -
				       put_cut(to, table_cell_text(column, cell), width - taken));
}

static void put_titles(const struct table *table, const int *widths, int last, FILE *to)
{
	bool first = true;

	for (int i = 0; i <= last; i++) {
		const struct table_column *column = &table->columns[i];

		if (!is_shown(table, (uint32_t)i))
			continue;
		fputs(first ? "" : "  ", to);
		first = false;
		if (table_is_number(column))
			fprintf(to, "%*s", widths[i], column->title);
		else
			fprintf(to, "%-*s", i == last ? 0 : widths[i], column->title);
	}
	fputc('\n', to);
}

void table_print_frames(FILE *to, const char *const *frames, uint32_t count, int indent)
{
	int width = indent;

	put_spaces(to, indent);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t hidden = count - FRAMES_HEAD - FRAMES_TAIL;
		bool gap = count > FRAMES_HEAD + FRAMES_TAIL + 1 && i == FRAMES_HEAD;
		char note[64], brief[256];
		const char *text = frames[i];

		if (gap) {
			snprintf(note, sizeof(note), "... %" PRIu32 " frames ...", hidden);
			text = note;
			i += hidden - 1;
		} else if (indent + say_width(text) + 2 > PAGE_WIDTH) {
			brief_name(text, brief, sizeof(brief));
			text = brief;
		}
		/* The arrow that follows must find room, too. */
		if (width > indent && width + say_width(text) + 3 > PAGE_WIDTH) {
			fputc('\n', to);
			put_spaces(to, indent);
			width = indent;
		} else if (width > indent) {
			width += fprintf(to, " ");
		}
		width += say_text(to, text);
		if (i + 1 < count)
			width += fprintf(to, " >");
	}
	fputc('\n', to);
}

/* What stands below a row: its stack, and the source. */
static void put_below(const struct table *table, uint32_t row, FILE *to)
{
	const char *frames[TABLE_FRAMES_MOST];

	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct table_cell *cell = table_at(table, row, i);
		uint32_t count;

		if (!cell->known)
			continue;
		if (table->columns[i].kind == TABLE_STACK) {
			count = table->frames(table->frames_data, cell->number, frames,
					      TABLE_FRAMES_MOST);
			table_print_frames(to, frames,
					   count < TABLE_FRAMES_MOST ? count : TABLE_FRAMES_MOST,
					   6);
		}
		if (table->source && table->columns[i].kind == TABLE_PLACE && cell->text)
			source_print(to, cell->text, cell->number);
	}
}

void table_print(const struct table *table, FILE *to)
{
	int *widths = calloc(table->column_count, sizeof(*widths));
	int last;

	if (!widths)
		return;
	last = find_widths(table, widths);
	if (!table->shown)
		fputs("nothing\n", to);
	else
		put_titles(table, widths, last, to);
	for (uint32_t k = 0; k < table->shown; k++) {
		bool first = true;

		for (int i = 0; i <= last; i++) {
			if (!is_shown(table, (uint32_t)i))
				continue;
			fputs(first ? "" : "  ", to);
			first = false;
			put_cell(table, (uint32_t)i, table_at(table, table->order[k], (uint32_t)i),
				 widths[i], i == last, (int)table->depths[k], to);
		}
		fputc('\n', to);
		put_below(table, table->order[k], to);
	}
	if (table->left_out)
		fprintf(to, "and %s more: --top 0 shows all\n", say_count(table->left_out).text);
	free(widths);
}
