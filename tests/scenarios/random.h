/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The randomised test of both models, in parts:
 *
 *     random_program.c  a program: a list of operations, made from a seed
 *     random_run.c      a little executor that does what a program says, on threads; with
 *     random_chains.c   its tasks of the chain model,
 *     random_boxes.c    the boxes of the state-machine model,
 *     random_raw.c      and tasks for which it calls the hooks itself
 *     random_oracle.c   what really happened, as an array of events for each thread,
 *     random_awaits.c   and of boxes, who is in whose chain
 *     random.c          compares that with the trace, and makes failing programs smaller
 *
 * Each thread follows its own operations. What one means depends on where the
 * thread is: outside of any task, or inside a function of one; where it means
 * nothing it is passed over. So each part of a program is a program.
 */
#ifndef SCENARIOS_RANDOM_H
#define SCENARIOS_RANDOM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unweave/chain.h"
#include "unweave/machine.h"

#define PROGRAM_OPS_MAX 1000u
#define PROGRAM_THREADS_MAX 8u
#define CHAIN_MOST 400u /* frames: a longer stack may not fit a record */

enum op_kind {
	OP_START_CHAIN, /* a task of the chain model */
	OP_START_BOX,   /* a box that is to be a task at once */
	OP_START_RAW,   /* a task of somebody who calls the hooks himself */
	OP_RUN,         /* a task that waits, inside of what runs here */
	OP_PUSH,        /* of the chain model: functions to go on with after the next wait */
	OP_CALL,        /* a box, eagerly; and from there, perhaps, another, and so on */
	OP_AWAIT,       /* of the state-machine model: wait for a box */
	OP_WAIT,        /* for something outside */
	OP_RETURN,
	OP_FAIL,
	OP_FAIL_WAITING, /* a task that waits fails, or is cancelled */
	OP_WAKE,
	OP_NAME,
	OP_IDLE,
	OP_APPEND, /* to a raw task that waits */
	OP_MARK,   /* in a raw task: a frame event */
	OP_KINDS
};

struct op {
	enum op_kind kind;
	uint32_t thread; /* modulo the number of threads */
	uint32_t a, b, c;
};

struct program {
	uint64_t seed;
	uint32_t threads;
	uint32_t count;
	struct op ops[PROGRAM_OPS_MAX];
};

/* The program that belongs to the seed. */
void program_make(struct program *ret, uint64_t seed);
void program_print(const struct program *program);

/* A frame as the oracle knows it. */
struct known_frame {
	uint64_t address;
	int32_t state;
	bool catches;
	const struct unweave_link *link; /* of the chain model, else NULL */
};

/* A chain as the oracle knows it: an array, root first. */
struct known_chain {
	struct known_frame *frames;
	uint32_t count, capacity;
};

void known_push(struct known_chain *chain, struct known_frame frame);
/* Puts all of `more` below the root. */
void known_append(struct known_chain *chain, const struct known_chain *more);
/* Puts all of `inner` inside of the innermost. */
void known_join(struct known_chain *chain, const struct known_chain *inner);
void known_fini(struct known_chain *chain);

/* An event that must be in the trace. */
struct expected {
	uint32_t kind;
	uint32_t flags; /* UNWEAVE_EVENT_LATE */
	uint64_t task, other, value;
	const struct unweave_site *site; /* of a CREATE, whose value is the site's id */
	const char *text;
	struct known_frame *frames; /* innermost first */
	uint32_t frame_count;
	uint32_t op; /* the operation of its thread that was the last begun */
	bool left;   /* the time of it may be unknown */
};

/* Something that runs on a thread: a task of any of the three sorts. */
struct box;
struct box_task;
struct run {
	enum { RUN_CHAIN, RUN_BOX, RUN_RAW } sort;
	uint64_t task;
	uint32_t place;
	bool began; /* its first function */
	/* Of a box: */
	struct box_task *of;
	struct box *box;       /* the one that is the task; NULL once it is done */
	struct box *current;   /* the one whose function runs */
	struct box *completed; /* the last one that returned, and the one that may go on then */
	struct box *next;
	enum unweave_status status;
	bool ended;
};

