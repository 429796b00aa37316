/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tasks of a program do, kept up to date, for screens.
 *
 * It comes from one of three sources: the events of a living program, which this
 * records; its task table alone, where somebody else records it already; or a trace,
 * up to a moment that can be moved.
 *
 *     watch_pass()      takes what the program said; often, so that no buffer runs full
 *     watch_refresh()   makes the picture: all else speaks of that moment, until the next one
 *     watch_select()    the rows of a screen, out of the picture; and its kin below
 *
 * A screen that is paused goes on with watch_pass(), and does without watch_refresh().
 * One thread only. Times are ns of CLOCK_MONOTONIC_RAW, durations ns. What nobody can
 * tell is WATCH_UNKNOWN, and never 0. Texts may hold any bytes that a program likes: whoever
 * prints them takes care of the terminal.
 */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "drain/attach.h"
#include "model/model.h"
#include "symbol/symbol.h"
#include "unweave.h"
#include "util/diag.h"
#include "util/histogram.h"

#define WATCH_UNKNOWN UINT64_MAX
#define WATCH_TEXT 192u /* room for a name or a place, with the NUL */
#define WATCH_KINDS (UNWEAVE_WAIT_OTHER + 1u)

struct watch;

enum watch_source {
	WATCH_EVENTS, /* a living program, by its events */
	WATCH_TABLE,  /* the same, by its task table alone: see watch_note() */
	WATCH_TRACE,
};

/* Which events of a living program are taken. */
enum watch_wish {
	WATCH_NO_EVENTS,  /* none: the program does not record, and is not asked to */
	WATCH_FEW_EVENTS, /* all, unless they are so many that the program might feel it */
	WATCH_ALL_EVENTS,
};

enum watch_state {
	WATCH_UNTOLD, /* nobody said whether it runs or waits */
	WATCH_RUNNING,
	WATCH_QUEUED,
	WATCH_WAITING,
	WATCH_STANDING, /* a listener, a repeating timer, a loop: it is there to be called */
	WATCH_STILL,    /* it does not run, and nobody said more */
	WATCH_STATES
};

/* A task in the picture. */
struct watch_task {
	uint64_t id;
	uint64_t parent;  /* 0: none, or unknown */
	uint64_t created; /* or when it was first seen, if `before`; WATCH_UNKNOWN */
	uint64_t since;   /* when it came into its state, or before if `early`; WATCH_UNKNOWN */
	uint64_t busy;    /* with the run that goes on; this and the next five may be unknown */
	uint64_t waited;  /* until it was woken; with the wait that goes on */
	uint64_t queued;  /* from there until it ran */
	uint64_t runs;    /* with the one that goes on */
	uint64_t wakes;
	uint64_t self_wakes;
	uint64_t awaits;   /* which, by `waits`: see enum unweave_wait; WATCH_UNKNOWN */
	uint32_t site;     /* its id; 0: unknown */
	uint32_t thread;   /* number of the thread that it runs on; 0: it does not */
	uint32_t warnings; /* bits, by watch_warn() */
	uint32_t slot;     /* for the watch itself */
	uint8_t state;     /* enum watch_state */
	uint8_t waits;     /* enum unweave_wait; as it said, or by the kind of callback */
	uint8_t source;    /* enum unweave_source, of one that is queued */
	bool before;       /* it was there before anything was recorded: it is older than that */
	bool early;        /* the same of its state */
	bool untold;       /* nothing was heard of it yet: what it did is not known */
	bool uncertain;    /* events about it were lost */
};

