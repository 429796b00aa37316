/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warnings: which there are, from which figures on, and in which words. This is the one
 * place for that; report, top and tree only bring figures. docs/warnings.md says the same
 * to users.
 *
 * A warning is right, or it is not told: where something is not known, nothing follows.
 */
#ifndef VIEW_LINT_H
#define VIEW_LINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "unweave.h"
#include "util/diag.h"

/* The worst first. */
enum lint_kind {
	LINT_DEADLOCK,
	LINT_LOST_WAKE,
	LINT_ENDLESS,
	LINT_RUN,
	LINT_QUEUE,
	LINT_WAIT,
	LINT_EMPTY,
	LINT_SELF_WAKES,
	LINT_LEAK,
	LINT_KINDS, /* as an answer: no warning */
};

enum lint_unit { LINT_NS, LINT_PERCENT, LINT_COUNT };

struct lint_rule {
	const char *name;  /* for options and programs */
	const char *title; /* a few words */
	enum lint_unit unit;
	uint64_t limit; /* where nobody sets it */
	/* What is wrong with that, and what helps: a sentence. */
	const char *meaning;
};

const struct lint_rule *lint_rule(enum lint_kind kind);

#define LINT_OFF UINT64_MAX

/* From which figures on each warning is told. */
struct lint_limits {
	uint64_t at[LINT_KINDS]; /* in the unit of the rule; LINT_OFF: never */
	bool set[LINT_KINDS];    /* by the user */
};

void lint_limits_init(struct lint_limits *limits);
/*
 * Changes some: "run=10ms,queue=none", or all at once: "none". Returns -EINVAL with a
 * sentence; `limits` may have changed then.
 */
int lint_limits_set(struct lint_limits *limits, const char *text, struct diag *diag);
/* A limit as text, as lint_limits_set() takes it: "100 ms", "50 %". */
struct lint_limit_text {
	char text[40];
} lint_limit_text(enum lint_kind kind, uint64_t limit);

/* Whether runs of such tasks may take long, by the kind of their site (or NULL): pools do that. */
bool lint_may_block(const char *kind);

/* A run took so long, without runs inside of it and waiting for work; `over`: it has ended. */
enum lint_kind lint_judge_run(const struct lint_limits *limits, uint64_t ns, bool over);

/* A wait that goes on, and has not been woken. */
struct lint_waiting {
	uint64_t ns;             /* for so long */
	enum unweave_wait waits; /* for what; UNWEAVE_WAIT_NONE: unknown */
	bool gone;               /* it is a task, and has ended */
	uint64_t overdue;        /* it is a moment, which is past by so much; 0: it is not */
	bool kept;               /* a run keeps a thread: what waits may wait for that */
	bool idled;              /* since that moment, a thread had time to see to it */
};
enum lint_kind lint_judge_wait(const struct lint_limits *limits,
			       const struct lint_waiting *waiting);

/* Waits in which tasks of one site were queued. */
struct lint_queueing {
	uint64_t waits;
	uint64_t late;     /* over the limit */
	uint64_t episodes; /* of that, none at the same time as another: one stall is one of them */
	uint64_t worst;    /* ns */
};
enum lint_kind lint_judge_queue(const struct lint_limits *limits,
				const struct lint_queueing *queueing);

/* A task's wakes and runs, in all its life. */
struct lint_waking {
	uint64_t wakes, self_wakes;
	uint64_t runs, empty_runs;
	uint64_t busy; /* ns */
};
enum lint_kind lint_judge_wakes(const struct lint_limits *limits, const struct lint_waking *waking);
/* So many percent of them are its own. */
uint64_t lint_self_percent(const struct lint_waking *waking);

/*
 * How many tasks of a site lived, and had been created, at the end of each of up to
 * sixteen equal parts of the time. Zeroed is a site that nothing was seen of.
 */
#define LINT_PARTS 16u
struct lint_growth {
	uint64_t start;   /* ns; 0: not begun */
	uint64_t part_ns; /* how long each is; doubles when there are too many */
	uint32_t parts;   /* that are over */
	uint64_t live, created;
	uint64_t live_at[LINT_PARTS], created_at[LINT_PARTS];
};
/* Time goes on; to be called before `live` and `created` change, and before it is judged. */
void lint_growth_until(struct lint_growth *growth, uint64_t now);
/* A task that was there all the time, as it turns out now. */
void lint_growth_before(struct lint_growth *growth);
enum lint_kind lint_judge_growth(const struct lint_limits *limits,
				 const struct lint_growth *growth);

#define LINT_TASKS 8u /* that a warning names */

/* One warning: of all that is alike at one place. Texts are borrowed; unknown ones are NULL. */
struct lint_warning {
	enum lint_kind kind;
	uint32_t site;                 /* of the tasks: its id; 0: unknown */
	const char *label;             /* what these are called; "" if unknown */
	uint64_t count;                /* how often: runs, waits, or tasks */
	uint64_t of;                   /* out of how many; 0: nobody counted */
	uint64_t worst;                /* the worst of them, in the unit of the rule */
	uint64_t limit;                /* that it exceeds */
	uint64_t tasks[LINT_TASKS];    /* some; of a deadlock, in the order in which they wait */
	const char *names[LINT_TASKS]; /* of a deadlock */
	uint32_t task_count;
	uint64_t worst_task; /* whose the worst one is */
	uint64_t last;       /* ns: when it was last seen */
	uint64_t key;        /* for who collects them */

	/* Where to look. */
	uint32_t stack;  /* in the model's tree; 0: unknown */
	uint64_t time;   /* ns: when the worst one began */
	uint32_t thread; /* that it was on; 0: none, or unknown */
	uint64_t asleep; /* ns of it in which its thread slept */
	const char *thread_name;
	const char *how; /* "mostly in", "until it waited in", ... */
	const char *function, *caller;
	const char *file; /* of the caller, if there is one */
	uint32_t line;
	const char *other; /* task that it waits for, or that ran instead */
};

/* One sentence, without an end of line; names in it may hold any bytes. */
void lint_say(FILE *to, const struct lint_warning *warning);

#endif /* VIEW_LINT_H */
