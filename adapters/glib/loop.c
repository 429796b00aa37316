/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops. A context is one, whoever runs it. What it waits in is the poll() that
 * GLib calls; a program that polls for itself asks GLib what to wait for, and
 * says what came.
 */
#include "hooks.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>

uint64_t loop_of(GMainContext *context, const void *code, const void *place)
{
	if (!context)
		context = glib_real.context_default();
	return adapter_loop(context, "loop",
			    code ? code : (const void *)GLIB(g_main_context_iteration), place);
}

/* The innermost run of this thread, as far as runs are seen. */
static uint64_t innermost_run(void)
{
	const struct unweave_priv_nest *nest = unweave_priv_self->nest;

	return nest ? __atomic_load_n(&nest->dispatch, __ATOMIC_RELAXED) : 0;
}

void loop_enter(uint64_t loop)
{
	glib_thread.loop = loop;
	glib_thread.run = innermost_run();
	glib_thread.forks = adapter_forks();
}

static void loop_leave(const struct glib_thread *outer)
{
	unweave_loop_left();
	glib_thread.loop = outer->loop;
	glib_thread.run = outer->run;
}

ADAPTER_EXPORT void g_main_loop_run(GMainLoop *loop)
{
	const struct glib_thread outer = glib_thread;

	glib_hold();
	if (loop)
		loop_enter(loop_of(GLIB(g_main_loop_get_context)(loop),
				   (const void *)GLIB(g_main_loop_run), ADAPTER_PLACE));
	GLIB(g_main_loop_run)(loop);
	loop_leave(&outer);
}

ADAPTER_EXPORT gboolean g_main_context_iteration(GMainContext *context, gboolean may_block)
{
	const struct glib_thread outer = glib_thread;
	gboolean dispatched;

	glib_hold();
	loop_enter(loop_of(context, NULL, ADAPTER_PLACE));
	dispatched = GLIB(g_main_context_iteration)(context, may_block);
	loop_leave(&outer);
	return dispatched;
}

/* The loop whose wait this is; 0: none. A callback that waits in poll() does so for itself. */
static inline uint64_t waiting_loop(const void *caller)
{
	struct glib_thread *thread = &glib_thread;

	if (adapter_likely(!thread->loop) || !adapter_is_inside(&glib, caller) ||
	    thread->run != innermost_run())
		return 0;
	/* That of the parent is none of this process: it is found again with the next source. */
	if (adapter_unlikely(thread->forks != adapter_forks()))
		thread->loop = 0;
	return thread->loop;
}

/*
 * Signal handlers may wait in these, and children of fork(), so they are looked
 * up before anybody needs them.
 */
static __typeof__(&poll) real_poll;
static __typeof__(&ppoll) real_ppoll;

static __attribute__((constructor)) void find_polls(void)
{
	real_poll = GLIB(poll);
	real_ppoll = GLIB(ppoll);
}

ADAPTER_EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	uint64_t loop = waiting_loop(ADAPTER_PLACE);
	int ready;

	if (loop && timeout)
		unweave_loop_wait(loop);
	ready = (real_poll ? real_poll : GLIB(poll))(fds, count, timeout);
	if (loop)
		unweave_loop_woke(loop);
	return ready;
}

ADAPTER_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			 const sigset_t *mask)
{
	uint64_t loop = waiting_loop(ADAPTER_PLACE);
	int ready;

	if (loop && (!timeout || timeout->tv_sec || timeout->tv_nsec))
		unweave_loop_wait(loop);
	ready = (real_ppoll ? real_ppoll : GLIB(ppoll))(fds, count, timeout, mask);
	if (loop)
		unweave_loop_woke(loop);
	return ready;
}

ADAPTER_EXPORT gint g_main_context_query(GMainContext *context, gint most, gint *timeout,
					 GPollFD *fds, gint count)
{
	gint needed;

	glib_hold();
	needed = GLIB(g_main_context_query)(context, most, timeout, fds, count);
	/* Else it comes again, with more room. */
	if (needed <= count)
		unweave_loop_wait(loop_of(context, NULL, ADAPTER_PLACE));
	return needed;
}