struct watch_totals {
	enum watch_source source;
	uint32_t pid;      /* 0: unknown */
	char program[256]; /* path; "" if unknown */
	uint64_t first;    /* when the watching, or the trace, began */
	uint64_t last;     /* the trace's end; of a living program, `now` */
	uint64_t now;      /* the moment of the picture */
	uint64_t interval; /* since the picture before; 0: there was none */
	uint64_t alive;    /* tasks */
	uint64_t states[WATCH_STATES];
	uint64_t created, ended;         /* since `first`; may be unknown, as the next three */
	uint64_t created_now, ended_now; /* in `interval` */
	uint64_t runs_now;
	uint64_t lost;     /* events */
	uint64_t slotless; /* tasks that found no place in the table, since the program began */
	uint32_t threads;
	uint32_t silent; /* of them nothing was heard yet by events: they may run anything */
	bool over;       /* the program has ended, or is another: nothing will change any more */
};

/* A place where tasks are created. */
struct watch_site {
	uint32_t id;                    /* 0: that of tasks whose site is not known */
	const struct reader_site *site; /* NULL: unknown */
	uint64_t alive;
	uint64_t states[WATCH_STATES];
	uint64_t created, ended;         /* may be unknown, as all that follow */
	uint64_t created_now, ended_now; /* in the last interval */
	uint64_t busy, waited, queued;   /* of all its tasks, also of those that have ended */
	uint64_t runs, wakes, self_wakes;
	uint64_t longest_run;  /* that is over */
	uint64_t longest_task; /* whose run that was; 0: there was none */
	/* Of what is over; NULL: nothing yet, or there are too many sites. */
	const struct histogram *run, *wait, *queue;
};

struct watch_thread {
	uint32_t thread; /* number within the program, from 1 */
	uint32_t tid;    /* 0: unknown */
	char name[24];
	bool ended;
	uint64_t task;     /* innermost that runs on it; 0: none */
	uint64_t task_ns;  /* for how long, or longer if `early`; may be unknown */
	bool early;        /* it ran before anything was recorded */
	uint64_t busy;     /* ns of the last interval in runs; may be unknown, as all that follow */
	uint64_t busy_all; /* since `first` */
	uint64_t idle;     /* ns of the last interval in which it said to wait for work */
	uint64_t runs_now; /* that ended in the last interval */
	uint64_t loop;     /* task: the loop that was last seen to run on it; 0: none */
	uint64_t iterations;
	const struct histogram *iteration, *lag; /* of that loop, since `first`; NULL */
};

/* What tasks wait for: one thing, or all of one kind. */
struct watch_wait {
	uint32_t kind;    /* enum unweave_wait */
	uint64_t on;      /* which one; WATCH_UNKNOWN: nobody said */
	uint64_t tasks;   /* that wait for it */
	uint64_t longest; /* how long the one has that waits longest; may be unknown */
	uint64_t task;    /* which that is */
};

enum watch_column {
	WATCH_BY_WARNINGS,
	WATCH_BY_ID,
	WATCH_BY_STATE,
	WATCH_BY_NAME,
	WATCH_BY_SITE,
	WATCH_BY_PARENT,
	WATCH_BY_AGE,
	WATCH_BY_IN_STATE, /* how long it has been in its state */
	WATCH_BY_BUSY,
	WATCH_BY_QUEUED,
	WATCH_BY_WAITED,
	WATCH_BY_RUNS,
	WATCH_BY_WAKES,
	WATCH_BY_SELF_WAKES,
	WATCH_BY_TASKS, /* in a group; of tasks, as by id */
	WATCH_COLUMNS
};

enum watch_group { WATCH_NO_GROUP, WATCH_GROUP_SITE, WATCH_GROUP_PARENT };

/* Which tasks, and in which order. Zeroed: all, by WATCH_BY_WARNINGS, the most first. */
struct watch_query {
	enum watch_column order;
	bool ascending;     /* what is unknown comes last either way */
	const char *filter; /* part of its name, its site's texts or its state; its id; or NULL */
	uint32_t states;    /* 1 << enum watch_state, any of them; 0: all */
	uint32_t warnings;  /* any of these bits; 0: all */
	bool of_site;       /* only those of `site` */
	uint32_t site;
	bool of_parent; /* only the children of `parent` */
	uint64_t parent;
	enum watch_group group;
};

