/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that make a source and attach it, inside of GLib where nobody is
 * asked. They are made of GLib's public ones here, in the same order. What GLib
 * would complain of goes to its own function, which does so.
 */
#include "state.h"

/*
 * Before there is a source: behind the last thing that GLib did, which was to let a lock go, the
 * clock has little to wait for.
 */
static ADAPTER_INLINE uint64_t arm(enum glib_sort sort, GSourceFunc function, const void *place)
{
	const struct glib_table *table = &glib_tables[sort];

	return HAVE_ROOM ? unweave_callback_arm(table->kind, (const void *)function, place,
						table->flags)
			 : 0;
}

static ADAPTER_INLINE guint add(GSource *source, uint64_t task, enum glib_sort sort, gint priority,
				GSourceFunc function, gpointer data, GDestroyNotify notify)
{
	guint id;

	if (priority != source->priority)
		GLIB(g_source_set_priority)(source, priority);
	glib_real.set_callback(source, function, data, notify);
	store(source, task, glib_tables[sort].flags ? STANDS : load(source).flags);
	id = glib_real.attach(source, NULL);
	glib_real.source_unref(source);
	return id;
}

static ADAPTER_INLINE guint add_idle(gint priority, GSourceFunc function, gpointer data,
				     GDestroyNotify notify, const void *place)
{
	uint64_t task;

	glib_hold();
	if (adapter_unlikely(!function))
		return GLIB(g_idle_add_full)(priority, function, data, notify);
	task = arm(GLIB_IDLE, function, place);
	return add(glib_real.idle_source_new(), task, GLIB_IDLE, priority, function, data, notify);
}

ADAPTER_EXPORT guint g_idle_add(GSourceFunc function, gpointer data)
{
	return add_idle(G_PRIORITY_DEFAULT_IDLE, function, data, NULL, ADAPTER_PLACE);
}

ADAPTER_EXPORT guint g_idle_add_full(gint priority, GSourceFunc function, gpointer data,
				     GDestroyNotify notify)
{
	return add_idle(priority, function, data, notify, ADAPTER_PLACE);
}

ADAPTER_EXPORT guint g_idle_add_once(GSourceOnceFunc function, gpointer data)
{
	GSource *source;

	glib_hold();
	if (adapter_unlikely(!function || !source_has_room()))
		return GLIB(g_idle_add_once)(function, data);
	source = glib_real.idle_source_new();
	source_is_once(source);
	return add(source, arm(GLIB_IDLE, G_SOURCE_FUNC(function), ADAPTER_PLACE), GLIB_IDLE,
		   source->priority, G_SOURCE_FUNC(function), data, NULL);
}

static guint add_timeout(gint priority, guint interval, GSourceFunc function, gpointer data,
			 GDestroyNotify notify, const void *place)
{
	uint64_t task;

	glib_hold();
	if (adapter_unlikely(!function))
		return GLIB(g_timeout_add_full)(priority, interval, function, data, notify);
	task = arm(GLIB_TIMEOUT, function, place);
	return add(glib_real.timeout_source_new(interval), task, GLIB_TIMEOUT, priority, function,
		   data, notify);
}

ADAPTER_EXPORT guint g_timeout_add(guint32 interval, GSourceFunc function, gpointer data)
{
	return add_timeout(G_PRIORITY_DEFAULT, interval, function, data, NULL, ADAPTER_PLACE);
}

ADAPTER_EXPORT guint g_timeout_add_full(gint priority, guint32 interval, GSourceFunc function,
					gpointer data, GDestroyNotify notify)
{
	return add_timeout(priority, interval, function, data, notify, ADAPTER_PLACE);
}

static guint add_seconds(gint priority, guint interval, GSourceFunc function, gpointer data,
			 GDestroyNotify notify, const void *place)
{
	glib_hold();
	if (adapter_unlikely(!function))
		return GLIB(g_timeout_add_seconds_full)(priority, interval, function, data, notify);
	return add(GLIB(g_timeout_source_new_seconds)(interval), arm(GLIB_TIMEOUT, function, place),
		   GLIB_TIMEOUT, priority, function, data, notify);
}

