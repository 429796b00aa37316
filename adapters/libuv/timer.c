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
static __attribute__((noinline)) void call_timer(uv_timer_t *handle, uv_timer_cb callback,
						 uint64_t task)
{
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

/* Each call of a light task is the same, and it may stay where it is. */
static void on_timer(uv_timer_t *handle)
{
	uv_timer_cb callback = (uv_timer_cb)handle_callback(HANDLE(handle));
	uint64_t task = handle_task(HANDLE(handle));

	if (adapter_likely(adapter_is_light_call(task)))
		unweave_priv_call_lightly(handle, NULL, NULL, (unweave_go)(void *)callback, task,
					  (void *)callback);
	else
		call_timer(handle, callback, task);
}

static const char kind[] = "timer";

/*
 * What follows is in two parts: a usual way, which calls nothing but libuv, by a jump, and
 * the other one with all the rest.
 */
static struct {
	__typeof__(&uv_timer_start) start;
	__typeof__(&uv_timer_stop) stop;
} next; /* NULL until the other way was gone */

static __attribute__((noinline)) int start(uv_timer_t *handle, uv_timer_cb cb, uint64_t timeout,
					   uint64_t repeat, const void *place)
{
	uint64_t task;
	int r;

	if (!cb || IS_INSIDE(place))
		return NEXT(uv_timer_start)(handle, cb, timeout, repeat);
	cb = (uv_timer_cb)meant(HANDLE(handle), (void *)cb, (void *)on_timer);
	if (adapter_unlikely(!cb))
		return UV_EINVAL;
	__atomic_store_n(&next.start, NEXT(uv_timer_start), __ATOMIC_RELAXED);
	r = NEXT(uv_timer_start)(handle, on_timer, timeout, repeat);
	task = unweave_callback_arm(kind, (void *)cb, place, repeat ? UNWEAVE_STANDING : 0);
	return handle_armed(HANDLE(handle), (void *)cb, task, repeat ? MARK_STANDING : 0, r);
}

/*
 * Whether it was armed before, by the program, with nothing but light tasks: it is neither
 * libuv's own, nor being closed. If libuv refuses it, there is nothing to take back.
 */
static inline bool can_start_lightly(uv_timer_t *handle, uv_timer_cb cb, uint64_t repeat)
{
	return handle_is_light(HANDLE(handle)) && cb && cb != on_timer && !repeat;
}

ADAPTER_EXPORT int uv_timer_start(uv_timer_t *handle, uv_timer_cb cb, uint64_t timeout,
				  uint64_t repeat)
{
	uint64_t light = 0;

	if (adapter_likely(can_start_lightly(handle, cb, repeat)))
		light = unweave_priv_arm_lightly(kind, (void *)cb, ADAPTER_PLACE);
	if (adapter_unlikely(!light))
		return start(handle, cb, timeout, repeat, ADAPTER_PLACE);
	handle_keep_light(HANDLE(handle), (void *)cb, light);
	return __atomic_load_n(&next.start, __ATOMIC_RELAXED)(handle, on_timer, timeout, repeat);
}

static __attribute__((noinline)) int stop(uv_timer_t *handle, const void *place)
{
	__typeof__(&uv_timer_stop) found = NEXT(uv_timer_stop);

	__atomic_store_n(&next.stop, found, __ATOMIC_RELAXED);
	/* Where libuv stops it, it is being closed, or called. */
	if (!IS_INSIDE(place))
		handle_drop(HANDLE(handle));
	return found(handle);
}

ADAPTER_EXPORT int uv_timer_stop(uv_timer_t *handle)
{
	__typeof__(&uv_timer_stop) known = __atomic_load_n(&next.stop, __ATOMIC_RELAXED);

	if (adapter_likely(known && adapter_is_surely_inside(&libuv, ADAPTER_PLACE)))
		return known(handle);
	return stop(handle, ADAPTER_PLACE);
}

/* The program starts a repeating timer over. */
static void arm_again(uv_timer_t *handle, const void *place)
{
	void *callback = handle_callback(HANDLE(handle));
	uint64_t task = unweave_callback_arm(kind, callback, place, UNWEAVE_STANDING);

	handle_armed(HANDLE(handle), callback, task, MARK_STANDING, 0);
}

static __attribute__((noinline)) int again(uv_timer_t *handle, const void *place)
{
	if (IS_INSIDE(place)) {
		if (!handle->repeat)
			return 0;
		was_due = handle->timeout;
	} else if (handle->repeat && handle->timer_cb == on_timer) {
		arm_again(handle, place);
	}
	return NEXT(uv_timer_again)(handle);
}

ADAPTER_EXPORT int uv_timer_again(uv_timer_t *handle)
{
	/* About to be called, and not to be started over. */
	if (adapter_likely(!handle->repeat && adapter_is_surely_inside(&libuv, ADAPTER_PLACE)))
		return 0;
	return again(handle, ADAPTER_PLACE);
}
