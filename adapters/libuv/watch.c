/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that wait for others: threads, signals, processes, files that change. */
#include "libuv/libuv.h"

/* Other threads */

static void on_async(uv_async_t *handle)
{
	call_handle(HANDLE(handle), go_object, &(struct call_args){0}, 0);
}

/* Found before it is called, since that may be in a signal handler. */
static __typeof__(&uv_async_send) next_async_send(void)
{
	return NEXT(uv_async_send);
}

ADAPTER_EXPORT int uv_async_init(uv_loop_t *loop, uv_async_t *handle, uv_async_cb cb)
{
	handle_forget(HANDLE(handle));
	next_async_send();
	if (PASSES(cb))
		return NEXT(uv_async_init)(loop, handle, cb);
	return ARM_STANDING("async", handle, cb, on_async,
			    NEXT(uv_async_init)(loop, handle, on_async));
}

/*
 * On any thread, and in signal handlers. The one that comes first after a call makes the next call;
 * those that find it pending do nothing.
 */
ADAPTER_EXPORT int uv_async_send(uv_async_t *handle)
{
	uint64_t task;

	if (__atomic_load_n(&handle->pending, __ATOMIC_RELAXED) == 0 &&
	    handle_is_ours(HANDLE(handle))) {
		task = handle_task_to_call(HANDLE(handle));
		if (task)
			unweave_callback_wake(task, UNWEAVE_SOURCE_TASK);
	}
	return next_async_send()(handle);
}

/* Signals */

static void on_signal(uv_signal_t *handle, int signum)
{
	struct call_args args = {.number = signum};

	if (handle_is(HANDLE(handle), MARK_STANDING))
		call_handle(HANDLE(handle), go_number, &args, 0);
	else
		call_handle_last(HANDLE(handle), go_number, &args, 0, 0);
}

ADAPTER_EXPORT int uv_signal_start(uv_signal_t *handle, uv_signal_cb cb, int signum)
{
	if (PASSES(cb))
		return NEXT(uv_signal_start)(handle, cb, signum);
	return ARM_STANDING("signal", handle, cb, on_signal,
			    NEXT(uv_signal_start)(handle, on_signal, signum));
}

ADAPTER_EXPORT int uv_signal_start_oneshot(uv_signal_t *handle, uv_signal_cb cb, int signum)
{
	static const char kind[] = "signal";
	const void *place = ADAPTER_PLACE;
	void *callback = meant(HANDLE(handle), (void *)cb, (void *)on_signal);
	uint64_t task;

	if (!callback)
		return NEXT(uv_signal_start_oneshot)(handle, NULL, signum);
	task = unweave_callback_arm(kind, callback, place, 0);
	return handle_armed(HANDLE(handle), callback, task, 0,
			    NEXT(uv_signal_start_oneshot)(handle, on_signal, signum));
}

ADAPTER_EXPORT int uv_signal_stop(uv_signal_t *handle)
{
	return STOP(uv_signal_stop, handle);
}

/* Processes: called once, at their end. */

static int go_exited(struct unweave_link *none, void *context)
{
	const struct call_args *args = context;

	(void)none;
	((uv_exit_cb)args->callback)(args->object, args->number, (int)args->more);
	return 0;
}

static void on_exited(uv_process_t *handle, int64_t status, int signum)
{
	struct call_args args = {.number = status, .more = (uint64_t)signum};

	call_handle_last(HANDLE(handle), go_exited, &args, 0, 0);
}

ADAPTER_EXPORT int uv_spawn(uv_loop_t *loop, uv_process_t *handle,
			    const uv_process_options_t *options)
{
	static const char kind[] = "process";
	const void *place = ADAPTER_PLACE;
	uv_process_options_t ours;
	uint64_t task;

	handle_forget(HANDLE(handle));
	if (!options || !options->exit_cb)
		return NEXT(uv_spawn)(loop, handle, options);
	ours = *options;
	ours.exit_cb = on_exited;
	task = unweave_callback_arm(kind, (void *)options->exit_cb, place, 0);
	return handle_armed(HANDLE(handle), (void *)options->exit_cb, task, 0,
			    NEXT(uv_spawn)(loop, handle, &ours));
}

/* Files that change */

static int go_changed(struct unweave_link *none, void *context)
{
	const struct call_args *args = context;

	(void)none;
	((uv_fs_event_cb)args->callback)(args->object, args->first, (int)args->number,
					 (int)args->more);
	return 0;
}

static void on_changed(uv_fs_event_t *handle, const char *name, int events, int status)
{
	struct call_args args = {.number = events, .first = name, .more = (uint64_t)status};

	call_handle(HANDLE(handle), go_changed, &args, status);
}

ADAPTER_EXPORT int uv_fs_event_start(uv_fs_event_t *handle, uv_fs_event_cb cb, const char *path,
				     unsigned flags)
{
	if (PASSES(cb))
		return NEXT(uv_fs_event_start)(handle, cb, path, flags);
	return ARM_STANDING("fs event", handle, cb, on_changed,
			    NEXT(uv_fs_event_start)(handle, on_changed, path, flags));
}

ADAPTER_EXPORT int uv_fs_event_stop(uv_fs_event_t *handle)
{
	return STOP(uv_fs_event_stop, handle);
}

static int go_seen(struct unweave_link *none, void *context)
{
	const struct call_args *args = context;

	(void)none;
	((uv_fs_poll_cb)args->callback)(args->object, (int)args->number, args->first, args->second);
	return 0;
}

static void on_seen(uv_fs_poll_t *handle, int status, const uv_stat_t *before, const uv_stat_t *now)
{
	struct call_args args = {.number = status, .first = before, .second = now};

	call_handle(HANDLE(handle), go_seen, &args, status);
}

/* libuv ignores the start of one that is started. */
ADAPTER_EXPORT int uv_fs_poll_start(uv_fs_poll_t *handle, uv_fs_poll_cb cb, const char *path,
				    unsigned interval)
{
	if (PASSES(cb) || NEXT(uv_is_active)(HANDLE(handle)))
		return NEXT(uv_fs_poll_start)(handle, cb, path, interval);
	return ARM_STANDING("fs poll", handle, cb, on_seen,
			    NEXT(uv_fs_poll_start)(handle, on_seen, path, interval));
}

ADAPTER_EXPORT int uv_fs_poll_stop(uv_fs_poll_t *handle)
{
	return STOP(uv_fs_poll_stop, handle);
}
