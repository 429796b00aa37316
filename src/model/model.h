/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through a trace once and says what its tasks did, in whole pieces: runs,
 * waits, wakes, samples, and tasks once they are over. In memory proportional
 * to the tasks that live at one time and to distinct stacks.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/sites.h"
#include "model/splice.h"
#include "model/tree.h"
#include "trace/reader.h"
#include "util/diag.h"
#include "util/histogram.h"

struct model;

enum model_end {
	MODEL_INCOMPLETE, /* the trace ended first */
	MODEL_OK,
	MODEL_ERROR,
	MODEL_CANCELLED,
};

/*
 * A task, from the first word of it to its end. What stands (a listener, a loop: flags of `site`)
 * neither runs nor waits itself: it only lives. A call of it is a task that was created when it
 * became ready, if that is known. Valid while it lives and in its `task` call. */
struct model_task {
	uint64_t id;
	/* What changes with every run comes first, so that it is near to each other. */
	uint64_t busy;    /* ns in runs, with those inside of them */
	uint64_t pending; /* ns in waits, until it was woken */
	uint64_t queued;  /* ns in waits, after that */
	uint64_t runs;
	void *user; /* the sink's own; NULL at first */
	uint64_t wakes;
	uint32_t stack; /* chain as last known, in the tree; 0: unknown */
	uint32_t samples;

	uint64_t self_wakes;
	uint64_t empty_runs;            /* see `empty` of a run */
	uint64_t parent;                /* 0: none, or unknown */
	const char *label;              /* its name, or that of its site's tasks; "": unknown */
	const struct reader_site *site; /* or NULL; of the reader */
	uint64_t created;               /* ns; of its first event if `before` */
	uint64_t ended;                 /* ns; the trace's last event if incomplete */
	uint64_t cpu;                   /* ns, by samples */
	enum model_end end;
	bool before;    /* it was there before the trace began, or before what is known of it */
	bool uncertain; /* events were lost meanwhile: there may be more runs and waits */
};

struct model_run {
	struct model_task *task;
	uint32_t thread;
	uint32_t depth; /* runs around it on its thread */
	uint64_t start, end;
	uint64_t inner;   /* ns of it in runs inside of it */
	uint64_t idle;    /* ns, not in those, in which its thread waited for something to do */
	uint64_t cpu;     /* ns, by samples */
	uint64_t asleep;  /* ns in which its thread slept, by samples of the wall clock */
	uint32_t samples; /* on a CPU */
	uint32_t stack;   /* chain at its end, or that it began with if `last`; 0: unknown */
	uint32_t hottest; /* logical stack of most of its samples' time, or of some; 0: none */
	bool last;        /* its task ended with it */
	bool in_loop;     /* a loop ran it */
	/* Its task had woken itself, and told nothing in it but that it does so again. */
	bool empty;
	bool begin_unknown; /* it began before the trace did, or in a loss */
	bool end_unknown;   /* the trace, or what is known, ended first */
	bool open;          /* the trace did: it still went on */
};

/*
 * A suspension until the next run, or a task's first time until it runs: then it
 * is queued from its creation (it was created to run), unless it is a callback that
 * was armed or a state machine's, which becomes a task as it begins to wait, or a
 * wake says otherwise. Where nobody said that it was woken, it was when the loop
 * that runs it woke, or when it was due.
 */
struct model_wait {
	struct model_task *task;
	uint64_t start;
	uint64_t woken; /* 0: nobody said */
	uint64_t end;
	uint64_t waker;     /* task; 0: none, or unknown */
	uint32_t source;    /* enum unweave_source, if woken */
	uint32_t thread;    /* on which it was woken; 0: unknown */
	uint32_t stack;     /* chain that waited, in the tree; 0: unknown */
	bool first;         /* from its creation to its first run */
	bool begin_unknown; /* it waited already when the trace began */
	bool end_unknown;   /* it still waited at the end */
};

struct model_sample {
	struct model_task *task; /* innermost; NULL: none */
	uint64_t time;
	uint64_t weight; /* ns */
	uint32_t tid;
	uint32_t thread; /* number in the trace; 0: one without events */
	uint32_t stack;  /* logical stack, in the tree; 0: unknown */
	uint32_t flags;  /* SAMPLE_* */
	enum splice_outcome outcome;
};

/* One iteration of a loop: from where it woke to where it waited again. */
struct model_iteration {
	uint64_t start;
	uint64_t ns;
	uint64_t runs; /* directly in it */
	/* Of those the one that took longest. */
	uint64_t task;                  /* 0: there was none */
	const struct reader_site *site; /* or NULL; of the reader */
	uint32_t stack;                 /* in the tree; 0: unknown */
	uint64_t run_ns;
	uint64_t run_end;
	/* Runs of the loop that came after it, then or later, and are known to have been ready
	 * before it ended: they waited for it.
	 */
	uint64_t ready;
};

#define MODEL_LOOP_THREADS 8u

