/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks: for libraries that are given a function now, to call it later.
 *
 * A callback that is armed is a task, from then until it was called, or never
 * will be. One that stays armed (a listener, a repeating timer) is a standing
 * task, and each call of it is a task of its own, its child.
 *
 * Nobody awaits a callback. Its chain is why it runs: the callback, the place
 * that armed it, and the chain of the callback that was running there. All
 * callbacks that came about in the same way share one site, which says all that;
 * so nothing is kept for it in the task, and nothing is recorded with each event.
 * Where a callback arms itself again, in whatever roundabout way, its chain does
 * not grow: it is that of the first time.
 *
 *     object->task = unweave_callback_arm("timer", callback, __builtin_return_address(0), 0);
 *     …
 *     static int go(struct unweave_link *none, void *context)
 *     {
 *             struct call *call = context;
 *
 *             call->callback(call->object);
 *             return 0;
 *     }
 *     …
 *     unweave_callback_call(&(struct unweave_call){.task = object->task, .go = go,
 *                                                  .context = &call, .code = callback});
 *
 * The object may be freed, or armed again, inside of the call. Nothing here
 * allocates or locks.
 */
#ifndef UNWEAVE_CALLBACK_H
#define UNWEAVE_CALLBACK_H

#include "unweave/link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For unweave_callback_arm(): it stays armed until it is dropped. */
#define UNWEAVE_STANDING 1u

/* What the call means to the task. */
enum unweave_call_end {
	UNWEAVE_CALL_ENDS,  /* it was its only one, or its last: the task completes with `status` */
	UNWEAVE_CALL_STAYS, /* the task waits again */
	UNWEAVE_CALL_ASKS,  /* it waits again if `go` returns other than 0, else it completes */
	UNWEAVE_CALL_FIRES, /* it is a standing one: the call is a task of its own */
};

struct unweave_call {
	uint64_t task;    /* that was armed */
	unweave_go go;    /* calls the callback, or is it; gets the three that follow */
	void *object;     /* or NULL */
	void *context;    /* or NULL */
	void *more;       /* or NULL; for a function that takes three, and is cast */
	const void *code; /* the callback: what is shown */
	uint64_t late;    /* ns since it was due; 0: since its loop woke, or not known */
	enum unweave_call_end end;
	enum unweave_status status; /* of the task, or of the call's own, when it completes */
	/*
	 * Other than 0: the thread goes straight on to another call, or to one of the three
	 * functions of loops. Then the end needs no clock read: the next event says when it was.
	 */
	int straight_on;
};

/*
 * What is armed while a session wants samples and nothing else is not a task of
 * its own: all that share a site are one number, which has no slot.
 */
static inline int unweave_priv_is_light(uint64_t task)
{
	return (int64_t)task < 0;
}

/* What follows up to unweave_callback_arm() is for the inline hooks only. */

/* A way in which callbacks come about. */
struct unweave_priv_way {
	const char *kind;
	const void *code;
	const void *place;
	uint64_t how; /* what runs there as a light task, 0: nothing | UNWEAVE_SITE_* */
};

/* The beginning of what is kept of it, and of a table by unweave_priv_way_hash(). */
struct unweave_priv_cause {
	struct unweave_priv_way way;
	uint64_t light; /* the task that is armed at detail `samples` */
};
#define UNWEAVE_PRIV_CAUSES_BITS 13
extern UNWEAVE_API struct unweave_priv_cause *unweave_priv_causes[1 << UNWEAVE_PRIV_CAUSES_BITS];

static inline uint32_t unweave_priv_way_hash(const struct unweave_priv_way *way)
{
	uint64_t word = ((uintptr_t)way->code + ((uint64_t)(uintptr_t)way->place << 3)) ^ way->how;

	return (uint32_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - UNWEAVE_PRIV_CAUSES_BITS));
}

static inline int unweave_priv_is_way(const struct unweave_priv_way *a,
				      const struct unweave_priv_way *b)
{
	return a->code == b->code && a->place == b->place && a->how == b->how && a->kind == b->kind;
}

