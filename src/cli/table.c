/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/brief.h"
#include "cli/say.h"
#include "cli/source.h"
#include "view/utf8.h"

#define FRAMES_MOST 8192u
#define TEXT_WIDTH_MOST 44 /* of a column that others follow */
#define PAGE_WIDTH 80
#define FRAMES_HEAD 8u /* of a stack that is too long to be shown whole */
#define FRAMES_TAIL 20u

void table_init(struct table *table, const struct table_column *columns, uint32_t count)
{
	*table = (struct table){.columns = columns, .column_count = count};
}

void table_fini(struct table *table)
{
	free(table->cells);
	free(table->parents);
	free(table->order);
	free(table->depths);
	*table = (struct table){0};
}

struct table_cell *table_row(struct table *table, uint32_t parent)
{
	uint32_t columns = table->column_count;
	struct table_cell *row;

	if (table->row_count == table->row_capacity) {
		uint32_t capacity = table->row_capacity ? table->row_capacity * 2 : 32;
		struct table_cell *cells =
			reallocarray(table->cells, (size_t)capacity * columns, sizeof(*cells));
		uint32_t *parents;

		if (!cells)
			return NULL;
		table->cells = cells;
		parents = reallocarray(table->parents, capacity, sizeof(*parents));
		if (!parents)
			return NULL;
		table->parents = parents;
		table->row_capacity = capacity;
	}
	table->parents[table->row_count] = parent;
	row = &table->cells[(size_t)table->row_count++ * columns];
	memset(row, 0, columns * sizeof(*row));
	return row;
}

int table_find(const struct table *table, const char *name)
{
	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct table_column *column = &table->columns[i];

		if (strcasecmp(column->key, name) == 0 ||
		    (column->title && strcasecmp(column->title, name) == 0))
			return (int)i;
	}
	return -1;
}

static const struct table_cell *cell_at(const struct table *table, uint32_t row, uint32_t column)
{
	return &table->cells[(size_t)row * table->column_count + column];
}

static double value_of(const struct table_column *column, const struct table_cell *cell)
{
	if (!cell->known)
		return -1;
	if (column->kind == TABLE_SHARE)
		return cell->whole ? (double)cell->number / (double)cell->whole : 0;
	return (double)cell->number;
}

struct sorting {
	const struct table *table;
	int column;
};

/* What is no text is a number, and ends at the right. */
static bool is_right(const struct table_column *column)
{
	return column->kind != TABLE_TEXT && column->kind != TABLE_WORD &&
	       column->kind != TABLE_PLACE;
}

/* By one column: the first text, and the most of a number, but times and ids grow. */
static int compare_by(const struct table *table, uint32_t column, uint32_t left, uint32_t right)
{
	const struct table_column *by = &table->columns[column];
	const struct table_cell *one = cell_at(table, left, column);
	const struct table_cell *two = cell_at(table, right, column);
	bool text = !is_right(by);
	bool grows = text || by->kind == TABLE_TIME || by->kind == TABLE_ID;
	int order = text ? strcmp(one->text ? one->text : "", two->text ? two->text : "") : 0;

	if (order || by->kind == TABLE_STACK || value_of(by, one) == value_of(by, two))
		return order;
	return (value_of(by, one) < value_of(by, two)) == grows ? -1 : 1;
}

static int compare(const void *a, const void *b, void *data)
{
	const struct sorting *sorting = data;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	int order = compare_by(sorting->table, (uint32_t)sorting->column, left, right);

	for (uint32_t i = 0; !order && i < sorting->table->column_count; i++)
		order = compare_by(sorting->table, i, left, right);
	return order ? order : left < right ? -1 : left > right;
}

static bool matches(const struct table *table, uint32_t row, const char *filter)
{
	const char *frames[FRAMES_MOST];

	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct table_cell *cell = cell_at(table, row, i);
		uint32_t count;

		if (cell->text && strcasestr(cell->text, filter))
			return true;
		if (table->columns[i].kind != TABLE_STACK || !cell->known)
			continue;
		count = table->frames(table->frames_data, cell->number, frames, FRAMES_MOST);
		for (uint32_t k = 0; k < count && k < FRAMES_MOST; k++)
			if (strcasestr(frames[k], filter))
				return true;
	}
	return false;
}

