/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the adapter knows of libevent's events, and where it keeps it.
 *
 * An event gets our callback in place of the program's when it is set up, and keeps
 * it; its argument stays the program's. What we need lies in three gaps of struct
 * event, which libevent never touches: the program's callback, as a number, and the
 * task while the event is armed. So nothing is allocated, and nothing is to be freed
 * with an event, which may be in memory of the program's that is simply used again.
 * Which event it is that is called we find where libevent keeps it: see running.c.
 *
 * libevent has a lock for each base, which is not ours to take. Callback and number
 * do not change while an event is in use, so that a call is always the right one.
 * The task may be lost, if two threads arm and take off an event at the same time
 * without any order between them; its call is then told as one that nobody armed.
 */
#ifndef ADAPTER_LIBEVENT_STATE_H
#define ADAPTER_LIBEVENT_STATE_H

#include <assert.h>
#include <stddef.h>
#include <sys/time.h>

#include <event2/event.h>
#include <event2/event_compat.h>
#include <event2/event_struct.h>

#include "common/adapter.h"

#define PENDING (EVLIST_TIMEOUT | EVLIST_INSERTED | EVLIST_ACTIVE | EVLIST_ACTIVE_LATER)
/* What is libevent's own, or at its end. */
#define NOT_TOLD (EVLIST_INTERNAL | EVLIST_FINALIZING)

/* Functions that libevent exports, and calls by name, for itself only. */
int event_callback_cancel_nolock_(struct event_base *base, struct event_callback *callback,
				  int even_if_finalizing);
void event_callback_finalize_nolock_(struct event_base *base, unsigned flags,
				     struct event_callback *callback,
				     void (*finalize)(struct event_callback *, void *));
typedef void (*deferred_function)(struct event_callback *, void *);
void event_deferred_cb_init_(struct event_callback *callback, uint8_t priority,
			     deferred_function function, void *argument);
int event_deferred_cb_schedule_(struct event_base *base, struct event_callback *callback);
void event_deferred_cb_cancel_(struct event_base *base, struct event_callback *callback);

/* What there is of a deferred callback, or of a request, that has no gap for its task. */
struct record {
	union {
		struct record *next;    /* of a free record */
		void (*callback)(void); /* of a request: the program's */
	};
	union {
		struct record *below; /* of the first free record of a chain that threads share */
		void *argument;
	};
	void *owner; /* the deferred callback, or something; NULL: a free record */
	uint64_t task;
};

/* A function of libevent's that the program called, by which events are set up and armed. */
enum upper_sort {
	UPPER_PLAIN,
	UPPER_ONCE,
	UPPER_BUFFER,
	UPPER_CONNECT,
	UPPER_LISTENER,
	UPPER_NAMES,
};

struct upper {
	enum upper_sort sort;
	const void *code; /* the program's callback that it was given, or NULL */
	const void *place;
	bool has_timeout; /* UPPER_ONCE */
	uint64_t task;    /* UPPER_ONCE: what was armed */
};

#define KEPT 64u /* free records that a thread keeps, at most */

/* Of a thread. */
struct self {
	struct event_base *base; /* whose loop it is in; NULL: none */
	struct upper *upper;
	uint64_t loop; /* the task of the loop */
	uint64_t woke; /* ns of its last wake; 0: not known */
	struct record *free;
	unsigned kept;
	bool leaves; /* its free records are given back at its end */
};

extern struct adapter libevent;
extern ADAPTER_TLS struct self self;

/*
 * The gaps: after the callback's closure, after the descriptor, after what happened.
 * The first one has a mark, whether the event has a timeout, so that its time is to be
 * believed, and the number of the callback; the others the halves of the task.
 */
#define GAP_STATE 20
#define GAP_LOW 60
#define GAP_HIGH 108
#define STATE_MARK 0x5ae40000u
#define STATE_MARK_MASK 0xfffe0000u
#define STATE_HAS_TIMEOUT 0x10000u
#define STATE_NUMBER 0x3fffu
static_assert(offsetof(struct event, ev_evcallback.evcb_closure) + 1 == GAP_STATE &&
		      offsetof(struct event, ev_evcallback.evcb_cb_union) == GAP_STATE + 4,
	      "a gap after the closure");
static_assert(offsetof(struct event, ev_fd) + 4 == GAP_LOW &&
		      offsetof(struct event, ev_base) == GAP_LOW + 4,
	      "a gap after the descriptor");
