/* SPDX-License-Identifier: Apache-2.0 */
#include "view/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

#define OWN_FIRST 4u
#define OWN_MOST 64u
#define LABELS_MOST 65536u /* that are told apart; a program may name each of its tasks anew */

/* One allocation: this, then `capacity` stacks, which is even, then as many sums. */
struct tally_own {
	uint32_t count;
	uint32_t capacity;
	uint32_t last;      /* the one that was used last */
	uint32_t run_count; /* runs that are not in its sums yet, */
	uint64_t run_ns;    /* and their time */
	uint32_t stacks[];
};

int tally_init(struct tally *tally)
{
	*tally = (struct tally){0};
	if (map_init(&tally->index, UINT32_MAX) < 0 || texts_new(&tally->labels) < 0)
		return -ENOMEM;
	return 0;
}

void tally_fini(struct tally *tally)
{
	texts_free(tally->labels);
	map_fini(&tally->index);
	free(tally->cells);
	free(tally->outside);
	free(tally->direct);
	*tally = (struct tally){0};
}

static struct tally_sums *sums_of(struct tally_own *own)
{
	return (struct tally_sums *)(void *)(own->stacks + own->capacity);
}

static struct tally_own *own_grow(struct tally_own *own)
{
	uint32_t capacity = own ? own->capacity * 2 : OWN_FIRST;
	struct tally_own *bigger =
		malloc(sizeof(*bigger) + capacity * (sizeof(struct tally_sums) + sizeof(uint32_t)));

	if (!bigger)
		return NULL;
	*bigger = (struct tally_own){.capacity = capacity};
	if (own) {
		bigger->count = own->count;
		bigger->last = own->last;
		bigger->run_count = own->run_count;
		bigger->run_ns = own->run_ns;
		memcpy(sums_of(bigger), sums_of(own), own->count * sizeof(struct tally_sums));
		memcpy(bigger->stacks, own->stacks, own->count * sizeof(uint32_t));
	}
	free(own);
	return bigger;
}

/* Adds the runs that were put off to the sums they are of. */
static void settle_runs(struct tally_own *own)
{
	struct tally_sums *sums = &sums_of(own)[own->last];

	if (!own->run_count)
		return;
	sums->value[TALLY_RUN] += own->run_ns;
	sums->count[TALLY_RUN] += own->run_count;
	own->run_ns = 0;
	own->run_count = 0;
}

static struct tally_cell *add_cell(struct tally *tally, uint64_t key)
{
	struct tally_cell *cells =
		grow(tally->cells, tally->count, &tally->capacity, 256, sizeof(*cells));

	if (!cells)
		return NULL;
	tally->cells = cells;
	if (map_put(&tally->index, key, tally->count) < 0)
		return NULL;
	return &tally->cells[tally->count++];
}

static struct tally_cell *cell_of(struct tally *tally, uint32_t stack, uint32_t label,
				  enum tally_kind kind)
{
	uint64_t key = (uint64_t)(label + 1) << 34 | (uint64_t)stack << 2 | kind;
	uint32_t *known = map_find(&tally->index, key);
	struct tally_cell *cell;

	if (known)
		return &tally->cells[*known];
	cell = add_cell(tally, key);
	if (cell)
		*cell = (struct tally_cell){.stack = stack, .label = label, .kind = kind};
	return cell;
}
_Static_assert(TALLY_KINDS <= 4, "a kind has two bits");

/* The task with the least; where there is room, the room. */
static struct tally_task *find_least(struct tally_cell *cell)
{
	struct tally_task *least = cell->tasks;

	if (cell->task_count < TALLY_TASKS)
		return &cell->tasks[cell->task_count];
	for (uint32_t i = 1; i < TALLY_TASKS; i++)
		if (cell->tasks[i].value < least->value)
			least = &cell->tasks[i];
	return least;
}

static int note_task(struct tally *tally, struct tally_cell *cell, const struct model_task *task,
		     uint64_t value)
{
	struct tally_task *least;

	for (uint32_t i = 0; i < cell->task_count; i++)
		if (cell->tasks[i].id == task->id) {
			cell->tasks[i].value += value;
			return 0;
		}
	least = find_least(cell);
	if (cell->task_count == TALLY_TASKS && least->value >= value)
		return 0;
	*least = (struct tally_task){
		.id = task->id, .value = value, .label = texts_add(tally->labels, task->label)};
	cell->task_count += cell->task_count < TALLY_TASKS;
	return least->label == UINT32_MAX ? -ENOMEM : 0;
}

/* The number of a label; of those that are too many, one for all. */
static uint32_t label_of(struct tally *tally, const struct model_task *task)
{
	const char *label = task ? task->label : "[no task]";

	if (task && !label[0])
		label = "[unnamed task]";
	return texts_add(tally->labels,
			 texts_count(tally->labels) < LABELS_MOST ? label : "[other tasks]");
}

