/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena: the memory that a program and its recorder share, and all that
 * they share. One per process, in a file on tmpfs or a memfd.
 *
 *     control    who this is, what to record, which chunks are free
 *     lines      one per thread: its nest of runs and its two streams
 *     names      sites, appended, never changed
 *     mapped     lines of /proc/self/maps: the code of a program that began for a recorder
 *     ring       samples (arena/ring.h)
 *     pool       chunks of 16 KiB, the raw records
 *     tasks      the task table: a slot for each live task (arena/table.h)
 *     task names the name that a task has of its own, one for each slot
 *
 * A stream is a list of chunks with one writer. Chunks are numbered within
 * their stream; a position is (chunk number, chunk index, word), in one word,
 * so that it moves in one store:
 *
 *     taken                                          at
 *       |--- chunk 7 ---| next  |--- chunk 8 ---| next  |--- chunk 9 --|....|
 *        already taken ^ to take                                       ^ free
 *
 * Who may write what:
 *
 *     chunk words, first, end, next     the thread, while it owns the chunk
 *     chunk owner      0 -> mine, and with overwrite-oldest mine -> mine, by
 *                      compare-and-swap: the thread. Mine -> mine by a store where the
 *                      stream's only chunk starts over: the thread. Mine -> 0: the drain
 *                      that moved `taken` past the chunk, or its successor
 *     stream at, start, attempts        the thread
 *     stream taken     by compare-and-swap: the drain; the thread, to take its oldest chunk
 *                      (overwrite-oldest), or the one it stands in when all of it is taken
 *     stream written   the drain
 *     line state       FREE -> LIVE by compare-and-swap: a thread; LIVE -> EXITED, or FREE if
 *                      it never emitted: that thread; EXITED -> FREE: the drain
 *     config, session  the drain
 *     sampler          as arena/ring.h says
 *
 * Which fence pairs with which:
 *
 *     A  `at` release (words before the position that shows them)
 *        - `at` acquire in the drain.
 *     B  `next` release (the new chunk's header, the old one's `end`)
 *        - `next` acquire in the drain.
 *     C  `owner` = 0 release (the drain's reads are done)
 *        - `owner` compare-and-swap acquire in the thread: its stores come after.
 *        The hint is set after `owner` = 0, and cleared, with acquire, before the swap.
 *     D  `taken` compare-and-swap: with overwrite-oldest, thread and drain both want the
 *        oldest chunk; who moves `taken` has it. The drain copies words first and moves
 *        `taken` after (acquire fence between): if that fails, the copy is thrown away.
 *        The thread moves `taken` first and stores after (release fence between); where
 *        the chunk starts over in place, `at`, the header, then `owner` with release
 *        - `taken` and `owner` acquire in the drain, before it looks at `at`.
 *     E  `gate` release (keywords, policy, pool before the revision that shows them)
 *        - `gate` acquire in a thread that sees a new revision.
 *     F  line state EXITED release (the last record) - acquire in the drain.
 *
 * G and H are in arena/ring.h. tests/model/handoff.pml checks this. The drain believes nothing it
 * reads here: every index is bounded before use, and words are copied out before they are decoded.
 */
#ifndef ARENA_ARENA_H
#define ARENA_ARENA_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "unweave.h"

#define ARENA_MAGIC UINT64_C(0x616e657261767775) /* "uwvarena" */
#define ARENA_LAYOUT 6u

#define ARENA_CHUNK_BYTES 16384u
#define ARENA_CHUNK_WORDS 2040u /* after the header of eight words */
#define ARENA_CHUNKS_MAX 32768u /* 512 MiB */
#define ARENA_LINES 1024u
#define ARENA_NAME_WORDS 3u /* of a thread's name */
#define ARENA_NAMES_BYTES (512u << 10)
#define ARENA_MAPPED_BYTES (32u << 10)
#define ARENA_RING_WORDS (512u << 10) /* 4 MiB */
#define ARENA_POOL_DEFAULT (8u << 20)
#define ARENA_POOL_LIMIT (16u << 20) /* most that a session may ask for, unless set otherwise */

enum arena_mode {
	ARENA_MODE_OFF = UNWEAVE_PRIV_MODE_OFF,
	ARENA_MODE_SAMPLES = UNWEAVE_PRIV_MODE_SAMPLES,
	ARENA_MODE_EVENTS,
	ARENA_MODE_UNBORN, /* there is no arena yet: the next hook makes one */
};

enum arena_clock {
	ARENA_CLOCK_TSC = 1, /* rdtsc >> 4 */
	ARENA_CLOCK_CNTVCT,  /* cntvct_el0 */
	ARENA_CLOCK_RAW,     /* clock_gettime(CLOCK_MONOTONIC_RAW) in ns */
};

enum arena_place {
	ARENA_PLACE_FILE = 1, /* in the per-user directory */
	ARENA_PLACE_MEMFD,    /* found through /proc/PID */
	ARENA_PLACE_PRIVATE,  /* anonymous: only the program itself can record */
};

/* The program's part is over; the arena stays until it is drained. */
enum arena_life { ARENA_LIVING, ARENA_EXITED, ARENA_REPLACED /* by exec */ };

struct arena_chunk {
	alignas(64) _Atomic uint64_t owner; /* chunk_owner(): 0 is free */
	_Atomic uint64_t first;             /* number of its first record within the stream */
	_Atomic uint64_t next;              /* position of the following chunk; 0: not full yet */
	_Atomic uint64_t end;               /* words used, once `next` is set */
	uint64_t unused[4];
	uint64_t words[ARENA_CHUNK_WORDS];
};

struct arena_stream {
	_Atomic uint64_t at;       /* address, in the program, of the next free word; 0: none */
	_Atomic uint64_t start;    /* position of the stream's first chunk; 0: none yet */
	_Atomic uint64_t attempts; /* records tried, as of the last loss or the thread's end */
	_Atomic uint64_t taken;    /* position up to which a drain has taken; 0: not begun */
	_Atomic uint64_t written;  /* number of the first record that is not in a file yet */
};

enum arena_line_state { ARENA_LINE_FREE, ARENA_LINE_LIVE, ARENA_LINE_EXITED };

/* ARENA_STREAM_ASIDE takes what a signal handler emits while its thread is in a hook. */
enum { ARENA_STREAM_MAIN, ARENA_STREAM_ASIDE, ARENA_STREAMS };

struct arena_line {
	alignas(64) _Atomic uint32_t state; /* enum arena_line_state */
	_Atomic uint32_t tid;
	_Atomic uint32_t serial; /* number of the thread within the process, from 1 */
	uint32_t unused_too;
	_Atomic uint64_t revision; /* that its nest is of: another one says nothing any more */
	_Atomic uint64_t name[ARENA_NAME_WORDS]; /* as of its first event; words, since a drain may
						    be late */
	alignas(64) struct arena_stream streams[ARENA_STREAMS];
	alignas(64) struct unweave_priv_nest nest;
	uint64_t unused[5];
};

/* Read by every hook, written at each change of a session. A line of its own. */
struct arena_config {
	alignas(64) struct unweave_priv_config hot; /* gate: revision << 8 | enum arena_mode */
	_Atomic uint64_t keywords;
	_Atomic uint64_t off_revision; /* the last one that was off: nests from before are stale */
	_Atomic uint32_t policy;       /* enum unweave_policy */
	_Atomic uint32_t chunks;       /* of the pool that are backed by memory */
	_Atomic uint64_t heartbeat;    /* CLOCK_MONOTONIC ns of the drain's last pass */
	/*
	 * What was told of chains counts while this stays. A drain changes it with each revision,
	 * a thread after it lost records, or overwrote some.
	 */
	_Atomic uint32_t epoch;
};

/* Who records. A lock on the arena's file says whether it is alive. */
struct arena_session {
	alignas(64) _Atomic uint32_t pid; /* 0: nobody, and the last one left in good order */
	_Atomic uint32_t unused;
	/* The block being written, for whoever comes after a recorder that died. */
	_Atomic uint64_t pending_end;    /* size of its file once it is there; 0: none pending */
	_Atomic uint64_t pending_stream; /* line * ARENA_STREAMS + stream */
	_Atomic uint64_t pending_number; /* becomes `written` of that stream */
	char path[256];                  /* its file, absolute; empty if there is none */
	/* What closed files have counted of the program's two numbers of the same name. */
	_Atomic uint64_t orphans_told;
	_Atomic uint64_t reentries_told;
	_Atomic uint64_t begun; /* ticks: states of tasks from before are old; 0: none are */
};

#define ARENA_TIMERS 16u /* orders that may wait at a time */
/* An order is a thread, and in the bits above: 0, this, or an errno if it was refused. */
#define ARENA_TIMER_BEGUN 0xffu /* a thread of the program is at it */
#define ARENA_TIMER_SHIFT 24u
#define ARENA_TIMER_THREAD 0xffffffu
#define ARENA_TIMER_END 0x800000u  /* | thread, which is less: its timer is to end */
#define ARENA_TIMER_NONE 0xffffffu /* for a thread that cannot be: it shows who takes orders */

/* Samples: who takes them, and how. The ring itself is elsewhere. */
struct arena_sampler {
	alignas(64) _Atomic uint64_t head; /* writers: words ever taken */
	_Atomic uint64_t lost;             /* samples that found no room */
	_Atomic uint32_t signal;           /* that the program handles for us; 0: none */
	_Atomic uint32_t refused;          /* enum arena_refusal: why it is none */
	alignas(64) _Atomic uint64_t tail; /* the recorder, as the following */
	_Atomic uint32_t on;               /* enum arena_sampling */
	_Atomic uint32_t session;          /* counts them: a timer of an earlier one ends itself */
	_Atomic uint64_t period_ns;        /* of timers */
	_Atomic uint64_t taking; /* end of the record that is being taken; <= `tail`: none is */
	/*
	 * Threads that are to have a timer; 0: none. Signals of one number do not
	 * queue up, so an order stays here until some thread that gets one carries it
	 * out, and one that is refused until the recorder has seen that. Each step but
	 * the recorder's is a compare-and-swap: an order may be of a later session by then.
	 */
	_Atomic uint32_t timers[ARENA_TIMERS];
};

enum arena_sampling {
	ARENA_SAMPLING_OFF,
	ARENA_SAMPLING_CLOCKS, /* of each thread: timers, perf events */
	ARENA_SAMPLING_ASKED,  /* the recorder asks for each sample */
};

enum arena_refusal {
	ARENA_SIGNAL_OURS,
	ARENA_SIGNAL_TAKEN,    /* the program has a handler of its own */
	ARENA_SIGNAL_UNWANTED, /* by UNWEAVE_SIGNAL */
};

struct arena_control {
	/* Set before `magic`, which is stored last, and never changed after. */
	_Atomic uint64_t magic;
	uint32_t layout;
	uint32_t place;    /* enum arena_place */
	uint64_t bytes;    /* of the file: all that follows lies within */
	uint64_t lines_at; /* offsets from the start of the arena */
	uint64_t names_at;
	uint64_t pool_at;
	uint32_t lines;
	uint32_t chunks_max;
	uint64_t pool_address; /* where the pool is mapped in the program */
	uint32_t pid;
	uint32_t uid;
	uint64_t pid_namespace; /* inode */
	uint64_t started;       /* boot-clock ticks, field 22 of /proc/PID/stat */
	uint32_t clock;         /* enum arena_clock */
	uint32_t tasks_max;     /* slots of the task table; 0: there is none */
	uint64_t tasks_at;      /* after the pool */
	uint64_t task_names_at;
	uint64_t anchors;      /* address of the first of them, in the program */
	uint64_t dispatch;     /* begin and end of the code that calls them, with them */
	uint64_t dispatch_end; /* 0: unknown */
	uint32_t mapped_bytes; /* of the lines that say what is mapped; 0: none do */
	uint32_t unused;
	uint64_t first_generation; /* of the ids of tasks: a child of fork() goes on from there */
	char program[256];         /* path of the executable */
	char note[192];            /* why it is not where it should be; empty if it is */

	struct arena_config config;
	struct arena_session session;

	/* Written by the program's threads. */
	alignas(64) _Atomic uint32_t life; /* enum arena_life */
	_Atomic uint32_t armed; /* it began to record for a recorder that is to come: its pid */
	_Atomic uint32_t lines_used; /* lines ever used; those beyond were never */
	_Atomic uint32_t next_serial;
	_Atomic uint32_t muted;      /* hooks called by a listener, which do nothing */
	_Atomic uint64_t orphans;    /* events of threads without a line */
	_Atomic uint64_t reentries;  /* events of handlers while both streams were busy */
	_Atomic uint32_t names_used; /* bytes given away */
	_Atomic uint32_t names_lost; /* sites that found no room */
	_Atomic uint32_t next_site;
	_Atomic uint64_t tasks_lost; /* tasks that got no slot */

	/* Of the task table: a line of their own, since threads that create tasks share them. */
	alignas(64) _Atomic uint64_t tasks_free; /* first of a list of batches | tag << 32 */
	_Atomic uint32_t tasks_ready;            /* slots that have memory */

	struct arena_sampler sampler;

	/* A set bit: the chunk may be free. Its owner word decides. */
	alignas(64) _Atomic uint64_t hints[ARENA_CHUNKS_MAX / 64];
};

/* A site: this, then its name, kind, function and file, each ended by a NUL. Padded to 8 bytes. */
struct arena_site {
	_Atomic uint32_t bytes; /* all of it; stored last, with release; 0: not there yet */
	uint32_t id;
	uint32_t line;
	uint32_t flags; /* UNWEAVE_SITE_* */
	/* Of callbacks: */
	uint64_t code;  /* address of the callback; 0: the site is not one of callbacks */
	uint64_t place; /* address that its arming returned to; 0: unknown */
	uint32_t under; /* site of the task that armed it; 0: none */
	uint32_t unused;
};

#define ARENA_CONTROL_BYTES 16384u
#define ARENA_LINES_AT ARENA_CONTROL_BYTES
#define ARENA_NAMES_AT (ARENA_LINES_AT + ARENA_LINES * (uint32_t)sizeof(struct arena_line))
#define ARENA_MAPPED_AT (ARENA_NAMES_AT + ARENA_NAMES_BYTES)
#define ARENA_RING_AT (ARENA_MAPPED_AT + ARENA_MAPPED_BYTES)
#define ARENA_POOL_AT (ARENA_RING_AT + ARENA_RING_WORDS * 8)

_Static_assert(sizeof(struct arena_chunk) == ARENA_CHUNK_BYTES, "a chunk is 16 KiB");
_Static_assert(sizeof(struct arena_line) == 1024, "lines are read by other builds");
_Static_assert(sizeof(struct arena_control) <= ARENA_CONTROL_BYTES, "control fits its pages");
_Static_assert(ARENA_POOL_AT % 4096 == 0, "the pool is mapped on its own");

/* A position in a stream: chunk number 32 | chunk index 16 | word 16. Never 0: numbers start at 1.
 */
static inline uint64_t position_make(uint32_t number, uint32_t chunk, uint32_t word)
{
	return (uint64_t)number << 32 | (uint64_t)chunk << 16 | word;
}

static inline uint32_t position_number(uint64_t position)
{
	return position >> 32;
}

static inline uint32_t position_chunk(uint64_t position)
{
	return position >> 16 & 0xffff;
}

static inline uint32_t position_word(uint64_t position)
{
	return position & 0xffff;
}

/* Who has a chunk: number 32 | line 16 | stream + 1. Never 0. */
static inline uint64_t chunk_owner(uint32_t number, uint32_t line, uint32_t stream)
{
	return (uint64_t)number << 32 | (uint64_t)line << 16 | (stream + 1);
}

static inline struct arena_line *arena_lines(struct arena_control *control)
{
	return (struct arena_line *)((char *)control + ARENA_LINES_AT);
}

static inline char *arena_names(struct arena_control *control)
{
	return (char *)control + ARENA_NAMES_AT;
}

static inline char *arena_mapped(struct arena_control *control)
{
	return (char *)control + ARENA_MAPPED_AT;
}

/*
 * Gives memory to a part of the arena in the process that asks, so that no store
 * there can meet a full tmpfs. Fails with EINVAL on kernels before 5.14.
 */
static inline int arena_populate(void *start, size_t bytes)
{
#ifndef MADV_POPULATE_WRITE /* missing from the headers of Debian 12 */
#define MADV_POPULATE_WRITE 23
#endif
	return madvise(start, bytes, MADV_POPULATE_WRITE);
}

/* Says that a chunk may be free. */
static inline void chunk_hint(struct arena_control *control, uint32_t chunk)
{
	atomic_fetch_or_explicit(&control->hints[chunk / 64], UINT64_C(1) << (chunk % 64),
				 memory_order_release);
}

/* Says that a chunk is free, after its last word was read. Pairs with C. */
static inline void chunk_release(struct arena_control *control, struct arena_chunk *pool,
				 uint32_t chunk)
{
	atomic_store_explicit(&pool[chunk].owner, 0, memory_order_release);
	chunk_hint(control, chunk);
}

#endif /* ARENA_ARENA_H */
