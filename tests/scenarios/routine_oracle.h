/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is so on the stage, in plain arrays, and what must be shown and recorded of it.
 *
 * It knows nothing of links, heads and views. The steps keep it up to date: they say what
 * they are about to do, call the hooks, and have it compare.
 */
#ifndef SCENARIOS_ROUTINE_ORACLE_H
#define SCENARIOS_ROUTINE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unweave/routine.h"

#define CHAIN_MOST 64u
#define TASKS_MOST 256u
#define PLACES_MOST 64u

/* A coroutine. */
struct co {
	struct unweave_routine routine; /* first: the hooks give back a pointer to it */
	uint32_t number;
	bool generator;
};

struct task {
	struct co *chain[CHAIN_MOST]; /* the root first */
	uint32_t lines[CHAIN_MOST];
	uint32_t depth; /* 0: it is none */
	uint64_t id;    /* 0: there is none yet, it runs in its caller's place */
	bool running;
};

/* A place on the stack: an anchor, and maybe others inside of it, that run one task at a time. */
struct place {
	struct task *task; /* NULL: it has left */
	uint64_t last;     /* the id of the one before */
	uint32_t anchors;
	struct co *generators[CHAIN_MOST];
	uint32_t generator_count;
};

extern struct oracle {
	struct task tasks[TASKS_MOST];
	struct place places[PLACES_MOST]; /* the outermost first */
	uint32_t place_count;
	bool sessions; /* come and go; what began while nobody recorded may be unknown */
} oracle;

/* Begins to record, unless sessions come and go. There are no tasks. */
void oracle_begin(bool sessions);
/* Stops, and compares what was recorded with what was expected. */
void oracle_end(void);
/* Somebody begins to record, with some of the keywords, or stops. */
void oracle_change_session(uint32_t choice);
/* How many events of a kind there were. */
size_t oracle_count(enum unweave_event_kind kind);

/* Where the code of a coroutine is said to be. */
uint64_t code_of(const struct co *co);

struct task *new_task(struct co *root);
struct task *task_of(const struct co *co);
uint32_t count_tasks(void);
struct co *innermost(const struct task *task);
/* A task that waits in a chain of so many at least, from `start` on; NULL: there is none. */
struct task *find_waiting(uint32_t least_depth, uint32_t start);

/* The innermost place. */
struct place *here(void);
void leave_place(struct place *place);
/* The task whose code runs, or that has just left this place. */
uint64_t id_here(void);

/* An event that must come next in the recording. */
struct expected {
	uint16_t kind;
	uint64_t task, other, value;
	uint64_t addresses[CHAIN_MOST];
	int32_t states[CHAIN_MOST];
	uint32_t count; /* 0: not compared */
};

/* The caller may say more of it, up to the next call. */
struct expected *expect(enum unweave_event_kind kind, uint64_t task);
struct expected *expect_with_chain(enum unweave_event_kind kind, const struct task *task);
/* The hooks have made it a task just now: its id is theirs to choose. */
void expect_created(struct task *task, uint64_t parent);

/* Compares what unweave_here() says. */
void check_here(void);
/* Compares the numbers of the anchors on the stack: in each place they count from 0. */
void check_anchors(void);

#endif /* SCENARIOS_ROUTINE_ORACLE_H */
