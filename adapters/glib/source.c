/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source is a task from its attachment to its end. One that calls once is
 * done with its call; one that asks to be called again is a standing one from
 * then on. Sources that watch something stand from the beginning.
 */
#include "state.h"

/* How callbacks are kept that were set by g_source_set_callback(). */
static GSourceCallbackFuncs *plain_callbacks;

void source_learn(const GSource *source)
{
	if (adapter_unlikely(!__atomic_load_n(&plain_callbacks, __ATOMIC_RELAXED)))
		__atomic_store_n(&plain_callbacks, source->callback_funcs, __ATOMIC_RELAXED);
}

static const void *code_of(GSource *source)
{
	GSourceFunc callback = NULL;
	gpointer data;

	if (source->callback_funcs &&
	    source->callback_funcs == __atomic_load_n(&plain_callbacks, __ATOMIC_RELAXED))
		source->callback_funcs->get(source->callback_data, source, &callback, &data);
	return callback ? (const void *)callback
			: (const void *)custom_original(source->source_funcs);
}

static const struct glib_table *table_of(const GSource *source)
{
	for (int i = 0; i < GLIB_SORTS; i++)
		if (source->source_funcs == glib_tables[i].funcs)
			return &glib_tables[i];
	return NULL;
}

static void arm(GSource *source, const void *place, uint32_t flags)
{
	static const struct glib_table other = {.kind = "source", .flags = UNWEAVE_STANDING};
	const struct glib_table *table = table_of(source);
	uint64_t task;

	if (!table) {
		custom_adopt(source);
		table = &other;
	}
	task = unweave_callback_arm(table->kind, code_of(source), place, table->flags);
	if (table == &other && source->name && !unweave_priv_is_light(task))
		unweave_task_name(task, source->name);
	store(source, task, table->flags ? STANDS : flags);
}

guint source_attach(GSource *source, GMainContext *context, const void *place)
{
	struct state state = load(source);

	if (HAVE_ROOM && !state.task && state.flags != RUNS)
		arm(source, place, state.flags);
	return glib_real.attach(source, context);
}

ADAPTER_EXPORT guint g_source_attach(GSource *source, GMainContext *context)
{
	glib_hold();
	/* GLib has words for what is wrong with these. */
	if (adapter_unlikely(!source || source->context))
		return GLIB(g_source_attach)(source, context);
	return source_attach(source, context, ADAPTER_PLACE);
}

bool source_has_room(void)
{
	return HAVE_ROOM;
}

void source_is_once(GSource *source)
{
	store(source, 0, RUNS | STANDS);
}

void source_hide(GSource *source)
{
	store(source, 0, RUNS);
}

/* A source in its first call is left to that. */
static void drop(GSource *source)
{
	struct state state = load(source);

	if (state.flags != STANDS &&
	    __atomic_load_n((guint *)&source->flags, __ATOMIC_ACQUIRE) & G_HOOK_FLAG_IN_CALL)
		return;
	complete(take_task(source), UNWEAVE_CANCELLED);
}

void source_gone(GSource *source)
{
	complete(take_task(source), UNWEAVE_CANCELLED);
}

static void destroy(GSource *source)
{
	if (!load(source).task) {
		GLIB(g_source_destroy)(source);
		return;
	}
	GLIB(g_source_ref)(source);
	GLIB(g_source_destroy)(source);
	/* Pairs with the one at the end of a first call. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	drop(source);
	GLIB(g_source_unref)(source);
}

ADAPTER_EXPORT void g_source_destroy(GSource *source)
{
	if (adapter_unlikely(!source))
		GLIB(g_source_destroy)(source);
	else
		destroy(source);
}

/* These destroy inside of GLib; done as it does them. */

ADAPTER_EXPORT gboolean g_source_remove(guint tag)
{
	GSource *source = tag ? GLIB(g_main_context_find_source_by_id)(NULL, tag) : NULL;

	if (adapter_unlikely(!source))
		return GLIB(g_source_remove)(tag);
	destroy(source);
	return TRUE;
}

ADAPTER_EXPORT gboolean g_source_remove_by_user_data(gpointer data)
{
	GSource *source = GLIB(g_main_context_find_source_by_user_data)(NULL, data);

	if (source)
		destroy(source);
	return source != NULL;
}

ADAPTER_EXPORT GSource *g_main_context_find_source_by_funcs_user_data(GMainContext *context,
								      GSourceFuncs *funcs,
								      gpointer data)
{
	GSourceFuncs *ours = funcs ? custom_stand_in(funcs) : NULL;
	GSource *found = NULL;

	if (ours)
		found = GLIB(g_main_context_find_source_by_funcs_user_data)(context, ours, data);
	return found ? found
		     : GLIB(g_main_context_find_source_by_funcs_user_data)(context, funcs, data);
}

ADAPTER_EXPORT gboolean g_source_remove_by_funcs_user_data(GSourceFuncs *funcs, gpointer data)
{
	GSource *source;

	if (adapter_unlikely(!funcs))
		return GLIB(g_source_remove_by_funcs_user_data)(funcs, data);
	source = g_main_context_find_source_by_funcs_user_data(NULL, funcs, data);
	if (source)
		destroy(source);
	return source != NULL;
}

ADAPTER_EXPORT gboolean g_idle_remove_by_data(gpointer data)
{
	if (adapter_unlikely(!glib_tables[GLIB_IDLE].funcs))
		return GLIB(g_idle_remove_by_data)(data);
	return g_source_remove_by_funcs_user_data(glib_tables[GLIB_IDLE].funcs, data);
}

ADAPTER_EXPORT void g_source_set_callback(GSource *source, GSourceFunc callback, gpointer data,
					  GDestroyNotify notify)
{
	glib_hold();
	GLIB(g_source_set_callback)(source, callback, data, notify);
	if (adapter_unlikely(!source))
		return;
	source_learn(source);
	if (source->source_funcs == glib_tables[GLIB_IDLE].funcs &&
	    task_completes(callback, data, notify, ADAPTER_PLACE))
		source_hide(source);
}

/* A child is dispatched with its parent, and its callback does nothing. */
ADAPTER_EXPORT void g_source_add_child_source(GSource *source, GSource *child)
{
	if (child && !child->context)
		source_hide(child);
	GLIB(g_source_add_child_source)(source, child);
}

/* The usual way, for sources of a program, to be told that there is something to do. */
ADAPTER_EXPORT void g_source_set_ready_time(GSource *source, gint64 ready_time)
{
	uint64_t task = source && ready_time == 0 ? load(source).task : 0;

	if (task)
		unweave_callback_wake(task, UNWEAVE_SOURCE_TASK);
	GLIB(g_source_set_ready_time)(source, ready_time);
}
