/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time by stack, with the tasks that most of it is of.
 *
 * While a task lives its time is summed up beside it; when it has ended, and its
 * name is final, that goes to the cells. So the sums of the tasks behind a stack
 * are exact, but for tasks of very many stacks: theirs may be more.
 */
#ifndef VIEW_TALLY_H
#define VIEW_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "util/map.h"
#include "view/texts.h"

enum tally_kind { TALLY_CPU, TALLY_PENDING, TALLY_QUEUED, TALLY_RUN, TALLY_KINDS };

#define TALLY_TASKS 8u
#define TALLY_NO_LABEL UINT32_MAX

/* What one task has on one stack. */
struct tally_sums {
	uint64_t value[TALLY_KINDS]; /* ns */
	uint32_t count[TALLY_KINDS];
};

struct tally_task {
	uint64_t id;
	uint64_t value;
	uint32_t label; /* of tally.labels */
};

struct tally_cell {
	uint32_t stack; /* of the model's tree; 0: unknown */
	uint32_t label; /* TALLY_NO_LABEL: it is not of one */
	uint32_t kind;  /* enum tally_kind */
	uint32_t task_count;
	uint64_t value;
	uint64_t count;
	struct tally_task tasks[TALLY_TASKS]; /* in any order */
};

struct tally_own;

struct tally {
	bool no_tasks; /* nothing is kept of single tasks; the other three have no meaning then */
	bool by_label; /* cells of one stack are apart for each label */
	uint64_t task; /* only this one; 0: all */
	const char *label; /* only tasks whose label contains this; NULL: all */
	struct texts *labels;
	struct map index;
	struct tally_cell *cells;
	uint32_t count;
	uint32_t capacity;
	struct tally_own *outside; /* of no task */
	struct tally_sums *direct; /* by stack, with `no_tasks` */
	uint32_t direct_capacity;
};

/* The first four fields are for the caller to set, after this. Returns -ENOMEM. */
int tally_init(struct tally *tally);
void tally_fini(struct tally *tally);

/*
 * Where to add what a task (NULL: none) did on a stack; until the next call. Uses
 * the task's `user`. NULL: no memory.
 */
struct tally_sums *tally_sums(struct tally *tally, struct model_task *task, uint32_t stack);

/*
 * Adds a run, as tally_sums() would be used for: but the sums are not touched
 * before a wait on the same stack is added to them, mostly the next thing. -ENOMEM.
 */
int tally_add_run(struct tally *tally, struct model_task *task, uint32_t stack, uint64_t ns);

/* Asks for the memory of the stack that was used last. */
void tally_prefetch(const struct model_task *task);

/* A task is over, and its `user` free. -ENOMEM. */
int tally_task_ended(struct tally *tally, struct model_task *task);
/* Forgets what a task has. */
void tally_task_dropped(struct model_task *task);
/* After the last task. -ENOMEM. */
int tally_finish(struct tally *tally);

#endif /* VIEW_TALLY_H */
