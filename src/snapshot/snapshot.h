/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tasks of a program at one moment, read from its arena and, for chains, from
 * its memory. No code runs in the program: it may be stopped, hang, or spin.
 *
 * A program that runs changes what is read while it is read. Each task is whole,
 * but they are not of one instant; a chain that may be torn is not told.
 */
#ifndef SNAPSHOT_SNAPSHOT_H
#define SNAPSHOT_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "arena/table.h"
#include "drain/attach.h"
#include "trace/reader.h"
#include "util/map.h"

struct snapshot_frame {
	uint64_t address; /* of an omission: how many frames; 0: unknown */
	int32_t state;
	bool omitted;
};

/* What the chain of a task says of it, also while nobody records. */
enum snapshot_rest {
	SNAPSHOT_REST_UNKNOWN, /* it has none, or it changed while it was read */
	SNAPSHOT_AT_REST,
	SNAPSHOT_IN_TURN, /* somebody runs it */
};

struct snapshot_task {
	struct table_task task;
	uint32_t thread;  /* tid of the thread that it runs on; 0: it does not */
	uint32_t depth;   /* of that thread's runs around this one */
	uint64_t resumed; /* ticks, if it runs; 0: unknown */
	enum snapshot_rest rest;
	bool chain_known;
	uint32_t chain; /* first of its frames, innermost first; others may share them */
	uint32_t chain_count;
	/* Indices + 1; 0: none. Siblings in the order of their slots. */
	uint32_t parent, child, sibling;
	uint32_t last_child;
};

struct snapshot {
	struct snapshot_task *tasks;
	uint32_t count, capacity;
	struct snapshot_frame *frames;
	uint32_t frame_count, frame_capacity;
	struct reader_site *sites; /* sorted by id; texts are the snapshot's */
	uint32_t site_count, site_capacity;
	uint32_t root; /* first task without a living parent: index + 1 */
	uint32_t threads;
	bool recorded;  /* events are: so it is known whether tasks wait */
	uint64_t begun; /* ticks, since when */
	bool ended;     /* the program is no more */
	uint64_t ticks; /* when it was taken; if it ended: of the last thing that it noted */
	uint64_t ticks_per_s;
	int unread;        /* errno: why no chain could be read; 0 if they could */
	struct map chains; /* while it is taken: where a chain begins, by its hash */
};

/*
 * What is known of a task. While nobody records, tasks do not say when they run
 * and wait; but the chain of one that has a chain tells whether somebody runs it.
 */
enum snapshot_state {
	SNAPSHOT_RUNNING, /* on `thread`, if that is not 0 */
	SNAPSHOT_QUEUED,
	SNAPSHOT_WAITING,
	SNAPSHOT_NEW,       /* it has not run */
	SNAPSHOT_SUSPENDED, /* it does not run: it waits, or is queued */
	SNAPSHOT_UNKNOWN,
};

/* Returns -ENOMEM. */
int snapshot_take(struct snapshot *ret, const struct attachment *attachment);
/* The same of one task alone, if it lives. */
int snapshot_take_task(struct snapshot *ret, const struct attachment *attachment, uint64_t task);
void snapshot_fini(struct snapshot *snapshot);

/* NULL: unknown. */
const struct reader_site *snapshot_site(const struct snapshot *snapshot, uint32_t id);
/* The task with this id, as an index + 1; 0: it does not live. */
uint32_t snapshot_find(const struct snapshot *snapshot, uint64_t task);
enum snapshot_state snapshot_state(const struct snapshot *snapshot,
				   const struct snapshot_task *task);
/* Since when it is in this state, in ticks; 0: unknown. */
uint64_t snapshot_since(const struct snapshot *snapshot, const struct snapshot_task *task);
/* From a time in ticks until the snapshot. */
uint64_t snapshot_ns_since(const struct snapshot *snapshot, uint64_t ticks);

/*
 * Tasks that wait for each other in a circle: calls `visit` for each such circle with
 * its tasks' indices, each waiting for the next, the last for the first. -ENOMEM, or what `visit`
 * returned.
 */
int snapshot_cycles(const struct snapshot *snapshot,
		    int (*visit)(void *data, const uint32_t *tasks, uint32_t count), void *data);

#endif /* SNAPSHOT_SNAPSHOT_H */