/* What a loop did, as far as it said when it waited and when it woke. */
struct model_loop {
	struct model_task *task;
	uint32_t threads[MODEL_LOOP_THREADS]; /* that it ran on, the first ones */
	uint32_t thread_count;                /* of those */
	uint64_t iterations;
	uint64_t idle;    /* ns in which it waited */
	uint64_t busy;    /* ns in iterations */
	uint64_t runs;    /* directly in it */
	uint64_t running; /* ns of those */
	struct model_iteration worst;
	struct histogram iteration; /* ns that each took */
	struct histogram lag;       /* ns from when a task was ready until it ran in the loop */
};

/* What a model tells, in time order of ends. Each may be NULL. What returns < 0 ends the reading.
 */
struct model_sink {
	int (*created)(void *data, struct model_task *task);
	int (*run)(void *data, const struct model_run *run);
	int (*wait)(void *data, const struct model_wait *wait);
	int (*sample)(void *data, const struct model_sample *sample);
	int (*task)(void *data, struct model_task *task); /* it is over, or the trace is */
	/* One is over, or the trace is; before its `task` call. */
	int (*loop)(void *data, const struct model_loop *loop);
	/* It is gone without a word: it ended before the window, or the reading failed. */
	void (*dropped)(void *data, struct model_task *task);
	/* Something will soon be told of it: a moment to ask for memory, and for nothing else. */
	void (*soon)(void *data, const struct model_task *task);
	/* The thread waited for something to do. */
	int (*idle)(void *data, uint32_t thread, uint64_t start, uint64_t end);
	void (*progress)(void *data, uint64_t done, uint64_t all); /* ns of the trace */
	void *data;
};

/* Sums over the whole trace; complete after model_read(). */
struct model_totals {
	uint64_t first, last; /* ns */
	uint64_t events;
	uint64_t tasks; /* seen */
	uint64_t completed;
	uint64_t live_most; /* at one time */
	uint64_t runs, waits, wakes;
	uint64_t busy;            /* ns in runs, those inside of another not counted twice */
	uint64_t pending, queued; /* ns */
	uint64_t samples;
	uint64_t in_tasks; /* samples while a task ran */
	uint64_t asleep;   /* samples of a thread that slept: they are no CPU time */
	uint64_t cpu;      /* ns, by samples */
	uint64_t outcomes[SPLICE_OUTCOMES]; /* samples by what became of them */
	uint64_t lost;                      /* events */
};

/* Returns -ENOMEM. The reader is borrowed, and read from its beginning by model_read(). */
int model_new(struct model **ret, struct reader *reader);
struct model *model_free(struct model *model);

/*
 * Only [from, to), in ns of the trace's clock. What reaches over is cut there, and
 * tasks that ended before are not told, but names are known from before.
 */
void model_set_window(struct model *model, uint64_t from, uint64_t to);

/*
 * How the splice can check itself; without, it does not. `plumbing` may be zeros: then it is the
 * library that the anchors are in, if the trace says that they are in one.
 */
void model_set_splice(struct model *model, struct splice_anchors plumbing,
		      splice_same_function same, void *data);

/*
 * How to call the tasks of a site that have no name of their own, for whoever knows more of its
 * addresses than the model. Returns a text that the model frees; NULL: no memory.
 */
typedef char *(*model_label)(void *data, const struct reader_site *site);
void model_set_labels(struct model *model, model_label label, void *data);

/*
 * By which functions that armed callbacks are known to be those that ran: `surely` says that two
 * addresses are in one function only if it knows. Without, both are shown.
 */
void model_set_folds(struct model *model, splice_same_function surely, void *data);

/* Once. Returns 0, what the sink returned, or -ENOMEM or -EIO. */
int model_read(struct model *model, const struct model_sink *sink, struct diag *diag);

/*
 * The same by hand, event by event, for whoever has them as they happen, or wants to stop at a
 * moment: see model/present.h for what is known then. Samples are left out, and nothing is
 * told at the end. A model that is fed and has no trace gets its sites from whoever feeds it.
 */
int model_new_fed(struct model **ret, struct model_sites sites);
/* `sink` is borrowed until the model is freed. */
void model_begin(struct model *model, const struct model_sink *sink);
/*
 * In time order. `block` is that of the event: within one, frames of equal id are equal chains. The
 * event is told some events later, or by model_settle(). Both return -ENOMEM, or what the sink
 * returned.
 */
int model_feed(struct model *model, const struct unweave_event *event, uint64_t block);
int model_settle(struct model *model);

/* Grows while the model is read. */
const struct tree *model_tree(const struct model *model);
const struct model_totals *model_totals(const struct model *model);
/* The task with this id if it lives now; for wakers and parents. */
struct model_task *model_task(struct model *model, uint64_t id);

/* How a task ended, in a word. */
const char *model_end_name(enum model_end end);

#endif /* MODEL_MODEL_H */
