/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter for libuv: what its files share.
 *
 * What an operation needs is kept in words that libuv leaves free in its own
 * structs: `reserved` of a request, `u.reserved` of a handle. libuv does not set
 * them to anything, so they may hold whatever was in that memory before. A mark that
 * depends on where the struct lies says that they are ours; it goes away when a
 * handle is initialised, and before the last callback is called.
 *
 *     request   callback | after-work callback | task | mark
 *     handle    close callback | callback | task | mark
 *
 * A timer that is not being closed has no use for the first word, and keeps there how it was armed
 * the last time.
 *
 * The first word of a uv_async_t is not free: from 1.45 to 1.51 libuv counts in it.
 */
#ifndef LIBUV_LIBUV_H
#define LIBUV_LIBUV_H

#include <stdint.h>
#include <uv.h>

#include "common/adapter.h"

extern struct adapter libuv;

#define NEXT(function) ADAPTER_NEXT(&libuv, function)
/* libuv calls its own functions by the way that leads here. */
#define IS_INSIDE(place) adapter_is_inside(&libuv, place)

_Static_assert(sizeof(void *) == sizeof(uint64_t), "a task needs a word");

/* In the mark of a handle: what its task is. */
#define MARK_STANDING 1u
#define MARK_CLOSING 2u
#define MARK_BITS 7u

/* Different for each object, and nothing that memory would hold by chance. */
static inline uintptr_t mark_of(const void *object)
{
	return (uintptr_t)object ^ (UINT64_C(0x9e3779b97f4a7c15) & ~(uintptr_t)MARK_BITS);
}

