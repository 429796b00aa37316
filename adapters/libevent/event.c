/* SPDX-License-Identifier: Apache-2.0 */
/* Events: set up, armed by event_add() or event_active(), called, or cancelled. */
#include <time.h>

#include "libevent/state.h"

#define MICROSECONDS 0xfffff /* in a timeval of libevent's, whose upper bits have a meaning */
#define NS_PER_S UINT64_C(1000000000)
/* What an event may wait for, other than a time. */
#define WAITS_FOR_MORE (EV_READ | EV_WRITE | EV_CLOSED | EV_SIGNAL)

#define NEXT(function) ADAPTER_NEXT(&libevent, function)

struct adapter libevent = {
	.name = "libevent",
	.soname = "libevent_core-2.1.so.7",
	.also = "libevent-2.1.so.7",
	.probe = "event_base_loop",
};
ADAPTER_TLS struct self self;

/* Two ticks of the coarse clock, which libevent's timers go by: less is not called late. */
static uint64_t tolerated = 20000000;

__attribute__((constructor)) static void know_the_clock(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0)
		tolerated = 2 * (uint64_t)tick.tv_nsec;
}

static inline uint64_t to_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)(time->tv_usec & MICROSECONDS) * 1000;
}

/* When its timer was due, in ns; one that stays has its next time by now. */
static inline uint64_t due_at(const struct event *event)
{
	uint64_t due = to_ns(&event->ev_timeout);

	return state_stays(event) ? due - to_ns(&event->ev_.ev_io.ev_timeout) : due;
}

/* Whether a timer's call is later than its loop's last wake tells, as far as that is known. */
static inline bool is_late(const struct event *event, short what)
{
	return what & EV_TIMEOUT && *state_gap(event, GAP_STATE) & STATE_HAS_TIMEOUT &&
	       self.woke > due_at(event) + tolerated;
}

/* How late it is: the exact clock is read only for one that is. */
static uint64_t lateness(const struct event *event)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec - due_at(event);
}

/* What is shown as the callback. */
static inline const void *code_of(struct event *event, const struct number *number)
{
	if (adapter_unlikely(number->is_inner))
		return upper_code(event, number->callback);
	return (const void *)number->callback;
}

static const char kind_timer[] = "timer";

/* What an event is called for itself. */
static inline const char *plain_kind(const struct event *event, bool by_active)
{
	switch (event->ev_events & WAITS_FOR_MORE) {
	case 0:
		return by_active ? "async" : kind_timer;
	case EV_READ:
		return "read";
	case EV_WRITE:
		return "write";
	case EV_SIGNAL:
		return "signal";
	case EV_CLOSED:
		return "close";
	default:
		return "poll";
	}
}

static inline uint64_t arm(struct event *event, const void *place, bool by_active)
{
	const struct number *number = state_number(event);
	const char *kind = plain_kind(event, by_active);
	uint64_t task;

	if (adapter_unlikely(number->is_inner))
		kind = upper_kind(event, number->callback, kind);
	if (adapter_unlikely(self.upper != NULL))
		place = self.upper->place;
	task = unweave_callback_arm(kind, code_of(event, number), place,
				    state_stays(event) ? UNWEAVE_STANDING : 0);
	state_set_task(event, task);
	return task;
}

/* Whatever it is; NULL: it is not known. */
static __attribute__((noinline)) void call_any(evutil_socket_t fd, short what, void *argument,
					       struct event *event)
{
	struct unweave_call run = {.status = UNWEAVE_OK};
	const struct number *number;

