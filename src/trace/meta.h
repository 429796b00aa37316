/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks that say what the events mean, as structs, both ways. */
#ifndef TRACE_META_H
#define TRACE_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"
#include "util/wire.h"

/* SESSION. Strings are borrowed: by meta_*_encode from the caller, by decode from the payload. */
struct meta_text {
	const char *bytes;
	size_t length;
};

struct meta_session {
	uint64_t pid;
	uint64_t realtime;    /* ns since 1970 when the session began */
	uint64_t clock;       /* 1 TSC >> 4, 2 cntvct_el0, 3 ns of CLOCK_MONOTONIC_RAW */
	uint64_t ticks_per_s; /* measured when the session began; CLOCK blocks are better */
	uint64_t keywords;
	uint64_t policy;          /* enum unweave_policy */
	uint64_t detail;          /* enum unweave_detail */
	struct meta_text version; /* of the unweave that wrote the file */
	struct meta_text program; /* path of the executable */
	struct meta_text machine; /* "x86_64", "aarch64" */
};

/* CLOCK: one moment on three clocks. */
struct meta_clock {
	uint64_t ticks;
	uint64_t raw;      /* CLOCK_MONOTONIC_RAW, ns */
	uint64_t realtime; /* CLOCK_REALTIME, ns */
};

/* One of a THREADS block. */
struct meta_thread {
	uint64_t thread; /* its number within the trace */
	uint64_t tid;
	uint64_t ended; /* 1: it has */
	struct meta_text name;
};

/* One of a SITES block: this, then the kind of each, a text, then what each is of callbacks. */
struct meta_site {
	uint64_t id;
	uint64_t line;
	struct meta_text name;
	struct meta_text function;
	struct meta_text file;
	/* Apart: */
	struct meta_text kind;
	uint64_t flags; /* UNWEAVE_SITE_* in unweave/callback.h */
	uint64_t code;  /* of callbacks: their address; 0: it is not a site of callbacks */
	uint64_t place; /* address that their arming returned to; 0: unknown */
	uint64_t under; /* site of the task that armed them; 0: none */
};

/* One of an ADAPTERS block: one that was wanted when the program was started. */
struct meta_adapter {
	struct meta_text name; /* of the library that it is for */
	uint64_t fate;         /* enum meta_fate */
	struct meta_text why;  /* if it could not be: a sentence */
};

enum meta_fate { META_FATE_LOADED = 1, META_FATE_IMPOSSIBLE, META_FATE_FORBIDDEN };

/* One of a WAITS block: what a task waited for when the recording ended. */
struct meta_wait {
	uint64_t task;
	uint64_t kind; /* enum unweave_wait */
	uint64_t on;   /* which one */
};

#define META_WAIT_BYTES 30u /* at most */

/* END: one per stream, then the losses that belong to no stream. */
struct meta_stream_end {
	uint64_t thread;
	uint64_t aside;
	uint64_t number; /* the number that its next record would have had */
};

struct meta_loss {
	uint64_t cause; /* enum unweave_loss */
	uint64_t events;
};

/* Each appends one struct's fields; lists are a count, then that many. -ENOMEM. */
int meta_session_encode(struct buffer *to, const struct meta_session *session);
int meta_clock_encode(struct buffer *to, const struct meta_clock *clock);
int meta_thread_encode(struct buffer *to, const struct meta_thread *thread);
int meta_site_encode(struct buffer *to, const struct meta_site *site);
int meta_text_encode(struct buffer *to, struct meta_text text);
int meta_callback_encode(struct buffer *to, const struct meta_site *site);
int meta_adapter_encode(struct buffer *to, const struct meta_adapter *adapter);
int meta_wait_encode(struct buffer *to, const struct meta_wait *wait);
int meta_stream_end_encode(struct buffer *to, const struct meta_stream_end *end);
int meta_loss_encode(struct buffer *to, const struct meta_loss *loss);

/* Each reads one struct; `from->bad` says whether it was whole. */
void meta_session_decode(struct wire *from, struct meta_session *ret);
void meta_clock_decode(struct wire *from, struct meta_clock *ret);
void meta_thread_decode(struct wire *from, struct meta_thread *ret);
void meta_site_decode(struct wire *from, struct meta_site *ret);
void meta_text_decode(struct wire *from, struct meta_text *ret);
void meta_callback_decode(struct wire *from, struct meta_site *ret);
void meta_adapter_decode(struct wire *from, struct meta_adapter *ret);
void meta_wait_decode(struct wire *from, struct meta_wait *ret);
void meta_stream_end_decode(struct wire *from, struct meta_stream_end *ret);
void meta_loss_decode(struct wire *from, struct meta_loss *ret);

#endif /* TRACE_META_H */