ADAPTER_EXPORT gboolean g_main_context_check(GMainContext *context, gint most, GPollFD *fds,
					     gint count)
{
	glib_hold();
	unweave_loop_woke(loop_of(context, NULL, ADAPTER_PLACE));
	return GLIB(g_main_context_check)(context, most, fds, count);
}

ADAPTER_EXPORT void g_main_context_wakeup(GMainContext *context)
{
	glib_hold();
	unweave_callback_wake(loop_of(context, NULL, ADAPTER_PLACE), UNWEAVE_SOURCE_TASK);
	glib_real.wakeup(context);
}

/*
 * A context that ends takes its sources along, unseen. So it matters which
 * unref is the last one. Where a context has its count is found out with the
 * first one that a program makes, and which nobody else knows yet.
 */
#define COUNT_WITHIN 128 /* bytes of a context: less than it has in any version */

static _Atomic int count_offset;

static void learn_count(GMainContext *context)
{
	const gint *words = (const gint *)context;
	gint before[COUNT_WITHIN / sizeof(gint)];
	int found = 0;

	if (!context || count_offset)
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(before); i++)
		before[i] = words[i];
	GLIB(g_main_context_ref)(context);
	for (size_t i = 0; i < G_N_ELEMENTS(before); i++)
		if (before[i] == 1 && __atomic_load_n(&words[i], __ATOMIC_RELAXED) == 2)
			found = found ? -1 : (int)i;
	GLIB(g_main_context_unref)(context);
	count_offset = found ? found : -1;
}

static bool is_last(GMainContext *context)
{
	int at = count_offset;

	return at > 0 && __atomic_load_n((gint *)context + at, __ATOMIC_ACQUIRE) == 1;
}

#define LOOKED_AT 1024u /* of the oldest and of the newest sources of a context */

/* Nobody has the context but the caller, who is about to let it go. */
static void bury(GMainContext *context)
{
	GSource *last = GLIB(g_idle_source_new)();
	guint end = GLIB(g_source_attach)(last, context);

	GLIB(g_source_destroy)(last);
	GLIB(g_source_unref)(last);
	for (guint id = 1; id < end; id++) {
		GSource *source;

		if (id == LOOKED_AT && end > 2 * LOOKED_AT)
			id = end - LOOKED_AT;
		source = GLIB(g_main_context_find_source_by_id)(context, id);
		if (source)
			source_gone(source);
	}
	adapter_loop_gone(context);
}

ADAPTER_EXPORT GMainContext *g_main_context_new(void)
{
	GMainContext *context = GLIB(g_main_context_new)();

	glib_hold();
	learn_count(context);
	return context;
}

ADAPTER_EXPORT GMainContext *g_main_context_new_with_flags(GMainContextFlags flags)
{
	GMainContext *context = GLIB(g_main_context_new_with_flags)(flags);

	glib_hold();
	learn_count(context);
	return context;
}

ADAPTER_EXPORT void g_main_context_unref(GMainContext *context)
{
	if (context && is_last(context))
		bury(context);
	GLIB(g_main_context_unref)(context);
}

/* The stack of defaults has a reference. */
ADAPTER_EXPORT void g_main_context_pop_thread_default(GMainContext *context)
{
	if (context && is_last(context))
		bury(context);
	GLIB(g_main_context_pop_thread_default)(context);
}

/* So has a loop. */
ADAPTER_EXPORT void g_main_loop_unref(GMainLoop *loop)
{
	GMainContext *context = loop ? GLIB(g_main_loop_get_context)(loop) : NULL;

	if (context)
		GLIB(g_main_context_ref)(context);
	GLIB(g_main_loop_unref)(loop);
	if (context)
		g_main_context_unref(context);
}

ADAPTER_EXPORT GMainContext *g_main_context_ref_thread_default(void)
{
	task_is_ready(ADAPTER_PLACE);
	return GLIB(g_main_context_ref_thread_default)();
}