/*
 * What runs here, as ways say it, if it is nothing or one light task, and the session wants
 * samples; else UNWEAVE_PRIV_HOW_ELSE.
 */
#define UNWEAVE_PRIV_HOW_ELSE UINT64_C(1)
#define UNWEAVE_PRIV_HOW_NONE UINT64_C(2) /* what is no way at all */
static inline uint64_t unweave_priv_how(void)
{
	const struct unweave_priv_thread *self = unweave_priv_self;

	if (!__builtin_expect(unweave_priv_inline(unweave_priv_gate(), self), 1))
		return UNWEAVE_PRIV_HOW_ELSE;
	if (__builtin_expect(self->nest->tasks[1] != 0, 0))
		return UNWEAVE_PRIV_HOW_ELSE;
	return self->nest->tasks[0];
}

/*
 * What arming this would find, if it is called once and the session wants samples; its `light` is
 * what is armed. NULL: the session wants something else, or it is the first time, or inside of
 * several runs.
 */
static inline const struct unweave_priv_cause *
unweave_priv_armed_lightly(const char *kind, const void *code, const void *place)
{
	struct unweave_priv_way way = {kind, code, place, unweave_priv_how()};
	const struct unweave_priv_cause *cause;

	if (__builtin_expect((int64_t)way.how > 0, 0))
		return NULL;
	/* Pairs with the release of whoever made it. */
	cause = __atomic_load_n(&unweave_priv_causes[unweave_priv_way_hash(&way)],
				__ATOMIC_ACQUIRE);
	return __builtin_expect(cause && unweave_priv_is_way(&cause->way, &way), 1) ? cause : NULL;
}

/*
 * Whether arming this would find `cause`, as it did for one of the same kind. For whoever keeps
 * it with what is armed, since most of that is armed in the same way each time.
 */
static inline int unweave_priv_is_again(const struct unweave_priv_cause *cause, const void *code,
					const void *place, uint64_t how)
{
	return cause->way.how == how && cause->way.code == code && cause->way.place == place;
}

UNWEAVE_API uint64_t unweave_priv_arm(const char *kind, const void *code, const void *place,
				      unsigned flags);
/* What a call means, in one word. */
static inline unsigned unweave_priv_call_means(const struct unweave_call *call)
{
	return (unsigned)call->end | (unsigned)call->status << 8 |
	       (unsigned)(call->straight_on != 0) << 16;
}
UNWEAVE_API int unweave_priv_call(void *object, void *context, void *more, unweave_go go,
				  uint64_t task, const void *code, uint64_t late, unsigned means);
/*
 * The same for the usual calls, after which the thread goes straight on: of a light task; of one
 * that ends with it; of one that asks.
 */
UNWEAVE_API int unweave_priv_call_lightly(void *object, void *context, void *more, unweave_go go,
					  uint64_t task, const void *code);
UNWEAVE_API int unweave_priv_call_once(void *object, void *context, void *more, unweave_go go,
				       uint64_t task, const void *code);
UNWEAVE_API int unweave_priv_call_asking(void *object, void *context, void *more, unweave_go go,
					 uint64_t task, const void *code);

/*
 * [hot] What runs here arms `code`, at `place`: the address that the library's function returns
 * to. Where the call was the last thing that a callback did, it may have been a jump, and return
 * to whoever called the callback: then the place that is told is the callback. `kind` is what sort
 * it is of, such as "timer": a text that stays where it is, since it is compared by its address.
 * `flags` may be UNWEAVE_STANDING. Returns the new task.
 */
static inline uint64_t unweave_callback_arm(const char *kind, const void *code, const void *place,
					    unsigned flags)
{
	const struct unweave_priv_cause *cause =
		flags ? NULL : unweave_priv_armed_lightly(kind, code, place);

	return cause ? cause->light : unweave_priv_arm(kind, code, place, flags);
}

