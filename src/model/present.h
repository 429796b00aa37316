/* SPDX-License-Identifier: Apache-2.0 */
/* What goes on at the moment that a model has come to which is fed: for whoever looks in between.
 */
#ifndef MODEL_PRESENT_H
#define MODEL_PRESENT_H

#include "model/model.h"

enum model_state {
	MODEL_UNTOLD, /* nobody said whether it runs or waits */
	MODEL_RUNNING,
	MODEL_QUEUED,
	MODEL_WAITING,
	MODEL_STANDING, /* it is there to be called, or to call */
	MODEL_STILL,    /* it does not run, as its chain said, and nobody said more */
};

/* What a task is at, and what its figures do not hold yet. */
struct model_present {
	enum model_state state;
	uint64_t since;  /* when it came into this state; 0: unknown */
	bool early;      /* it was in it before anything was known: earlier than `since` */
	uint64_t waited; /* ns of the present wait until it was woken, if it is queued */
	uint32_t thread; /* that it runs on, if it does */
	uint32_t source; /* enum unweave_source, if it is queued */
	bool uncertain;  /* events were lost since it was first seen */
};

/* One thread's stream, and what is on it. */
struct model_lane {
	uint32_t thread;
	uint64_t task;  /* innermost that runs; 0: none */
	uint64_t start; /* of that run */
	bool early;     /* it was running before anything was known: earlier than `start` */
	uint64_t outer; /* start of the outermost run */
	uint64_t idle;  /* since then it waits for something to do; 0: it does not */
	uint64_t loop;  /* innermost loop that it is in; 0: none */
};

/* Live tasks, by slots: 0 to model_slots() - 1; NULL: nobody has it. */
uint32_t model_slots(const struct model *model);
struct model_task *model_slot(const struct model *model, uint32_t slot);
/* The name that a live task was given for itself; NULL: none. */
const char *model_own_name(const struct model_task *task);
void model_present(const struct model *model, const struct model_task *task,
		   struct model_present *ret);

/*
 * A live task has ended, as somebody knows who has more than the events, some of which were lost:
 * how is not known. -ENOMEM, or what the sink returned.
 */
int model_end(struct model *model, struct model_task *task, uint64_t time);

/* Streams that were seen, in no order. */
uint32_t model_lanes(const struct model *model);
void model_lane(const struct model *model, uint32_t index, struct model_lane *ret);

/* What a live task did, if it is a loop; NULL: it is none, or there are too many. */
const struct model_loop *model_loop(const struct model *model, uint64_t task);

#endif /* MODEL_PRESENT_H */
