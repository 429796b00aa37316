/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that can be sorted, filtered and cut, and shown as text, JSON or CSV. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "view/json.h"

enum table_kind {
	TABLE_TEXT,
	TABLE_WORD, /* a text; not shown to people if no row has one */
	TABLE_COUNT,
	TABLE_ID,    /* a number without separators */
	TABLE_SPAN,  /* ns */
	TABLE_TIME,  /* ns since the beginning of the trace */
	TABLE_SHARE, /* `number` of `whole` */
	TABLE_PLACE, /* file `text` and line `number` */
	TABLE_STACK, /* `number` is for the table's `frames`; goes below the row */
};

struct table_column {
	const char *key;   /* for programs, and for --sort */
	const char *title; /* for people; NULL: not shown to them */
	enum table_kind kind;
};

struct table_cell {
	bool known; /* false: shown as "-", null or nothing */
	uint64_t number;
	uint64_t whole;
	const char *text;    /* borrowed */
	const char *instead; /* for people, of what stands in for the number; or NULL */
};

/* The functions of a stack, root first: how many; at most `most` go to `ret`. */
typedef uint32_t (*table_frames)(void *data, uint64_t stack, const char **ret, uint32_t most);

struct table {
	const struct table_column *columns;
	uint32_t column_count;
	struct table_cell *cells; /* row by row */
	uint32_t *parents;        /* of each row: a row + 1; 0: none */
	uint32_t row_count;
	uint32_t row_capacity;
	uint32_t *order; /* rows as they are shown, after table_arrange() */
	uint32_t *depths;
	uint32_t shown;
	uint32_t left_out; /* by `top` */
	uint64_t absent;   /* a bit for each column of words that no row has, of the first 64 */
	table_frames frames;
	void *frames_data;
	bool source; /* with the source line of each place, where the file is there */
};

/* `columns` is borrowed. */
void table_init(struct table *table, const struct table_column *columns, uint32_t count);
void table_fini(struct table *table);

/* Adds a row, below `parent` (a row + 1, or 0), and gives its cells to fill in; NULL: no memory. */
struct table_cell *table_row(struct table *table, uint32_t parent);

/* The column with this key or title; -1: there is none. */
int table_find(const struct table *table, const char *name);

/*
 * Sorts, the largest number and the first text at the top, keeps rows with
 * `filter` (or NULL) in a text, and those above them, and cuts after `top` (0: not
 * at all). -ENOMEM.
 */
int table_arrange(struct table *table, int column, const char *filter, uint32_t top);

void table_print(const struct table *table, FILE *to);
void table_csv(const struct table *table, FILE *to);
/* As an array of objects. */
void table_json(const struct table *table, const char *key, struct json *json);

/* Functions of a stack, wrapped to 80 columns; `indent` for all lines. */
void table_print_frames(FILE *to, const char *const *frames, uint32_t count, int indent);

#endif /* CLI_TABLE_H */
