/* SPDX-License-Identifier: Apache-2.0 */
/* What the cells of a report's tables are made of. */
#ifndef CLI_REPORT_CELLS_H
#define CLI_REPORT_CELLS_H

#include "cli/report.h"
#include "view/naming.h"

#define COUNT(table) ((uint32_t)(sizeof(table) / sizeof((table)[0])))

static inline struct table_cell cell_text(const char *value)
{
	return (struct table_cell){.known = true, .text = value};
}

static inline struct table_cell cell_text_if(const char *value)
{
	return (struct table_cell){.known = value && value[0], .text = value};
}

static inline struct table_cell cell_number(uint64_t value)
{
	return (struct table_cell){.known = true, .number = value};
}

static inline struct table_cell cell_number_if(uint64_t value)
{
	return (struct table_cell){.known = value != 0, .number = value};
}

static inline struct table_cell cell_share(uint64_t part, uint64_t whole)
{
	return (struct table_cell){.known = whole > 0, .number = part, .whole = whole};
}

static inline struct table_cell cell_place(const char *file, uint64_t line)
{
	return (struct table_cell){.known = file && file[0], .text = file, .number = line};
}

static inline struct table_cell cell_time_of(const struct report *report, uint64_t time)
{
	return (struct table_cell){.known = true, .number = report_since(report, time)};
}

static inline const char *or_unnamed(const char *label)
{
	return label[0] ? label : "(unnamed)";
}

/* Where a task was made: the function and line, of a callback where it was armed. */
static inline void cells_of_origin(const struct report *report, const struct reader_site *site,
				   struct table_cell *function, struct table_cell *at)
{
	struct symbol_frame origin;

	if (!site)
		return;
	origin = naming_origin(report->symbols, site);
	*function = cell_text_if(origin.function);
	*at = cell_place(origin.file, origin.line);
}

/* Tables of which report_fill() makes use. */
int report_fill_functions(const struct report *report, struct table *table);
int report_fill_loops(const struct report *report, struct table *table);

#endif /* CLI_REPORT_CELLS_H */