#define RUNS_MAX 1024u

/* One thread of the executor, and what the oracle knows of it. */
struct worker {
	struct world *world;
	pthread_t pthread;
	uint32_t number, tid;
	uint32_t next_op;
	uint32_t eager; /* calls of boxes under way */
	struct run runs[RUNS_MAX];
	uint32_t run_count;
	uint64_t nest[RUNS_MAX]; /* tasks that run here, outermost first */
	uint32_t nest_count;
	struct expected *log;
	uint32_t log_count, log_capacity;
};

/* The oracle: each says that something happened on the thread just now. */
struct expected *saw(struct worker *worker, uint32_t kind, uint64_t task);
void saw_stack(struct expected *expected, const struct known_chain *chain);
void saw_create(struct worker *worker, uint64_t task, uint64_t parent,
		const struct unweave_site *site, const struct known_chain *chain);
void saw_resume(struct worker *worker, uint64_t task, const struct known_chain *chain);
void saw_suspend(struct worker *worker, uint64_t task, const struct known_chain *chain, bool left);
void saw_complete(struct worker *worker, uint64_t task, enum unweave_status status);
void saw_unwind(struct worker *worker, uint32_t frames, bool handled);
/* Functions of the run are over: each 32nd restarts the anchors. */
void saw_places(struct worker *worker, struct run *run, uint32_t functions);
uint64_t innermost_task(const struct worker *worker);

/* Whatever waits to be run, in one list for all threads. */
struct chain_task {
	struct unweave_chain chain;
	struct known_chain known, pushed;
	enum unweave_step fault;
	uint32_t unwound; /* continuations that must still be said to be taken off */
	bool left;        /* the run was begun with UNWEAVE_RUN_LEAVE */
	bool done;
	struct chain_task *all;
};

enum box_state {
	BOX_NEW,      /* never ran */
	BOX_STARTING, /* somebody has it and is about to run it */
	BOX_RUNS,
	BOX_WAITS, /* for something outside */
	BOX_AWAITS,
	BOX_QUEUED, /* what it awaited is over */
	BOX_DONE,
};

#define AWAITERS_MAX 6u
#define AWAITS_MAX 3u

/* What a box became when it waited. Its chain may go on when the box is used again. */
struct box_task {
	uint64_t id;
	struct known_chain known;
	bool stale;  /* it awaits, or did: its chain is told anew when it goes on */
	bool ending; /* nothing goes on in its run any more, which ends any moment */
	bool dead;
	struct box_task *all;
};

struct box {
	struct unweave_box box;
	enum box_state state;
	uint64_t address;
	struct box_task *own; /* NULL: it is none */
	/* The innermost task, but its own, that it was last known to be in the chain of ... */
	struct box_task *within;
	bool beside; /* ... or beside that, with whatever awaits it too */
	bool noted;  /* ... since it began to wait, or went on in a run of another */
	struct box *awaiters[AWAITERS_MAX];
	uint32_t awaiter_count;
	struct box *first;              /* the awaiter that is in its chain */
	struct box *awaits[AWAITS_MAX]; /* while it does */
	uint32_t await_count;
	uint32_t pending;   /* of those */
	struct worker *on;  /* the thread that ran it last */
	uint32_t levels;    /* calls it makes before anything else */
	uint32_t looked_at; /* in a search */
	bool eager, inside; /* how it was entered: called; or continued in the run of another */
	bool queues;        /* it goes on by the list, not where its child completes */
	bool left;          /* its run was begun with UNWEAVE_RUN_LEAVE */
};

struct raw_task {
	uint64_t task;
	bool done;
	struct known_chain known;
	struct raw_task *all;
};

struct ready {
	enum { READY_CHAIN, READY_BOX, READY_RAW } sort;
	void *what;
};