/* Which rows stay: those that match, and those above them. */
static void select_rows(const struct table *table, const char *filter, bool *stays)
{
	for (uint32_t i = 0; i < table->row_count; i++)
		if (!filter || matches(table, i, filter))
			for (uint32_t at = i + 1; at && !stays[at - 1]; at = table->parents[at - 1])
				stays[at - 1] = true;
}

/* Each row before those below it, as they stand in `sorted`. */
static int put_in_tree(struct table *table, const uint32_t *sorted, const bool *stays)
{
	uint32_t count = table->row_count, at = 0;
	/* A row + 1 each; the last entry of `first` is for those without a parent. */
	uint32_t *first = calloc((size_t)count + 1, sizeof(*first));
	uint32_t *next = calloc((size_t)count + 1, sizeof(*next));

	if (!first || !next) {
		free(first);
		free(next);
		return -ENOMEM;
	}
	for (uint32_t i = count; i--;) {
		uint32_t row = sorted[i], parent = table->parents[row];
		uint32_t *list = &first[parent ? parent - 1 : count];

		next[row] = *list;
		*list = row + 1;
	}
	for (uint32_t row = first[count], depth = 0; row;) {
		if (stays[row - 1]) {
			table->order[at] = row - 1;
			table->depths[at++] = depth;
		}
		if (first[row - 1]) {
			row = first[row - 1];
			depth++;
			continue;
		}
		while (row && !next[row - 1]) {
			row = table->parents[row - 1];
			depth--;
		}
		row = row ? next[row - 1] : 0;
	}
	table->shown = at;
	free(first);
	free(next);
	return 0;
}

/* Of what is shown. */
static void find_absent(struct table *table)
{
	table->absent = 0;
	for (uint32_t i = 0; i < table->column_count && i < 64; i++) {
		bool any = table->columns[i].kind != TABLE_WORD;

		for (uint32_t k = 0; k < table->shown && !any; k++)
			any = cell_at(table, table->order[k], i)->known;
		if (!any)
			table->absent |= UINT64_C(1) << i;
	}
}

int table_arrange(struct table *table, int column, const char *filter, uint32_t top)
{
	uint32_t count = table->row_count;
	struct sorting sorting = {.table = table, .column = column};
	uint32_t *sorted = calloc((size_t)count + 1, sizeof(*sorted));
	bool *stays = calloc((size_t)count + 1, sizeof(*stays));
	int r = -ENOMEM;

	table->order = calloc((size_t)count + 1, sizeof(*table->order));
	table->depths = calloc((size_t)count + 1, sizeof(*table->depths));
	if (sorted && stays && table->order && table->depths) {
		for (uint32_t i = 0; i < count; i++)
			sorted[i] = i;
		if (column >= 0)
			qsort_r(sorted, count, sizeof(*sorted), compare, &sorting);
		select_rows(table, filter, stays);
		r = put_in_tree(table, sorted, stays);
	}
	free(sorted);
	free(stays);
	if (r == 0 && top && table->shown > top) {
		table->left_out = table->shown - top;
		table->shown = top;
	}
	if (r == 0)
		find_absent(table);
	return r;
}

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

/* A text as it is shown; static storage for a place, which is a file and a line. */
static const char *cell_text(const struct table_column *column, const struct table_cell *cell)
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
	if (!is_right(column))
		return say_width(cell_text(column, cell));
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
			const struct table_cell *cell = cell_at(table, table->order[k], i);
			int width = cell_width(column, cell);

			if (!i)
				width += 2 * (int)table->depths[k];
			if (width > widths[i])
				widths[i] = width;
		}
	}
	for (int i = 0; i < last; i++)
		if (is_shown(table, (uint32_t)i) && !is_right(&table->columns[i]) &&
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

	if (is_right(column)) {
		struct say_number number = number_text(column, cell);
		const char *text = cell->instead ? cell->instead : cell->known ? number.text : "-";

		put_spaces(to, width - say_width(text));
		say_text(to, text);
		return;
	}
	taken = i ? 0 : 2 * depth;
	put_spaces(to, taken);
	if (last)
		say_text(to, cell_text(column, cell));
	else
		put_spaces(to, width - taken - put_cut(to, cell_text(column, cell), width - taken));
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
		if (is_right(column))
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
	const char *frames[FRAMES_MOST];

	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct table_cell *cell = cell_at(table, row, i);
		uint32_t count;

		if (!cell->known)
			continue;
		if (table->columns[i].kind == TABLE_STACK) {
			count = table->frames(table->frames_data, cell->number, frames,
					      FRAMES_MOST);
			table_print_frames(to, frames, count < FRAMES_MOST ? count : FRAMES_MOST,
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
			put_cell(table, (uint32_t)i, cell_at(table, table->order[k], (uint32_t)i),
				 widths[i], i == last, (int)table->depths[k], to);
		}
		fputc('\n', to);
		put_below(table, table->order[k], to);
	}
	if (table->left_out)
		fprintf(to, "and %s more: --top 0 shows all\n", say_count(table->left_out).text);
	free(widths);
}

