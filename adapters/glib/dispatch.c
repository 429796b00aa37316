/* SPDX-License-Identifier: Apache-2.0 */
/* What GLib calls when a source is ready: a run of the source's task, or of a child of it. */
#include <time.h>

#include "state.h"

/* Nanoseconds since the timer was due. */
static uint64_t lateness(GSource *source)
{
	gint64 due = GLIB(g_source_get_ready_time)(source);
	struct timespec now;
	gint64 late;

	clock_gettime(CLOCK_MONOTONIC, &now);
	late = now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000 - due;
	return due > 0 && late > 0 ? (uint64_t)late * 1000 : 0;
}

static int go(struct unweave_link *none, void *context)
{
	struct glib_call *call = context;
	gboolean again = call->dispatch(call->source, call->callback, call->data);

	(void)none;
	return again && !call->once;
}

/* The same for a first call: a source that was destroyed in it is done, too. */
static int go_first(struct unweave_link *none, void *context)
{
	struct glib_call *call = context;

	return go(none, context) && !GLIB(g_source_is_destroyed)(call->source);
}

/* After a first call that wants another one. */
static gboolean stand(GSource *source, uint64_t task)
{
	store(source, task, STANDS);
	/* Pairs with the one in g_source_destroy(): one of the two sees what the other did. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (adapter_unlikely(GLIB(g_source_is_destroyed)(source)))
		complete(take_task(source), UNWEAVE_CANCELLED);
	return G_SOURCE_CONTINUE;
}

static gboolean call_first(struct glib_call *call, struct unweave_call *how)
{
	GSource *source = call->source;
	uint64_t task = how->task;

	if (!call->once)
		store_runs(source, task);
	how->end = UNWEAVE_CALL_ASKS;
	how->go = go_first;
	if (unweave_callback_call(how))
		return stand(source, task);
	store(source, 0, RUNS);
	return G_SOURCE_REMOVE;
}

/*
 * The call is a task of its own, child of the source's. One that may recurse, and does so in
 * its first call, ends with that.
 */
static gboolean call_again(struct glib_call *call, struct unweave_call *how, uint32_t flags)
{
	gboolean again;

	how->end = UNWEAVE_CALL_FIRES;
	again = unweave_callback_call(how);
	if (!again && flags == STANDS)
		complete(take_task(call->source), UNWEAVE_OK);
	return again;
}

/* Nobody saw it attached: a function was found by name, or the library attached it itself. */
static gboolean call_unknown(struct unweave_call *how, const char *kind)
{
	how->task = unweave_callback_arm(kind, how->code, NULL, 0);
	how->end = UNWEAVE_CALL_ENDS;
	return unweave_callback_call(how);
}

gboolean source_dispatch(struct glib_call *call, const char *kind)
{
	struct state state = load(call->source);
	struct unweave_call how = {.task = state.task, .go = go, .context = call};

	/* Its function was not ours to see, or was begun by a parent of this process. */
	if (adapter_unlikely(!glib_thread.loop))
		loop_enter(loop_of(call->source->context, NULL, NULL));
	/* A loop goes on to the next source at once, or to its wait. */
	how.straight_on = 1;
	how.code = call->callback ? (const void *)call->callback : (const void *)call->dispatch;
	call->once = state.flags == (RUNS | STANDS);
	/* Each call of such a one is the same. */
	if (unweave_priv_is_light(state.task)) {
		how.end = UNWEAVE_CALL_ENDS;
		return unweave_callback_call(&how);
	}
	if (adapter_unlikely(!state.task && state.flags == RUNS))
		return call->dispatch(call->source, call->callback, call->data);
	if (kind == glib_tables[GLIB_TIMEOUT].kind && !unweave_priv_silent(unweave_priv_gate()))
		how.late = lateness(call->source);
	if (adapter_unlikely(!state.task))
		return call_unknown(&how, kind);
	if (state.flags == 0 || call->once)
		return call_first(call, &how);
	return call_again(call, &how, state.flags);
}

static __attribute__((noinline)) gboolean dispatch(GSource *source, GSourceFunc callback,
						   gpointer data, const struct glib_table *table)
{
	struct glib_call call = {
		.dispatch = table->dispatch, .source = source, .callback = callback, .data = data};

	return source_dispatch(&call, table->kind);
}

/*
 * The first call, in which GLib's own function is what the anchor calls. One that was destroyed
 * in it is done, whatever it returned.
 */
static __attribute__((noinline)) gboolean dispatch_first(GSource *source, GSourceFunc callback,
							 gpointer data, glib_dispatch function,
							 uint64_t task)
{
	store_runs(source, task);
	if (!unweave_priv_call_asking(source, (void *)callback, data,
				      (unweave_go)(void (*)(void))function, task,
				      (const void *)callback)) {
		store(source, 0, RUNS);
		return G_SOURCE_REMOVE;
	}
	if (adapter_unlikely(GLIB(g_source_is_destroyed)(source))) {
		complete(task, UNWEAVE_OK);
		store(source, 0, RUNS);
		return G_SOURCE_CONTINUE;
	}
	return stand(source, task);
}

/*
 * The usual ways, which have nothing noted with the task: a call of a light one, or the first one
 * of another, unless it is to be said how late it is.
 */
static ADAPTER_INLINE gboolean dispatch_usually(GSource *source, GSourceFunc callback,
						gpointer data, enum glib_sort sort)
{
	const struct glib_table *table = &glib_tables[sort];
	struct state state = load(source);

	if (adapter_unlikely(!callback || state.flags || !state.task))
		return dispatch(source, callback, data, table);
	if (unweave_priv_is_light(state.task))
		return unweave_priv_call_lightly(source, (void *)callback, data,
						 (unweave_go)(void (*)(void))table->dispatch,
						 state.task, (const void *)callback);
	if (sort == GLIB_TIMEOUT || adapter_unlikely(!glib_thread.loop))
		return dispatch(source, callback, data, table);
	return dispatch_first(source, callback, data, table->dispatch, state.task);
}

#define DISPATCH(name, sort)                                                                       \
	static gboolean name(GSource *source, GSourceFunc callback, gpointer data)                 \
	{                                                                                          \
		return dispatch_usually(source, callback, data, sort);                             \
	}

DISPATCH(dispatch_idle, GLIB_IDLE)
DISPATCH(dispatch_timeout, GLIB_TIMEOUT)
DISPATCH(dispatch_child, GLIB_CHILD)
DISPATCH(dispatch_io, GLIB_IO)
DISPATCH(dispatch_fd, GLIB_FD)
DISPATCH(dispatch_signal, GLIB_SIGNAL)

struct glib_table glib_tables[GLIB_SORTS] = {
	[GLIB_IDLE] = {.symbol = "g_idle_funcs", .kind = "idle", .ours = dispatch_idle},
	[GLIB_TIMEOUT] = {.symbol = "g_timeout_funcs", .kind = "timer", .ours = dispatch_timeout},
	[GLIB_CHILD] = {.symbol = "g_child_watch_funcs", .kind = "child", .ours = dispatch_child},
	[GLIB_IO] = {.symbol = "g_io_watch_funcs",
		     .kind = "io",
		     .flags = UNWEAVE_STANDING,
		     .ours = dispatch_io},
	[GLIB_FD] = {.symbol = "g_unix_fd_source_funcs",
		     .kind = "fd",
		     .flags = UNWEAVE_STANDING,
		     .ours = dispatch_fd},
	[GLIB_SIGNAL] = {.symbol = "g_unix_signal_funcs",
			 .kind = "signal",
			 .flags = UNWEAVE_STANDING,
			 .ours = dispatch_signal},
};