struct world {
	const struct program *program;
	pthread_mutex_t lock; /* of the list, and of all that boxes know of each other */
	pthread_barrier_t start, end;
	struct ready ready[4 * PROGRAM_OPS_MAX];
	uint32_t ready_count;
	struct box *boxes[PROGRAM_OPS_MAX * 2];
	uint32_t box_count;
	struct chain_task *chains; /* all that ever were, to be freed */
	struct raw_task *raws;
	struct box_task *box_tasks;
	uint32_t searches;
	struct worker workers[PROGRAM_THREADS_MAX];
	uint64_t awaited_elsewhere; /* boxes, while another thread ran them */
	uint64_t awaited_several;   /* at once */
	const char *broken;         /* what the executor itself found to be wrong */
};

/* Does what the program says. The logs of its workers are there until world_fini(). */
void world_run(struct world *ret, const struct program *program);
void world_fini(struct world *world);

/* Between the parts of the executor. */
enum outcome { OUTCOME_WAIT, OUTCOME_AWAIT, OUTCOME_RETURN, OUTCOME_FAIL };
struct scope {
	enum { SCOPE_OUTSIDE, SCOPE_CHAIN, SCOPE_BOX, SCOPE_RAW } sort;
	struct chain_task *chain;
	struct box *box;
	struct raw_task *raw;
};

extern __thread struct worker *self;
extern struct unweave_site random_sites[3];

/* Follows operations up to one that ends the function; `*ret_op` is that, or one that is all 0. */
enum outcome interpret(struct scope *scope, struct op *ret_op);
void broke(struct world *world, const char *what);
/* The first wants the lock held. */
void make_ready(struct world *world, int sort, void *what);
void make_ready_locked(int sort, void *what);
const struct unweave_site *site_of(uint32_t choice);
uint64_t parent_of(uint32_t choice);
uint64_t address_of(uint32_t choice);
int32_t state_of(uint32_t choice);
struct run *enter_run(int sort, uint64_t task);

void chain_start(const struct op *op);
void chain_run(struct chain_task *task, const struct op *op);
void chain_push_some(struct chain_task *task, const struct op *op);
void chain_free(struct chain_task *task);
/* After the session: whatever has not ended does, so that the next session has no such tasks. */
void boxes_free(struct world *world);

void raw_start(const struct op *op);
void raw_run(struct raw_task *task, const struct op *op);
void raw_append(struct raw_task *task, const struct op *op);
void raw_mark(struct raw_task *task, const struct op *op);
void raw_ends(struct raw_task *task, enum outcome outcome, const struct op *op);

/* The box and who awaits it. */
struct known_chain box_chain(const struct box *box);
/* The run of a box that the thread is in, as the state-machine model sees it. */
struct run *box_run_here(void);
/* The box is a task from now on. */
void saw_box_create(struct box *box);
/* Its own run ends in a wait, or what is left of the chain that it went on in. */
void saw_stop(struct box *box);
/* `box` is at the root of the chain of `task` now; or it awaits it too, and stands beside it. */
void saw_joined(struct box *box, struct box_task *task, bool first);
/* The child that it awaits is done; or is not. */
void saw_late(struct box *box, struct box *child);
void saw_await(struct box *box, struct box *child);
void saw_box_begin(struct box *box);
void saw_box_continue(struct box *box);
void saw_box_end(struct box *box, enum unweave_status status);
void saw_run_end(struct run *run);

/* Wants the lock held. NULL: there are enough. */
struct box *box_new(uint32_t choice, uint32_t site);
void box_call(uint32_t levels, uint32_t choice, uint32_t site);
/* True if the box's function is to return: it waits, or has gone on already. */
bool box_await_some(struct box *box, const struct op *op);
void box_run_ready(struct box *box, const struct op *op);
void box_cancel(struct box *box, const struct op *op);

#endif /* SCENARIOS_RANDOM_H */
