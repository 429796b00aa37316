/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session that ends up in a trace file, with a listener, or with both.
 *
 * Trouble with the file does not end it: a block that cannot be written is
 * counted, shows as a gap in the trace, and the next one is tried.
 */
#ifndef DRAIN_RECORDER_H
#define DRAIN_RECORDER_H

#include <stdint.h>

#include "drain/attach.h"
#include "drain/drain.h"
#include "trace/writer.h"
#include "unweave.h"
#include "util/diag.h"

struct recorder;

struct recorder_options {
	const char *path;         /* NULL: no file; borrowed, for the call or until the end */
	writer_compress compress; /* NULL: blocks stay plain */
	void *compress_data;
	unweave_listener listener; /* or NULL */
	/* The same for threads: one was met, or ended; or NULL. */
	void (*thread)(void *data, uint32_t thread, uint32_t tid, const char *name, bool ended);
	void *listener_data; /* of both */
	enum unweave_detail detail;
	enum unweave_policy policy;
	uint64_t keywords;     /* 0: those of `detail` */
	uint64_t buffer_bytes; /* 0: the default */
	bool afresh;           /* what a recorder left that died is of no interest */
	uint64_t
		flight_bytes; /* keep so much in memory, and write it at the end; 0: all, at once */
	uint64_t flight_ns;   /* and no more than the last so long; 0: no limit */
};

struct recorder_totals {
	struct drain_totals drain;
	uint64_t bytes;     /* of the file */
	uint64_t unwritten; /* events that the file could not take */
	int error;          /* the last reason, negative errno; 0: none */
};

/* What a recorder keeps that keeps only the last part. */
struct recorder_kept {
	uint64_t events;
	uint64_t samples;
	uint64_t ns; /* from the first to the last of them */
};

/* Begins a session on a locked attachment, which is borrowed. */
int recorder_new(struct recorder **ret, struct attachment *attachment,
		 const struct recorder_options *options, struct diag *diag);
struct recorder *recorder_free(struct recorder *recorder);

/* Takes and writes what is there. Returns how many records, or -ENOMEM. */
int recorder_pass(struct recorder *recorder);

/* Whether there are tasks from before that were not told yet. */
bool recorder_has_census(const struct recorder *recorder);

/* How long to wait before the next pass; see drain_pause_ns(). */
uint64_t recorder_pause_ns(const struct recorder *recorder);

/*
 * Writes a block that is not one of events: its `first` and `last` are filled in
 * if they are 0. Returns what the file met; the recording goes on.
 */
int recorder_put(struct recorder *recorder, const struct block *block, const uint8_t *payload);

/*
 * When ticks of the program's clock were, as its listener is told: ns of CLOCK_MONOTONIC_RAW, by
 * a rate that is measured, so that the two may be some ms apart after a while.
 */
uint64_t recorder_ns(const struct recorder *recorder, uint64_t ticks);

/* All frames of chains that were met so far; owned by the recorder. */
const struct stacks *recorder_stacks(const struct recorder *recorder);

/* Has each thread take notice of the session anew, at its next hook. */
void recorder_renew(struct recorder *recorder);

void recorder_set_keywords(struct recorder *recorder, uint64_t keywords);

/*
 * Writes a trace of what is kept, for a recorder that keeps only the last part.
 * To be called in a copy of the process, made by fork(): what is on its way is
 * put into the trace there, and the recording itself goes on without a pause.
 */
int recorder_snapshot(struct recorder *recorder, const char *path, struct diag *diag);

/* Ends the session and takes the rest. Blocks may still be put into the trace. */
int recorder_leave(struct recorder *recorder);

/* The same if that is still to be done, and closes the trace. */
int recorder_stop(struct recorder *recorder);

struct recorder_totals recorder_totals(const struct recorder *recorder);

/* Looks at all that is kept, or was at the end. */
struct recorder_kept recorder_kept(const struct recorder *recorder);

#endif /* DRAIN_RECORDER_H */
