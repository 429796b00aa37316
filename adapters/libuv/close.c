/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ends of a handle: it is initialised, after which nothing is armed by
 * it, whatever its memory held; and closed, after which nothing will be.
 */
#include "libuv/libuv.h"

static void call_closed(uv_handle_t *handle, void *callback)
{
	struct call_args args = {.callback = callback, .object = handle};
	uint64_t task = handle_task(handle);

	handle_forget(handle);
	unweave_callback_call(&(struct unweave_call){
		.task = task,
		.go = go_object,
		.context = &args,
		.code = callback,
		.straight_on = 1,
	});
}

static void on_closed(uv_handle_t *handle)
{
	call_closed(handle, handle->u.reserved[HANDLE_CLOSE]);
}

/* Its first word is libuv's; no callback of it is called between uv_close() and this one. */
static void on_async_closed(uv_handle_t *handle)
{
	call_closed(handle, handle_callback(handle));
}

static uint64_t arm_close(uv_close_cb cb, const void *place)
{
	static const char kind[] = "close";

	return cb ? unweave_callback_arm(kind, (void *)cb, place, 0) : 0;
}

/* What libuv is given to call. */
static uv_close_cb closer_of(const uv_handle_t *handle, uv_close_cb cb)
{
	if (!cb)
		return NULL;
	return handle->type == UV_ASYNC ? on_async_closed : on_closed;
}

static void keep_close(uv_handle_t *handle, uv_close_cb cb, uint64_t task)
{
	void *callback = handle_is_ours(handle) ? handle_callback(handle) : NULL;

	handle_drop(handle);
	if (!cb) {
		/* Until it is initialised again, nothing is to be armed by it. */
		handle_forget(handle);
		return;
	}
	if (handle->type == UV_ASYNC)
		callback = (void *)cb;
	else
		handle->u.reserved[HANDLE_CLOSE] = (void *)cb;
	handle_keep(handle, callback, task, MARK_CLOSING);
}

ADAPTER_EXPORT void uv_close(uv_handle_t *handle, uv_close_cb cb)
{
	const void *place = ADAPTER_PLACE;
	uint64_t task;

	if (IS_INSIDE(place)) {
		NEXT(uv_close)(handle, cb);
		return;
	}
	task = arm_close(cb, place);
	NEXT(uv_close)(handle, closer_of(handle, cb));
	keep_close(handle, cb, task);
}

ADAPTER_EXPORT int uv_tcp_close_reset(uv_tcp_t *handle, uv_close_cb cb)
{
	uint64_t task = arm_close(cb, ADAPTER_PLACE);
	int r = NEXT(uv_tcp_close_reset)(handle, closer_of((uv_handle_t *)handle, cb));

	if (r >= 0)
		keep_close((uv_handle_t *)handle, cb, task);
	else if (task)
		unweave_callback_end(task, UNWEAVE_ERROR);
	return r;
}

/* The function has left the handle's spare words as they were. */
static int initialised(void *handle, int r)
{
	handle_forget(handle);
	return r;
}

ADAPTER_EXPORT int uv_timer_init(uv_loop_t *loop, uv_timer_t *handle)
{
	return initialised(handle, NEXT(uv_timer_init)(loop, handle));
}

ADAPTER_EXPORT int uv_tcp_init(uv_loop_t *loop, uv_tcp_t *handle)
{
	return initialised(handle, NEXT(uv_tcp_init)(loop, handle));
}

ADAPTER_EXPORT int uv_tcp_init_ex(uv_loop_t *loop, uv_tcp_t *handle, unsigned flags)
{
	return initialised(handle, NEXT(uv_tcp_init_ex)(loop, handle, flags));
}

ADAPTER_EXPORT int uv_pipe_init(uv_loop_t *loop, uv_pipe_t *handle, int ipc)
{
	return initialised(handle, NEXT(uv_pipe_init)(loop, handle, ipc));
}

ADAPTER_EXPORT int uv_tty_init(uv_loop_t *loop, uv_tty_t *handle, uv_file fd, int readable)
{
	return initialised(handle, NEXT(uv_tty_init)(loop, handle, fd, readable));
}

ADAPTER_EXPORT int uv_udp_init(uv_loop_t *loop, uv_udp_t *handle)
{
	return initialised(handle, NEXT(uv_udp_init)(loop, handle));
}

ADAPTER_EXPORT int uv_udp_init_ex(uv_loop_t *loop, uv_udp_t *handle, unsigned flags)
{
	return initialised(handle, NEXT(uv_udp_init_ex)(loop, handle, flags));
}

ADAPTER_EXPORT int uv_poll_init(uv_loop_t *loop, uv_poll_t *handle, int fd)
{
	return initialised(handle, NEXT(uv_poll_init)(loop, handle, fd));
}

ADAPTER_EXPORT int uv_poll_init_socket(uv_loop_t *loop, uv_poll_t *handle, uv_os_sock_t socket)
{
	return initialised(handle, NEXT(uv_poll_init_socket)(loop, handle, socket));
}

ADAPTER_EXPORT int uv_idle_init(uv_loop_t *loop, uv_idle_t *handle)
{
	return initialised(handle, NEXT(uv_idle_init)(loop, handle));
}

ADAPTER_EXPORT int uv_check_init(uv_loop_t *loop, uv_check_t *handle)
{
	return initialised(handle, NEXT(uv_check_init)(loop, handle));
}

ADAPTER_EXPORT int uv_prepare_init(uv_loop_t *loop, uv_prepare_t *handle)
{
	return initialised(handle, NEXT(uv_prepare_init)(loop, handle));
}

ADAPTER_EXPORT int uv_signal_init(uv_loop_t *loop, uv_signal_t *handle)
{
	return initialised(handle, NEXT(uv_signal_init)(loop, handle));
}

ADAPTER_EXPORT int uv_fs_event_init(uv_loop_t *loop, uv_fs_event_t *handle)
{
	return initialised(handle, NEXT(uv_fs_event_init)(loop, handle));
}

ADAPTER_EXPORT int uv_fs_poll_init(uv_loop_t *loop, uv_fs_poll_t *handle)
{
	return initialised(handle, NEXT(uv_fs_poll_init)(loop, handle));
}
