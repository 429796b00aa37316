/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unweave: says, from inside a program, what its async tasks are doing.
 *
 * A runtime calls the hooks below where its tasks start, stop and wake. They
 * write into memory that is shared with whoever records; nothing is written,
 * and next to nothing spent, while nobody does.
 *
 * Calls marked [hot] may be made from any thread, at any rate, also from a
 * signal handler. They take no lock, allocate nothing, leave errno alone and
 * cannot fail: an event that finds no room is counted, and the count reaches
 * the trace. They block only if a session asked for it (UNWEAVE_POLICY_BLOCK).
 * The other calls return 0 or a negative errno.
 *
 * A child of fork() starts without a session and without its parent's tasks.
 */
#ifndef UNWEAVE_H
#define UNWEAVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unweave/event.h"

#define UNWEAVE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* How a task's chain comes about; see docs/design.md. */
enum unweave_model {
	UNWEAVE_MODEL_CHAIN,   /* final before it is scheduled, run by a dispatch loop */
	UNWEAVE_MODEL_MACHINE, /* state machines, linked while they run */
};

/*
 * What is recorded: one bit an event in the low half for the chain model, the
 * same bits << 32 for the state-machine model. The bit of a stack asks for the
 * event that carries it too. Resets, anchor resets and losses are always recorded.
 */
#define UNWEAVE_KEYWORD_CREATE UINT64_C(0x0001)
#define UNWEAVE_KEYWORD_RESUME UINT64_C(0x0002)
#define UNWEAVE_KEYWORD_SUSPEND UINT64_C(0x0004)
#define UNWEAVE_KEYWORD_COMPLETE UINT64_C(0x0008)
#define UNWEAVE_KEYWORD_WAKE UINT64_C(0x0010)
#define UNWEAVE_KEYWORD_NAME UINT64_C(0x0020)
#define UNWEAVE_KEYWORD_IDLE UINT64_C(0x0040) /* the low half alone counts */
#define UNWEAVE_KEYWORD_CREATE_STACK UINT64_C(0x0100)
#define UNWEAVE_KEYWORD_RESUME_STACK UINT64_C(0x0200)
#define UNWEAVE_KEYWORD_SUSPEND_STACK UINT64_C(0x0400)
#define UNWEAVE_KEYWORD_APPEND UINT64_C(0x0800)
#define UNWEAVE_KEYWORD_FRAME_RESUME UINT64_C(0x1000)
#define UNWEAVE_KEYWORD_FRAME_COMPLETE UINT64_C(0x2000)
#define UNWEAVE_KEYWORD_UNWIND UINT64_C(0x4000)

#define UNWEAVE_KEYWORDS_BOTH(bits) ((bits) | (bits) << 32)
#define UNWEAVE_KEYWORDS_TASKS UNWEAVE_KEYWORDS_BOTH(UINT64_C(0x007f))
#define UNWEAVE_KEYWORDS_FULL UNWEAVE_KEYWORDS_BOTH(UINT64_C(0x7f7f))

/* How much is recorded; each is a set of keywords. */
enum unweave_detail {
	UNWEAVE_DETAIL_DEFAULT, /* full */
	UNWEAVE_DETAIL_SAMPLES, /* no events; a thread's running task is kept in reach */
	UNWEAVE_DETAIL_TASKS,   /* lifecycle and wakes */
	UNWEAVE_DETAIL_FULL,    /* with stacks and frames */
};

/* What happens to an event when every buffer is full. */
enum unweave_policy {
	UNWEAVE_POLICY_DROP,      /* the new event is dropped and counted */
	UNWEAVE_POLICY_OVERWRITE, /* the thread's oldest events make room, and are counted */
	UNWEAVE_POLICY_BLOCK,     /* the thread waits, as long as there is a recorder */
};

/* Where tasks come from. Make one with UNWEAVE_SITE(), which keeps it for good. */
struct unweave_site {
	const char *name; /* what the tasks of this site are called; may be NULL */
	const char *kind; /* what sort of task they are, such as "timer"; may be NULL */
	const char *function;
	const char *file;
	uint32_t line;
	uint32_t id; /* given at its first use; start at 0 */
};

