/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session on an arena: says what is to be recorded, and takes it, pass by
 * pass, from all threads. The same code serves a recorder in another process
 * and a program that records itself.
 */
#ifndef DRAIN_DRAIN_H
#define DRAIN_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "drain/attach.h"
#include "drain/sites.h"
#include "drain/stream.h"
#include "util/diag.h"

struct drain;

struct drain_options {
	enum unweave_detail detail;
	enum unweave_policy policy;
	uint64_t keywords;     /* 0: those of `detail` */
	uint64_t buffer_bytes; /* 0: ARENA_POOL_DEFAULT */
	bool afresh;           /* what a recorder left that died is of no interest */
	char path[256]; /* of the file that is written, absolute; for whoever comes after us */
};

/* What a drain tells. Calls come from within drain_pass() and drain_stop(); errors end the pass. */
struct drain_sink {
	/* A thread was seen for the first time, or `ended`. */
	int (*thread)(void *data, uint32_t thread, uint32_t tid, const char *name, bool ended);
	sites_visit site;
	stream_sink events;
	/* No more events will come of this stream; `stream->user` is to be let go. */
	int (*end)(void *data, struct stream *stream);
	void *data;
};

struct drain_totals {
	uint64_t records;   /* taken, of all streams */
	uint64_t lost;      /* of streams, by any cause */
	uint64_t orphans;   /* events of threads that had no line, not told in any file yet */
	uint64_t reentries; /* events of handlers that interrupted handlers, the same way */
	uint64_t damaged;   /* places in the arena that made no sense */
	uint32_t threads;   /* seen */
	uint64_t unread;    /* tasks from before whose chains could not be read */
	int unread_why;     /* errno; 0: they ran meanwhile */
	bool program_ended;
	bool replaced; /* by exec */
};

/*
 * Begins a session on a locked attachment, which is borrowed. Where the last
 * recorder died, goes on where it stopped, unless `afresh`; where the program was told to begin
 * on its own, takes it over. Returns -ENOMEM, -ENOSPC if the pool
 * found no room.
 */
int drain_new(struct drain **ret, struct attachment *attachment,
	      const struct drain_options *options, const struct drain_sink *sink,
	      struct diag *diag);
struct drain *drain_free(struct drain *drain);

/* Changes what is recorded. */
void drain_set_keywords(struct drain *drain, uint64_t keywords);

/*
 * Takes what is there. Returns how many records, or what the sink returned.
 * After the program's end the pass that finds nothing more is the last: see
 * drain_totals().program_ended.
 */
int drain_pass(struct drain *drain);

/* Whether there are tasks from before that were not told yet: passes without a pause help. */
bool drain_has_census(const struct drain *drain);

/* How long to wait before the next pass, by how much the last one found. */
uint64_t drain_pause_ns(const struct drain *drain);

/* Turns the session off, takes the rest, and leaves the arena in good order. */
int drain_stop(struct drain *drain);

struct drain_totals drain_totals(const struct drain *drain);

/* The orphans and reentries of these totals have been told: who comes next begins after them. */
void drain_note_told(struct drain *drain, const struct drain_totals *totals);

/* All frames of chains that were met so far; owned by the drain. */
const struct stacks *drain_stacks(const struct drain *drain);

/* Keywords that stand for a detail. */
uint64_t drain_keywords(enum unweave_detail detail);

/* Calls `visit` for each stream that is open. */
int drain_each(struct drain *drain, int (*visit)(void *data, struct stream *stream), void *data);

#endif /* DRAIN_DRAIN_H */
