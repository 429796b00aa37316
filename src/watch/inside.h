/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a watch know of each other. */
#ifndef WATCH_INSIDE_H
#define WATCH_INSIDE_H

#include "drain/recorder.h"
#include "model/present.h"
#include "util/map.h"
#include "watch/watch.h"

#define NS_PER_S UINT64_C(1000000000)

/* What tasks did that have ended, but for `created`. */
struct site_counts {
	uint64_t created, ended;
	uint64_t busy, waited, queued;
	uint64_t runs, wakes, self_wakes;
};

/* A site. A task of the model has it as its `user`. */
struct site {
	struct watch_site told;
	struct reader_site own; /* what `told.site` is, of a living program */
	struct site_counts counted;
	struct site_counts before;            /* at the last picture */
	struct histogram *run, *wait, *queue; /* NULL: nothing yet */
	char *name, *place;                   /* once they were asked for */
	uint32_t rank;                        /* for the time of a query: by `place` */
	bool matches;                         /* the same: all its tasks do */
	uint64_t untold;                      /* of its tasks, nothing was heard of so many */
	uint8_t waits; /* enum unweave_wait: for what its tasks wait that do not say it */
};

struct sites {
	struct site **at; /* they stay where they are; the first is that of unknown sites */
	uint32_t count, capacity;
	struct map index;
	uint32_t histograms; /* that were allocated */
	uint32_t seen;       /* bytes of the arena's sites that were read */
};

struct thread_counts {
	uint64_t busy, idle, runs;
};

/* Of the loop of a thread, which may end before the next picture: a copy. */
struct thread_loop {
	struct histogram iteration, lag;
};

struct thread {
	struct watch_thread told;
	struct thread_counts counted; /* what is over */
	struct thread_counts now;     /* and what goes on, too */
	struct thread_counts before;  /* the same at the last picture */
	uint64_t gone;                /* when it was seen to have ended; 0: it was not */
	bool heard;                   /* it has said something */
	struct thread_loop *loop;     /* what `told` points to; NULL: it has none */
};

struct threads {
	struct thread *at; /* by number */
	uint32_t count, capacity;
	bool idled; /* all that live have waited for work: none is in a run of which nobody knows */
};

/* The task of which all is kept. */
struct chosen {
	uint64_t id; /* 0: none */
	struct watch_detail told;
	struct histogram run, wait, queue;
	struct watch_run runs[WATCH_RUNS_KEPT]; /* a ring; `runs_seen` were put into it */
	uint64_t runs_seen;
	uint64_t waited, queued; /* of the last wait; WATCH_UNKNOWN */
	struct watch_waker wakers[64];
	uint32_t waker_count;
	struct watch_run last_runs[WATCH_RUNS_KEPT]; /* for `told`, newest first */
	struct watch_frame *frames;
	uint32_t frame_count, frame_capacity;
	uint64_t children[WATCH_CHILDREN_KEPT];
	bool met; /* it was in a picture: its last row is in `told` */
};

/* What a query found, in the order of its keys. */
struct pick {
	uint64_t key; /* the least comes first */
	uint32_t index;
};

/* Tasks that are one row. */
struct group {
	struct watch_task sum;
	uint64_t tasks;
	uint64_t states[WATCH_STATES];
};

/* A run on a thread that has not heard of the session. */
struct unheard {
	uint64_t task;
	uint32_t tid;
	bool inner; /* it is the innermost on its thread */
};

#define UNHEARD_MOST 64u

/* A task that somebody was seen to run, by the head of its chain. */
struct turn {
	uint64_t task;
	uint64_t head; /* address */
};

struct watch {
	struct attachment *attachment; /* borrowed; NULL: a trace */
	uint64_t ticks_per_s;          /* of its clock, never 0 */
	uint64_t ticks;                /* that it showed at `totals.now` */
	struct recorder *recorder;     /* NULL: no events are taken */
	uint64_t latest;               /* time of its last event: none is before */
	uint64_t seen_alive;           /* when it was last seen to live; 0: not yet */
	enum watch_wish wish;          /* of a living program */
	uint64_t unasked;              /* events a second that are taken with WATCH_FEW_EVENTS */
	uint64_t taken;                /* records, when they were last counted ... */
	uint64_t counted_at;           /* ... which was then */
	uint64_t spared;               /* events a second that are taken no more; 0: they are */
	bool arena_seen;               /* among what the program has mapped */
	struct reader *reader;         /* of a trace */
	struct unweave_event next;     /* of it, that is still to come */
	bool has_next;
	bool (*goes_on)(void *data, unsigned per_cent); /* or NULL */
	void *goes_on_data;
	struct model *model; /* NULL: there is nothing but the table */
	struct model_sink sink;
	const struct model_sink *tap; /* or NULL */
	int error;                    /* that the model met in a call that cannot say so */
	struct symbols *symbols;      /* NULL: not asked for yet */
	char note[256];

	struct sites sites;
	struct threads threads;
	struct chosen chosen;

	/* The picture. */
	uint64_t pictures; /* so far, and changes of their warnings */
	uint64_t made;     /* the same without these changes */
	bool stale;        /* events came since, or all was forgotten */
	struct watch_totals totals;
	/* Of all sites: created, ended, and runs that are over; and at the last picture. */
	struct site_counts counted, before;
	struct watch_task *tasks;
	uint32_t task_count, task_capacity;
	uint32_t *by_slot; /* of the program's table: index of the task + 1; 0: none */
	uint32_t slot_capacity;
	struct map missing, missed; /* tasks that have ended without a word, by now and before */
	struct map slotless; /* the same, by id, for tasks whose slot is none, or another task's */
	struct watch_wait kinds[WATCH_KINDS];
	struct unheard unheard[UNHEARD_MOST];
	uint32_t unheard_count;
	struct turn turns[UNHEARD_MOST];
	uint32_t turn_count;
	uint32_t turn_next; /* slot that is to be looked at next */

