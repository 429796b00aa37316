/* SPDX-License-Identifier: Apache-2.0 */
/* Where tasks are now, as folded stacks: a line for each chain, and how many tasks are there. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cli/tree.h"
#include "view/naming.h"

#define NAME_ROOM 320u

/* A task's chain, to be compared. */
struct chain {
	const struct snapshot_frame *frames;
	uint32_t count;
};

static int compare_frames(const struct snapshot_frame *a, const struct snapshot_frame *b)
{
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->omitted != b->omitted)
		return a->omitted ? 1 : -1;
	return (a->state > b->state) - (a->state < b->state);
}

static int compare(const void *left, const void *right)
{
	const struct chain *a = left, *b = right;

	/* From the root on, so that what is together in the picture is together here. */
	for (uint32_t i = 1; a->frames != b->frames && i <= a->count && i <= b->count; i++) {
		int r = compare_frames(&a->frames[a->count - i], &b->frames[b->count - i]);

		if (r)
			return r;
	}
	return (a->count > b->count) - (a->count < b->count);
}

/* A name as a folded stack can hold it. */
static void put_name(FILE *to, const char *name)
{
	for (; *name; name++)
		fputc(*name == ';' || *name == '\n' || *name == ' ' ? '_' : *name, to);
}

static void put_chain(const struct chain *chain, uint64_t tasks, struct symbols *symbols, FILE *to)
{
	char name[NAME_ROOM];

	for (uint32_t i = chain->count; i-- > 0;) {
		if (chain->frames[i].omitted) {
			fputs("...", to);
		} else {
			naming_function(symbols, chain->frames[i].address, name, sizeof(name));
			put_name(to, name);
		}
		fputc(i ? ';' : ' ', to);
	}
	if (!chain->count)
		fputs("unknown ", to);
	fprintf(to, "%" PRIu64 "\n", tasks);
}

/* Tasks that only stand, and loops, are left out. */
int tree_folded(const struct tree *tree, FILE *to)
{
	const struct snapshot *snapshot = tree->snapshot;
	struct chain *chains = calloc(tree->shown + 1, sizeof(*chains));
	uint32_t count = 0;

	if (!chains)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->shown; i++) {
		const struct snapshot_task *task = &snapshot->tasks[tree->rows[i].task];

		if (naming_role(snapshot_site(snapshot, task->task.site)) == NAMING_TASK)
			chains[count++] = (struct chain){
				task->chain_count ? &snapshot->frames[task->chain] : NULL,
				task->chain_count};
	}
	qsort(chains, count, sizeof(*chains), compare);
	for (uint32_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && !compare(&chains[i], &chains[next]);)
			next++;
		put_chain(&chains[i], next - i, tree->symbols, to);
	}
	free(chains);
	return 0;
}
