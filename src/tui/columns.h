/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns of a list find room in a line, and how wide they are. */
#ifndef TUI_COLUMNS_H
#define TUI_COLUMNS_H

#include <stdbool.h>

#define COLUMNS_MOST 20 /* of a list */

struct column {
	const char *title;
	int least;     /* characters that it needs */
	int most;      /* that it may grow to where there is room */
	int rank;      /* 1: always there; of the others, the highest is the first to be left out */
	bool to_right; /* figures are aligned to the right */
	int sort;      /* what the rows are sorted by if it is chosen; 0: it cannot be */
};

/* Where a column is. */
struct place {
	int x;
	int width; /* 0: it is left out */
};

/* Columns are apart by one blank. */
void columns_fit(const struct column *columns, int count, int room, struct place *ret);

/* The column at `x`; -1: none. */
int columns_find(const struct place *places, int count, int x);

#endif /* TUI_COLUMNS_H */
