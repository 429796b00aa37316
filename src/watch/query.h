/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a query: which rows it wants, how they are called, what puts them in order. */
#ifndef WATCH_QUERY_H
#define WATCH_QUERY_H

#include "watch/inside.h"

/* A query, and what can be found out for all rows at once. */
struct choice {
	struct watch *watch;
	const struct watch_query *query;
	const char *filter; /* NULL: none */
	uint64_t id;        /* that the filter is; 0: it is no number */
	uint32_t states;    /* that the filter is part of the name of */
};

/* names.c: the name that a task has of its own, until the next event; NULL: none. */
const char *name_own(const struct watch *watch, const struct watch_task *task,
		     char room[TABLE_NAME_BYTES]);
/* That, or what its site's tasks are called. */
const char *name_of(struct watch *watch, const struct watch_task *task,
		    char room[TABLE_NAME_BYTES]);

/* filter.c */
void filter_prepare(struct choice *choice);
bool filter_wants(const struct choice *choice, const struct watch_task *task);

/* groups.c: fills in `watch->groups`. -ENOMEM. */
int groups_make(const struct choice *choice);

/* order.c: before any key. -ENOMEM. */
int order_prepare(struct choice *choice);
/* What puts a task, or the sum of a group, in its place: the least comes first. */
uint64_t order_key(const struct choice *choice, const struct watch_task *task, uint64_t tasks);
/* The task, or the sum of the group, that was picked. */
static inline const struct watch_task *order_picked(const struct choice *choice,
						    const struct pick *pick)
{
	const struct watch *watch = choice->watch;

	return choice->query->group ? &watch->groups[pick->index].sum : &watch->tasks[pick->index];
}
/* Has those from `first` to `end` where they belong; of the others, only on which side. */
void order_part(const struct choice *choice, struct pick *picks, uint32_t count, uint64_t first,
		uint64_t end);
/* How many come before `of`, which is one of them. */
uint64_t order_place(const struct choice *choice, const struct pick *picks, uint32_t count,
		     const struct pick *of);

#endif /* WATCH_QUERY_H */
