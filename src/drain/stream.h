/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading end of one stream: takes what its thread has published, turns
 * raw records into events, and counts what is missing. Streams are decoded in
 * turns, by time: a task may have been on another thread the moment before.
 */
#ifndef DRAIN_STREAM_H
#define DRAIN_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "arena/arena.h"
#include "drain/attach.h"
#include "drain/chains.h"
#include "drain/parse.h"
#include "trace/stacks.h"
#include "unweave/event.h"
#include "util/merge.h"

#define STREAM_NEST_MAX 4096u
#define STREAM_BATCH 64u      /* records that are looked at together */
#define STREAM_EVENTS 64u     /* events that go to the sink together */
#define SCRATCH_FRAMES 65536u /* the deepest chain that is kept */

struct stream;

/* Gets the events of a stream, some at a time; their times are in ticks. Errors end the pass and
 * are handed on. */
typedef int (*stream_sink)(void *data, struct stream *stream, const struct unweave_event *events,
			   uint32_t count);

/* What all streams of a drain share. */
struct stream_shop {
	struct attachment *attachment;
	struct stacks *stacks; /* every chain once */
	struct chains chains;  /* the chain of each task */
	uint64_t session;      /* revision that the session began with */
	uint64_t horizon;      /* ticks: what is due by then is decoded in this pass */
	uint64_t last_reset;   /* the word of the reset with the latest revision */
	stream_sink sink;
	void *sink_data;
	const struct unweave_frame **scratch; /* SCRATCH_FRAMES, to turn a chain around */
	struct stream_words *spare;           /* buffers that no stream uses */
	/* Events that go to the sink together, of the stream that is decoded. */
	struct unweave_event outbox[STREAM_EVENTS];
	uint32_t waiting;
	char text[RECORD_NAME_MAX + 1]; /* of the name among them */
	uint64_t records;               /* taken */
	uint64_t words;                 /* copied from chunks */
	uint64_t freed;                 /* chunks that are free again */
	uint64_t lost;                  /* records that are missing, by any cause */
	bool omitting;    /* some chain has frames left out: it is longer than its depth */
	uint64_t damaged; /* chunks and records that made no sense */
};

/* A private copy of what a chunk held, which nobody changes. */
struct stream_words {
	struct stream_words *next; /* of the spare ones */
	uint64_t copied;           /* ticks when it was */
	uint32_t at;               /* the first that is not taken apart yet */
	uint32_t count;
	struct record batch[STREAM_BATCH]; /* taken apart: the first `parsed`, those from `decoded`
					      on not decoded yet */
	uint32_t parsed, decoded;
	uint64_t words[ARENA_CHUNK_WORDS];
};

static inline bool stream_words_left(const struct stream_words *words)
{
	return words->decoded < words->parsed || words->at < words->count;
}

struct stream {
	struct merge_source due;    /* its next record, while there is one at hand */
	struct stream_words *words; /* NULL: there is none */
	struct arena_stream *shared;
	uint32_t line;
	uint32_t index;  /* ARENA_STREAM_* */
	uint32_t thread; /* number within the process */
	bool gated;      /* drops what an earlier session left, up to the reset of this one */
	bool nest_known;
	uint8_t told;    /* RECORD_RESET_*_STACKS of the last reset */
	uint8_t leaving; /* the kind of the event with which a run has ended, when the next record
			    says; 0: there is none */
	uint8_t left_status; /* of a COMPLETE */
	uint8_t holds;       /* how often others went before the next record; see events.c */
	uint64_t held;       /* ticks: it is not due before */
	uint64_t left;       /* its task */
	const struct unweave_frame *left_stack;
	uint64_t number;   /* of the next record to take */
	uint64_t orphaned; /* records from there on that a recorder took with it when it died */
	uint64_t sent;     /* number of the next event to go to the sink */
	uint64_t time;     /* ticks of the last event */
	uint64_t *nest;    /* runs, outermost first */
	uint32_t depth;
	uint32_t capacity;
	void *user; /* the sink's */
};

/* Returns -ENOMEM. `shop->attachment`, `sink` and `sink_data` are the caller's. */
int stream_shop_init(struct stream_shop *shop);
void stream_shop_fini(struct stream_shop *shop);

/*
 * Begins to read a stream where the last drain stopped. `gated`: what lies there is of a session
 * that ended in good order. Otherwise it is of a recorder that died, and what it took but did not
 * write is counted.
 */
void stream_open(struct stream *stream, struct stream_shop *shop, bool gated);
void stream_close(struct stream *stream, struct stream_shop *shop);

/*
 * Has the next records at hand, copied from the arena, if there are any: then
 * `stream->due` says when they are due. Returns whether there are, or what the
 * sink returned when it was told of a loss, or -ENOMEM.
 */
int stream_refill(struct stream *stream, struct stream_shop *shop);

/* Nothing more will be taken in this session: tells what waited, and what was lost at the end. */
int stream_settle(struct stream *stream, struct stream_shop *shop);

/* All that was taken is in the file, or counted: nobody who comes after us is to miss it. */
void stream_note_written(struct stream *stream);

/* The thread is no more, and that was its last record: its chunks, and the stream, are as new. */
void stream_clear(struct stream *stream, struct stream_shop *shop);

/* Number of the record at `taken`, from the chunk itself; of the last one written if in doubt. */
uint64_t stream_number_taken(const struct stream *stream, struct stream_shop *shop);

#endif /* DRAIN_STREAM_H */
