/* SPDX-License-Identifier: Apache-2.0 */
/* Cells, for those who order tables and show them. */
#ifndef CLI_TABLE_CELL_H
#define CLI_TABLE_CELL_H

#include "cli/table.h"

#define TABLE_FRAMES_MOST 8192u /* of a stack */

static inline const struct table_cell *table_at(const struct table *table, uint32_t row,
						uint32_t column)
{
	return &table->cells[(size_t)row * table->column_count + column];
}

static inline double table_value(const struct table_column *column, const struct table_cell *cell)
{
	if (!cell->known)
		return -1;
	if (column->kind == TABLE_SHARE)
		return cell->whole ? (double)cell->number / (double)cell->whole : 0;
	return (double)cell->number;
}

/* What is no text; it ends at the right. */
static inline bool table_is_number(const struct table_column *column)
{
	return column->kind != TABLE_TEXT && column->kind != TABLE_WORD &&
	       column->kind != TABLE_PLACE;
}

/* A text as people see it; static storage for a place, which is a file and a line. */
const char *table_cell_text(const struct table_column *column, const struct table_cell *cell);

#endif /* CLI_TABLE_CELL_H */
