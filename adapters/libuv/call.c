/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of callbacks, as runs of their tasks. */
#include "libuv/libuv.h"

struct adapter libuv = {.name = "libuv", .soname = "libuv.so.1", .probe = "uv_run"};

/*
 * Here and below, callbacks are called through types that have void * where libuv's have
 * the type of a request or a handle. All machines that libuv runs on pass both alike.
 */
int go_object(struct unweave_link *none, void *context)
{
	const struct call_args *args = context;

	(void)none;
	((void (*)(void *))args->callback)(args->object);
	return 0;
}

int go_number(struct unweave_link *none, void *context)
{
	const struct call_args *args = context;

	(void)none;
	((void (*)(void *, int))args->callback)(args->object, (int)args->number);
	return 0;
}

void call_request(uv_req_t *req, unweave_go go, struct call_args *args, int64_t result)
{
	uint64_t task = request_task(req);

	request_forget(req);
	unweave_callback_call(&(struct unweave_call){
		.task = task,
		.go = go,
		.context = args,
		.code = args->callback,
		.status = status_of(result),
	});
}

void call_handle(uv_handle_t *handle, unweave_go go, struct call_args *args, int64_t result)
{
	uint64_t task = handle_task_to_call(handle);

	args->callback = handle_callback(handle);
	args->object = handle;
	if (adapter_unlikely(!task)) {
		go(NULL, args);
		return;
	}
	unweave_callback_call(&(struct unweave_call){
		.task = task,
		.go = go,
		.context = args,
		.code = args->callback,
		.end = UNWEAVE_CALL_FIRES,
		.status = status_of(result),
	});
}

void call_handle_last(uv_handle_t *handle, unweave_go go, struct call_args *args, int64_t result,
		      uint64_t late)
{
	bool stands = handle_is(handle, MARK_STANDING);
	uint64_t task = handle_task_to_call(handle);

	args->callback = handle_callback(handle);
	args->object = handle;
	if (adapter_unlikely(!task)) {
		go(NULL, args);
		return;
	}
	handle_set_task(handle, 0);
	unweave_callback_call(&(struct unweave_call){
		.task = task,
		.go = go,
		.context = args,
		.code = args->callback,
		.late = late,
		.end = stands ? UNWEAVE_CALL_FIRES : UNWEAVE_CALL_ENDS,
		.status = status_of(result),
	});
	if (stands)
		unweave_callback_end(task, status_of(result));
}

int handle_refused(uint64_t task, int r)
{
	unweave_callback_end(task, UNWEAVE_ERROR);
	return r;
}

/* Nothing may be armed that is being closed. If libuv let it pass, the close is what counts. */
int handle_armed_late(uv_handle_t *handle, void *callback, uint64_t task)
{
	handle->u.reserved[HANDLE_CALLBACK] = callback;
	unweave_callback_drop(task);
	return 0;
}