/* Words that uv_async_send() may read on another thread. */
static inline uintptr_t word_load(void *const *word)
{
	return (uintptr_t)__atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void word_store(void **word, uintptr_t value)
{
	__atomic_store_n(word, (void *)value, __ATOMIC_RELAXED);
}

/* Requests: armed once, called once. */

enum { REQUEST_CALLBACK, REQUEST_AFTER, REQUEST_TASK, REQUEST_MARK };

static inline void request_keep(uv_req_t *req, void *callback, void *after, uint64_t task)
{
	req->reserved[REQUEST_CALLBACK] = callback;
	req->reserved[REQUEST_AFTER] = after;
	req->reserved[REQUEST_TASK] = (void *)task;
	req->reserved[REQUEST_MARK] = (void *)mark_of(req);
}

static inline bool request_is_ours(const uv_req_t *req)
{
	return (uintptr_t)req->reserved[REQUEST_MARK] == mark_of(req);
}

static inline uint64_t request_task(const uv_req_t *req)
{
	return (uint64_t)req->reserved[REQUEST_TASK];
}

/* From here on the request may be freed or used again. */
static inline void request_forget(uv_req_t *req)
{
	req->reserved[REQUEST_MARK] = NULL;
}

/* libuv's function has returned `r`: if that is an error, it did not take the request. */
static inline int request_armed(uv_req_t *req, int r)
{
	if (adapter_unlikely(r < 0)) {
		request_forget(req);
		unweave_callback_end(request_task(req), UNWEAVE_ERROR);
	}
	return r;
}

/* Handles. Their functions are called on one thread, that of the loop, but for uv_async_send(). */

enum { HANDLE_CLOSE, HANDLE_CALLBACK, HANDLE_TASK, HANDLE_MARK };

static inline bool handle_is_ours(const uv_handle_t *handle)
{
	return (word_load(&handle->u.reserved[HANDLE_MARK]) & ~(uintptr_t)MARK_BITS) ==
	       mark_of(handle);
}

static inline bool handle_is(const uv_handle_t *handle, unsigned flag)
{
	return word_load(&handle->u.reserved[HANDLE_MARK]) & flag;
}

/* 0: nothing is armed. */
static inline uint64_t handle_task(const uv_handle_t *handle)
{
	return word_load(&handle->u.reserved[HANDLE_TASK]);
}

/* What its callback is called for; 0: it was stopped before, or closed. */
static inline uint64_t handle_task_to_call(const uv_handle_t *handle)
{
	return handle_is(handle, MARK_CLOSING) ? 0 : handle_task(handle);
}

static inline void *handle_callback(const uv_handle_t *handle)
{
	return handle->u.reserved[HANDLE_CALLBACK];
}

static inline void handle_set_task(uv_handle_t *handle, uint64_t task)
{
	word_store(&handle->u.reserved[HANDLE_TASK], task);
}

static inline void handle_keep(uv_handle_t *handle, void *callback, uint64_t task, unsigned flags)
{
	handle->u.reserved[HANDLE_CALLBACK] = callback;
	handle_set_task(handle, task);
	word_store(&handle->u.reserved[HANDLE_MARK], mark_of(handle) | flags);
}

/* Whether it was armed before, is not being closed, and has nothing armed but a light task. */
static inline bool handle_is_idle(const uv_handle_t *handle)
{
	return word_load(&handle->u.reserved[HANDLE_MARK]) == mark_of(handle) &&
	       (int64_t)handle_task(handle) <= 0;
}

/* For one of which that is so. */
static inline void handle_keep_task(uv_handle_t *handle, void *callback, uint64_t task)
{
	handle->u.reserved[HANDLE_CALLBACK] = callback;
	handle_set_task(handle, task);
}

static inline void handle_forget(uv_handle_t *handle)
{
	word_store(&handle->u.reserved[HANDLE_MARK], 0);
}

/* What was armed will not be called any more: it was stopped, or something else was armed. */
static inline void handle_drop(uv_handle_t *handle)
{
	uint64_t task;

	if (!handle_is_ours(handle) || handle_is(handle, MARK_CLOSING))
		return;
	task = handle_task(handle);
	handle_set_task(handle, 0);
	if (task)
		unweave_callback_drop(task);
}

/* What libuv says of how something went. That a stream is at its end is nothing wrong. */
static inline enum unweave_status status_of(int64_t result)
{
	if (result >= 0 || result == UV_EOF)
		return UNWEAVE_OK;
	return result == UV_ECANCELED ? UNWEAVE_CANCELLED : UNWEAVE_ERROR;
}

/* What comes with a call of a callback; `go` knows which. */
struct call_args {
	void *callback;
	void *object; /* the request, or the handle */
	int64_t number;
	const void *first, *second;
	uint64_t more;
};

/* Calls `callback(object)`, and `callback(object, number)`. */
int go_object(struct unweave_link *none, void *context);
int go_number(struct unweave_link *none, void *context);

/* The request's callback, in the run that ends its task. */
void call_request(uv_req_t *req, unweave_go go, struct call_args *args, int64_t result);

/* A handle's callback, as a firing of its standing task; `args` is what it gets besides. */
void call_handle(uv_handle_t *handle, unweave_go go, struct call_args *args, int64_t result);
/* The same, after which libuv calls it no more; or the only call of a task that does not stand. */
void call_handle_last(uv_handle_t *handle, unweave_go go, struct call_args *args, int64_t result,
		      uint64_t late);

/* For handle_armed(). */
int handle_refused(uint64_t task, int r);
int handle_armed_late(uv_handle_t *handle, void *callback, uint64_t task);

/*
 * The function that was to arm `task` has returned `r`: if that is no error, it is
 * what the handle has armed now, and libuv will call `callback` by way of ours.
 */
static inline int handle_armed(uv_handle_t *handle, void *callback, uint64_t task, unsigned flags,
			       int r)
{
	uint64_t before;

	if (adapter_unlikely(r < 0))
		return handle_refused(task, r);
	if (handle_is_ours(handle)) {
		if (adapter_unlikely(handle_is(handle, MARK_CLOSING)))
			return handle_armed_late(handle, callback, task);
		before = handle_task(handle);
		if (before)
			unweave_callback_drop(before);
	}
	handle_keep(handle, callback, task, flags);
	return r;
}

/*
 * The callback that the program means: it may have read ours out of the handle.
 * NULL if it read it out of another one, and nobody knows what was in there.
 */
static inline void *meant(const uv_handle_t *handle, void *callback, const void *ours)
{
	if (adapter_likely(callback != ours))
		return callback;
	return handle_is_ours(handle) ? handle_callback(handle) : NULL;
}

/* For the functions that arm or stop a handle. */

#define HANDLE(handle) ((uv_handle_t *)(handle))

/* Nothing will be called, or libuv calls its own function, for what was armed here before. */
#define PASSES(callback) (!(callback) || IS_INSIDE(ADAPTER_PLACE))

/* `call` calls libuv's own function, with `ours` in place of `callback`; its result is that. */
#define ARM_STANDING(kind, handle, callback, ours, call)                                           \
	(__extension__({                                                                           \
		static const char kind_[] = kind;                                                  \
		void *meant_ = meant(HANDLE(handle), (void *)(callback), (void *)(ours));          \
                                                                                                   \
		meant_ ? handle_armed(HANDLE(handle), meant_,                                      \
				      unweave_callback_arm(kind_, meant_, ADAPTER_PLACE,           \
							   UNWEAVE_STANDING),                      \
				      MARK_STANDING, call)                                         \
		       : UV_EINVAL;                                                                \
	}))

/* Where libuv stops a handle it is being closed, or was called. */
#define STOP(function, handle)                                                                     \
	(__extension__({                                                                           \
		if (!IS_INSIDE(ADAPTER_PLACE))                                                     \
			handle_drop(HANDLE(handle));                                               \
		NEXT(function)(handle);                                                            \
	}))

#endif /* LIBUV_LIBUV_H */