static_assert(offsetof(struct event, ev_res) + 2 == GAP_HIGH &&
		      offsetof(struct event, ev_timeout) == GAP_HIGH + 4,
	      "a gap after the result");

static inline uint32_t *state_gap(const void *object, size_t offset)
{
	return (uint32_t *)((uintptr_t)object + offset);
}

/* The task of an event of ours; 0: it is not armed. */
static inline uint64_t state_task(const struct event *event)
{
	return (uint64_t)*state_gap(event, GAP_HIGH) << 32 | *state_gap(event, GAP_LOW);
}

static inline void state_set_task(struct event *event, uint64_t task)
{
	*state_gap(event, GAP_LOW) = (uint32_t)task;
	*state_gap(event, GAP_HIGH) = (uint32_t)(task >> 32);
}

static inline event_callback_fn *state_callback(struct event *event)
{
	return &event->ev_evcallback.evcb_cb_union.evcb_callback;
}

static inline void **state_argument(struct event *event)
{
	return &event->ev_evcallback.evcb_arg;
}

static inline short state_flags(const struct event *event)
{
	return event->ev_evcallback.evcb_flags;
}

static inline bool state_stays(const struct event *event)
{
	return event->ev_events & EV_PERSIST;
}

/* Whether it is a libevent that we know. If not, all is left alone. */
bool event_is_known(void);

/* It will not be called. Does nothing if it has no task, or is not ours. */
void event_drop(struct event *event);

/* Our callback. */
void event_call(evutil_socket_t fd, short what, void *argument);

/* Whether it has our callback. For any memory at all. */
static inline bool state_is_ours(const struct event *event)
{
	return event->ev_evcallback.evcb_cb_union.evcb_callback == event_call &&
	       (*state_gap(event, GAP_STATE) & STATE_MARK_MASK) == STATE_MARK;
}

/* A callback of the program's, or of libevent's own; its number is its place. */
struct number {
	event_callback_fn callback;
	bool is_inner; /* libevent's own */
};
extern struct number numbers[STATE_NUMBER + 1];

/* From 1 on; 0 if there are too many of them. */
uint32_t number_of(event_callback_fn callback);

/* The callback of an event of ours, as it was given to libevent. */
static inline const struct number *state_number(const struct event *event)
{
	return &numbers[*state_gap(event, GAP_STATE) & STATE_NUMBER];
}

/* From now on its events can be found; false if there are too many. */
bool running_know_base(struct event_base *base);
void running_forget_base(struct event_base *base);

/* Where a base has the event that is being called, in words; 0: not known yet. */
extern uint32_t running_place;
struct event *running_search(evutil_socket_t fd, const void *argument);

static inline bool running_is(const struct event *event, evutil_socket_t fd, const void *argument)
{
	return state_is_ours(event) && event->ev_evcallback.evcb_arg == argument &&
	       event->ev_fd == fd;
}

/* The event that is being called on this thread, with these; NULL: it has to be searched for. */
static inline struct event *running_surely(evutil_socket_t fd, const void *argument)
{
	uint32_t place = __atomic_load_n(&running_place, __ATOMIC_RELAXED);
	struct event *event;

	if (adapter_unlikely(!place || !self.base))
		return NULL;
	event = ((struct event **)self.base)[place];
	return adapter_likely(event && running_is(event, fd, argument)) ? event : NULL;
}

/* A record for `owner`, or NULL if there are no more. */
struct record *pool_take(void *owner);
void pool_give(struct record *record);
/* A record as a number that is never 0, and back; NULL for a number of none. */
uint32_t pool_number(const struct record *record);
struct record *pool_record(uint32_t number);

/* The program's function that is called in the end, where libevent calls one of its own. */
const void *upper_code(struct event *event, event_callback_fn callback);
/* What an event of libevent's own is called, which were `plain` if it were the program's. */
const char *upper_kind(const struct event *event, event_callback_fn callback, const char *plain);
/* An event was set up inside of libevent: it may be of a sort that upper_code() knows. */
void upper_assigned(struct event *event, event_callback_fn callback);

/* A deferred callback will not be called. Does nothing if it has no task. */
void deferred_drop(struct event_callback *callback);

#endif /* ADAPTER_LIBEVENT_STATE_H */
