/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of functions: each one's CPU time, in whatever stacks it is. */
#include <errno.h>
#include <stdlib.h>

#include "cli/report_cells.h"

/* CPU time of one function, wherever it is. */
struct function {
	uint64_t exclusive, inclusive, samples;
	uint32_t one; /* of all names of the function, the one that counts */
};

static int by_texts(const void *a, const void *b, void *data)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct profile_name *one = profile_name(data, left);
	const struct profile_name *two = profile_name(data, right);

	/* Equal texts are the same text. */
	if (one->function != two->function)
		return one->function < two->function ? -1 : 1;
	if (one->module != two->module)
		return one->module < two->module ? -1 : 1;
	return left < right ? -1 : left > right;
}

/* A function that runs, awaits and is called has three names. -ENOMEM. */
static int unite_names(const struct profile *profile, struct function *functions)
{
	uint32_t count = profile_name_count(profile);
	uint32_t *order = calloc((size_t)count + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), by_texts, (void *)profile);
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_name *name = profile_name(profile, order[i]), *before;

		functions[order[i]].one = order[i];
		before = i ? profile_name(profile, order[i - 1]) : NULL;
		if (before && before->function == name->function && before->module == name->module)
			functions[order[i]].one = functions[order[i - 1]].one;
	}
	free(order);
	return 0;
}

/* Whether a frame of the same function is around it. */
static bool is_recursive(const struct profile *profile, const struct function *functions,
			 uint32_t node)
{
	uint32_t one = functions[profile_at(profile, node)->name].one;

	while ((node = profile_at(profile, node)->parent))
		if (functions[profile_at(profile, node)->name].one == one)
			return true;
	return false;
}

static void sum_functions(const struct profile *profile, struct function *functions)
{
	for (uint32_t i = 1; i < profile_count(profile); i++) {
		const struct profile_node *node = profile_at(profile, i);
		struct function *function = &functions[functions[node->name].one];

		function->exclusive += node->self[PROFILE_CPU];
		function->samples += node->count[PROFILE_CPU];
		if (node->total[PROFILE_CPU] && !is_recursive(profile, functions, i))
			function->inclusive += node->total[PROFILE_CPU];
	}
}

static int add_function(struct table *table, const struct function *function,
			const struct profile_name *name, uint64_t all)
{
	struct table_cell *row = table_row(table, 0);

	if (!row)
		return -ENOMEM;
	row[0] = cell_share(function->exclusive, all);
	row[1] = cell_number(function->exclusive);
	row[2] = cell_share(function->inclusive, all);
	row[3] = cell_number(function->inclusive);
	row[4] = cell_number(function->samples);
	row[5] = cell_text(name->function);
	row[6] = cell_text(name->module);
	row[7] = cell_place(name->file, name->line);
	return 0;
}

int report_fill_functions(const struct report *report, struct table *table)
{
	static const struct table_column columns[] = {
		{"exclusive_percent", "excl %", TABLE_SHARE},
		{"exclusive_ns", "exclusive", TABLE_SPAN},
		{"inclusive_percent", "incl %", TABLE_SHARE},
		{"inclusive_ns", "inclusive", TABLE_SPAN},
		{"samples", "samples", TABLE_COUNT},
		{"function", "function", TABLE_TEXT},
		{"module", "module", TABLE_TEXT},
		{"place", "place", TABLE_PLACE},
	};
	const struct profile *profile = report->survey->profile;
	uint64_t all = profile_at(profile, 0)->total[PROFILE_CPU];
	uint32_t count = profile_name_count(profile);
	struct function *functions = calloc((size_t)count + 1, sizeof(*functions));
	int r = functions ? unite_names(profile, functions) : -ENOMEM;

	table_init(table, columns, COUNT(columns));
	if (r == 0)
		sum_functions(profile, functions);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		if (functions[i].inclusive)
			r = add_function(table, &functions[i], profile_name(profile, i), all);
	free(functions);
	return r;
}
