/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter for GLib's main loop, and GIO's tasks: what its parts share.
 *
 *     hold.c      finds GLib, and puts our dispatch functions into its tables
 *     source.c    a source from its attachment to its end
 *     dispatch.c  its calls
 *     custom.c    the same for tables of functions that are not GLib's own
 *     add.c       g_idle_add() and its like, which attach inside of GLib
 *     loop.c      loops, and what they wait in; contexts
 *     task.c      GTask
 */
#ifndef ADAPTER_GLIB_HOOKS_H
#define ADAPTER_GLIB_HOOKS_H

#define GLIB_DISABLE_DEPRECATION_WARNINGS
#include <gio/gio.h>
#include <glib-unix.h>

#include "common/adapter.h"

extern struct adapter glib;
extern struct adapter gobject;
extern struct adapter gio;

/* On the way of each source: no call, and no test of what is known there. */
#define ADAPTER_INLINE inline __attribute__((always_inline))

#define GLIB(function) ADAPTER_NEXT(&glib, function)
#define GOBJECT(function) ADAPTER_NEXT(&gobject, function)
#define GIO(function) ADAPTER_NEXT(&gio, function)

/* What a thread is about, for hooks that are not told. */
struct glib_thread {
	uint64_t loop;     /* that it is in; 0: none */
	uint64_t run;      /* that the loop was entered in: where else it polls, it is a callback */
	unsigned forks;    /* when it was entered */
	GTask *newborn;    /* between its initialization and its first use */
	const void *place; /* where g_task_new() was called; NULL: not by the program */
	const void *work;  /* what it hands to g_task_run_in_thread(); the same */
};
extern ADAPTER_TLS struct glib_thread glib_thread;

/* Does so at the first call that finds GLib. */
void glib_take_hold(void);
extern bool glib_held;

/* GLib's functions that are used most, or by signal handlers. */
extern struct glib_real {
	__typeof__(&g_idle_source_new) idle_source_new;
	__typeof__(&g_timeout_source_new) timeout_source_new;
	__typeof__(&g_source_set_callback) set_callback;
	__typeof__(&g_source_attach) attach;
	__typeof__(&g_source_unref) source_unref;
	__typeof__(&g_main_context_default) context_default;
	__typeof__(&g_main_context_wakeup) wakeup;
} glib_real;

static inline void glib_hold(void)
{
	if (adapter_unlikely(!__atomic_load_n(&glib_held, __ATOMIC_ACQUIRE)))
		glib_take_hold();
}

typedef gboolean (*glib_dispatch)(GSource *source, GSourceFunc callback, gpointer data);

/* The sources that GLib brings along. Each has a table of functions that can be written to. */
enum glib_sort {
	GLIB_IDLE,
	GLIB_TIMEOUT,
	GLIB_CHILD,
	GLIB_IO,
	GLIB_FD,
	GLIB_SIGNAL,
	GLIB_SORTS,
};

struct glib_table {
	const char *symbol;
	const char *kind;
	unsigned flags;         /* for unweave_callback_arm() */
	GSourceFuncs *funcs;    /* NULL: not found */
	glib_dispatch dispatch; /* GLib's own */
	glib_dispatch ours;
};
extern struct glib_table glib_tables[GLIB_SORTS];

/* A dispatch, as GLib asked for it. */
struct glib_call {
	glib_dispatch dispatch; /* the original function */
	GSource *source;
	GSourceFunc callback;
	gpointer data;
	bool once; /* whatever the callback returns */
};

/* As a run of the source's task, or of a new child of it; `kind` is for one that has none. */
gboolean source_dispatch(struct glib_call *call, const char *kind);

/* g_source_attach(), called at `place`. */
guint source_attach(GSource *source, GMainContext *context, const void *place);
/* Its callback was set by g_source_set_callback(). */
void source_learn(const GSource *source);
/* It is called once, though its callback returns nothing. */
void source_is_once(GSource *source);
/* Whether anything can be noted in a source. */
bool source_has_room(void);
/* Its dispatch is nothing to be seen. */
void source_hide(GSource *source);
/* It is going to be freed, with its context. */
void source_gone(GSource *source);

/* The task of a loop that was begun by `code`. NULL is the default context. */
uint64_t loop_of(GMainContext *context, const void *code, const void *place);
/* What this thread waits in from now on. */
void loop_enter(uint64_t loop);

/* Sees to it that dispatches of this source come to us. */
void custom_adopt(GSource *source);
/* The dispatch function that was in a table before us. */
glib_dispatch custom_original(const GSourceFuncs *funcs);
/* What stands for this table in sources; NULL: itself. */
GSourceFuncs *custom_stand_in(const GSourceFuncs *funcs);

/* Whether this callback is that by which GIO completes a task; says that the task can run. */
bool task_completes(GSourceFunc callback, gpointer data, GDestroyNotify notify, const void *caller);
/* g_main_context_ref_thread_default() was called: g_task_new() does so when all else is set. */
void task_is_ready(const void *caller);

#endif /* ADAPTER_GLIB_HOOKS_H */
