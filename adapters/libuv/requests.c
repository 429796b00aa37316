/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: each is a task, from when libuv took it until its callback returned. */
#include "libuv/libuv.h"

#define REQUEST(req) ((uv_req_t *)(req))

static const char kind_write[] = "write";
static const char kind_connect[] = "connect";
static const char kind_dns[] = "dns";

/*
 * Arms `callback`, unless there is none, or the request is libuv's own, or it is armed
 * already: uv_write() jumps to uv_write2(), as if the program had called that. Returns
 * whether it did.
 */
static bool arm(void *req, const char *kind, void *callback, void *ours, const void *place)
{
	if (!callback || callback == ours || IS_INSIDE(place))
		return false;
	request_keep(req, callback, NULL, unweave_callback_arm(kind, callback, place, 0));
	return true;
}

/* Most callbacks are called with a status and nothing else. */
static void on_done(uv_req_t *req, int status)
{
	struct call_args args = {
		.callback = req->reserved[REQUEST_CALLBACK], .object = req, .number = status};

	call_request(req, go_number, &args, status);
}

static void on_written(uv_write_t *req, int status)
{
	on_done(REQUEST(req), status);
}

ADAPTER_EXPORT int uv_write(uv_write_t *req, uv_stream_t *handle, const uv_buf_t buffers[],
			    unsigned count, uv_write_cb cb)
{
	if (!arm(req, kind_write, (void *)cb, (void *)on_written, ADAPTER_PLACE))
		return NEXT(uv_write)(req, handle, buffers, count, cb);
	return request_armed(REQUEST(req), NEXT(uv_write)(req, handle, buffers, count, on_written));
}

ADAPTER_EXPORT int uv_write2(uv_write_t *req, uv_stream_t *handle, const uv_buf_t buffers[],
			     unsigned count, uv_stream_t *sent, uv_write_cb cb)
{
	if (!arm(req, kind_write, (void *)cb, (void *)on_written, ADAPTER_PLACE))
		return NEXT(uv_write2)(req, handle, buffers, count, sent, cb);
	return request_armed(REQUEST(req),
			     NEXT(uv_write2)(req, handle, buffers, count, sent, on_written));
}

static void on_shut_down(uv_shutdown_t *req, int status)
{
	on_done(REQUEST(req), status);
}

ADAPTER_EXPORT int uv_shutdown(uv_shutdown_t *req, uv_stream_t *handle, uv_shutdown_cb cb)
{
	static const char kind[] = "shutdown";

	if (!arm(req, kind, (void *)cb, (void *)on_shut_down, ADAPTER_PLACE))
		return NEXT(uv_shutdown)(req, handle, cb);
	return request_armed(REQUEST(req), NEXT(uv_shutdown)(req, handle, on_shut_down));
}

static void on_connected(uv_connect_t *req, int status)
{
	on_done(REQUEST(req), status);
}

ADAPTER_EXPORT int uv_tcp_connect(uv_connect_t *req, uv_tcp_t *handle, const struct sockaddr *to,
				  uv_connect_cb cb)
{
	if (!arm(req, kind_connect, (void *)cb, (void *)on_connected, ADAPTER_PLACE))
		return NEXT(uv_tcp_connect)(req, handle, to, cb);
	return request_armed(REQUEST(req), NEXT(uv_tcp_connect)(req, handle, to, on_connected));
}

/* Whatever goes wrong, its callback says. */
ADAPTER_EXPORT void uv_pipe_connect(uv_connect_t *req, uv_pipe_t *handle, const char *name,
				    uv_connect_cb cb)
{
	if (arm(req, kind_connect, (void *)cb, (void *)on_connected, ADAPTER_PLACE))
		cb = on_connected;
	NEXT(uv_pipe_connect)(req, handle, name, cb);
}

#if UV_VERSION_HEX < 0x012e00
int uv_pipe_connect2(uv_connect_t *req, uv_pipe_t *handle, const char *name, size_t length,
		     unsigned flags, uv_connect_cb cb);
#endif

/* Since 1.46. A program that has it but asks an older library is told what that would not know. */
ADAPTER_EXPORT int uv_pipe_connect2(uv_connect_t *req, uv_pipe_t *handle, const char *name,
				    size_t length, unsigned flags, uv_connect_cb cb)
{
	__typeof__(&uv_pipe_connect2) next = NEXT(uv_pipe_connect2);

	if (!next)
		return UV_ENOSYS;
	if (!arm(req, kind_connect, (void *)cb, (void *)on_connected, ADAPTER_PLACE))
		return next(req, handle, name, length, flags, cb);
	return request_armed(REQUEST(req), next(req, handle, name, length, flags, on_connected));
}

static void on_sent(uv_udp_send_t *req, int status)
{
	on_done(REQUEST(req), status);
}

ADAPTER_EXPORT int uv_udp_send(uv_udp_send_t *req, uv_udp_t *handle, const uv_buf_t buffers[],
			       unsigned count, const struct sockaddr *to, uv_udp_send_cb cb)
{
	static const char kind[] = "udp send";

	if (!arm(req, kind, (void *)cb, (void *)on_sent, ADAPTER_PLACE))
		return NEXT(uv_udp_send)(req, handle, buffers, count, to, cb);
	return request_armed(REQUEST(req),
			     NEXT(uv_udp_send)(req, handle, buffers, count, to, on_sent));
}

