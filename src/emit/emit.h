/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emitter's own state, and the few steps that every hook is made of.
 *
 * A hook runs like this: compare the thread's gate with the config's (the slow
 * way if they differ), close the gate, store a record, publish it, change the
 * nest, open the gate. A signal handler that calls a hook in between finds the
 * gate closed and writes to the thread's other stream.
 */
#ifndef EMIT_EMIT_H
#define EMIT_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena/arena.h"
#include "arena/clock.h"
#include "arena/record.h"
#include "arena/table.h"
#include "emit/frames.h"
#include "unweave.h"

#define emit_likely(condition) __builtin_expect(!!(condition), 1)
#define emit_unlikely(condition) __builtin_expect(!!(condition), 0)

/* The gate of a new arena's config. */
#define EMIT_FIRST_GATE(mode) (UINT64_C(1) << 8 | (mode))
#define EMIT_COLD __attribute__((noinline, cold))

/* The writing end of a stream. */
struct emit_stream {
	struct arena_stream *shared;
	uint64_t *end;             /* of the current chunk; NULL before the first */
	uint64_t tried;            /* records, written or lost: numbers the next one */
	struct arena_chunk *chunk; /* the current one */
	uint32_t number;           /* its number within the stream */
	uint16_t index;            /* enum: ARENA_STREAM_* */
	bool losing;               /* the record before this one found no room */
};

/* A thread. In memory of the process alone, which a child of fork() finds zeroed. */
struct emit_thread {
	alignas(128) struct unweave_priv_thread hot;
	uint64_t quick;           /* the gate with which hooks may go the quick way; 0: none */
	uint64_t quick_always;    /* the same, also right after a run was left */
	uint64_t quick_stacks;    /* the same with the stacks of suspensions */
	struct arena_task *tasks; /* the task table; a single slot of nobody's if there is none */
	uint64_t spare;           /* the id in the slot that was freed last; 0: see `free` */
	uint32_t ready;           /* slots of it that the thread knows to have memory */
	uint32_t free;            /* first of its other free slots; 0: none */
	uint32_t frees;           /* how many they are */
	uint64_t left;            /* the task whose run it left without a stamp; 0: none */
	struct emit_stream main;
	uint64_t left_since; /* when that run had begun */
	uint64_t keywords;
	struct emit_stream aside;
	struct arena_line *line;
	uint64_t revision;       /* that it has adopted */
	uint64_t aside_revision; /* of the last reset in its other stream */
	uint32_t policy;         /* enum unweave_policy */
	uint32_t index;          /* of its line */
	bool compact; /* resumes and ends are both recorded: an end need not say of what */
	bool aside_busy;
	bool seen_before; /* it has emitted a reset already */
	bool stamped;     /* its runs have stamps: events are recorded */
};

/* The process. Set once, when the arena is made; zero before. */
struct emit_process {
	struct arena_control *control; /* NULL: there is no arena */
	struct arena_chunk *pool;
	struct emit_thread *threads; /* one for each line */
	struct arena_task *tasks;    /* the task table, as in struct emit_thread */
	_Atomic uint64_t *task_names;
	bool tasks_reserved; /* all of the table has memory, or needs none to be asked for */
	uint64_t *alive;     /* nonzero; zeroed in a child of fork() */
	enum arena_clock clock;
};
extern struct emit_process emit_process;

/* Stands in for a thread that has not called a hook yet. Its gate stays closed. */
extern struct emit_thread emit_nobody;
/* Stands in for the thread that drains this very process: its hooks do nothing. */
extern struct emit_thread emit_muted;

/* An event on its way: what the slow ways need to know. */
struct emit_request {
	uint8_t kind;           /* enum record_kind; an end that is not innermost changes it */
	uint8_t fields;         /* of `field`, that follow the task */
	bool with_task;         /* whether the task is part of the record */
	uint64_t keyword;       /* that selects it; 0: always */
	uint64_t stack_keyword; /* that selects its stack */
	uint64_t task;
	uint64_t field[2];
	const struct emit_frames *frames; /* or NULL */
	const char *text;                 /* NAME only: field[0] bytes */
};

static inline struct emit_thread *emit_self(void)
{
	return (struct emit_thread *)unweave_priv_self;
}

static inline bool emit_wants(const struct emit_thread *self, uint64_t task, uint64_t keyword)
{
	return self->keywords >> ((task & 1) * 32) & keyword;
}

static inline uint64_t *emit_at(const struct emit_stream *stream)
{
	return (uint64_t *)(uintptr_t)atomic_load_explicit(&stream->shared->at,
							   memory_order_relaxed);
}

/* Where the next `words` words go; NULL if the chunk has no room for them. Gate closed. */
static inline uint64_t *emit_room(const struct emit_stream *stream, size_t words)
{
	uint64_t *at = emit_at(stream);

	return emit_likely((size_t)(stream->end - at) >= words) ? at : NULL;
}

/* Relaxed: with overwrite-oldest a drain may be reading, and throws away what it read. */
static inline void emit_store(uint64_t *to, uint64_t word)
{
	__atomic_store_n(to, word, __ATOMIC_RELAXED);
}

