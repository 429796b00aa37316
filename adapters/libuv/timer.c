/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers. One that repeats is a standing task, one that does not is a task that
 * ends with its call. What is started again is armed again, by whoever did it.
 */
#include "libuv/libuv.h"

#define NS_IN_MS UINT64_C(1000000)

/* When the repeating timer was due that libuv is about to call: it has set the next time then. */
static ADAPTER_TLS uint64_t was_due;

static uint64_t late_by(const uv_timer_t *handle, uint64_t due)
{
	uint64_t now = handle->loop->time;

	return adapter_unlikely(now > due) ? (now - due) * NS_IN_MS : 0;
}

/*
 * It was armed to repeat: it does, or was told meanwhile not to, so that this is its
 * last call. Or it was not, and was told to later: then that is one more run.
 */
static void call_repeating(uv_timer_t *handle, uv_timer_cb callback)
{
	bool stands = handle_is(HANDLE(handle), MARK_STANDING), last = !handle->repeat;
	uint64_t task = handle_task_to_call(HANDLE(handle));

	if (adapter_unlikely(!task)) {
		callback(handle);
		return;
	}
	if (last)
		handle_set_task(HANDLE(handle), 0);
	unweave_callback_call(&(struct unweave_call){
		.task = task,
		.go = (unweave_go)(void *)callback,
		.object = handle,
		.code = (void *)callback,
		.late = late_by(handle, last ? handle->timeout : was_due),
		.end = stands ? UNWEAVE_CALL_FIRES : UNWEAVE_CALL_STAYS,
		.straight_on = 1,
	});
	if (last)
		unweave_callback_end(task, UNWEAVE_OK);
}

/*
 * A timer's callback takes one argument and returns nothing: on the machines that libuv runs
 * on it may be called as a function that gets two and returns something.
 */

/* After a timer libuv goes on to the next one: it makes no system call in between. */
static void on_timer(uv_timer_t *handle)
{
	uv_timer_cb callback = (uv_timer_cb)handle_callback(HANDLE(handle));
	uint64_t task = handle_task(HANDLE(handle));

	if (handle->repeat || handle_is(HANDLE(handle), MARK_BITS) || !task) {
		call_repeating(handle, callback);
		return;
	}
	handle_set_task(HANDLE(handle), 0);
	unweave_callback_call(&(struct unweave_call){
		.task = task,
		.go = (unweave_go)(void *)callback,
		.object = handle,
		.code = (void *)callback,
		.late = late_by(handle, handle->timeout),
		.straight_on = 1,
	});
}

static const char kind[] = "timer";

ADAPTER_EXPORT int uv_timer_start(uv_timer_t *handle, uv_timer_cb cb, uint64_t timeout,
				  uint64_t repeat)
{
	uint64_t task;
	int r;

	if (PASSES(cb))
		return NEXT(uv_timer_start)(handle, cb, timeout, repeat);
	cb = (uv_timer_cb)meant(HANDLE(handle), (void *)cb, (void *)on_timer);
	if (adapter_unlikely(!cb))
		return UV_EINVAL;
	r = NEXT(uv_timer_start)(handle, on_timer, timeout, repeat);
	task = unweave_callback_arm(kind, (void *)cb, ADAPTER_PLACE, repeat ? UNWEAVE_STANDING : 0);
	return handle_armed(HANDLE(handle), (void *)cb, task, repeat ? MARK_STANDING : 0, r);
}

ADAPTER_EXPORT int uv_timer_stop(uv_timer_t *handle)
{
	return STOP(uv_timer_stop, handle);
}

/* The program starts a repeating timer over. */
static void arm_again(uv_timer_t *handle, const void *place)
{
	void *callback = handle_callback(HANDLE(handle));
	uint64_t task = unweave_callback_arm(kind, callback, place, UNWEAVE_STANDING);

	handle_armed(HANDLE(handle), callback, task, MARK_STANDING, 0);
}

ADAPTER_EXPORT int uv_timer_again(uv_timer_t *handle)
{
	if (IS_INSIDE(ADAPTER_PLACE)) {
		/* About to be called, and not to be started over. */
		if (!handle->repeat)
			return 0;
		was_due = handle->timeout;
	} else if (handle->repeat && handle->timer_cb == on_timer) {
		arm_again(handle, ADAPTER_PLACE);
	}
	return NEXT(uv_timer_again)(handle);
}