#define UNWEAVE_SITE(text) UNWEAVE_SITE_KIND(NULL, text)
#define UNWEAVE_SITE_KIND(sort, text)                                                              \
	(__extension__({                                                                           \
		static struct unweave_site unweave_site_here = {text,     sort,     __func__,      \
								__FILE__, __LINE__, 0};            \
		&unweave_site_here;                                                                \
	}))

/*
 * The innermost frames of a chain. The `keep` outermost frames of the chain
 * that the task had before stay below them: give only what is new.
 */
struct unweave_stack {
	const uint64_t *addresses; /* code addresses, innermost first */
	const int32_t *states;     /* a state number for each, or NULL */
	uint32_t count;
	uint32_t keep;
};

/* What a task waits for; `on` in unweave_task_waits() says which. */
enum unweave_wait {
	UNWEAVE_WAIT_NONE,    /* not said */
	UNWEAVE_WAIT_TASK,    /* a task: its id */
	UNWEAVE_WAIT_TIMER,   /* a moment: ns of CLOCK_MONOTONIC */
	UNWEAVE_WAIT_IO,      /* a file: its descriptor */
	UNWEAVE_WAIT_LOCK,    /* a lock: its address */
	UNWEAVE_WAIT_CHANNEL, /* a channel: its address */
	UNWEAVE_WAIT_OTHER,   /* whatever the runtime likes */
};

/* The task that runs on the calling thread, as the parent of a new one. */
#define UNWEAVE_PARENT_CURRENT UINT64_MAX

/* What follows up to "Tasks" is read by the inline hooks only. */

struct unweave_priv_config {
	uint64_t gate; /* revision << 8 | mode: one of the three below, or another */
};
#define UNWEAVE_PRIV_MODE_MASK UINT64_C(0xff)
#define UNWEAVE_PRIV_MODE_OFF UINT64_C(0)
#define UNWEAVE_PRIV_MODE_SAMPLES UINT64_C(1)

/*
 * The runs that a thread is inside of, outermost first, ended by a 0. In shared
 * memory. To begin or end a run is one store, so that a signal handler, which
 * may do both in between, finds the old state or the new one and leaves it so.
 */
#define UNWEAVE_PRIV_NEST 48
struct unweave_priv_nest {
	uint64_t tasks[UNWEAVE_PRIV_NEST + 1]; /* the last one is always 0 */
	uint64_t resumed[UNWEAVE_PRIV_NEST]; /* ticks when each began; while events are recorded */
	uint64_t beyond;                     /* runs inside of those, which are not named */
	uint64_t dispatch; /* address of the innermost dispatch of a chain; 0: none */
};

/*
 * A thread's own part. `gate` equals the config's while the thread is up to
 * date and outside of any hook; so one comparison sends a new session, a new
 * thread, a forked child and a signal handler inside a hook the slow way.
 */
struct unweave_priv_thread {
	uint64_t gate;
	struct unweave_priv_nest *nest;
	uint64_t inline_gate; /* with which runs may be noted right here: `samples`; 0: none */
};

extern UNWEAVE_API struct unweave_priv_config *unweave_priv_config;
extern UNWEAVE_API __thread struct unweave_priv_thread *unweave_priv_self
	__attribute__((tls_model("initial-exec")));

UNWEAVE_API void unweave_priv_push_deep(struct unweave_priv_nest *nest, uint64_t task);
UNWEAVE_API void unweave_priv_pop_deep(struct unweave_priv_nest *nest, uint64_t task);
UNWEAVE_API uint64_t unweave_priv_begin(struct unweave_priv_thread *self, uint64_t gate,
					struct unweave_site *site, enum unweave_model model,
					uint64_t parent);
UNWEAVE_API void unweave_priv_end(struct unweave_priv_thread *self, uint64_t gate, uint64_t task);
UNWEAVE_API uint64_t unweave_priv_new(struct unweave_priv_thread *self, uint64_t gate,
				      struct unweave_site *site, enum unweave_model model,
				      uint64_t parent, const struct unweave_stack *stack);
