/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred callbacks, by which bufferevents, evhttp and evdns call the program
 * from the loop rather than at once. libevent has few functions that it calls so.
 * Each gets one of ours in its place when the callback is set up; the gap in the
 * callback holds the number of a record with the task, while it is scheduled.
 *
 * Scheduling is not under the base's lock, but the callback's owner has its own.
 * The call is under neither: so who takes the number out of the gap has the task.
 */
#include <stdatomic.h>

#include "libevent/state.h"

#define NEXT(function) ADAPTER_NEXT(&libevent, function)

static_assert(offsetof(struct event_callback, evcb_cb_union) == GAP_STATE + 4,
	      "a gap in a callback");

#define EACH(do)                                                                                   \
	do                                                                                         \
	(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7)
#define FUNCTIONS 8

static _Atomic(deferred_function) functions[FUNCTIONS];

/* Takes the task out of the callback; 0: it has none. */
static uint64_t take_task(struct event_callback *callback)
{
	uint32_t *gap = state_gap(callback, GAP_STATE);
	struct record *record;
	uint64_t task;

	if (!__atomic_load_n(gap, __ATOMIC_RELAXED))
		return 0;
	/* Pairs with the release in event_deferred_cb_schedule_(): the task before its number. */
	record = pool_record(__atomic_exchange_n(gap, 0, __ATOMIC_ACQUIRE));
	if (!record || record->owner != callback)
		return 0;
	task = record->task;
	pool_give(record);
	return task;
}

void deferred_drop(struct event_callback *callback)
{
	uint64_t task = take_task(callback);

	if (task)
		unweave_callback_drop(task);
}

struct deferred_call {
	deferred_function function;
	struct event_callback *callback;
	void *argument;
};

static int go(struct unweave_link *none, void *context)
{
	const struct deferred_call *call = context;

	(void)none;
	call->function(call->callback, call->argument);
	return 0;
}

static void call_deferred(unsigned index, struct event_callback *callback, void *argument)
{
	struct deferred_call call = {functions[index], callback, argument};
	uint64_t task = take_task(callback);

	if (!task) {
		go(NULL, &call);
		return;
	}
	unweave_callback_call(&(struct unweave_call){
		.task = task,
		.go = go,
		.context = &call,
		.code = (const void *)call.function,
		.end = UNWEAVE_CALL_ENDS,
		.status = UNWEAVE_OK,
	});
}

#define STAND_IN(index)                                                                            \
	static void stand_in_##index(struct event_callback *callback, void *argument)              \
	{                                                                                          \
		call_deferred(index, callback, argument);                                          \
	}
#define NAME(index) stand_in_##index,

EACH(STAND_IN)
static const deferred_function stand_ins[FUNCTIONS] = {EACH(NAME)};

/* The function that stands in for `function`; that itself, if there are too many of them. */
static deferred_function stand_in(deferred_function function)
{
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		deferred_function none = NULL;

		if (functions[i] == function ||
		    atomic_compare_exchange_strong(&functions[i], &none, function) ||
		    none == function)
			return stand_ins[i];
	}
	return function;
}

ADAPTER_EXPORT void event_deferred_cb_init_(struct event_callback *callback, uint8_t priority,
					    deferred_function function, void *argument)
{
	__atomic_store_n(state_gap(callback, GAP_STATE), 0, __ATOMIC_RELAXED);
	NEXT(event_deferred_cb_init_)(callback, priority, stand_in(function), argument);
}

/* The function that the callback has one of ours for, or NULL. */
static const void *function_of(const struct event_callback *callback)
{
	for (unsigned i = 0; i < FUNCTIONS; i++)
		if (callback->evcb_cb_union.evcb_selfcb == stand_ins[i])
			return (const void *)functions[i];
	return NULL;
}

ADAPTER_EXPORT int event_deferred_cb_schedule_(struct event_base *base,
					       struct event_callback *callback)
{
	const void *code = function_of(callback);
	struct record *record = NULL;

	/* It is scheduled already, or is not ours. */
	if (!code || __atomic_load_n(state_gap(callback, GAP_STATE), __ATOMIC_RELAXED))
		return NEXT(event_deferred_cb_schedule_)(base, callback);
	record = pool_take(callback);
	if (record) {
		record->task = unweave_callback_arm(
			"deferred", code, self.upper ? self.upper->place : ADAPTER_PLACE, 0);
		__atomic_store_n(state_gap(callback, GAP_STATE), pool_number(record),
				 __ATOMIC_RELEASE);
	}
	return NEXT(event_deferred_cb_schedule_)(base, callback);
}

ADAPTER_EXPORT void event_deferred_cb_cancel_(struct event_base *base,
					      struct event_callback *callback)
{
	NEXT(event_deferred_cb_cancel_)(base, callback);
	deferred_drop(callback);
}
