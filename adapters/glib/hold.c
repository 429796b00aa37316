/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes hold of GLib, as soon as it is there. Calls inside of libglib cannot be
 * interposed, but what it calls for its own sources stands in tables that are
 * exported and can be written to.
 */
#include "hooks.h"

#include <dlfcn.h>
#include <stdio.h>

struct adapter glib = {.name = "glib", .soname = "libglib-2.0.so.0", .probe = "g_source_attach"};
struct adapter gobject = {
	.name = "gobject", .soname = "libgobject-2.0.so.0", .probe = "g_object_unref"};
struct adapter gio = {.name = "gio", .soname = "libgio-2.0.so.0", .probe = "g_task_new"};

ADAPTER_TLS struct glib_thread glib_thread;
struct glib_real glib_real;
bool glib_held;

/*
 * The first one in the program's own order, and not the next after us: a program
 * that names such a table has a copy of it, which GLib uses as well.
 */
static void *find_data(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	_Atomic(void *) cache;

	return found ? found : adapter_find(&glib, &cache, name);
}

static void patch(struct glib_table *table)
{
	GSourceFuncs *funcs = find_data(table->symbol);

	if (!funcs || !funcs->dispatch)
		return;
	table->dispatch = funcs->dispatch;
	__atomic_store_n(&table->funcs, funcs, __ATOMIC_RELEASE);
	__atomic_store_n(&funcs->dispatch, table->ours, __ATOMIC_RELEASE);
}

static void say_version(void)
{
	const guint *major = find_data("glib_major_version");
	const guint *minor = find_data("glib_minor_version");
	const guint *micro = find_data("glib_micro_version");
	static char version[40];

	if (major && minor && micro)
		snprintf(version, sizeof(version), "%u.%u.%u", *major, *minor, *micro);
	adapter_took_hold(&glib, version);
}

void glib_take_hold(void)
{
	static bool taken;

	if (!GLIB(g_source_attach))
		return;
	/* All threads that come here at once store the same, and can go on. */
	glib_real = (struct glib_real){
		.idle_source_new = GLIB(g_idle_source_new),
		.timeout_source_new = GLIB(g_timeout_source_new),
		.set_callback = GLIB(g_source_set_callback),
		.attach = GLIB(g_source_attach),
		.source_unref = GLIB(g_source_unref),
		.context_default = GLIB(g_main_context_default),
		.wakeup = GLIB(g_main_context_wakeup),
	};
	if (__atomic_exchange_n(&taken, true, __ATOMIC_ACQ_REL))
		return;
	for (int i = 0; i < GLIB_SORTS; i++)
		patch(&glib_tables[i]);
	/* It calls callbacks itself, and its own calls do not come here. */
	adapter_only_calls((const void *)glib_real.attach);
	say_version();
	__atomic_store_n(&glib_held, true, __ATOMIC_RELEASE);
}

/* Where the program links with GLib, it is there before main(). */
static __attribute__((constructor)) void begin(void)
{
	if (dlsym(RTLD_DEFAULT, "g_source_attach"))
		glib_take_hold();
}

/*
 * Where it is loaded later, for a program that finds its functions by name, this is the first
 * function of GLib that is called from outside of it: libgobject asks for its settings.
 */
ADAPTER_EXPORT const gchar *g_getenv(const gchar *variable)
{
	glib_hold();
	return GLIB(g_getenv)(variable);
}
