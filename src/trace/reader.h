/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a trace: the events of all threads, in time order, in memory bounded
 * by the threads that overlap and the size of a block.
 *
 * Opening scans the block headers; events are decoded as they are asked for.
 * Damage costs the block it is in: it is skipped, told to `on_fault`, and shows
 * as a LOST event where records are missing.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "trace/format.h"
#include "trace/meta.h"
#include "trace/sample.h"
#include "unweave/event.h"
#include "util/diag.h"

struct reader;

#define READER_END 1

/* One thing wrong with the file. */
struct reader_fault {
	uint64_t offset;
	const char *what; /* a sentence without the offset; borrowed for the call */
};

typedef void (*reader_on_fault)(void *data, const struct reader_fault *fault);

struct reader_thread {
	uint32_t thread; /* number within the trace */
	uint32_t tid;    /* 0: unknown */
	bool ended;
	const char *name; /* "" if unknown */
};

struct reader_site {
	uint32_t id;
	uint32_t line;
	const char *name; /* "" where there is none, as the next three */
	const char *function;
	const char *file;
	const char *kind; /* or NULL: a trace from before there were any */
	uint32_t flags;   /* UNWEAVE_SITE_* in unweave/callback.h */
	uint32_t under;   /* of callbacks: the site of what armed them; 0: none */
	uint64_t code;    /* of callbacks: their address; 0: the site is not one of callbacks */
	uint64_t place;   /* address that their arming returned to; 0: unknown */
};

/* A coroutine's site has its code, too, but nobody arms a coroutine. */
static inline bool reader_site_is_callback(const struct reader_site *site)
{
	return site->code && !(site->kind && strcmp(site->kind, "coroutine") == 0);
}

/* One that says for a library what its callbacks do, and took hold, or was to. */
struct reader_adapter {
	const char *name;    /* of the library */
	const char *version; /* of the library; NULL: it did not take hold */
	uint64_t fate;       /* enum meta_fate, or one that this build does not know; 0: unknown */
	const char *why;     /* "" unless it could not be */
};

/* What tasks waited for when the recording ended: a task, a lock or a moment. */
struct reader_waits {
	const struct meta_wait *at; /* sorted by task */
	uint32_t count;
	uint64_t left_out;  /* tasks that there was no room for */
	uint64_t monotonic; /* CLOCK_MONOTONIC then, ns */
	uint64_t time;      /* the same on the clock of the trace; 0: it does not say */
};

/* What is known without decoding an event. Owned by the reader. */
struct reader_summary {
	uint64_t file_bytes;
	uint64_t blocks;
	uint64_t event_blocks;
	uint64_t event_stored; /* bytes of EVENTS blocks in the file, with their headers */
	uint64_t event_raw;    /* their payload before compression */
	uint64_t first, last;  /* ns, of the events and samples; 0 if there are none. `last` is the
				* end of the recording, if the trace says when that was */
	uint64_t realtime; /* CLOCK_REALTIME ns of `first`, or when the session began; 0: unknown */
	uint64_t faults;
	uint64_t sample_blocks;
	bool closed;                 /* an END block is there: the recorder ended in good order */
	struct meta_session session; /* strings are owned by the reader */
	bool session_known;
};

/* All that is wrong with the file: that nobody closed it is a fault, too. */
static inline uint64_t reader_faults(const struct reader_summary *summary)
{
	return summary->faults + !summary->closed;
}

/*
 * Opens `path`. `on_fault` may be NULL. Returns -EBADMSG for a file that is not
 * a trace or is empty, -EPROTONOSUPPORT for one from a newer format, -EISDIR,
 * -ENOMEM, or what opening met. On failure `*ret` is left alone.
 */
int reader_open(struct reader **ret, const char *path, reader_on_fault on_fault, void *data,
		struct diag *diag);
struct reader *reader_free(struct reader *reader);

const struct reader_summary *reader_summary(const struct reader *reader);
/* NULL if the trace does not say. */
const struct reader_thread *reader_thread(const struct reader *reader, uint32_t thread);
const struct reader_site *reader_site(const struct reader *reader, uint32_t site);
/* Threads by index, 0 to reader_thread_count() - 1, in the order of their numbers. */
uint32_t reader_thread_count(const struct reader *reader);
const struct reader_thread *reader_thread_at(const struct reader *reader, uint32_t index);

/* Adapters by index; NULL past the last one. */
const struct reader_adapter *reader_adapter_at(const struct reader *reader, uint32_t index);

/* None, in a trace that does not say. */
const struct reader_waits *reader_waits(const struct reader *reader);

/* Losses that belong to no thread, by cause; from the END block. */
uint64_t reader_lost_outside(const struct reader *reader, enum unweave_loss cause);

/*
 * The next event in time order; `ret` and what it points to stay until the next
 * call. Returns 0, READER_END, or -ENOMEM or -EIO.
 */
int reader_next(struct reader *reader, struct unweave_event *ret, struct diag *diag);
/* Which block the last event came from: within one, frames of equal id are equal chains. */
uint64_t reader_event_block(const struct reader *reader);

/*
 * The next sample, in the order of the file: that of time, but for a few ms
 * where threads met. `ret` and what it points to stay until the next call; its
 * frames, while `block` stays the same. Returns as reader_next().
 */
int reader_next_sample(struct reader *reader, struct sample *ret, struct diag *diag);
/* Starts over with the samples. */
void reader_rewind_samples(struct reader *reader);

/* How samples were taken; NULL if the trace has none. */
const struct meta_sampler *reader_sampler(const struct reader *reader);

/* What a thread was called, once a sample of it was read; "" if unknown. */
const char *reader_tid_name(const struct reader *reader, uint32_t tid);

/* Calls `visit` for each, later ones last. What returns non-zero ends it, and is returned. */
int reader_each_module(const struct reader *reader,
		       int (*visit)(void *data, const struct meta_module *module), void *data);
/* `start`: address where the function begins; 0: unknown. Frames innermost first. */
int reader_each_symbol(const struct reader *reader,
		       int (*visit)(void *data, uint64_t address, uint64_t start,
				    const struct meta_symbol_frame *frames, uint32_t count),
		       void *data);
/* Where the anchors lie in the program; 0: the trace does not say. */
uint64_t reader_anchors(const struct reader *reader);

/* Where the code is that calls them, with them; false: the trace does not say. */
bool reader_dispatch(const struct reader *reader, uint64_t *ret_start, uint64_t *ret_end);

/* The first ticks of the trace's clock that are not before `ns`; false if there are none. */
bool reader_ticks(struct reader *reader, uint64_t ns, uint64_t *ret);

/* Starts over with only the events of [from, to), ns; for filters, without decoding the rest. */
int reader_seek(struct reader *reader, uint64_t from, uint64_t to, struct diag *diag);

#endif /* TRACE_READER_H */