static bool is_wanted(const struct tally *tally, const struct model_task *task)
{
	if (tally->task)
		return task && task->id == tally->task;
	return !tally->label || (task && strstr(task->label, tally->label));
}

static int fold_one(struct tally *tally, const struct model_task *task, uint32_t stack,
		    const struct tally_sums *sums)
{
	uint32_t label = TALLY_NO_LABEL;

	/* Where no chain is known, the label is all there is to tell tasks apart. */
	if (tally->by_label || (!stack && task)) {
		label = label_of(tally, task);
		if (label == UINT32_MAX)
			return -ENOMEM;
	}
	for (unsigned kind = 0; kind < TALLY_KINDS; kind++) {
		struct tally_cell *cell;

		if (!sums->count[kind])
			continue;
		cell = cell_of(tally, stack, label, kind);
		if (!cell)
			return -ENOMEM;
		cell->value += sums->value[kind];
		cell->count += sums->count[kind];
		if (task && note_task(tally, cell, task, sums->value[kind]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Adds all that a task has to the cells. */
static int fold(struct tally *tally, const struct model_task *task, struct tally_own *own)
{
	int r = 0;

	settle_runs(own);
	if (is_wanted(tally, task))
		for (uint32_t i = 0; i < own->count && r == 0; i++)
			r = fold_one(tally, task, own->stacks[i], &sums_of(own)[i]);
	own->count = 0;
	own->last = 0;
	return r;
}

/* Room for one more stack; what was there goes to the cells if there are too many. */
static struct tally_own *make_room(struct tally *tally, const struct model_task *task,
				   struct tally_own *own)
{
	if (!own || (own->count == own->capacity && own->capacity < OWN_MOST))
		return own_grow(own);
	if (own->count == own->capacity && fold(tally, task, own) < 0)
		return NULL;
	return own;
}

static struct tally_sums *direct_sums(struct tally *tally, uint32_t stack)
{
	struct tally_sums *direct =
		grow_to(tally->direct, stack, &tally->direct_capacity, sizeof(*direct));

	if (!direct)
		return NULL;
	tally->direct = direct;
	return &direct[stack];
}

/* Makes the stack the one that was used last; NULL: no memory. */
static struct tally_own *find_stack(struct tally *tally, struct model_task *task, uint32_t stack)
{
	struct tally_own *own = task ? task->user : tally->outside, *room;
	uint32_t at = 0;

	if (own && own->count) {
		if (own->stacks[own->last] == stack)
			return own;
		settle_runs(own);
		while (at < own->count && own->stacks[at] != stack)
			at++;
		if (at < own->count) {
			own->last = at;
			return own;
		}
	}
	room = make_room(tally, task, own);
	if (!room)
		return NULL;
	if (task)
		task->user = room;
	else
		tally->outside = room;
	at = room->count++;
	room->stacks[at] = stack;
	sums_of(room)[at] = (struct tally_sums){0};
	room->last = at;
	return room;
}

struct tally_sums *tally_sums(struct tally *tally, struct model_task *task, uint32_t stack)
{
	struct tally_own *own;

	if (tally->no_tasks)
		return direct_sums(tally, stack);
	own = find_stack(tally, task, stack);
	if (!own)
		return NULL;
	settle_runs(own);
	return &sums_of(own)[own->last];
}

int tally_add_run(struct tally *tally, struct model_task *task, uint32_t stack, uint64_t ns)
{
	struct tally_sums *direct;
	struct tally_own *own;

	if (tally->no_tasks) {
		direct = direct_sums(tally, stack);
		if (!direct)
			return -ENOMEM;
		direct->value[TALLY_RUN] += ns;
		direct->count[TALLY_RUN]++;
		return 0;
	}
	own = find_stack(tally, task, stack);
	if (!own)
		return -ENOMEM;
	own->run_ns += ns;
	own->run_count++;
	return 0;
}

void tally_prefetch(const struct model_task *task)
{
	struct tally_own *own = task->user;

	if (own)
		__builtin_prefetch(&sums_of(own)[own->last]);
}

int tally_task_ended(struct tally *tally, struct model_task *task)
{
	struct tally_own *own = task->user;
	int r = own ? fold(tally, task, own) : 0;

	free(own);
	task->user = NULL;
	return r;
}

void tally_task_dropped(struct model_task *task)
{
	free(task->user);
	task->user = NULL;
}

int tally_finish(struct tally *tally)
{
	for (uint32_t i = 0; i < tally->direct_capacity; i++)
		if (fold_one(tally, NULL, i, &tally->direct[i]) < 0)
			return -ENOMEM;
	return tally->outside ? fold(tally, NULL, tally->outside) : 0;
}