UNWEAVE_API void unweave_priv_resume(struct unweave_priv_thread *self, uint64_t gate,
				     uint64_t task);
UNWEAVE_API void unweave_priv_resume_stack(uint64_t task, const struct unweave_stack *stack);
UNWEAVE_API void unweave_priv_suspend(struct unweave_priv_thread *self, uint64_t gate,
				      uint64_t task);
UNWEAVE_API void unweave_priv_suspend_stack(struct unweave_priv_thread *self, uint64_t gate,
					    uint64_t task, const struct unweave_stack *stack);
UNWEAVE_API void unweave_priv_leave(struct unweave_priv_thread *self, uint64_t gate, uint64_t task,
				    const struct unweave_stack *stack);
UNWEAVE_API void unweave_priv_complete(struct unweave_priv_thread *self, uint64_t gate,
				       uint64_t task, enum unweave_status status);
UNWEAVE_API void unweave_priv_wake(uint64_t task, enum unweave_source source);
UNWEAVE_API void unweave_priv_waits(struct unweave_priv_thread *self, uint64_t task,
				    enum unweave_wait kind, uint64_t on);
UNWEAVE_API void unweave_priv_append(uint64_t task, const struct unweave_stack *stack);
UNWEAVE_API void unweave_priv_name(uint64_t task, const char *name);
UNWEAVE_API void unweave_priv_frame_resume(uint64_t task);
UNWEAVE_API void unweave_priv_frame_complete(uint64_t task);
UNWEAVE_API void unweave_priv_unwind(uint64_t task, uint32_t frames, int handled);
UNWEAVE_API void unweave_priv_anchor_reset(uint64_t task);
UNWEAVE_API void unweave_priv_idle(void);

static inline uint64_t unweave_priv_gate(void)
{
	const struct unweave_priv_config *config =
		__atomic_load_n(&unweave_priv_config, __ATOMIC_RELAXED);

	return __atomic_load_n(&config->gate, __ATOMIC_RELAXED);
}

static inline int unweave_priv_off(uint64_t gate)
{
	return __builtin_expect((gate & UNWEAVE_PRIV_MODE_MASK) == UNWEAVE_PRIV_MODE_OFF, 1);
}

/* No event is recorded. */
static inline int unweave_priv_silent(uint64_t gate)
{
	return (gate & UNWEAVE_PRIV_MODE_MASK) <= UNWEAVE_PRIV_MODE_SAMPLES;
}

/*
 * Whether the run may be noted right here: detail `samples`, thread up to date. Also by a signal
 * handler inside a hook, since that is one store, which leaves the hook's own as they are.
 */
static inline int unweave_priv_inline(uint64_t gate, const struct unweave_priv_thread *self)
{
	return self->inline_gate == gate;
}

/*
 * While a thread is inside a hook its gate is closed. The fences bind the
 * compiler, which is all that a thread and its signal handlers need.
 */
static inline void unweave_priv_enter(struct unweave_priv_thread *self)
{
	__atomic_store_n(&self->gate, 0, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void unweave_priv_exit(struct unweave_priv_thread *self, uint64_t gate)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&self->gate, gate, __ATOMIC_RELAXED);
}

static inline void unweave_priv_push(struct unweave_priv_nest *nest, uint64_t task)
{
	if (__builtin_expect(nest->tasks[0] == 0, 1))
		__atomic_store_n(&nest->tasks[0], task, __ATOMIC_RELEASE);
	else
		unweave_priv_push_deep(nest, task);
}

/* Of a run that is not the innermost: it began unseen, and leaves no trace here. */
static inline void unweave_priv_pop(struct unweave_priv_nest *nest, uint64_t task)
{
	if (__builtin_expect(nest->tasks[0] == task && nest->tasks[1] == 0, 1))
		__atomic_store_n(&nest->tasks[0], 0, __ATOMIC_RELEASE);
	else
		unweave_priv_pop_deep(nest, task);
}

/*
 * Tasks
 *
 * A task is a number, never 0 and never used twice in a process. From its
 * creation to its completion it has a slot in the arena's task table, whether
 * anybody records or not; so complete a task, or its slot is never used again.
 */

