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
static __attribute__((noinline)) void call_otherwise(uv_timer_t *handle, uv_timer_cb callback)
{
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

static inline bool is_called_once(const uv_timer_t *handle, uint64_t task)
{
	return task && !handle->repeat && !handle_is(HANDLE(handle), MARK_BITS) &&
	       !late_by(handle, handle->timeout);
}

static void on_timer(uv_timer_t *handle)
{
	uv_timer_cb callback = (uv_timer_cb)handle_callback(HANDLE(handle));
	uint64_t task = handle_task(HANDLE(handle));

	/* Each call of a light task is the same, and it may stay where it is. */
	if (unweave_priv_is_light(task)) {
		unweave_priv_call_lightly(handle, NULL, NULL, (unweave_go)(void *)callback, task,
					  (void *)callback);
	} else if (adapter_likely(is_called_once(handle, task))) {
		handle_set_task(HANDLE(handle), 0);
		unweave_priv_call_once(handle, NULL, NULL, (unweave_go)(void *)callback, task,
				       (void *)callback);
	} else {
		call_otherwise(handle, callback);
	}
}

static const char kind[] = "timer";

/*
 * What follows is in parts: a usual way, which calls nothing but libuv, by a jump, and others
 * with all the rest. So libuv's functions are known here as soon as they were called once.
 */
static int first_stop(uv_timer_t *handle);
static struct {
	__typeof__(&uv_timer_start) start; /* of a handle that was started before */
	__typeof__(&uv_timer_stop) stop;
} next = {.stop = first_stop};

static int first_stop(uv_timer_t *handle)
{
	__atomic_store_n(&next.stop, NEXT(uv_timer_stop), __ATOMIC_RELAXED);
	return NEXT(uv_timer_stop)(handle);
}

/*
 * How a timer was armed the last time, at detail `samples`: that is how it is armed, mostly, and to
 * compare is less than to search. There is one where the mark is, without flags.
 */
static const struct unweave_priv_cause none = {.way = {.how = UNWEAVE_PRIV_HOW_NONE}};

static inline const struct unweave_priv_cause *last_cause(const uv_timer_t *handle)
{
	return handle->u.reserved[HANDLE_CLOSE];
}

static inline void keep_cause(uv_timer_t *handle, const struct unweave_priv_cause *cause)
{
	handle->u.reserved[HANDLE_CLOSE] = (void *)(uintptr_t)cause;
}

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
	r = handle_armed(HANDLE(handle), (void *)cb, task, repeat ? MARK_STANDING : 0, r);
	if (!handle_is(HANDLE(handle), MARK_CLOSING))
		keep_cause(handle, &none);
	return r;
}

static inline int start_next(uv_timer_t *handle, uint64_t timeout)
{
	return __atomic_load_n(&next.start, __ATOMIC_RELAXED)(handle, on_timer, timeout, 0);
}

/* One that was started before, and is not now: not libuv's own, nor closed, so libuv takes it. */
static __attribute__((noinline)) int start_recorded(uv_timer_t *handle, uv_timer_cb cb,
						    uint64_t timeout, const void *place)
{
	if (adapter_unlikely(!cb || cb == on_timer))
		return start(handle, cb, timeout, 0, place);
	handle_keep_task(HANDLE(handle), (void *)cb, unweave_priv_arm(kind, (void *)cb, place, 0));
	return start_next(handle, timeout);
}

/* The same at detail `samples`. What is found there is a callback of the program's. */
static inline int start_lightly(uv_timer_t *handle, uv_timer_cb cb, uint64_t timeout,
				const struct unweave_priv_cause *cause)
{
	handle_keep_task(HANDLE(handle), (void *)cb, cause->light);
	return start_next(handle, timeout);
}

static __attribute__((noinline)) int start_in_new_way(uv_timer_t *handle, uv_timer_cb cb,
						      uint64_t timeout, const void *place)
{
	const struct unweave_priv_cause *cause =
		unweave_priv_armed_lightly(kind, (void *)cb, place);

	if (adapter_unlikely(!cause))
		return start_recorded(handle, cb, timeout, place);
	keep_cause(handle, cause);
	return start_lightly(handle, cb, timeout, cause);
}

ADAPTER_EXPORT int uv_timer_start(uv_timer_t *handle, uv_timer_cb cb, uint64_t timeout,
				  uint64_t repeat)
{
	const struct unweave_priv_cause *cause;
	uint64_t how;

	if (adapter_unlikely(!handle_is_idle(HANDLE(handle)) || repeat))
		return start(handle, cb, timeout, repeat, ADAPTER_PLACE);
	how = unweave_priv_how();
	if (how == UNWEAVE_PRIV_HOW_ELSE)
		return start_recorded(handle, cb, timeout, ADAPTER_PLACE);
	cause = last_cause(handle);
	if (adapter_unlikely(!unweave_priv_is_again(cause, (void *)cb, ADAPTER_PLACE, how)))
		return start_in_new_way(handle, cb, timeout, ADAPTER_PLACE);
	return start_lightly(handle, cb, timeout, cause);
}

static __attribute__((noinline)) int stop(uv_timer_t *handle, const void *place)
{
	/* Where libuv stops it, it is being closed, or called. */
	if (!IS_INSIDE(place))
		handle_drop(HANDLE(handle));
	return NEXT(uv_timer_stop)(handle);
}

ADAPTER_EXPORT int uv_timer_stop(uv_timer_t *handle)
{
	/* Nothing to drop, whatever the word may hold if it is not ours; or libuv's own call. */
	if (adapter_likely((int64_t)handle_task(HANDLE(handle)) <= 0 ||
			   adapter_is_surely_inside(&libuv, ADAPTER_PLACE)))
		return __atomic_load_n(&next.stop, __ATOMIC_RELAXED)(handle);
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
	if (IS_INSIDE(place))
		was_due = handle->timeout;
	else if (handle->repeat && handle->timer_cb == on_timer)
		arm_again(handle, place);
	return NEXT(uv_timer_again)(handle);
}

ADAPTER_EXPORT int uv_timer_again(uv_timer_t *handle)
{
	/* Nothing is started over, and libuv does nothing: mostly it is about to be called. */
	if (adapter_likely(!handle->repeat && handle->timer_cb))
		return 0;
	return again(handle, ADAPTER_PLACE);
}