/* Names. Without a callback it is done before the function returns. */

static int go_resolved(struct unweave_link *none, void *context)
{
	const struct call_args *args = context;

	(void)none;
	((uv_getaddrinfo_cb)args->callback)(args->object, (int)args->number, (void *)args->first);
	return 0;
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
	struct call_args args = {.callback = req->reserved[REQUEST_CALLBACK],
				 .object = req,
				 .number = status,
				 .first = found};

	call_request(REQUEST(req), go_resolved, &args, status);
}

ADAPTER_EXPORT int uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *req, uv_getaddrinfo_cb cb,
				  const char *node, const char *service,
				  const struct addrinfo *hints)
{
	if (!req || !arm(req, kind_dns, (void *)cb, (void *)on_resolved, ADAPTER_PLACE))
		return NEXT(uv_getaddrinfo)(loop, req, cb, node, service, hints);
	return request_armed(REQUEST(req),
			     NEXT(uv_getaddrinfo)(loop, req, on_resolved, node, service, hints));
}

static int go_named(struct unweave_link *none, void *context)
{
	const struct call_args *args = context;

	(void)none;
	((uv_getnameinfo_cb)args->callback)(args->object, (int)args->number, args->first,
					    args->second);
	return 0;
}

static void on_named(uv_getnameinfo_t *req, int status, const char *host, const char *service)
{
	struct call_args args = {.callback = req->reserved[REQUEST_CALLBACK],
				 .object = req,
				 .number = status,
				 .first = host,
				 .second = service};

	call_request(REQUEST(req), go_named, &args, status);
}

ADAPTER_EXPORT int uv_getnameinfo(uv_loop_t *loop, uv_getnameinfo_t *req, uv_getnameinfo_cb cb,
				  const struct sockaddr *address, int flags)
{
	if (!req || !arm(req, kind_dns, (void *)cb, (void *)on_named, ADAPTER_PLACE))
		return NEXT(uv_getnameinfo)(loop, req, cb, address, flags);
	return request_armed(REQUEST(req),
			     NEXT(uv_getnameinfo)(loop, req, on_named, address, flags));
}

static int go_random(struct unweave_link *none, void *context)
{
	const struct call_args *args = context;

	(void)none;
	((uv_random_cb)args->callback)(args->object, (int)args->number, (void *)args->first,
				       args->more);
	return 0;
}

static void on_random(uv_random_t *req, int status, void *bytes, size_t count)
{
	struct call_args args = {.callback = req->reserved[REQUEST_CALLBACK],
				 .object = req,
				 .number = status,
				 .first = bytes,
				 .more = count};

	call_request(REQUEST(req), go_random, &args, status);
}

ADAPTER_EXPORT int uv_random(uv_loop_t *loop, uv_random_t *req, void *bytes, size_t count,
			     unsigned flags, uv_random_cb cb)
{
	static const char kind[] = "random";

	if (!req || !arm(req, kind, (void *)cb, (void *)on_random, ADAPTER_PLACE))
		return NEXT(uv_random)(loop, req, bytes, count, flags, cb);
	return request_armed(REQUEST(req),
			     NEXT(uv_random)(loop, req, bytes, count, flags, on_random));
}

/*
 * Work: one task in two runs, of which the first is on a thread of the pool. That
 * wakes the second, if there is one.
 */
static void on_work(uv_work_t *req)
{
	struct call_args args = {.callback = req->reserved[REQUEST_CALLBACK], .object = req};
	bool goes_on = req->reserved[REQUEST_AFTER] != NULL;
	uint64_t task = request_task(REQUEST(req));

	if (!goes_on)
		request_forget(REQUEST(req));
	unweave_callback_call(&(struct unweave_call){
		.task = task,
		.go = go_object,
		.context = &args,
		.code = args.callback,
		.end = goes_on ? UNWEAVE_CALL_STAYS : UNWEAVE_CALL_ENDS,
	});
	if (goes_on)
		unweave_callback_wake(task, UNWEAVE_SOURCE_TASK);
}

static void on_worked(uv_work_t *req, int status)
{
	struct call_args args = {
		.callback = req->reserved[REQUEST_AFTER], .object = req, .number = status};

	call_request(REQUEST(req), go_number, &args, status);
}

ADAPTER_EXPORT int uv_queue_work(uv_loop_t *loop, uv_work_t *req, uv_work_cb work,
				 uv_after_work_cb after)
{
	static const char kind[] = "work";

	if (!arm(req, kind, (void *)work, (void *)on_work, ADAPTER_PLACE))
		return NEXT(uv_queue_work)(loop, req, work, after);
	req->reserved[REQUEST_AFTER] = (void *)after;
	return request_armed(REQUEST(req),
			     NEXT(uv_queue_work)(loop, req, on_work, after ? on_worked : NULL));
}

/* What is cancelled is still called to hear of it; but for work that nothing comes after. */
ADAPTER_EXPORT int uv_cancel(uv_req_t *req)
{
	int r = NEXT(uv_cancel)(req);

	if (r < 0 || !request_is_ours(req))
		return r;
	if (req->type == UV_WORK && !req->reserved[REQUEST_AFTER]) {
		request_forget(req);
		unweave_callback_drop(request_task(req));
	} else {
		unweave_callback_wake(request_task(req), UNWEAVE_SOURCE_TASK);
	}
	return r;
}