/*
 * [hot] A new task. `site` may be NULL; `parent` is a task, 0 for none, or
 * UNWEAVE_PARENT_CURRENT; `stack` is its chain so far, or NULL.
 */
static inline uint64_t unweave_task_new(struct unweave_site *site, enum unweave_model model,
					uint64_t parent, const struct unweave_stack *stack)
{
	struct unweave_priv_thread *self = unweave_priv_self;
	uint64_t gate = unweave_priv_gate();

	/* A slot even while nothing is recorded: the session may begin in the task's life. */
	if (unweave_priv_silent(gate))
		return unweave_priv_begin(self, gate, site, model, parent);
	return unweave_priv_new(self, gate, site, model, parent, stack);
}

/* [hot] `task` begins to run on this thread, inside of whatever runs there already. */
static inline void unweave_task_resume(uint64_t task)
{
	uint64_t gate = unweave_priv_gate();
	struct unweave_priv_thread *self;

	if (unweave_priv_off(gate))
		return;
	self = unweave_priv_self;
	if (!unweave_priv_inline(gate, self)) {
		unweave_priv_resume(self, gate, task);
		return;
	}
	unweave_priv_push(self->nest, task);
}

/* [hot] The same, with its chain, for a runtime that did not give it at suspension. */
static inline void unweave_task_resume_stack(uint64_t task, const struct unweave_stack *stack)
{
	if (!unweave_priv_off(unweave_priv_gate()))
		unweave_priv_resume_stack(task, stack);
}

/* For the three hooks below: takes the run off at detail `samples`; 0: the session wants more. */
static inline int unweave_priv_ended(struct unweave_priv_thread *self, uint64_t gate, uint64_t task)
{
	if (!unweave_priv_inline(gate, self))
		return 0;
	unweave_priv_pop(self->nest, task);
	return 1;
}

/* [hot] The run of `task` ends here; the task waits. */
static inline void unweave_task_suspend(uint64_t task)
{
	uint64_t gate = unweave_priv_gate();
	struct unweave_priv_thread *self;

	if (unweave_priv_off(gate))
		return;
	self = unweave_priv_self;
	if (!unweave_priv_ended(self, gate, task))
		unweave_priv_suspend(self, gate, task);
}

/* [hot] The same, with what is new in its chain. */
static inline void unweave_task_suspend_stack(uint64_t task, const struct unweave_stack *stack)
{
	uint64_t gate = unweave_priv_gate();
	struct unweave_priv_thread *self;

	if (unweave_priv_off(gate))
		return;
	self = unweave_priv_self;
	if (!unweave_priv_ended(self, gate, task))
		unweave_priv_suspend_stack(self, gate, task, stack);
}

/*
 * [hot] Suspends without reading the clock: the next event of this thread says
 * when. For a loop that goes straight on to the next resume or to
 * unweave_thread_idle(); the time in between is counted as part of this run.
 * `stack` may be NULL.
 */
static inline void unweave_task_leave(uint64_t task, const struct unweave_stack *stack)
{
	uint64_t gate = unweave_priv_gate();
	struct unweave_priv_thread *self;

	if (unweave_priv_off(gate))
		return;
	self = unweave_priv_self;
	if (!unweave_priv_ended(self, gate, task))
		unweave_priv_leave(self, gate, task, stack);
}

/* [hot] `task` is done. It need not be running. Once for each task. */
static inline void unweave_task_complete(uint64_t task, enum unweave_status status)
{
	struct unweave_priv_thread *self = unweave_priv_self;
	uint64_t gate = unweave_priv_gate();

	if (unweave_priv_silent(gate))
		unweave_priv_end(self, gate, task);
	else
		unweave_priv_complete(self, gate, task, status);
}

/*
 * [hot] What `task` is about to wait for, if it runs here, or waits for now, shown by tools that
 * look at live tasks until the next call for the task, and while events are recorded no longer
 * than that wait lasts. Not an event.
 */
static inline void unweave_task_waits(uint64_t task, enum unweave_wait kind, uint64_t on)
{
	unweave_priv_waits(unweave_priv_self, task, kind, on);
}

