/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where time went, as a tree of named frames from the root outwards: what flame
 * graphs, tables of stacks and most exports show.
 *
 * The model's stacks are addresses; here inlined functions are frames of their
 * own, and frames of one function under one parent are one.
 */
#ifndef VIEW_PROFILE_H
#define VIEW_PROFILE_H

#include <stdint.h>

#include "model/model.h"
#include "symbol/symbol.h"

struct profile;

/* What can be summed up. All in ns. */
enum profile_value {
	PROFILE_CPU,    /* samples on a CPU */
	PROFILE_WAIT,   /* pending: suspended, and not woken yet */
	PROFILE_QUEUED, /* woken, and not running yet */
	PROFILE_WALL,   /* runs, pending and queued */
	PROFILE_VALUES
};

enum profile_kind {
	PROFILE_NATIVE,
	PROFILE_RUNNING, /* a native frame that is a task's own function */
	PROFILE_AWAIT,   /* a function that awaits */
	PROFILE_ARMED,   /* one that armed the callback on top of it */
	PROFILE_INLINED, /* into the frame below it */
	PROFILE_NOTE,    /* no code: "[waiting]", "[queued]", "[running]", "[no task]", "[...]" */
};

struct profile_name {
	const char *function; /* or module+offset where there is no name */
	const char *module;   /* "" if there is none */
	const char *file;     /* "" if unknown */
	uint32_t
		line; /* where the function begins if that is known, else of the first address; 0 */
	uint32_t kind; /* enum profile_kind */
};

struct profile_node {
	uint32_t parent;                    /* 0: the root */
	uint32_t name;                      /* for profile_name() */
	uint32_t first_child, next_sibling; /* 0: none; children in the order of their totals */
	uint32_t depth;
	uint64_t self[PROFILE_VALUES];
	uint64_t total[PROFILE_VALUES];
	uint64_t count[PROFILE_VALUES]; /* samples or waits of `self` */
};

/* Tasks behind a frame, the ones with most of the time first. */
struct profile_task {
	uint64_t id;
	const char *label;
	uint64_t value;
};

struct profile_options {
	struct reader *reader;
	struct symbols *symbols;
	/* NULL, or a function that takes part in the reading, as struct model_sink's progress. */
	void (*progress)(void *data, uint64_t done, uint64_t all);
	void *progress_data;
	bool by_task;      /* the task's label is the outermost frame */
	uint64_t task;     /* only this one; 0: all */
	const char *label; /* only tasks whose label contains this; NULL: all */
	/* Faster, without profile_tasks(); not with the three above, and tasks' `user` is free. */
	bool no_tasks;
	uint64_t from, to; /* only this part of the trace, as model_set_window(); to 0: all */
	/* NULL, or a sink that is told everything too; `also_begin` first, with its data. */
	const struct model_sink *also;
	void (*also_begin)(void *data, struct model *model);
};

/* Reads the whole trace. Returns -ENOMEM, -EIO. */
int profile_new(struct profile **ret, const struct profile_options *options, struct diag *diag);
struct profile *profile_free(struct profile *profile);

/* Node 0 is the root, which stands for all. */
uint32_t profile_count(const struct profile *profile);
const struct profile_node *profile_at(const struct profile *profile, uint32_t node);
const struct profile_name *profile_name(const struct profile *profile, uint32_t name);
uint32_t profile_name_count(const struct profile *profile);
const struct model_totals *profile_totals(const struct profile *profile);

/* The model's stacks, and the node of one that had any time; 0: it had none. */
const struct tree *profile_tree(const struct profile *profile);
uint32_t profile_stack(const struct profile *profile, uint32_t stack);

/* The tasks that `self` of this node comes from, at most `most`; how many were filled in. */
uint32_t profile_tasks(const struct profile *profile, uint32_t node, enum profile_value value,
		       struct profile_task *ret, uint32_t most);

#endif /* VIEW_PROFILE_H */
