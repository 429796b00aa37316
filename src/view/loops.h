/* SPDX-License-Identifier: Apache-2.0 */
/* The event loops of a trace: how busy they were, how late they called, and what kept them. */
#ifndef VIEW_LOOPS_H
#define VIEW_LOOPS_H

#include "model/model.h"
#include "symbol/symbol.h"
#include "view/texts.h"

/* Of many times. */
struct loops_spread {
	uint64_t count;
	uint64_t median, p99, longest; /* ns */
};

/* The iteration that took longest, and the callback that did in it. */
struct loops_worst {
	struct model_iteration iteration;
	const char *label; /* of the callback; "" if unknown */
};

struct loops_loop {
	const char *label;
	const struct reader_site *site; /* or NULL; of the reader */
	uint64_t task;
	uint32_t thread;       /* the first that it ran on; 0: unknown */
	uint32_t thread_count; /* that it ran on, as far as they were counted */
	uint64_t iterations;
	uint64_t idle, busy; /* ns: waiting for something to do, and in iterations */
	uint64_t runs;
	uint64_t running; /* ns in runs */
	struct loops_spread iteration, lag;
	struct loops_worst worst;
};

struct loops {
	struct loops_loop *at; /* the busiest first, after loops_finish() */
	uint32_t count;
	uint32_t capacity;
	struct texts *texts;
	struct symbols *symbols;
};

/* `symbols` is borrowed. Returns -ENOMEM. */
int loops_init(struct loops *loops, struct symbols *symbols);
void loops_fini(struct loops *loops);

/* For a model's sink. -ENOMEM. */
int loops_add(struct loops *loops, const struct model_loop *loop);
void loops_finish(struct loops *loops);

#endif /* VIEW_LOOPS_H */
