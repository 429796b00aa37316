/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `unweave report`: what was found out about a trace, and how it is shown. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/table.h"
#include "view/survey.h"

enum report_table {
	REPORT_SUMMARY,
	REPORT_ACTIVITIES,
	REPORT_TASKS,      /* activities --tasks */
	REPORT_INCOMPLETE, /* activities --incomplete */
	REPORT_SITES,
	REPORT_STACKS,
	REPORT_WAITS, /* stacks --wait */
	REPORT_FUNCTIONS,
	REPORT_THREADS,
	REPORT_RUNS,
	REPORT_LOOPS,
	REPORT_TABLES
};

struct report {
	const char *path;
	struct reader *reader;
	struct symbols *symbols;
	struct survey *survey;
	bool source;
	bool windowed;  /* only a part of the trace was asked for */
	uint64_t first; /* ns: where the whole trace begins */
};

/* A time since the beginning of the trace, whatever part of it was asked for. */
uint64_t report_since(const struct report *report, uint64_t time);

/* The file has faults, or no end: then nothing follows from what is not there. */
bool report_has_gaps(const struct report *report);

/* Samples were due, though there may be none; a note of the sampler's says what was left out. */
bool report_was_sampled(const struct report *report);

/* Where a stack of the model's tree is: its innermost function. */
struct report_where {
	const char *function; /* NULL: unknown */
	const char *file;     /* or NULL */
	uint32_t line;
	/* Who called it from outside of its library, with a name; NULL: it is in none, or unknown.
	 */
	const struct symbol_frame *caller;
	/* How a run was there: "mostly in", "beginning in", "until it waited in", ...; or NULL. */
	const char *how;
};
struct report_where report_where(const struct report *report, uint32_t stack);

/* Where most of a run's samples were; else where it waited next, or began. */
struct report_where report_where_run(const struct report *report, const struct model_run *run);

/* A table_frames of the report's profile, by its nodes. */
uint32_t report_frames(void *report, uint64_t node, const char **ret, uint32_t most);

/* Nodes of the profile with a value of their own, the most first; NULL: no memory. */
uint32_t *report_top(const struct profile *profile, enum profile_value value, uint32_t *ret_count);

/* Sets a table up and fills it. -ENOMEM. `*ret_sort` is the column it is sorted by if none is said.
 */
int report_fill(const struct report *report, enum report_table which, struct table *table,
		const char **ret_sort);

/* What lies between the title and the rows: the histogram of runs, or nothing. */
void report_print_histogram(const struct survey *survey, FILE *to);
void report_json_histogram(const struct survey *survey, struct json *json);

/* The loops as lines of the first page, the busiest first. */
void report_print_loops(const struct report *report, FILE *to);

/* The first page: is something wrong, and where. */
int report_print_summary(const struct report *report, FILE *to);
int report_json_summary(const struct report *report, struct json *json);

/* A sentence with a dash before it, and words alone, wrapped at spaces. */
void report_print_sentence(FILE *to, const char *text);
void report_print_words(FILE *to, int indent, const char *text);

/* How samples were taken, in a few words. */
const char *report_driver(uint64_t driver);

#endif /* CLI_REPORT_H */
