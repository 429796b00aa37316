/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for programs, as CSV and JSON. */
#include <inttypes.h>
#include <string.h>

#include "cli/say.h"
#include "cli/table_cell.h"
#include "view/utf8.h"

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
	const char *frames[TABLE_FRAMES_MOST];
	uint32_t count = table->frames(table->frames_data, stack, frames, TABLE_FRAMES_MOST);

	fputc('"', to);
	for (uint32_t i = 0; i < count && i < TABLE_FRAMES_MOST; i++) {
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
		csv_text(to, table_cell_text(column, cell));
		break;
	case TABLE_STACK:
		csv_stack(table, cell->number, to);
		break;
	case TABLE_SHARE:
		fprintf(to, "%.6f", 100 * table_value(column, cell));
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
			csv_cell(table, &table->columns[i], table_at(table, table->order[k], i),
				 to);
		}
		fputc('\n', to);
	}
}

static void json_stack(const struct table *table, const char *key, uint64_t stack,
		       struct json *json)
{
	const char *frames[TABLE_FRAMES_MOST];
	uint32_t count = table->frames(table->frames_data, stack, frames, TABLE_FRAMES_MOST);

	json_open(json, key, '[');
	for (uint32_t i = 0; i < count && i < TABLE_FRAMES_MOST; i++)
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
		json_real(json, column->key, 100 * table_value(column, cell));
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
			json_cell(table, &table->columns[i], table_at(table, table->order[k], i),
				  json);
		json_close(json, '}');
	}
	json_close(json, ']');
}
