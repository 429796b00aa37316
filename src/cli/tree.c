/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/naming.h"

static const struct reader_site *site_of(const struct tree *tree, const struct snapshot_task *task)
{
	return snapshot_site(tree->snapshot, task->task.site);
}

const char *tree_label(const struct tree *tree, const struct snapshot_task *task)
{
	const struct reader_site *site = task->task.name[0] ? NULL : site_of(tree, task);
	char text[TREE_LABEL_ROOM] = "";
	char **label;

	if (task->task.name[0])
		return task->task.name;
	if (!site)
		return "task";
	label = &tree->labels[site - tree->snapshot->sites];
	if (!*label) {
		naming_label(tree->symbols, site, text, sizeof(text));
		*label = text[0] ? strdup(text) : NULL;
	}
	return *label ? *label : "task";
}

const char *tree_state(const struct tree *tree, const struct snapshot_task *task)
{
	static const char *const words[] = {
		[SNAPSHOT_RUNNING] = "running",     [SNAPSHOT_QUEUED] = "queued",
		[SNAPSHOT_WAITING] = "waiting",     [SNAPSHOT_NEW] = "new",
		[SNAPSHOT_SUSPENDED] = "suspended", [SNAPSHOT_UNKNOWN] = "unknown",
	};
	enum snapshot_state state = snapshot_state(tree->snapshot, task);
	enum naming_role role = naming_role(site_of(tree, task));

	return state != SNAPSHOT_RUNNING && role != NAMING_TASK ? naming_role_word(role)
								: words[state];
}

bool tree_waits(const struct tree *tree, const struct snapshot_task *task)
{
	enum snapshot_state state = snapshot_state(tree->snapshot, task);

	return task->task.waits && naming_role(site_of(tree, task)) == NAMING_TASK &&
	       state != SNAPSHOT_RUNNING && state != SNAPSHOT_QUEUED;
}

uint64_t tree_busy_ns(const struct tree *tree, const struct snapshot_task *task)
{
	const struct snapshot *snapshot = tree->snapshot;

	return snapshot_ns_since(snapshot, task->task.busy < snapshot->ticks
						   ? snapshot->ticks - task->task.busy
						   : 0);
}

static bool has(const char *text, const char *part)
{
	return text && strstr(text, part);
}

/* What is known to be suspended waits, or is queued: who asks for what waits should see it. */
static bool is_in(const char *state, const char *wanted)
{
	return strcmp(state, wanted) == 0 ||
	       (strcmp(wanted, "waiting") == 0 && strcmp(state, "suspended") == 0);
}

static bool is_chosen(const struct tree *tree, const struct tree_choice *choice,
		      const struct snapshot_task *task)
{
	const struct reader_site *site = choice->site ? site_of(tree, task) : NULL;

	if (choice->state && !is_in(tree_state(tree, task), choice->state))
		return false;
	return !choice->site || has(tree_label(tree, task), choice->site) ||
	       (site && (has(site->name, choice->site) || has(site->function, choice->site) ||
			 has(site->file, choice->site)));
}

/*
 * The next task of a walk through all below `first`, or through everything if that
 * is 0. Without recursion: a chain of parents may be as long as the table.
 */
static uint32_t walk_on(const struct snapshot *snapshot, uint32_t first, uint32_t at,
			uint32_t *depth)
{
	if (snapshot->tasks[at - 1].child) {
		++*depth;
		return snapshot->tasks[at - 1].child;
	}
	while (at != first && !snapshot->tasks[at - 1].sibling) {
		at = snapshot->tasks[at - 1].parent;
		if (!at)
			return 0;
		--*depth;
	}
	return at == first ? 0 : snapshot->tasks[at - 1].sibling;
}

static void choose_rows(struct tree *tree, const struct tree_choice *choice, uint32_t first)
{
	uint32_t at = first ? first : tree->snapshot->root;
	bool list = choice->order != TREE_BY_PARENT || choice->site || choice->state;

	for (uint32_t depth = 0; at; at = walk_on(tree->snapshot, first, at, &depth))
		if (is_chosen(tree, choice, &tree->snapshot->tasks[at - 1]))
			tree->rows[tree->row_count++] = (struct tree_row){at - 1, list ? 0 : depth};
}

/* What a list is sorted by, the greatest first. */
static uint64_t weight(const struct tree *tree, const struct snapshot_task *task,
		       enum tree_order order)
{
	uint64_t since;

	switch (order) {
	case TREE_BY_TIME:
		since = snapshot_since(tree->snapshot, task);
		return since ? snapshot_ns_since(tree->snapshot, since) + 1 : 0;
	case TREE_BY_BUSY:
		return task->task.busy;
	case TREE_BY_RUNS:
		return task->task.runs;
	default:
		return UINT64_MAX - task->task.id;
	}
}

struct weighed {
	uint64_t weight;
	struct tree_row row;
};

static int heaviest(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->row.task > y->row.task) - (x->row.task < y->row.task);
}

static int sort_rows(struct tree *tree, enum tree_order order)
{
	struct weighed *weighed = calloc(tree->row_count + 1, sizeof(*weighed));

	if (!weighed)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->row_count; i++)
		weighed[i] = (struct weighed){
			weight(tree, &tree->snapshot->tasks[tree->rows[i].task], order),
			tree->rows[i]};
	qsort(weighed, tree->row_count, sizeof(*weighed), heaviest);
	for (uint32_t i = 0; i < tree->row_count; i++)
		tree->rows[i] = weighed[i].row;
	free(weighed);
	return 0;
}

int tree_init(struct tree *tree, const struct tree_choice *choice)
{
	uint32_t first = choice->task ? snapshot_find(tree->snapshot, choice->task) : 0;

	if (choice->task && !first)
		return -ENOENT;
	tree->labels = calloc(tree->snapshot->site_count + 1, sizeof(*tree->labels));
	tree->rows = calloc(tree->snapshot->count + 1, sizeof(*tree->rows));
	if (!tree->labels || !tree->rows)
		return -ENOMEM;
	choose_rows(tree, choice, first);
	tree->shown = tree->row_count;
	return choice->order == TREE_BY_PARENT ? 0 : sort_rows(tree, choice->order);
}

void tree_fini(struct tree *tree)
{
	for (uint32_t i = 0; tree->labels && i < tree->snapshot->site_count; i++)
		free(tree->labels[i]);
	free(tree->labels);
	free(tree->rows);
}