/*
 * [hot] Calls a callback, as a run of its task or of a new child of it. Returns what `go`
 * returned. `call` is not looked at after `go` was called.
 */
static inline int unweave_callback_call(const struct unweave_call *call)
{
	if (unweave_priv_is_light(call->task) &&
	    unweave_priv_inline(unweave_priv_gate(), unweave_priv_self))
		return unweave_priv_call_lightly(call->object, call->context, call->more, call->go,
						 call->task, call->code);
	if (call->end == UNWEAVE_CALL_ENDS && call->status == UNWEAVE_OK && call->straight_on &&
	    !call->late && !unweave_priv_is_light(call->task))
		return unweave_priv_call_once(call->object, call->context, call->more, call->go,
					      call->task, call->code);
	return unweave_priv_call(call->object, call->context, call->more, call->go, call->task,
				 call->code, call->late, unweave_priv_call_means(call));
}

/* [hot] It is over, without a call or with none to come: the library refused it, or it went on
 * without. */
static inline void unweave_callback_end(uint64_t task, enum unweave_status status)
{
	if (!unweave_priv_is_light(task))
		unweave_task_complete(task, status);
}

/* Bits that no such task has: for whoever keeps it where there is no room for a flag. */
#define UNWEAVE_TASK_SPARE (UINT64_C(1) << 24 | 1)

/* [hot] It will never be called, or not again. */
static inline void unweave_callback_drop(uint64_t task)
{
	unweave_callback_end(task, UNWEAVE_CANCELLED);
}

/* [hot] It can be called, because of what runs here, or of an outside source. */
static inline void unweave_callback_wake(uint64_t task, enum unweave_source source)
{
	if (!unweave_priv_is_light(task))
		unweave_task_wake(task, source);
}

/*
 * A loop that calls callbacks is a standing task too. It does not run, but is
 * said to wait and to wake: what it calls was ready when it woke, at the latest.
 */

/* [hot] `code` is the function that loops, and `kind` what it is called. Ends by
 * unweave_callback_drop(). */
UNWEAVE_API uint64_t unweave_loop_open(const char *kind, const void *code, const void *place);

/* [hot] The calling thread is about to wait for something to do in this loop; and, it has some. */
UNWEAVE_API void unweave_priv_loop(uint64_t loop, int woke);

static inline void unweave_loop_wait(uint64_t loop)
{
	if (!unweave_priv_silent(unweave_priv_gate()))
		unweave_priv_loop(loop, 0);
}

static inline void unweave_loop_woke(uint64_t loop)
{
	if (!unweave_priv_silent(unweave_priv_gate()))
		unweave_priv_loop(loop, 1);
}

/* [hot] The function that loops returns. */
static inline void unweave_loop_left(void)
{
	if (!unweave_priv_silent(unweave_priv_gate()))
		unweave_priv_loop(0, 1);
}

/*
 * An adapter, which calls these hooks for a library that does not know them, says
 * once of which library and version, in texts that stay where they are. The trace
 * keeps it, if anything else comes to it.
 */
UNWEAVE_API void unweave_adapter(const char *library, const char *version);

/*
 * Code that calls callbacks and arms none, besides the library's own: up to eight ranges. A place
 * in it is where a callback returns to that armed something by a jump, as the last thing it did.
 */
UNWEAVE_API void unweave_priv_only_calls(const void *start, const void *end);

/* What a site of callbacks is; as in a trace. */
#define UNWEAVE_SITE_STANDING 1u /* its tasks stand, and are not waiting for anything */
#define UNWEAVE_SITE_FIRED 2u    /* its tasks are calls of a standing one, which is their parent */
#define UNWEAVE_SITE_LOOP 4u     /* its tasks are loops */
#define UNWEAVE_SITE_CUT 8u      /* more is under it than is told */
#define UNWEAVE_SITE_ADAPTER                                                                       \
	16u /* no site: its name is an adapter's library, its kind the version */

#ifdef __cplusplus
}
#endif

#endif /* UNWEAVE_CALLBACK_H */
