/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a flame graph shows: a tree of named frames with what each took, in one
 * trace or in two that are compared; and the two forms in which it is written,
 * a page and a picture.
 *
 * It is filled from a profile, or frame by frame. What finds no memory marks
 * the graph bad, and flame_finish() says so; nothing in between need be checked.
 */
#ifndef VIEW_FLAME_H
#define VIEW_FLAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "view/profile.h"

/* A comparison has the trace that it is about, and another one that it is held against. */
enum flame_side { FLAME_THIS, FLAME_OTHER, FLAME_SIDES };

/* What the width of a frame can stand for. */
enum flame_metric {
	FLAME_CPU,
	FLAME_WAIT, /* pending and queued */
	FLAME_WALL,
	FLAME_METRICS
};

/* More nodes than this and a browser is no longer quick; more tasks and the page is all tasks. */
#define FLAME_NODES_MOST (1u << 20)
#define FLAME_TASKS_MOST (1u << 18)

struct flame_values {
	uint64_t self[PROFILE_VALUES];
	uint64_t total[PROFILE_VALUES]; /* after flame_finish() */
	uint64_t count[PROFILE_VALUES]; /* samples or waits of `self` */
};

struct flame_node {
	uint32_t parent;
	uint32_t name;
	uint32_t depth;
	uint32_t first_child, next_sibling; /* 0: none */
};

/* A frame's name; the numbers are for flame_string(). */
struct flame_name {
	uint32_t function, module, file;
	uint32_t line;
	uint32_t kind; /* enum profile_kind */
};

struct flame_task {
	uint64_t id;
	uint32_t label; /* for flame_string() */
};

/* That a task is behind the own time of a frame. */
struct flame_share {
	uint32_t node;
	uint32_t task;  /* index among the tasks */
	uint32_t value; /* enum profile_value */
	uint64_t ns;
};

struct flame;

/* What stands around the graph. */
struct flame_caption {
	const char *title;
	const char *traces[FLAME_SIDES]; /* their names */
	const struct model_totals *totals[FLAME_SIDES];
	enum flame_metric metric; /* shown first */
};

/* Returns -ENOMEM. */
int flame_new(struct flame **ret);
struct flame *flame_free(struct flame *flame);

/* The number of this name; its strings are copied. */
uint32_t flame_add_name(struct flame *flame, const struct profile_name *name);

/* The child of `parent` (0: the root) with this name, made if it is not there. */
uint32_t flame_add_child(struct flame *flame, uint32_t parent, uint32_t name);

/* Adds to what a frame itself took. */
void flame_add_self(struct flame *flame, uint32_t node, enum flame_side side,
		    enum profile_value value, uint64_t ns, uint64_t count);

/* Says that a task is behind `task->value` ns of what the frame itself took, in FLAME_THIS. */
void flame_add_task(struct flame *flame, uint32_t node, enum profile_value value,
		    const struct profile_task *task);

/* Adds all of a profile. */
void flame_add_profile(struct flame *flame, const struct profile *profile, enum flame_side side);

/*
 * Sums up, and puts the children of each frame in the order of what they took
 * by `metric`. Beyond `most` nodes (0: FLAME_NODES_MOST) those with the least
 * become part of their parents. To be called once, after all that adds.
 * Returns -ENOMEM.
 */
int flame_finish(struct flame *flame, enum flame_metric metric, uint32_t most);

/* Node 0 is the root. A parent's number is lower than its children's. */
uint32_t flame_count(const struct flame *flame);
const struct flame_node *flame_at(const struct flame *flame, uint32_t node);
const struct flame_values *flame_values(const struct flame *flame, uint32_t node,
					enum flame_side side);
uint32_t flame_name_count(const struct flame *flame);
const struct flame_name *flame_name(const struct flame *flame, uint32_t name);
uint32_t flame_string_count(const struct flame *flame);
const char *flame_string(const struct flame *flame, uint32_t string);
uint32_t flame_task_count(const struct flame *flame);
const struct flame_task *flame_task(const struct flame *flame, uint32_t task);
/* In no order. */
uint32_t flame_share_count(const struct flame *flame);
const struct flame_share *flame_share(const struct flame *flame, uint32_t share);
bool flame_is_comparison(const struct flame *flame);
uint32_t flame_folded(const struct flame *flame); /* nodes that became part of their parents */

/* What of a frame's values a metric is. */
uint64_t flame_self(const struct flame_values *values, enum flame_metric metric);
uint64_t flame_total(const struct flame_values *values, enum flame_metric metric);
const char *flame_metric_word(enum flame_metric metric);

/* The share of the samples inside of tasks that have an exact logical stack; < 0: there are none.
 */
double flame_coverage(const struct model_totals *totals);

/* The node that follows in a walk from the root on, each before its children; 0 after the last. */
uint32_t flame_next(const struct flame *flame, uint32_t node);

/*
 * Both write to `to` as it is, open to its end; what could not be written is in
 * ferror(). Names may be any bytes. Return -ENOMEM, or -EIO.
 */
int flame_html(const struct flame *flame, const struct flame_caption *caption, FILE *to);
int flame_svg(const struct flame *flame, const struct flame_caption *caption, FILE *to);

#endif /* VIEW_FLAME_H */
