/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a watch's warnings know of each other. */
#ifndef WATCH_LINT_PARTS_H
#define WATCH_LINT_PARTS_H

#include "view/lints_parts.h"
#include "view/naming.h"
#include "watch/inside.h"
#include "watch/lint.h"

#define SIGHTINGS 16u
#define LINT_TOLD_MOST 64u

/* A run that took long, while it did. */
struct sighting {
	uint64_t task;                    /* 0: none */
	uint64_t start;                   /* ns */
	uint64_t resumed;                 /* ticks: the same */
	uint64_t chain[WATCH_LINT_STACK]; /* innermost first */
	int32_t states[WATCH_LINT_STACK];
	uint32_t chain_count;
	struct native native;
};

struct watch_lint {
	struct watch *watch;
	uint64_t judged;          /* which picture of the watch's; 0: none yet */
	enum watch_source source; /* that what was seen is of */
	struct lints lints;
	struct model_sink tap;
	struct unwinder *unwinder; /* or NULL */
	struct tree *tree;         /* the stacks of what is told, of a living program */
	struct reader *reader;     /* of a trace */
	struct sighting sightings[SIGHTINGS];
	uint32_t sighting_next;
	uint32_t circles;     /* of this picture, so far */
	struct map in_circle; /* the tasks in them */

	/* While a picture is judged. */
	bool kept;          /* a run keeps a thread */
	uint64_t monotonic; /* CLOCK_MONOTONIC, ns */

	char kernels[LINT_TOLD_MOST][NATIVE_KERNEL]; /* of the warnings in their order */
	struct watch_warning *told;
	uint32_t told_count, told_capacity;
};

/*
 * lint_place.c. How long a run has certainly gone on of which nobody heard when it began, since its
 * thread has not come to a hook since; 0: nobody knows.
 */
uint64_t lint_unheard_ns(struct watch_lint *lint, const struct watch_task *task);
/* Says of the warnings of a living program, in their order, where they are. -ENOMEM.
 */
int lint_find_places(struct watch_lint *lint);
/* Makes what is told of all, with their stacks in `tree`. -ENOMEM. */
int lint_tell_all(struct watch_lint *lint, const struct tree *tree);

#endif /* WATCH_LINT_PARTS_H */
