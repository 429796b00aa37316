/* SPDX-License-Identifier: Apache-2.0 */
/* Loops: event_base_loop(), and what it waits by. */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "libevent/state.h"

#define NS_PER_S UINT64_C(1000000000)
#define NEXT(function) ADAPTER_NEXT(&libevent, function)

static void take_hold(void)
{
	static bool said;

	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		adapter_took_hold(&libevent, NEXT(event_get_version)());
}

/* The base of those functions that are given none, or NULL. */
static struct event_base *global_base(void)
{
	static _Atomic(void *) cache;
	struct event_base **global = adapter_find(&libevent, &cache, "event_global_current_base_");

	return global ? *global : NULL;
}

/* May be called again inside of a callback, for another base. */
static int run(struct event_base *base, int flags, const void *place)
{
	__typeof__(&event_base_loop) next = NEXT(event_base_loop);
	const struct self outer = self;
	int result;

	if (!event_is_known())
		return next(base, flags);
	take_hold();
	self.base = base;
	self.loop = adapter_loop(base, "loop", (const void *)next, place);
	self.woke = 0;
	result = next(base, flags);
	unweave_loop_left();
	self.base = outer.base;
	self.loop = outer.loop;
	self.woke = outer.woke;
	return result;
}

ADAPTER_EXPORT int event_base_loop(struct event_base *base, int flags)
{
	return run(base, flags, ADAPTER_PLACE);
}

/* These call event_base_loop(), but not in all builds of libevent by its name. */

ADAPTER_EXPORT int event_base_dispatch(struct event_base *base)
{
	return run(base, 0, ADAPTER_PLACE);
}

ADAPTER_EXPORT int event_loop(int flags)
{
	struct event_base *base = global_base();

	return base ? run(base, flags, ADAPTER_PLACE) : NEXT(event_loop)(flags);
}

ADAPTER_EXPORT int event_dispatch(void)
{
	struct event_base *base = global_base();

	return base ? run(base, 0, ADAPTER_PLACE) : NEXT(event_dispatch)();
}

static int drop_each(const struct event_base *base, const struct event *event, void *none)
{
	(void)base, (void)none;
	event_drop((struct event *)(uintptr_t)event);
	return 0;
}

/* libevent takes its events off, in ways that we cannot see. */
static void before_free(struct event_base *base)
{
	NEXT(event_base_foreach_event)(base, drop_each, NULL);
	running_forget_base(base);
}

ADAPTER_EXPORT void event_base_free(struct event_base *base)
{
	struct event_base *really = base ? base : global_base();

	if (really)
		before_free(really);
	NEXT(event_base_free)(base);
	if (really)
		adapter_loop_gone(really);
}

ADAPTER_EXPORT void event_base_free_nofinalize(struct event_base *base)
{
	struct event_base *really = base ? base : global_base();

	if (really)
		before_free(really);
	NEXT(event_base_free_nofinalize)(base);
	if (really)
		adapter_loop_gone(really);
}

/* In the child of a fork, the loop is another one. */
ADAPTER_EXPORT int event_reinit(struct event_base *base)
{
	adapter_loop_gone(base);
	return NEXT(event_reinit)(base);
}

/* Whether it is the loop that waits, and not a callback. */
static inline bool is_loop(const void *place)
{
	return adapter_unlikely(self.base != NULL) && adapter_is_inside(&libevent, place);
}

static void woke(void)
{
	struct timespec now;

	unweave_loop_woke(self.loop);
	if (unweave_priv_silent(unweave_priv_gate()))
		return;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	self.woke = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* A wait of the loop's. `errno` is the wait's. */
#define WAIT(call)                                                                                 \
	(__extension__({                                                                           \
		__typeof__(call) result_;                                                          \
		int error_;                                                                        \
                                                                                                   \
		unweave_loop_wait(self.loop);                                                      \
		result_ = call;                                                                    \
		error_ = errno;                                                                    \
		woke();                                                                            \
		errno = error_;                                                                    \
		result_;                                                                           \
	}))

ADAPTER_EXPORT int epoll_wait(int epoll, struct epoll_event *events, int room, int timeout)
{
	__typeof__(&epoll_wait) next = NEXT(epoll_wait);

	if (!is_loop(ADAPTER_PLACE))
		return next(epoll, events, room, timeout);
	return WAIT(next(epoll, events, room, timeout));
}

ADAPTER_EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	__typeof__(&poll) next = NEXT(poll);

	if (!is_loop(ADAPTER_PLACE))
		return next(fds, count, timeout);
	return WAIT(next(fds, count, timeout));
}

ADAPTER_EXPORT int select(int count, fd_set *read, fd_set *write, fd_set *except,
			  struct timeval *timeout)
{
	__typeof__(&select) next = NEXT(select);

	if (!is_loop(ADAPTER_PLACE))
		return next(count, read, write, except, timeout);
	return WAIT(next(count, read, write, except, timeout));
}