	if (adapter_unlikely(!event))
		return;
	number = state_number(event);
	if (adapter_unlikely(state_flags(event) & NOT_TOLD)) {
		number->callback(fd, what, argument);
		return;
	}
	run.go = (unweave_go)(void (*)(void))number->callback;
	run.object = (void *)(intptr_t)fd;
	run.context = (void *)(intptr_t)what;
	run.more = argument;
	run.task = state_task(event);
	if (adapter_unlikely(!run.task))
		run.task = arm(event, NULL, !(what & EV_TIMEOUT));
	run.code = code_of(event, number);
	/* A loop goes on to the next event at once, or to its wait. */
	run.straight_on = self.loop != 0;
	if (adapter_unlikely(is_late(event, what)))
		run.late = lateness(event);
	if (state_stays(event)) {
		run.end = UNWEAVE_CALL_FIRES;
	} else {
		run.end = UNWEAVE_CALL_ENDS;
		state_set_task(event, 0);
	}
	unweave_callback_call(&run);
}

/* Where it is not known which one it is. */
static __attribute__((noinline)) void call_found(evutil_socket_t fd, short what, void *argument)
{
	call_any(fd, what, argument, running_search(fd, argument));
}

/*
 * A callback's three arguments are passed on as they came: a descriptor, what happened, and the
 * program's own. All machines that this runs on have them in registers.
 */
void event_call(evutil_socket_t fd, short what, void *argument)
{
	struct event *event = running_surely(fd, argument);
	event_callback_fn callback;
	uint64_t task;

	if (adapter_unlikely(!event))
		return call_found(fd, what, argument);
	task = state_task(event);
	if (adapter_unlikely(!task || state_number(event)->is_inner || state_stays(event) ||
			     state_flags(event) & NOT_TOLD || !self.loop))
		return call_any(fd, what, argument, event);
	callback = state_number(event)->callback;
	if (unweave_priv_is_light(task)) {
		state_set_task(event, 0);
		unweave_priv_call_lightly((void *)(intptr_t)fd, (void *)(intptr_t)what, argument,
					  (unweave_go)(void (*)(void))callback, task,
					  (const void *)callback);
	} else if (adapter_likely(!is_late(event, what))) {
		state_set_task(event, 0);
		unweave_priv_call_once((void *)(intptr_t)fd, (void *)(intptr_t)what, argument,
				       (unweave_go)(void (*)(void))callback, task,
				       (const void *)callback);
	} else {
		call_any(fd, what, argument, event);
	}
}

bool event_is_known(void)
{
	static _Atomic int answer; /* 0: not asked yet */

	if (adapter_unlikely(!answer)) {
		__typeof__(&event_get_version_number) version = NEXT(event_get_version_number);
		__typeof__(&event_get_struct_event_size) size = NEXT(event_get_struct_event_size);

		answer = version && version() >> 16 == 0x201 && size &&
					 size() == sizeof(struct event) &&
					 NEXT(event_base_get_running_event)
				 ? 1
				 : -1;
	}
	return answer > 0;
}

/* Gives an event that was just set up our callback, if it can be found when it is called. */
static void adopt(struct event *event)
{
	event_callback_fn callback;
	uint32_t number;

	if (!event_is_known())
		return;
	callback = *state_callback(event);
	if (callback == event_call || !callback || !event->ev_base)
		return;
	number = number_of(callback);
	if (!number || !running_know_base(event->ev_base))
		return;
	*state_gap(event, GAP_STATE) = STATE_MARK | number;
	state_set_task(event, 0);
	*state_callback(event) = event_call;
	if (adapter_unlikely(self.upper != NULL))
		upper_assigned(event, callback);
}

/* event_base_once() sets an event up and arms it; no one else ever sees it. */
static void arm_once(struct event *event)
{
	arm(event, NULL, false);
	self.upper->task = state_task(event);
	if (self.upper->has_timeout)
		*state_gap(event, GAP_STATE) |= STATE_HAS_TIMEOUT;
}

ADAPTER_EXPORT int event_assign(struct event *event, struct event_base *base, evutil_socket_t fd,
				short events, event_callback_fn callback, void *argument)
{
	int result = NEXT(event_assign)(event, base, fd, events, callback, argument);

	if (result != 0)
		return result;
	adopt(event);
	if (adapter_unlikely(self.upper && self.upper->sort == UPPER_ONCE) && state_is_ours(event))
		arm_once(event);
	return 0;
}