static inline void emit_stamp(uint64_t *to, unsigned kind)
{
	emit_store(to, record_first_word(kind, clock_ticks(emit_process.clock)));
}

/* Shows all words before `end` to the drain. Pairs with A. */
static inline void emit_publish(struct emit_stream *stream, uint64_t *end)
{
	stream->tried++;
	atomic_store_explicit(&stream->shared->at, (uint64_t)(uintptr_t)end, memory_order_release);
}

/* The task that runs here; 0 if none does, or if it is too deep to be named. */
static inline uint64_t emit_innermost(const struct unweave_priv_nest *nest)
{
	unsigned depth = 0;

	if (emit_likely(!nest->tasks[1]))
		return nest->tasks[0];
	if (emit_unlikely(nest->beyond))
		return 0;
	while (nest->tasks[depth])
		depth++;
	return depth ? nest->tasks[depth - 1] : 0;
}

/*
 * Makes the arena, once, or finds out why there can be none. Returns whether
 * there is one; a thread that comes while another makes it goes on without.
 */
bool emit_birth(void);
/* The same for who must know: waits until the other thread is done. Not for hooks. */
bool emit_await_birth(void);
/* Whether nobody has asked for one here yet, as in a child; so there are no tasks, either. */
bool emit_is_unborn(void);

/* Tells the arena of adapters that were there before it; and has the next one told anew. */
void emit_adapters_tell(void);
void emit_adapters_forget(void);
/* Whether the code at an address calls callbacks and arms none: it is no place. */
bool emit_only_calls(const void *place);

/* Counts an event of a thread that has no line. */
void emit_orphan(void);

/* Forgets the parent's arena. In a child of fork(). */
void emit_child(void);

/* Has emit_thread_exit() called when the thread ends. */
void emit_call_at_exit(struct emit_thread *self);
void emit_thread_exit(void *self);

/* Gives the calling thread a line and a place in emit_process.threads; NULL if there is none. */
struct emit_thread *emit_register(void);

/* Brings the thread up to date with the config: gate closed; returns the gate to open with. */
uint64_t emit_adopt(struct emit_thread *self);

/*
 * Tells the task table where the chain of a live task is: the address of a
 * struct unweave_head, or 0. [hot]
 */
void emit_task_head(uint64_t task, uint64_t address);
/* Whether the task had a slot, and has completed. */
bool emit_task_is_over(uint64_t task);

/* Gives `site` its id, and its text to the arena; 0 if there is no room left. */
uint32_t emit_site(struct unweave_site *site);
struct unweave_priv_way;
/* The same for one of callbacks, which nobody else can see yet. */
void emit_site_of_callbacks(struct unweave_site *site, const struct unweave_priv_way *way);

/*
 * Goes on in a new chunk, by the session's policy, and repeats the thread's
 * nest there if something is missing before it. There is room for any record
 * then; NULL if there is none. Gate closed.
 */
uint64_t *emit_turn(struct emit_thread *self, struct emit_stream *stream);

/* Counts a record that found no room. */
void emit_count_loss(struct emit_stream *stream);

/* A reset because the session changed, unless there is no room: then the next chunk has one. */
void emit_start_over(struct emit_thread *self, struct emit_stream *stream, enum unweave_reset why);

/* A reset, and a replay of each run that the thread is inside of. There must be room. */
void emit_reset(struct emit_thread *self, struct emit_stream *stream, enum unweave_reset why);
/* Words that emit_reset() may need. */
#define EMIT_RESET_WORDS (2 + 2 * UNWEAVE_PRIV_NEST)
_Static_assert(EMIT_RESET_WORDS + RECORD_WORDS_MAX <= ARENA_CHUNK_WORDS,
	       "emit_turn() keeps its word");

/* The slow way of every hook. */
void emit_slowly(const struct emit_request *request);

/* A suspension with what is new in the chain; `kind` is RECORD_SUSPEND or RECORD_LEAVE. */
void emit_suspend_head(struct emit_thread *self, uint64_t gate, unsigned kind,
		       struct unweave_head *head);

/* The same for a new task; returns its id. `frames` may be NULL. */
uint64_t emit_new_slowly(struct unweave_site *site, enum unweave_model model, uint64_t parent,
			 const struct emit_frames *frames);

/* A new task that runs at once, at the cost of one event. 0: this is not the usual case. */
uint64_t emit_new_running(struct emit_thread *self, uint64_t gate, uint32_t site, uint64_t parent);

/* Brings the calling thread up to date with the config, unless it is inside a hook. */
void emit_refresh(void);

/* The epoch that chains are told in; never 0, which is what a new head says. */
static inline uint32_t emit_epoch(void)
{
	const struct arena_control *control = emit_process.control;

	/* Where there is no arena, the hooks will find that out. */
	return control ? 1 + atomic_load_explicit(&control->config.epoch, memory_order_relaxed) : 1;
}

#endif /* EMIT_EMIT_H */
