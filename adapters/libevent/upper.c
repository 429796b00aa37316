/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of libevent above its events: bufferevents, listeners, one-time
 * callbacks. Their events have callbacks of libevent's own; what a user wants to
 * see is the program's, which stands in the object that the event belongs to.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_struct.h>
#include <event2/listener.h>

#include "libevent/state.h"

#define NEXT(function) ADAPTER_NEXT(&libevent, function)

/*
 * libevent's own callbacks. Each becomes known when an event is set up with it whose
 * object has the program's where we look for it; until then it is NULL.
 */
static _Atomic(event_callback_fn) once, listening, reading, writing;

/* Of event_base_once(): the program's follows the event. */
static const void *once_code(const struct event *event)
{
	return *(const void *const *)(event + 1);
}

/* Of a listener: the third word. */
static const void *listener_code(const void *listener)
{
	return ((const void *const *)listener)[2];
}

static bool is_at(const struct event *event, const void *object, size_t offset)
{
	return (uintptr_t)event == (uintptr_t)object + offset;
}

void upper_assigned(struct event *event, event_callback_fn callback)
{
	const void *argument = *state_argument(event);
	const void *code = self.upper->code;

	if (!adapter_is_inside(&libevent, (const void *)callback))
		return;
	switch (self.upper->sort) {
	case UPPER_ONCE:
		if (once_code(event) == code)
			once = callback;
		break;
	case UPPER_LISTENER:
		if (code && listener_code(argument) == code)
			listening = callback;
		break;
	case UPPER_BUFFER:
		if (is_at(event, argument, offsetof(struct bufferevent, ev_read)))
			reading = callback;
		else if (is_at(event, argument, offsetof(struct bufferevent, ev_write)))
			writing = callback;
		break;
	case UPPER_PLAIN:
	case UPPER_CONNECT:
	case UPPER_NAMES:
		break;
	}
}

const void *upper_code(struct event *event, event_callback_fn callback)
{
	const void *argument = *state_argument(event);
	const struct bufferevent *buffer = argument;
	const void *code = NULL;

	if (callback == reading)
		code = buffer->readcb ? (const void *)buffer->readcb
				      : (const void *)buffer->errorcb;
	else if (callback == writing)
		code = buffer->writecb ? (const void *)buffer->writecb
				       : (const void *)buffer->errorcb;
	else if (callback == once)
		code = once_code(event);
	else if (callback == listening)
		code = listener_code(argument);
	return code ? code : (const void *)callback;
}

const char *upper_kind(const struct event *event, event_callback_fn callback, const char *plain)
{
	if (callback == listening)
		return "accept";
	if (callback == writing && self.upper && self.upper->sort == UPPER_CONNECT)
		return "connect";
	if (callback == once && !(event->ev_events & (EV_READ | EV_WRITE | EV_CLOSED)))
		return "timer";
	return plain;
}

/* What is set up and armed inside of it was so by the program, at `at_`. */
#define INSIDE(upper_, code_, at_, call)                                                           \
	(__extension__({                                                                           \
		struct upper *outer_ = self.upper;                                                 \
		struct upper here_ = {                                                             \
			.sort = upper_, .code = code_, .place = outer_ ? outer_->place : at_};     \
		__typeof__(call) result_;                                                          \
                                                                                                   \
		self.upper = outer_ && upper_ == UPPER_PLAIN ? outer_ : &here_;                    \
		result_ = call;                                                                    \
		self.upper = outer_;                                                               \
		result_;                                                                           \
	}))

ADAPTER_EXPORT int event_base_once(struct event_base *base, evutil_socket_t fd, short events,
				   event_callback_fn callback, void *argument,
				   const struct timeval *timeout)
{
	struct upper *outer = self.upper;
	struct upper here = {.sort = UPPER_ONCE,
			     .code = (const void *)callback,
			     .place = outer ? outer->place : ADAPTER_PLACE,
			     .has_timeout = timeout && (timeout->tv_sec || timeout->tv_usec)};
	int result;

	self.upper = &here;
	result = NEXT(event_base_once)(base, fd, events, callback, argument, timeout);
	self.upper = outer;
	if (result != 0 && here.task)
		unweave_callback_drop(here.task);
	return result;
}

ADAPTER_EXPORT struct evconnlistener *evconnlistener_new(struct event_base *base,
							 evconnlistener_cb callback, void *argument,
							 unsigned flags, int backlog,
							 evutil_socket_t fd)
{
	return INSIDE(UPPER_LISTENER, (const void *)callback, ADAPTER_PLACE,
		      NEXT(evconnlistener_new)(base, callback, argument, flags, backlog, fd));
}

ADAPTER_EXPORT struct evconnlistener *
evconnlistener_new_bind(struct event_base *base, evconnlistener_cb callback, void *argument,
			unsigned flags, int backlog, const struct sockaddr *address, int length)
{
	return INSIDE(UPPER_LISTENER, (const void *)callback, ADAPTER_PLACE,
		      NEXT(evconnlistener_new_bind)(base, callback, argument, flags, backlog,
						    address, length));
}

ADAPTER_EXPORT int evconnlistener_enable(struct evconnlistener *listener)
{
	return INSIDE(UPPER_LISTENER, NULL, ADAPTER_PLACE, NEXT(evconnlistener_enable)(listener));
}

ADAPTER_EXPORT struct bufferevent *bufferevent_socket_new(struct event_base *base,
							  evutil_socket_t fd, int options)
{
	return INSIDE(UPPER_BUFFER, NULL, ADAPTER_PLACE,
		      NEXT(bufferevent_socket_new)(base, fd, options));
}

ADAPTER_EXPORT int bufferevent_enable(struct bufferevent *buffer, short events)
{
	return INSIDE(UPPER_PLAIN, NULL, ADAPTER_PLACE, NEXT(bufferevent_enable)(buffer, events));
}

ADAPTER_EXPORT int bufferevent_write(struct bufferevent *buffer, const void *data, size_t size)
{
	return INSIDE(UPPER_PLAIN, NULL, ADAPTER_PLACE,
		      NEXT(bufferevent_write)(buffer, data, size));
}

ADAPTER_EXPORT int bufferevent_write_buffer(struct bufferevent *buffer, struct evbuffer *data)
{
	return INSIDE(UPPER_PLAIN, NULL, ADAPTER_PLACE,
		      NEXT(bufferevent_write_buffer)(buffer, data));
}

/* It arms the writing side, which is ready when the connection stands. */
ADAPTER_EXPORT int bufferevent_socket_connect(struct bufferevent *buffer,
					      const struct sockaddr *address, int length)
{
	return INSIDE(UPPER_CONNECT, NULL, ADAPTER_PLACE,
		      NEXT(bufferevent_socket_connect)(buffer, address, length));
}
