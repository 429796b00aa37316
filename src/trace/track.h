/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks of one stream, one after the other, and what is missing between.
 *
 * A track holds a decoded block only from the moment its first event is due to
 * its last. Records that no block holds become `lost`, due where the next block
 * begins, or where the stream ends.
 */
#ifndef TRACE_TRACK_H
#define TRACE_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/blocks.h"
#include "trace/decoder.h"
#include "util/merge.h"

#define TRACK_END 1

/* What the tracks of a reader share. */
struct track_source {
	struct blocks blocks;
	struct faults faults;
	struct decoder **idle; /* decoders that no track uses; each may hold a block's memory */
	uint32_t idle_count;
	uint32_t idle_capacity;
	uint64_t end_offset; /* of the END block; 0: there is none */
	bool ends_left_out;  /* it does not list all streams */
	bool resynced;       /* a block header was bad: blocks may be missing anywhere */
	bool joined;         /* a stream begins late: the recorder came late */
};

struct track {
	/* Ticks are up to date while `decoder` is NULL; the order is thread << 1 | aside. */
	struct merge_source due;
	struct decoder *decoder; /* NULL: the block is not loaded */
	uint64_t lost;           /* records missing before what comes next */

	struct block block; /* the one that is loaded or comes next */
	uint64_t offset;
	uint64_t *offsets; /* of all its blocks; the rest of a header is read again when needed */
	uint32_t count;
	uint32_t capacity;
	uint32_t next;     /* index of `block`; `count`: at the tail */
	uint64_t expected; /* number that the next record should have */
	uint64_t excused;  /* records of damaged blocks that have been told, since the last good one
			    */
	uint64_t total;    /* number after the last record, as far as headers tell */
	bool base_known;   /* its first block is the first it had */
	bool ended;        /* `end` is what the END block says */
	uint64_t end;
};

void track_source_fini(struct track_source *source);

void track_init(struct track *track, uint32_t thread, bool aside);
void track_fini(struct track *track);

/* Notes a block that the scan found; in the order of the file. -ENOMEM. */
int track_add(struct track *track, const struct block *block, uint64_t offset,
	      struct track_source *source);

/*
 * Goes to the first block whose last event is not before `from`, in ticks.
 * Returns TRACK_END if nothing is left, or -EIO.
 */
int track_seek(struct track *track, uint64_t from, struct track_source *source, struct diag *diag);

/* Loads the block that is due; `lost` may be set then. TRACK_END, -ENOMEM or -EIO. */
int track_load(struct track *track, struct track_source *source, struct diag *diag);

/* Leaves the loaded block, since decoder_next() returned `why`. As track_seek(). */
int track_leave(struct track *track, int why, struct track_source *source, struct diag *diag);

static inline uint32_t track_thread(const struct track *track)
{
	return (uint32_t)(track->due.order >> 1);
}

static inline bool track_aside(const struct track *track)
{
	return track->due.order & 1;
}

#endif /* TRACE_TRACK_H */
