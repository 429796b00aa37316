/* SPDX-License-Identifier: Apache-2.0 */
/* All that a report tells, out of one reading of a trace. */
#ifndef VIEW_SURVEY_H
#define VIEW_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "util/map.h"
#include "view/activities.h"
#include "view/lints.h"
#include "view/loops.h"
#include "view/profile.h"
#include "view/texts.h"

#define SURVEY_BUCKETS 64u

/* By which the list of single tasks is chosen: those with the most. */
enum survey_order {
	SURVEY_BY_DURATION,
	SURVEY_BY_CPU,
	SURVEY_BY_RUNNING,
	SURVEY_BY_WAITING,
	SURVEY_BY_QUEUED,
	SURVEY_BY_RUNS,
	SURVEY_BY_START, /* the first */
};

/* Waits with one chain. */
struct survey_wait {
	uint64_t count;
	uint64_t waited;          /* of them not only queued, as what is new or was woken before */
	uint64_t pending, queued; /* ns */
	uint64_t longest;         /* ns, of one wait */
	uint64_t unended;         /* of them still waited at the end */
	uint64_t stuck;           /* of these, for at least half of the trace */
	uint32_t node;            /* the chain, in the profile; 0: unknown */
};

struct survey_run {
	struct model_run run; /* its task is not to be used */
	uint64_t task;
	const char *label;
};

/* Time that threads slept inside of runs, on one stack. */
struct survey_sleep {
	uint32_t stack; /* of the profile's tree; 0: unknown */
	uint64_t ns;
};

struct survey_thread {
	uint32_t thread; /* 0: it had no events */
	uint32_t tid;
	const char *name;
	uint64_t busy, idle; /* ns */
	uint64_t runs;
	uint64_t tasks; /* different ones; UINT64_MAX: not counted for so many threads */
	uint64_t samples;
	uint64_t cpu; /* ns, by samples */
};

/* A single task, as in the model, with texts that stay. */
struct survey_task {
	struct model_task task;
	uint64_t key; /* by which it was chosen */
};

struct survey_options {
	struct reader *reader;
	struct symbols *symbols;
	void (*progress)(void *data, uint64_t done, uint64_t all);
	void *progress_data;
	uint64_t from, to;       /* ns of the trace; to 0: all */
	const char *filter;      /* only single runs and tasks whose label contains it; or NULL */
	uint32_t runs_most;      /* single runs to keep, the longest */
	uint32_t tasks_most;     /* single tasks to keep; 0: none */
	enum survey_order order; /* of these */
	bool incomplete;         /* of these, only those that should have completed and did not */
	const struct lint_limits *limits; /* of warnings; NULL: none are wanted */
};

struct survey {
	struct profile *profile;
	const struct model_totals *totals;
	struct activities activities;
	struct survey_wait *waits; /* those that took longest first */
	uint32_t wait_count;
	struct survey_run *runs; /* the longest first */
	uint32_t run_count;
	struct survey_task *tasks; /* those with the most first */
	uint32_t task_count;
	struct survey_thread *threads; /* those of the trace, then those only sampled */
	uint32_t thread_count;
	struct loops loops;
	struct lints lints;                  /* its warnings */
	uint64_t run_counts[SURVEY_BUCKETS]; /* runs of 2^n up to 2^(n+1) ns; 0 ns: in the first */
	uint64_t run_ns[SURVEY_BUCKETS];
	uint64_t uncertain;          /* tasks */
	uint64_t standing;           /* tasks that stand, loops too */
	uint64_t open;               /* of these had not ended */
	struct survey_sleep *sleeps; /* by samples of the wall clock; in any order */
	uint32_t sleep_count;

	/* For the making. */
	struct survey_options options;
	struct model *model;
	struct texts *texts;
	struct map thread_index; /* number in the trace, or tid | 1 << 32 */
	struct map sleep_index;  /* stack to its place in `sleeps` */
	uint32_t thread_capacity;
	uint32_t wait_capacity;
	uint32_t sleep_capacity;
};

/* Reads the whole trace. Returns -ENOMEM, -EIO. */
int survey_new(struct survey **ret, const struct survey_options *options, struct diag *diag);
struct survey *survey_free(struct survey *survey);

#endif /* VIEW_SURVEY_H */