	struct pick *picks;
	uint32_t pick_count, pick_capacity;
	struct watch_query picked; /* the query that they are of ... */
	char picked_filter[128];   /* ... with its filter ... */
	uint64_t picked_for;       /* ... of this picture; 0: of none */
	struct group *groups;
	uint32_t group_count, group_capacity;
};

static inline uint64_t watch_passed(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static inline uint64_t watch_since(const struct watch *watch, uint64_t time)
{
	return time == WATCH_UNKNOWN ? WATCH_UNKNOWN : watch_passed(time, watch->totals.now);
}

/* How long it has been in its state; and how long it has lived. */
static inline uint64_t watch_in_state(const struct watch *watch, const struct watch_task *task)
{
	return task->early ? WATCH_UNKNOWN : watch_since(watch, task->since);
}

static inline uint64_t watch_age(const struct watch *watch, const struct watch_task *task)
{
	return task->before ? WATCH_UNKNOWN : watch_since(watch, task->created);
}

static inline uint64_t watch_plus(uint64_t sum, uint64_t more)
{
	return sum == WATCH_UNKNOWN || more == WATCH_UNKNOWN ? WATCH_UNKNOWN : sum + more;
}

/* From ticks of the program's clock. */
static inline uint64_t watch_ns_of(const struct watch *watch, uint64_t ticks)
{
	uint64_t passed = watch_passed(ticks, watch->ticks);
	uint64_t ns = (uint64_t)((unsigned __int128)passed * NS_PER_S / watch->ticks_per_s);

	return watch_passed(ns, watch->totals.now);
}

/* sites.c. NULL: no memory. */
int site_init(struct sites *sites);
void site_fini(struct sites *sites);
struct site *site_get(struct watch *watch, uint32_t id);
/* The site of a task of the model, which may get to know it late. */
struct site *site_of(struct watch *watch, struct model_task *task);
/* Where the model gets to know the sites of a living program. */
struct model_sites site_source(const struct watch *watch);
/* Adds a value, if there is memory for it. */
void site_note(struct sites *sites, struct histogram **histogram, uint64_t value);
/* All that was counted, for a trace that is read anew. */
void site_forget(struct sites *sites);
/* Both are kept by the site; "" if nothing is known. */
const char *site_name(struct watch *watch, struct site *site);
const char *site_place(struct watch *watch, struct site *site);

/* threads.c. NULL: no memory. */
struct thread *thread_get(struct threads *threads, uint32_t number);
/* Its number; 0: it is not known. */
uint32_t thread_number(const struct threads *threads, uint32_t tid);
void thread_fini(struct threads *threads);
void thread_forget(struct threads *threads);
/* What was counted until now is of the interval before. */
void thread_mark(struct watch *watch);
/* Those of the picture. -ENOMEM. */
int thread_refresh(struct watch *watch);
/* Those that have ended since the last picture did so with the program, and are as they were. */
void thread_keep(struct threads *threads);

/* tally.c: what the model tells, added up. */
struct model_sink tally_sink(struct watch *watch);

/* picture.c. -ENOMEM. */
int picture_make(struct watch *watch);
/* So that the row can be found by its id; and in the sums. */
int picture_index(struct watch *watch, uint32_t at);
/* For what a task waits that did not say it. */
void picture_waits(const struct site *site, struct watch_task *task);
void picture_count(struct watch *watch, struct site *site, const struct watch_task *task);

/* unheard.c: whether the thread has taken notice of the session that is under way. */
bool line_has_heard(const struct watch *watch, struct arena_line *line);
/* Fills in `watch->unheard`; and who is among them, or NULL. */
void unheard_find(struct watch *watch);
const struct unheard *unheard_task(const struct watch *watch, uint64_t task);
const struct unheard *unheard_thread(const struct watch *watch, uint32_t tid);

/* slots.c: rows from the task table. -ENOMEM. */
int slots_add(struct watch *watch);

/* watch.c: nothing has happened yet, and nothing more is kept of the model. */
void watch_forget(struct watch *watch);

/* live.c. */
int live_begin(struct watch *watch, struct attachment *attachment, enum watch_wish wish,
	       struct diag *diag);
int live_listen(struct watch *watch, enum watch_wish wish);
/* Ends the recording, if there is one: the rest goes nowhere. */
void live_stop(struct watch *watch);
int live_pass(struct watch *watch);
int live_refresh(struct watch *watch);

/* replay.c. */
int replay_begin(struct watch *watch, const char *path, struct diag *diag);
int replay_seek(struct watch *watch, uint64_t time, struct diag *diag);
/* Comes to the same moment once more, from the beginning. */
int replay_again(struct watch *watch);

/* detail.c: what the model tells of the task that is chosen. */
void detail_run(struct watch *watch, const struct model_run *run);
void detail_wait(struct watch *watch, const struct model_wait *wait);
void detail_end(struct watch *watch, const struct model_task *task);
/* Nothing is kept of it so far. */
void detail_begin(struct watch *watch, uint64_t task);
/* Keeps its row, while there is one. */
void detail_refresh(struct watch *watch);
void detail_fini(struct watch *watch);

/* select.c: a task of the picture as a row of its own. */
void select_row(struct watch *watch, const struct watch_task *task, struct watch_row *ret);

#endif /* WATCH_INSIDE_H */
