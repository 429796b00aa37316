/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that call each other to a depth, as most scenarios need them: each
 * level calls the next, awaits it, yields a few times and ends. The last one
 * calls nobody.
 */
#ifndef SCENARIOS_MACHINE_LEVELS_H
#define SCENARIOS_MACHINE_LEVELS_H

#include "machine_runtime.h"
#include "scenario.h"

#define LEVELS_MAX 8192

/* Eight functions that do the same, each with an address of its own. */
extern const unweave_go level_go[8];
/* The function of a level, as an address. */
#define LEVEL_CODE(n) ((const void *)(uintptr_t)level_go[n])

struct level {
	unweave_go go;            /* NULL: level_go[], in turn */
	int32_t state;            /* in which it awaits; one more when it yields after that */
	int yields;               /* after what it called is done */
	uint64_t sleep_ns;        /* then this, or nothing */
	enum unweave_status ends; /* how */
	bool catches;             /* errors of what it called */
};

struct plan {
	unsigned depth;
	enum async_kind kind;
	struct executor *executor; /* of its yields; NULL: one of play()'s own */
	struct executor *home;     /* where each goes on after it was awaited; NULL: right there */
	void (*visit)(struct async *me); /* is called by each as it ends; or NULL */
	struct level innermost;          /* calls nobody */
	struct level levels[8]; /* the others, the outermost first; deeper ones as the last */
	/* What came of it: */
	uint64_t *tasks;             /* of each level; 0: it never was one */
	struct async *calls;         /* of each level; while it lasts, and if embedded */
	struct async *leaf;          /* the innermost call */
	enum unweave_status outcome; /* of the outermost */
	int64_t value;               /* its result: how many ended before it, and itself */
};

/* Calls the outermost. Its handle is the caller's. */
struct async *plan_call(struct plan *plan);
void plan_fini(struct plan *plan);

/* The task of the innermost level. */
uint64_t plan_leaf(const struct plan *plan);

#endif /* SCENARIOS_MACHINE_LEVELS_H */
