/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of files, and of the loop itself, which stay armed until they are stopped or closed. */
#include "libuv/libuv.h"

/* Streams */

static void on_connection(uv_stream_t *handle, int status)
{
	call_handle(HANDLE(handle), go_number, &(struct call_args){.number = status}, status);
}

ADAPTER_EXPORT int uv_listen(uv_stream_t *handle, int backlog, uv_connection_cb cb)
{
	if (PASSES(cb))
		return NEXT(uv_listen)(handle, backlog, cb);
	return ARM_STANDING("listen", handle, cb, on_connection,
			    NEXT(uv_listen)(handle, backlog, on_connection));
}

static int go_read(struct unweave_link *none, void *context)
{
	const struct call_args *args = context;

	(void)none;
	((uv_read_cb)args->callback)(args->object, args->number, args->first);
	return 0;
}

static void on_read(uv_stream_t *handle, ssize_t count, const uv_buf_t *buffer)
{
	struct call_args args = {.number = count, .first = buffer};

	call_handle(HANDLE(handle), go_read, &args, count);
}

ADAPTER_EXPORT int uv_read_start(uv_stream_t *handle, uv_alloc_cb alloc_cb, uv_read_cb cb)
{
	if (!handle || PASSES(cb))
		return NEXT(uv_read_start)(handle, alloc_cb, cb);
	return ARM_STANDING("read", handle, cb, on_read,
			    NEXT(uv_read_start)(handle, alloc_cb, on_read));
}

ADAPTER_EXPORT int uv_read_stop(uv_stream_t *handle)
{
	return STOP(uv_read_stop, handle);
}

/* Datagrams */

static int go_received(struct unweave_link *none, void *context)
{
	const struct call_args *args = context;

	(void)none;
	((uv_udp_recv_cb)args->callback)(args->object, args->number, args->first, args->second,
					 (unsigned)args->more);
	return 0;
}

static void on_received(uv_udp_t *handle, ssize_t count, const uv_buf_t *buffer,
			const struct sockaddr *from, unsigned flags)
{
	struct call_args args = {.number = count, .first = buffer, .second = from, .more = flags};

	call_handle(HANDLE(handle), go_received, &args, count);
}

ADAPTER_EXPORT int uv_udp_recv_start(uv_udp_t *handle, uv_alloc_cb alloc_cb, uv_udp_recv_cb cb)
{
	if (!handle || PASSES(cb))
		return NEXT(uv_udp_recv_start)(handle, alloc_cb, cb);
	return ARM_STANDING("udp recv", handle, cb, on_received,
			    NEXT(uv_udp_recv_start)(handle, alloc_cb, on_received));
}

ADAPTER_EXPORT int uv_udp_recv_stop(uv_udp_t *handle)
{
	return STOP(uv_udp_recv_stop, handle);
}

/* Files that are polled */

static int go_polled(struct unweave_link *none, void *context)
{
	const struct call_args *args = context;

	(void)none;
	((uv_poll_cb)args->callback)(args->object, (int)args->number, (int)args->more);
	return 0;
}

static void on_polled(uv_poll_t *handle, int status, int events)
{
	struct call_args args = {.number = status, .more = (uint64_t)events};

	/* libuv has stopped a poll that failed. */
	if (status < 0)
		call_handle_last(HANDLE(handle), go_polled, &args, status, 0);
	else
		call_handle(HANDLE(handle), go_polled, &args, 0);
}

ADAPTER_EXPORT int uv_poll_start(uv_poll_t *handle, int events, uv_poll_cb cb)
{
	int r;

	/* To wait for nothing is to stop. */
	if (PASSES(cb) || !events) {
		r = NEXT(uv_poll_start)(handle, events, cb);
		if (r >= 0)
			handle_drop(HANDLE(handle));
		return r;
	}
	return ARM_STANDING("poll", handle, cb, on_polled,
			    NEXT(uv_poll_start)(handle, events, on_polled));
}

ADAPTER_EXPORT int uv_poll_stop(uv_poll_t *handle)
{
	return STOP(uv_poll_stop, handle);
}

/* What is called in each iteration: libuv ignores the start of one that is started. */
#define EACH_ITERATION(name)                                                                       \
	static void on_##name(uv_##name##_t *handle)                                               \
	{                                                                                          \
		call_handle(HANDLE(handle), go_object, &(struct call_args){0}, 0);                 \
	}                                                                                          \
                                                                                                   \
	ADAPTER_EXPORT int uv_##name##_start(uv_##name##_t *handle, uv_##name##_cb cb)             \
	{                                                                                          \
		if (PASSES(cb) || NEXT(uv_is_active)(HANDLE(handle)))                              \
			return NEXT(uv_##name##_start)(handle, cb);                                \
		return ARM_STANDING(#name, handle, cb, on_##name,                                  \
				    NEXT(uv_##name##_start)(handle, on_##name));                   \
	}                                                                                          \
                                                                                                   \
	ADAPTER_EXPORT int uv_##name##_stop(uv_##name##_t *handle)                                 \
	{                                                                                          \
		return STOP(uv_##name##_stop, handle);                                             \
	}

EACH_ITERATION(idle)
EACH_ITERATION(check)
EACH_ITERATION(prepare)