ADAPTER_EXPORT guint g_timeout_add_seconds(guint interval, GSourceFunc function, gpointer data)
{
	return add_seconds(G_PRIORITY_DEFAULT, interval, function, data, NULL, ADAPTER_PLACE);
}

ADAPTER_EXPORT guint g_timeout_add_seconds_full(gint priority, guint32 interval,
						GSourceFunc function, gpointer data,
						GDestroyNotify notify)
{
	return add_seconds(priority, interval, function, data, notify, ADAPTER_PLACE);
}

ADAPTER_EXPORT guint g_timeout_add_once(guint32 interval, GSourceOnceFunc function, gpointer data)
{
	GSource *source;

	glib_hold();
	if (adapter_unlikely(!function || !source_has_room()))
		return GLIB(g_timeout_add_once)(interval, function, data);
	source = glib_real.timeout_source_new(interval);
	source_is_once(source);
	return add(source, arm(GLIB_TIMEOUT, G_SOURCE_FUNC(function), ADAPTER_PLACE), GLIB_TIMEOUT,
		   source->priority, G_SOURCE_FUNC(function), data, NULL);
}

/* Since 2.78. */
ADAPTER_EXPORT guint g_timeout_add_seconds_once(guint interval, GSourceOnceFunc function,
						gpointer data);

ADAPTER_EXPORT guint g_timeout_add_seconds_once(guint interval, GSourceOnceFunc function,
						gpointer data)
{
	GSource *source;

	glib_hold();
	if (adapter_unlikely(!function || !source_has_room()))
		return GLIB(g_timeout_add_seconds_once)(interval, function, data);
	source = GLIB(g_timeout_source_new_seconds)(interval);
	source_is_once(source);
	return add(source, arm(GLIB_TIMEOUT, G_SOURCE_FUNC(function), ADAPTER_PLACE), GLIB_TIMEOUT,
		   source->priority, G_SOURCE_FUNC(function), data, NULL);
}

static guint add_child(gint priority, GPid pid, GChildWatchFunc function, gpointer data,
		       GDestroyNotify notify, const void *place)
{
	glib_hold();
	if (adapter_unlikely(!function || pid <= 0))
		return GLIB(g_child_watch_add_full)(priority, pid, function, data, notify);
	return add(GLIB(g_child_watch_source_new)(pid),
		   arm(GLIB_CHILD, G_SOURCE_FUNC(function), place), GLIB_CHILD, priority,
		   G_SOURCE_FUNC(function), data, notify);
}

ADAPTER_EXPORT guint g_child_watch_add(GPid pid, GChildWatchFunc function, gpointer data)
{
	return add_child(G_PRIORITY_DEFAULT, pid, function, data, NULL, ADAPTER_PLACE);
}

ADAPTER_EXPORT guint g_child_watch_add_full(gint priority, GPid pid, GChildWatchFunc function,
					    gpointer data, GDestroyNotify notify)
{
	return add_child(priority, pid, function, data, notify, ADAPTER_PLACE);
}

/* What source a channel makes is its own affair. */
static guint add_watch(GIOChannel *channel, gint priority, GIOCondition condition, GIOFunc function,
		       gpointer data, GDestroyNotify notify, const void *place)
{
	GSource *source;
	guint id;

	glib_hold();
	if (adapter_unlikely(!channel))
		return GLIB(g_io_add_watch_full)(channel, priority, condition, function, data,
						 notify);
	source = GLIB(g_io_create_watch)(channel, condition);
	if (priority != source->priority)
		GLIB(g_source_set_priority)(source, priority);
	glib_real.set_callback(source, G_SOURCE_FUNC(function), data, notify);
	source_learn(source);
	id = source_attach(source, NULL, place);
	glib_real.source_unref(source);
	return id;
}

ADAPTER_EXPORT guint g_io_add_watch(GIOChannel *channel, GIOCondition condition, GIOFunc function,
				    gpointer data)
{
	return add_watch(channel, G_PRIORITY_DEFAULT, condition, function, data, NULL,
			 ADAPTER_PLACE);
}

