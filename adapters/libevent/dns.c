/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to name servers: each is a task, from the program's call to the callback
 * with what was found. libevent always calls back, also when a request is cancelled.
 */
#include <event2/dns.h>
#include <event2/util.h>

#include "libevent/state.h"

#define NEXT(function) ADAPTER_NEXT(&libevent, function)

/* A request that was made at `place`; NULL: it is not told. */
static struct record *ask(void (*callback)(void), void *argument, const void *place)
{
	/* One that another one makes for itself is not the program's. */
	struct record *record = callback && !(self.upper && self.upper->sort == UPPER_NAMES)
					? pool_take(&libevent)
					: NULL;

	if (!record)
		return NULL;
	record->callback = callback;
	record->argument = argument;
	record->task = unweave_callback_arm("dns", (const void *)callback,
					    self.upper ? self.upper->place : place, 0);
	return record;
}

static void call(struct record *record, unweave_go go, void *context, enum unweave_status status)
{
	struct unweave_call run = {
		.task = record->task,
		.go = go,
		.context = context,
		.code = (const void *)record->callback,
		.end = UNWEAVE_CALL_ENDS,
		.status = status,
	};

	pool_give(record);
	unweave_callback_call(&run);
}

static enum unweave_status status_of(int result, int cancelled)
{
	if (result == 0)
		return UNWEAVE_OK;
	return result == cancelled ? UNWEAVE_CANCELLED : UNWEAVE_ERROR;
}

struct answer {
	evdns_callback_type callback;
	void *argument, *addresses;
	int result, count, ttl;
	char type;
};

static int go_answer(struct unweave_link *none, void *context)
{
	const struct answer *answer = context;

	(void)none;
	answer->callback(answer->result, answer->type, answer->count, answer->ttl,
			 answer->addresses, answer->argument);
	return 0;
}

static void answered(int result, char type, int count, int ttl, void *addresses, void *argument)
{
	struct record *record = argument;
	struct answer answer = {
		.callback = (evdns_callback_type)record->callback,
		.argument = record->argument,
		.addresses = addresses,
		.result = result,
		.count = count,
		.ttl = ttl,
		.type = type,
	};

	call(record, go_answer, &answer, status_of(result, DNS_ERR_CANCEL));
}

/* A request that libevent did not even make, of which it never calls back. */
static struct evdns_request *made(struct evdns_request *request, struct record *record)
{
	if (!request && record) {
		unweave_task_complete(record->task, UNWEAVE_ERROR);
		pool_give(record);
	}
	return request;
}

#define RESOLVE(function, base, what, flags, callback, argument)                                   \
	(__extension__({                                                                           \
		struct record *record_ = ask((void (*)(void))(callback), argument, ADAPTER_PLACE); \
		made(NEXT(function)(base, what, flags, record_ ? answered : (callback),            \
				    record_ ? record_ : (argument)),                               \
		     record_);                                                                     \
	}))

ADAPTER_EXPORT struct evdns_request *evdns_base_resolve_ipv4(struct evdns_base *base,
							     const char *name, int flags,
							     evdns_callback_type callback,
							     void *argument)
{
	return RESOLVE(evdns_base_resolve_ipv4, base, name, flags, callback, argument);
}

ADAPTER_EXPORT struct evdns_request *evdns_base_resolve_ipv6(struct evdns_base *base,
							     const char *name, int flags,
							     evdns_callback_type callback,
							     void *argument)
{
	return RESOLVE(evdns_base_resolve_ipv6, base, name, flags, callback, argument);
}

ADAPTER_EXPORT struct evdns_request *
evdns_base_resolve_reverse(struct evdns_base *base, const struct in_addr *address, int flags,
			   evdns_callback_type callback, void *argument)
{
	return RESOLVE(evdns_base_resolve_reverse, base, address, flags, callback, argument);
}

ADAPTER_EXPORT struct evdns_request *
evdns_base_resolve_reverse_ipv6(struct evdns_base *base, const struct in6_addr *address, int flags,
				evdns_callback_type callback, void *argument)
{
	return RESOLVE(evdns_base_resolve_reverse_ipv6, base, address, flags, callback, argument);
}

struct addresses {
	evdns_getaddrinfo_cb callback;
	void *argument;
	struct evutil_addrinfo *list;
	int result;
};

static int go_addresses(struct unweave_link *none, void *context)
{
	const struct addresses *found = context;

	(void)none;
	found->callback(found->result, found->list, found->argument);
	return 0;
}

static void got_addresses(int result, struct evutil_addrinfo *list, void *argument)
{
	struct record *record = argument;
	struct addresses found = {(evdns_getaddrinfo_cb)record->callback, record->argument, list,
				  result};
	struct upper *outer = self.upper;

	/* What the program does now is its own again. */
	self.upper = NULL;
	call(record, go_addresses, &found, status_of(result, EVUTIL_EAI_CANCEL));
	self.upper = outer;
}

/* Calls back before it returns if it knows the answer; then there is no request. */
ADAPTER_EXPORT struct evdns_getaddrinfo_request *
evdns_getaddrinfo(struct evdns_base *base, const char *node, const char *service,
		  const struct evutil_addrinfo *hints, evdns_getaddrinfo_cb callback,
		  void *argument)
{
	struct record *record = ask((void (*)(void))callback, argument, ADAPTER_PLACE);
	struct upper *outer = self.upper;
	struct upper here = {.sort = UPPER_NAMES, .place = ADAPTER_PLACE};
	struct evdns_getaddrinfo_request *request;

	self.upper = &here;
	request = NEXT(evdns_getaddrinfo)(base, node, service, hints,
					  record ? got_addresses : callback,
					  record ? record : argument);
	self.upper = outer;
	return request;
}
