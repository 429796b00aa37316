/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table_cell.h"

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

struct sorting {
	const struct table *table;
	int column;
};

/* By one column: the first text, and the most of a number, but times and ids grow. */
static int compare_by(const struct table *table, uint32_t column, uint32_t left, uint32_t right)
{
	const struct table_column *by = &table->columns[column];
	const struct table_cell *one = table_at(table, left, column);
	const struct table_cell *two = table_at(table, right, column);
	bool text = !table_is_number(by);
	bool grows = text || by->kind == TABLE_TIME || by->kind == TABLE_ID;
	int order = text ? strcmp(one->text ? one->text : "", two->text ? two->text : "") : 0;

	if (order || by->kind == TABLE_STACK || table_value(by, one) == table_value(by, two))
		return order;
	return (table_value(by, one) < table_value(by, two)) == grows ? -1 : 1;
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
	const char *frames[TABLE_FRAMES_MOST];

	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct table_cell *cell = table_at(table, row, i);
		uint32_t count;

		if (cell->text && strcasestr(cell->text, filter))
			return true;
		if (table->columns[i].kind != TABLE_STACK || !cell->known)
			continue;
		count = table->frames(table->frames_data, cell->number, frames, TABLE_FRAMES_MOST);
		for (uint32_t k = 0; k < count && k < TABLE_FRAMES_MOST; k++)
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
			any = table_at(table, table->order[k], i)->known;
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
