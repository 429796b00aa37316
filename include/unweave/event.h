/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened, decoded: the same struct for an in-process listener and for
 * a reader of a trace file.
 *
 * An event belongs to the thread that emitted it. RESUME pushes its task on
 * that thread's nest of runs; SUSPEND and COMPLETE take it off again.
 */
#ifndef UNWEAVE_EVENT_H
#define UNWEAVE_EVENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum unweave_event_kind {
	UNWEAVE_EVENT_CREATE = 1,   /* task, other: its parent, value: site, stack */
	UNWEAVE_EVENT_RESUME,       /* task, stack: its chain as far as it is known */
	UNWEAVE_EVENT_SUSPEND,      /* task, stack */
	UNWEAVE_EVENT_COMPLETE,     /* task, value: enum unweave_status */
	UNWEAVE_EVENT_WAKE,         /* task, other: who woke it, value: enum unweave_source */
	UNWEAVE_EVENT_FRAME_RESUME, /* task: the one that runs; not for its first: that is RESUME */
	UNWEAVE_EVENT_FRAME_COMPLETE, /* task: the one that runs */
	UNWEAVE_EVENT_UNWIND,         /* task: the one that runs, value: frames << 1 | handled */
	UNWEAVE_EVENT_APPEND,         /* task, stack: its chain, which grew; other: who awaits it */
	UNWEAVE_EVENT_NAME,           /* task, text */
	UNWEAVE_EVENT_IDLE,           /* the thread waits for something to do, task: in that loop */
	UNWEAVE_EVENT_ANCHOR_RESET,   /* task: the one that runs */
	UNWEAVE_EVENT_RESET,          /* value: enum unweave_reset; the nest starts over, empty */
	UNWEAVE_EVENT_REPLAY,         /* task, stack: it was resumed earlier and still runs here */
	UNWEAVE_EVENT_LOST,           /* value: events missing here, other: enum unweave_loss */
	UNWEAVE_EVENT_AWAIT,          /* task, other: who awaits it too, stack: the chain of that */
	UNWEAVE_EVENT_TASK, /* task: was there before, other: its parent, value: site, stack */
	UNWEAVE_EVENT_WOKE, /* there is something to do, task: in that loop; 0: a loop was left */
	UNWEAVE_EVENT_DUE,  /* value: ns since what is resumed next on this thread was due */
};

/* How a task ended. */
enum unweave_status { UNWEAVE_OK, UNWEAVE_ERROR, UNWEAVE_CANCELLED };

/* What made a task runnable. */
enum unweave_source {
	UNWEAVE_SOURCE_TASK, /* the task that runs on the waking thread, or that thread itself */
	UNWEAVE_SOURCE_TIMER,
	UNWEAVE_SOURCE_IO,
	UNWEAVE_SOURCE_SIGNAL,
	UNWEAVE_SOURCE_OTHER,
};

/* Why a thread's nest starts over. */
enum unweave_reset {
	UNWEAVE_RESET_START,  /* the thread's first event */
	UNWEAVE_RESET_CONFIG, /* a session began, or changed what it records */
	UNWEAVE_RESET_LOSS,   /* events before this one were lost */
	UNWEAVE_RESET_CHUNK,  /* none: overwrite-oldest repeats the nest at each chunk */
};

/* Where events went that are not in the trace. */
enum unweave_loss {
	UNWEAVE_LOSS_FULL,      /* the buffers were full (drop-newest), or reused (overwrite) */
	UNWEAVE_LOSS_RECORDER,  /* an earlier recorder took them and died before writing them */
	UNWEAVE_LOSS_NO_THREAD, /* their thread could not be registered, or had ended */
	UNWEAVE_LOSS_REENTRY,   /* a signal handler interrupted a handler that was emitting */
	UNWEAVE_LOSS_DISK,      /* they could not be written: the disk was full, or failed */
	UNWEAVE_LOSS_DAMAGE,    /* the file or the arena is damaged here */
};

/*
 * A chain, innermost frame first, linked by who awaits: `awaiter` is NULL at
 * the root. Frames are shared between chains and never change.
 */
struct unweave_frame {
	const struct unweave_frame *awaiter;
	uint64_t address; /* code address in the program; for an omission, how many are left out */
	int32_t state;    /* a state machine's state; 0 where there is none; or a line, see below */
	uint32_t depth;   /* frames from here to the root, this one included, omissions as one */
	uint32_t kind;    /* enum unweave_frame_kind */
	uint32_t id;      /* the same for equal chains in one block of a trace; 1 and up */
};

enum unweave_frame_kind {
	UNWEAVE_FRAME_CODE,
	UNWEAVE_FRAME_OMITTED, /* `address` frames are left out here; 0: nobody knows how many */
};

/*
 * In a state: the function is a coroutine, and the rest of the number is the line where
 * it waits, in the source file of the function; 0: not known, or it runs.
 */
#define UNWEAVE_STATE_LINE 0x40000000
#define UNWEAVE_STATE_IS_LINE(state) ((state) >= UNWEAVE_STATE_LINE) /* others are less, or < 0 */

struct unweave_event {
	uint64_t time;                     /* ns, CLOCK_MONOTONIC_RAW */
	uint64_t task;                     /* 0: unknown or none */
	uint64_t other;                    /* by kind, above */
	uint64_t value;                    /* by kind, above */
	const struct unweave_frame *stack; /* NULL: unknown or none; borrowed for the call */
	const char *text;                  /* NAME only; borrowed for the call */
	uint32_t thread;                   /* number of the thread within the trace, from 1 */
	uint16_t kind;                     /* enum unweave_event_kind */
	uint16_t flags;                    /* UNWEAVE_EVENT_* flags below */
};

/* Emitted by a signal handler while its thread was inside a hook: stands outside the nest. */
#define UNWEAVE_EVENT_ASIDE 1u
/* The time is that of the thread's last event: the true one was never recorded. */
#define UNWEAVE_EVENT_TIME_UNKNOWN 2u
/* Of an APPEND: somebody awaited the task after it had completed. */
#define UNWEAVE_EVENT_LATE 4u
/* Of a TASK, or a NAME: so it was when the session began, and no thread said it just now. */
#define UNWEAVE_EVENT_BEFORE 8u

#ifdef __cplusplus
}
#endif

#endif /* UNWEAVE_EVENT_H */