ADAPTER_EXPORT guint g_io_add_watch_full(GIOChannel *channel, gint priority, GIOCondition condition,
					 GIOFunc function, gpointer data, GDestroyNotify notify)
{
	return add_watch(channel, priority, condition, function, data, notify, ADAPTER_PLACE);
}

static guint add_fd(gint priority, gint fd, GIOCondition condition, GUnixFDSourceFunc function,
		    gpointer data, GDestroyNotify notify, const void *place)
{
	glib_hold();
	if (adapter_unlikely(!function))
		return GLIB(g_unix_fd_add_full)(priority, fd, condition, function, data, notify);
	return add(GLIB(g_unix_fd_source_new)(fd, condition),
		   arm(GLIB_FD, G_SOURCE_FUNC(function), place), GLIB_FD, priority,
		   G_SOURCE_FUNC(function), data, notify);
}

ADAPTER_EXPORT guint g_unix_fd_add(gint fd, GIOCondition condition, GUnixFDSourceFunc function,
				   gpointer data)
{
	return add_fd(G_PRIORITY_DEFAULT, fd, condition, function, data, NULL, ADAPTER_PLACE);
}

ADAPTER_EXPORT guint g_unix_fd_add_full(gint priority, gint fd, GIOCondition condition,
					GUnixFDSourceFunc function, gpointer data,
					GDestroyNotify notify)
{
	return add_fd(priority, fd, condition, function, data, notify, ADAPTER_PLACE);
}

static guint add_signal(gint priority, gint number, GSourceFunc function, gpointer data,
			GDestroyNotify notify, const void *place)
{
	GSource *source;

	glib_hold();
	source = GLIB(g_unix_signal_source_new)(number);
	if (adapter_unlikely(!source))
		return 0;
	return add(source, arm(GLIB_SIGNAL, function, place), GLIB_SIGNAL, priority, function, data,
		   notify);
}

ADAPTER_EXPORT guint g_unix_signal_add(gint number, GSourceFunc function, gpointer data)
{
	return add_signal(G_PRIORITY_DEFAULT, number, function, data, NULL, ADAPTER_PLACE);
}

ADAPTER_EXPORT guint g_unix_signal_add_full(gint priority, gint number, GSourceFunc function,
					    gpointer data, GDestroyNotify notify)
{
	return add_signal(priority, number, function, data, notify, ADAPTER_PLACE);
}

static void call_now(GSourceFunc function, gpointer data)
{
	while (function(data))
		;
}

/* Called at once if the context is this thread's, or could be; else by the thread that has it. */
static void invoke(GMainContext *context, gint priority, GSourceFunc function, gpointer data,
		   GDestroyNotify notify, const void *place)
{
	GMainContext *own;
	GSource *source;

	glib_hold();
	context = context ? context : GLIB(g_main_context_default)();
	if (adapter_unlikely(!function) || GLIB(g_main_context_is_owner)(context)) {
		GLIB(g_main_context_invoke_full)(context, priority, function, data, notify);
		return;
	}
	own = GLIB(g_main_context_get_thread_default)();
	own = own ? own : GLIB(g_main_context_default)();
	if (own == context && GLIB(g_main_context_acquire)(context)) {
		call_now(function, data);
		GLIB(g_main_context_release)(context);
		if (notify)
			notify(data);
		return;
	}
	source = glib_real.idle_source_new();
	GLIB(g_source_set_priority)(source, priority);
	glib_real.set_callback(source, function, data, notify);
	source_learn(source);
	source_attach(source, context, place);
	glib_real.source_unref(source);
}

ADAPTER_EXPORT void g_main_context_invoke(GMainContext *context, GSourceFunc function,
					  gpointer data)
{
	invoke(context, G_PRIORITY_DEFAULT, function, data, NULL, ADAPTER_PLACE);
}

ADAPTER_EXPORT void g_main_context_invoke_full(GMainContext *context, gint priority,
					       GSourceFunc function, gpointer data,
					       GDestroyNotify notify)
{
	invoke(context, priority, function, data, notify, ADAPTER_PLACE);
}
