/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warnings of a program, out of what a model tells of it: what is alike at one place is
 * one warning. For a trace that was read, and for a program that runs.
 */
#ifndef VIEW_LINTS_H
#define VIEW_LINTS_H

#include "model/model.h"
#include "symbol/symbol.h"
#include "util/map.h"
#include "view/lint.h"
#include "view/texts.h"

#define LINTS_MOST 1024u /* places that are told apart; what comes then counts for its site */

/* What is known of the tasks of a site. */
struct lints_site {
	const struct reader_site *site;
	uint64_t busy; /* ns in runs */
	struct lint_queueing queueing;
	uint64_t late_until; /* the end of the last episode */
	uint64_t late_task;  /* whose was the longest delay */
	uint64_t late_time;  /* when that began */
	uint32_t late_stack;
	struct lint_growth growth;
	uint64_t newest; /* task */
};

/* A wait that goes on, of a task that said what it waits for. */
struct lints_wait {
	const struct meta_wait *said;
	bool waits; /* it does, and nobody has woken it */
	bool seen;  /* it was seen to begin */
	bool in_circle;
	uint32_t walk;  /* in search of circles, that came by: its number; 0: none */
	uint64_t since; /* ns */
	uint32_t site, stack;
	const char *label;
};

struct lints {
	struct lint_limits limits;
	struct lint_warning *at; /* in order after lints_finish(); the worst first */
	uint32_t count, capacity;

	/* For the making. */
	struct symbols *symbols; /* or NULL */
	struct texts *texts;
	struct map index; /* kind, site and stack to a warning */
	struct lints_site *sites;
	uint32_t site_count, site_capacity;
	struct map site_index;
	const struct reader_waits *waits; /* or NULL */
	struct lints_wait *waiting;       /* one for each of these */
	struct map waiting_index;         /* by task */
	struct map targets;               /* what they wait for: 1 if it is a task that ended */
	uint64_t end;                     /* ns: when the recording ended; 0: unknown */
	uint64_t now;                     /* the latest time that was told */
	bool kept;                        /* a run keeps a thread at the end */
	uint64_t idle_start,
		idle_end; /* ns: when a thread last began, and ended, to wait for work */
};

/*
 * `reader`, which may be NULL, says what tasks waited for at the end, if the trace is read up to
 * that. Both are borrowed. Returns -ENOMEM.
 */
int lints_init(struct lints *lints, const struct lint_limits *limits, const struct reader *reader,
	       struct symbols *symbols);
void lints_fini(struct lints *lints);

/* For a model's sink. -ENOMEM. */
int lints_created(struct lints *lints, const struct model_task *task);
int lints_run(struct lints *lints, const struct model_run *run);
int lints_wait(struct lints *lints, const struct model_wait *wait);
int lints_task(struct lints *lints, const struct model_task *task);
void lints_idle(struct lints *lints, uint64_t start, uint64_t end);

/*
 * Whether, since that moment, a thread began to wait for work, or slept on for long: it would have
 * seen what was due then.
 */
bool lints_idled_since(const struct lints *lints, uint64_t due);

/* Of whom a warning is. */
struct lints_subject {
	const struct reader_site *site; /* or NULL */
	uint64_t task;
	const char *label;
	uint32_t stack; /* 0: unknown */
};

/*
 * Notes one more thing of a kind at a place; `*ret` is the warning, if this is the worst one of
 * it yet, and NULL otherwise. -ENOMEM.
 */
int lints_note(struct lints *lints, enum lint_kind kind, const struct lints_subject *subject,
	       uint64_t worst, struct lint_warning **ret);

/* What is true of sites, as of now: the warnings on queues and leaks. -ENOMEM. */
int lints_judge_sites(struct lints *lints, uint64_t now, bool certain);

/*
 * Forgets all warnings but those of one kind that were seen since then, for a program that goes on:
 * the others are to be judged anew. -ENOMEM.
 */
int lints_renew(struct lints *lints, enum lint_kind kind, uint64_t since);

/* Puts them in order: the worst kind first, and of one kind the worst. -ENOMEM. */
int lints_order(struct lints *lints);

/*
 * All has been told; `certain`: nothing was lost. Judges what still goes on, and puts the warnings
 * in order. -ENOMEM.
 */
int lints_finish(struct lints *lints, bool certain);

/*
 * Says of each warning where it is, by its stack in `tree`; of leaks, and where no stack is known,
 * where the tasks are created.
 * -ENOMEM.
 */
int lints_locate(struct lints *lints, const struct tree *tree);

/* After that: joins warnings of one kind and site that are in one function. */
void lints_join(struct lints *lints);

#endif /* VIEW_LINTS_H */