/* These call event_assign(), but not in all builds of libevent by its name. */

ADAPTER_EXPORT struct event *event_new(struct event_base *base, evutil_socket_t fd, short events,
				       event_callback_fn callback, void *argument)
{
	struct event *event = NEXT(event_new)(base, fd, events, callback, argument);

	if (event)
		adopt(event);
	return event;
}

ADAPTER_EXPORT void event_set(struct event *event, evutil_socket_t fd, short events,
			      event_callback_fn callback, void *argument)
{
	NEXT(event_set)(event, fd, events, callback, argument);
	adopt(event);
}

ADAPTER_EXPORT int event_base_set(struct event_base *base, struct event *event)
{
	int result = NEXT(event_base_set)(base, event);

	/* One that was set up without a base, or is told to be of a base that is not known. */
	if (result != 0 || !base)
		return result;
	if (!state_is_ours(event))
		adopt(event);
	else if (!running_know_base(base))
		*state_callback(event) = state_number(event)->callback;
	return result;
}

/* One that waits for a file or a signal may be refused. */
static __attribute__((noinline)) int add_io(struct event *event, const struct timeval *timeout,
					    const void *place)
{
	uint64_t task = arm(event, place, false);
	int result = NEXT(event_add)(event, timeout);

	if (adapter_unlikely(result != 0)) {
		state_set_task(event, 0);
		unweave_task_complete(task, UNWEAVE_ERROR);
	}
	return result;
}

static __typeof__(&event_add) next_add; /* NULL until the first one was added */

static __attribute__((noinline)) int add(struct event *event, const struct timeval *timeout,
					 const void *place)
{
	__typeof__(&event_add) next = NEXT(event_add);

	__atomic_store_n(&next_add, next, __ATOMIC_RELAXED);
	if (adapter_unlikely(!state_is_ours(event) || state_flags(event) & NOT_TOLD))
		return next(event, timeout);
	if (timeout)
		*state_gap(event, GAP_STATE) |= STATE_HAS_TIMEOUT;
	/* It is armed before it is added, since then it can be called. */
	if (!state_task(event)) {
		if (event->ev_events & WAITS_FOR_MORE)
			return add_io(event, timeout, place);
		/* Without a time either, it waits for nothing, and is not armed. */
		if (timeout)
			arm(event, place, false);
	}
	return next(event, timeout);
}

/* Whether it is a timer that is called once, of the program's own, and not armed. */
static inline bool is_idle_timer(const struct event *event, const struct timeval *timeout)
{
	return timeout && state_is_ours(event) && !state_task(event) &&
	       !(state_flags(event) & NOT_TOLD) &&
	       !(event->ev_events & (WAITS_FOR_MORE | EV_PERSIST)) && !self.upper &&
	       !state_number(event)->is_inner;
}

static inline void keep_timer(struct event *event, uint64_t task)
{
	*state_gap(event, GAP_STATE) |= STATE_HAS_TIMEOUT;
	state_set_task(event, task);
}

static __attribute__((noinline)) int add_recorded(struct event *event,
						  const struct timeval *timeout, const void *place)
{
	const void *code = (const void *)state_number(event)->callback;

	keep_timer(event, unweave_priv_arm(kind_timer, code, place, 0));
	return __atomic_load_n(&next_add, __ATOMIC_RELAXED)(event, timeout);
}

/* In two parts: the usual way calls nothing but libevent, by a jump. */
ADAPTER_EXPORT int event_add(struct event *event, const struct timeval *timeout)
{
	__typeof__(&event_add) next = __atomic_load_n(&next_add, __ATOMIC_RELAXED);
	const struct unweave_priv_cause *cause;

	if (adapter_unlikely(!next || !is_idle_timer(event, timeout)))
		return add(event, timeout, ADAPTER_PLACE);
	cause = unweave_priv_armed_lightly(kind_timer, (const void *)state_number(event)->callback,
					   ADAPTER_PLACE);
	if (!cause)
		return add_recorded(event, timeout, ADAPTER_PLACE);
	keep_timer(event, cause->light);
	return next(event, timeout);
}