/* A row of a screen: a task or, of a group, the sums of its tasks, and what is oldest of them. */
struct watch_row {
	struct watch_task
		task;   /* of a group, `id` is the parent or 0, and `state` is the first one's */
	uint64_t tasks; /* in the group; 1 */
	uint64_t states[WATCH_STATES];
	uint64_t age, in_state; /* may be unknown */
	char name[WATCH_TEXT];  /* of a group: what all its tasks are called, or the parent is */
	char place[WATCH_TEXT]; /* where it was created, "function file:line"; "" if unknown */
};

/* How many tasks, or groups, a query has. */
struct watch_found {
	uint64_t rows;
	uint64_t tasks; /* in them */
};

#define WATCH_RUNS_KEPT 32u
#define WATCH_WAKERS_KEPT 8u
#define WATCH_CHILDREN_KEPT 64u

struct watch_frame {
	uint64_t address;
	int32_t state;         /* of a state machine; 0 where there is none */
	bool omitted;          /* frames are left out here: `address` says how many, 0: unknown */
	char name[WATCH_TEXT]; /* of the function */
	const char *file;      /* NULL: unknown; stays */
	uint32_t line;
};

struct watch_run {
	uint64_t start, end; /* `end` is 0 of one that goes on */
	uint32_t thread;
	uint64_t waited, queued; /* before it; may be unknown */
};

struct watch_waker {
	uint64_t task;   /* 0: none */
	uint32_t source; /* enum unweave_source */
	uint64_t wakes;
	char name[WATCH_TEXT];
};

/* All of one task, since it was chosen. Belongs to the watch, until the next call of this kind. */
struct watch_detail {
	struct watch_row row; /* as it was last, if it has ended */
	uint64_t at;          /* the moment of that */
	bool ended;
	enum model_end end; /* how, if so */
	uint64_t chosen;    /* since then: histograms, runs and wakers. A trace's beginning */
	char parent_name[WATCH_TEXT];
	char awaits_name[WATCH_TEXT];     /* of the task that it waits for; "" if it does not */
	const struct watch_frame *frames; /* innermost first */
	uint32_t frame_count;
	const char *no_frames;                      /* why there are none; NULL: there are */
	const struct histogram *run, *wait, *queue; /* NULL: events do not tell */
	const struct watch_run *runs;               /* the last ones, newest first */
	uint32_t run_count;
	const struct watch_waker *wakers; /* the most frequent first */
	uint32_t waker_count;
	const uint64_t *children; /* the first ones that live */
	uint32_t children_listed;
	uint64_t child_count;
};

/*
 * Watches a living program. `attachment` is borrowed, must be guarded against being cut, and is
 * locked here, unless somebody else has it: then only its table is watched. -ENOMEM, or why it
 * cannot be watched.
 */
int watch_new(struct watch **ret, struct attachment *attachment, enum watch_wish wish,
	      struct diag *diag);

/* Opens a trace, at its end. Returns what reader_open() does, and -EIO. */
int watch_new_trace(struct watch **ret, const char *path, struct diag *diag);

/* Ends the recording, if there is one. */
struct watch *watch_free(struct watch *watch);

/*
 * Changes the wish for a living program: what was added up of events begins anew. To be followed by
 * watch_lint_renew(), before anything else is taken. -ENOMEM.
 */
int watch_listen(struct watch *watch, enum watch_wish wish);

/* With WATCH_FEW_EVENTS: how many a second are few. */
void watch_set_few(struct watch *watch, uint64_t events);

/* A sentence for the user on what cannot be known, and why; "" if there is none. */
const char *watch_note(const struct watch *watch);

/* Takes what is there; returns how many records, -ENOMEM or -EIO. */
int watch_pass(struct watch *watch);
/* How long to wait before the next one, at most. */
uint64_t watch_pause_ns(const struct watch *watch);