/* [hot] `task` can run again, because of what runs here, or of an outside source. */
static inline void unweave_task_wake(uint64_t task, enum unweave_source source)
{
	if (!unweave_priv_off(unweave_priv_gate()))
		unweave_priv_wake(task, source);
}

/* [hot] The root side of the task's chain grew: `stack` joins on below what was there. */
static inline void unweave_task_append(uint64_t task, const struct unweave_stack *stack)
{
	if (!unweave_priv_off(unweave_priv_gate()))
		unweave_priv_append(task, stack);
}

/*
 * [hot] Gives the task a name of its own. At most 255 bytes of it are kept in a
 * trace, and 63 in the table of live tasks.
 */
static inline void unweave_task_name(uint64_t task, const char *name)
{
	unweave_priv_name(task, name);
}

/* [hot] One frame of the running task's chain goes on, or is done. */
static inline void unweave_frame_resume(uint64_t task)
{
	if (!unweave_priv_off(unweave_priv_gate()))
		unweave_priv_frame_resume(task);
}

static inline void unweave_frame_complete(uint64_t task)
{
	if (!unweave_priv_off(unweave_priv_gate()))
		unweave_priv_frame_complete(task);
}

/* [hot] An error took `frames` frames off the chain; `handled` if one above caught it. */
static inline void unweave_frame_unwind(uint64_t task, uint32_t frames, int handled)
{
	if (!unweave_priv_off(unweave_priv_gate()))
		unweave_priv_unwind(task, frames, handled);
}

/* [hot] Every anchor has been used; the index restarts at 0. */
static inline void unweave_anchor_reset(uint64_t task)
{
	if (!unweave_priv_off(unweave_priv_gate()))
		unweave_priv_anchor_reset(task);
}

/* [hot] This thread is about to wait for something to do. */
static inline void unweave_thread_idle(void)
{
	if (!unweave_priv_off(unweave_priv_gate()))
		unweave_priv_idle();
}

/*
 * Recording oneself
 *
 * A program can write its own trace, or listen to its own events, with no tool
 * at hand: a background thread drains what the hooks leave. UNWEAVE_TRACE=FILE
 * in the environment does the same for a program that was never changed to.
 */

/*
 * Gets each event after it happened, on the draining thread, in order for each
 * thread. No lock is held; hooks called in here do nothing, and are counted.
 */
typedef void (*unweave_listener)(const struct unweave_event *event, void *data);

/* Fields are only ever added at the end. */
struct unweave_options {
	size_t size;      /* sizeof(struct unweave_options) where the caller was built */
	const char *path; /* trace file to create, %p becomes the pid; NULL: none; borrowed */
	unweave_listener listener; /* or NULL */
	void *listener_data;
	enum unweave_detail detail;
	enum unweave_policy policy;
	uint64_t keywords;   /* 0: those of `detail` */
	size_t buffer_bytes; /* cap for all buffers together; 0: 8 MiB */
};

/* Gives every field its default. Inline, so that `size` is the caller's. */
static inline void unweave_options_init(struct unweave_options *options)
{
	memset(options, 0, sizeof(*options));
	options->size = sizeof(*options);
}

/*
 * Starts to record this process. Returns -EALREADY if it does so already,
 * -EBUSY if another process records this one, -EINVAL for options it does not
 * understand, -ENOTSUP if no arena could be made (unweave_status() says why),
 * or what creating the file or the thread met.
 */
UNWEAVE_API int unweave_start(const struct unweave_options *options);

/* Changes what is recorded while it is. Returns -ENOENT if nothing is, -EDEADLK in a listener. */
UNWEAVE_API int unweave_set_keywords(uint64_t keywords);

/* Returns when all that was emitted before the call has been drained; 0, or as above. */
UNWEAVE_API int unweave_flush(void);

/*
 * Drains what is left and closes the trace. Does nothing if nothing is recorded.
 * In a listener it returns at once, and the session ends after it.
 */
UNWEAVE_API void unweave_stop(void);

/* One sentence: where the arena is, or why there is none. Never NULL; static storage. */
UNWEAVE_API const char *unweave_status(void);

#ifdef __cplusplus
}
#endif

#endif /* UNWEAVE_H */