ADAPTER_EXPORT void event_active(struct event *event, int what, short calls)
{
	__typeof__(&event_active) next = NEXT(event_active);

	if (adapter_likely(state_is_ours(event)) && !(state_flags(event) & NOT_TOLD)) {
		if (!state_task(event))
			arm(event, ADAPTER_PLACE, true);
		/* Not by its loop: who did it is to be known. */
		if (self.base != event->ev_base && !(state_flags(event) & EVLIST_ACTIVE))
			unweave_task_wake(state_task(event), UNWEAVE_SOURCE_TASK);
	}
	next(event, what, calls);
}

void event_drop(struct event *event)
{
	uint64_t task = state_is_ours(event) ? state_task(event) : 0;

	if (task) {
		state_set_task(event, 0);
		unweave_callback_drop(task);
	}
}

/* After it was taken off. It is armed again if a thread did that while this one waited. */
static void cancel(struct event *event)
{
	if (!(state_flags(event) & PENDING))
		event_drop(event);
}

ADAPTER_EXPORT int event_del(struct event *event)
{
	int result = NEXT(event_del)(event);

	cancel(event);
	return result;
}

ADAPTER_EXPORT int event_del_block(struct event *event)
{
	int result = NEXT(event_del_block)(event);

	cancel(event);
	return result;
}

ADAPTER_EXPORT int event_del_noblock(struct event *event)
{
	int result = NEXT(event_del_noblock)(event);

	cancel(event);
	return result;
}

ADAPTER_EXPORT int event_remove_timer(struct event *event)
{
	int result = NEXT(event_remove_timer)(event);

	cancel(event);
	return result;
}

/* It calls event_del(), but not in all builds of libevent by its name. */
ADAPTER_EXPORT void event_free(struct event *event)
{
	if (event)
		event_del(event);
	NEXT(event_free)(event);
}

/* What follows replaces the callback of the event by another one, to be called at its end. */

ADAPTER_EXPORT int event_finalize(unsigned flags, struct event *event,
				  event_finalize_callback_fn finalize)
{
	event_drop(event);
	return NEXT(event_finalize)(flags, event, finalize);
}

ADAPTER_EXPORT int event_free_finalize(unsigned flags, struct event *event,
				       event_finalize_callback_fn finalize)
{
	event_drop(event);
	return NEXT(event_free_finalize)(flags, event, finalize);
}

static void drop_either(struct event_callback *callback)
{
	if (callback->evcb_flags & EVLIST_INIT)
		event_drop((struct event *)callback);
	else
		deferred_drop(callback);
}

ADAPTER_EXPORT void event_callback_finalize_nolock_(struct event_base *base, unsigned flags,
						    struct event_callback *callback,
						    void (*finalize)(struct event_callback *,
								     void *))
{
	drop_either(callback);
	NEXT(event_callback_finalize_nolock_)(base, flags, callback, finalize);
}

ADAPTER_EXPORT int event_callback_cancel_nolock_(struct event_base *base,
						 struct event_callback *callback,
						 int even_if_finalizing)
{
	drop_either(callback);
	return NEXT(event_callback_cancel_nolock_)(base, callback, even_if_finalizing);
}

/* The program's own callback, as it knows it. */

ADAPTER_EXPORT event_callback_fn event_get_callback(const struct event *event)
{
	if (state_is_ours(event))
		return state_number(event)->callback;
	return NEXT(event_get_callback)(event);
}

ADAPTER_EXPORT void event_get_assignment(const struct event *event, struct event_base **base,
					 evutil_socket_t *fd, short *events,
					 event_callback_fn *callback, void **argument)
{
	NEXT(event_get_assignment)(event, base, fd, events, callback, argument);
	if (callback && state_is_ours(event))
		*callback = state_number(event)->callback;
}
