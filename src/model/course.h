/* SPDX-License-Identifier: Apache-2.0 */
/* From single events and samples to what tasks did. For model.c only. */
#ifndef MODEL_COURSE_H
#define MODEL_COURSE_H

#include "model/lane.h"
#include "model/live.h"
#include "model/sampling.h"

/* An event on its way, with what can be found out before it is due. */
struct course_step {
	struct unweave_event event; /* its stack is not to be used any more */
	uint32_t stack;             /* in the tree */
	uint32_t lane;
	struct live_task *task; /* perhaps; NULL: unknown */
};

#define COURSE_STEPS 32u

struct model {
	struct reader *reader;         /* NULL: it is fed, and has no trace */
	const struct model_sink *sink; /* while it is read */
	struct model_totals totals;
	uint64_t events;      /* also those before the window */
	uint64_t events_told; /* as progress */
	uint64_t losses;      /* words of a loss so far */
	uint64_t from, to;
	bool over;        /* all events have been told */
	bool runs_untold; /* at detail `samples`: that a task waits now says nothing of later */

	struct live live;
	struct live_task *hint; /* perhaps the task of the present event */
	struct tree *tree;
	struct causes causes;
	/* One a stream: thread << 1 | aside. Threads have small numbers, but for odd files. */
	struct lane *lanes;
	uint32_t lane_count;
	uint32_t lane_capacity;
	struct map lane_index;
	uint64_t lane_order; /* of the stream that spoke last */
	uint32_t lane_last;  /* its index + 1 */
	struct map tids;     /* to numbers of threads */
	struct sampling sampling;

	struct course_step steps[COURSE_STEPS]; /* that were fed, and are not told yet */
	uint32_t step_count;
};

/* Both return -ENOMEM, or what the sink returned; this one also what reading samples met. */
int course_samples(struct model *model, uint64_t until, struct diag *diag);
int course_event(struct model *model, const struct course_step *step);

/*
 * Before: takes an event in, while its frames are there. The second call asks for
 * the memory of the task that the first has asked to be looked up. -ENOMEM.
 */
int course_take(struct model *model, const struct unweave_event *event, uint64_t block,
		struct course_step *ret);
void course_prepare(struct model *model, struct course_step *step);

/*
 * The task, made if it was not seen before. Returns 0 with NULL if it has ended: what is
 * said of it comes late.
 */
int course_task(struct model *model, uint64_t id, uint64_t time, struct live_task **ret);

/* Ends what still goes on. */
int course_end(struct model *model);

#endif /* MODEL_COURSE_H */