/* What is inside of the quotes: no text of a trace ends them, or reaches a terminal raw. */
static void csv_put(FILE *to, const char *text)
{
	while (*text) {
		size_t length = utf8_length(text);
		char one[5] = {0};

		length = length ? length : 1;
		memcpy(one, text, length);
		if (one[0] == '"')
			fputc('"', to);
		say_text(to, one);
		text += length;
	}
}

static void csv_text(FILE *to, const char *text)
{
	fputc('"', to);
	csv_put(to, text);
	fputc('"', to);
}

static void csv_stack(const struct table *table, uint64_t stack, FILE *to)
{
	const char *frames[FRAMES_MOST];
	uint32_t count = table->frames(table->frames_data, stack, frames, FRAMES_MOST);

	fputc('"', to);
	for (uint32_t i = 0; i < count && i < FRAMES_MOST; i++) {
		fputs(i ? ";" : "", to);
		csv_put(to, frames[i]);
	}
	fputc('"', to);
}

static void csv_cell(const struct table *table, const struct table_column *column,
		     const struct table_cell *cell, FILE *to)
{
	if (!cell->known)
		return;
	switch (column->kind) {
	case TABLE_TEXT:
	case TABLE_WORD:
		csv_text(to, cell->text);
		break;
	case TABLE_PLACE:
		csv_text(to, cell_text(column, cell));
		break;
	case TABLE_STACK:
		csv_stack(table, cell->number, to);
		break;
	case TABLE_SHARE:
		fprintf(to, "%.6f", 100 * value_of(column, cell));
		break;
	default:
		fprintf(to, "%" PRIu64, cell->number);
	}
}

void table_csv(const struct table *table, FILE *to)
{
	for (uint32_t i = 0; i < table->column_count; i++)
		fprintf(to, "%s%s", i ? "," : "", table->columns[i].key);
	fputc('\n', to);
	for (uint32_t k = 0; k < table->shown; k++) {
		for (uint32_t i = 0; i < table->column_count; i++) {
			fputs(i ? "," : "", to);
			csv_cell(table, &table->columns[i], cell_at(table, table->order[k], i), to);
		}
		fputc('\n', to);
	}
}

static void json_stack(const struct table *table, const char *key, uint64_t stack,
		       struct json *json)
{
	const char *frames[FRAMES_MOST];
	uint32_t count = table->frames(table->frames_data, stack, frames, FRAMES_MOST);

	json_open(json, key, '[');
	for (uint32_t i = 0; i < count && i < FRAMES_MOST; i++)
		json_text(json, NULL, frames[i]);
	json_close(json, ']');
}

static void json_cell(const struct table *table, const struct table_column *column,
		      const struct table_cell *cell, struct json *json)
{
	if (!cell->known) {
		json_null(json, column->key);
		return;
	}
	switch (column->kind) {
	case TABLE_TEXT:
	case TABLE_WORD:
		json_text(json, column->key, cell->text);
		break;
	case TABLE_PLACE:
		json_open(json, column->key, '{');
		json_text(json, "file", cell->text);
		json_number(json, "line", cell->number);
		json_close(json, '}');
		break;
	case TABLE_STACK:
		json_stack(table, column->key, cell->number, json);
		break;
	case TABLE_SHARE:
		json_real(json, column->key, 100 * value_of(column, cell));
		break;
	default:
		json_number(json, column->key, cell->number);
	}
}

void table_json(const struct table *table, const char *key, struct json *json)
{
	json_open(json, key, '[');
	for (uint32_t k = 0; k < table->shown; k++) {
		json_open(json, NULL, '{');
		for (uint32_t i = 0; i < table->column_count; i++)
			json_cell(table, &table->columns[i], cell_at(table, table->order[k], i),
				  json);
		json_close(json, '}');
	}
	json_close(json, ']');
}