/* Whether nothing more will come, so that there is no use in waiting before the last picture. */
bool watch_has_ended(const struct watch *watch);

/* Makes the picture of this moment. -ENOMEM, -EIO. */
int watch_refresh(struct watch *watch);

/* Of a trace: goes to a moment, which is cut to [first, last], and makes its picture. */
int watch_seek(struct watch *watch, uint64_t time, struct diag *diag);

/*
 * Calls `goes_on` now and then while a trace is read, with how far that has come. If it returns
 * false, the picture is of the moment that was reached. NULL: nobody is called.
 */
void watch_on_reading(struct watch *watch, bool (*goes_on)(void *data, unsigned per_cent),
		      void *data);

const struct watch_totals *watch_totals(const struct watch *watch);

/* The tasks of the picture, in no order. */
uint32_t watch_task_count(const struct watch *watch);
const struct watch_task *watch_task_at(const struct watch *watch, uint32_t index);
/* NULL: it is not in the picture. */
const struct watch_task *watch_task_find(const struct watch *watch, uint64_t id);

/* Sets the warnings of a task of the picture; the next picture begins without any. */
void watch_warn(struct watch *watch, uint32_t index, uint32_t warnings);

/* Has `sink` told everything that the model says from now on, after the watch; borrowed. */
void watch_tap(struct watch *watch, const struct model_sink *sink);

/* What a task, or the tasks of a site, are called; and where they are created. */
void watch_name(struct watch *watch, const struct watch_task *task, char to[WATCH_TEXT]);
void watch_site_name(struct watch *watch, uint32_t site, char to[WATCH_TEXT]);
void watch_site_place(struct watch *watch, uint32_t site, char to[WATCH_TEXT]);
const char *watch_state_name(enum watch_state state);
/* The names of code. NULL while there are none. */
struct symbols *watch_symbols(struct watch *watch);

/*
 * Fills in rows `first` and on of what the query finds, at most `count`, and says how
 * many there are in all. Returns how many it filled in, or -ENOMEM.
 */
int watch_select(struct watch *watch, const struct watch_query *query, uint64_t first,
		 uint32_t count, struct watch_row *rows, struct watch_found *ret);

/* At which row of the query a task is, or the group with this parent; -ENOENT: at none. -ENOMEM. */
int watch_where(struct watch *watch, const struct watch_query *query, uint64_t id, uint64_t *ret);

/* The sites that had tasks, in no order that would change. */
uint32_t watch_site_count(const struct watch *watch);
const struct watch_site *watch_site_at(const struct watch *watch, uint32_t index);
const struct watch_site *watch_site_find(const struct watch *watch, uint32_t id);

/* Threads in the order of their numbers; those that ended are left out after a while. */
uint32_t watch_thread_count(const struct watch *watch);
const struct watch_thread *watch_thread_at(const struct watch *watch, uint32_t index);

/* What tasks wait for, by kind; `on` and `task` are of the one that waits longest. */
const struct watch_wait *watch_waits(const struct watch *watch, uint32_t kind);
/* What most tasks wait for, of one kind; returns how many it filled in, or -ENOMEM. */
int watch_waits_on(struct watch *watch, uint32_t kind, uint32_t count, struct watch_wait *rows);

/*
 * Tasks that wait for each other in a circle: calls `visit` for each circle with their ids, each
 * waiting for the next, the last for the first. -ENOMEM, or what `visit` returned.
 */
int watch_cycles(struct watch *watch,
		 int (*visit)(void *data, const uint64_t *tasks, uint32_t count), void *data);

/*
 * Chooses the task of which all is to be known; 0: none. A trace is read again for that, from its
 * beginning. -ENOMEM, -EIO.
 */
int watch_choose(struct watch *watch, uint64_t task);
/* All of it, as of the picture; NULL: none is chosen, or it never was there. */
const struct watch_detail *watch_detail(struct watch *watch);

#endif /* WATCH_WATCH_H */
