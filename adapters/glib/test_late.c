/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that loads GLib when it is running already, for itself alone, and finds
 * its functions by name, as bindings for other languages do. test_late.py records it.
 */
#include <dlfcn.h>
#include <gio/gio.h>

static struct {
	__typeof__(&g_idle_add) idle_add;
	__typeof__(&g_timeout_add) timeout_add;
	__typeof__(&g_main_loop_new) loop_new;
	__typeof__(&g_main_loop_run) loop_run;
	__typeof__(&g_main_loop_quit) loop_quit;
	__typeof__(&g_task_new) task_new;
	__typeof__(&g_task_return_boolean) task_return;
	__typeof__(&g_object_unref) unref;
} found;

static GMainLoop *loop;

static void done(GObject *source, GAsyncResult *result, gpointer data)
{
	(void)source, (void)result, (void)data;
}

static gboolean idle(gpointer data)
{
	GTask *task = found.task_new(NULL, NULL, done, data);

	found.task_return(task, TRUE);
	found.unref(task);
	return G_SOURCE_REMOVE;
}

static gboolean tick(gpointer data)
{
	static int ticks;

	if (++ticks == 3)
		found.loop_quit(data);
	return G_SOURCE_CONTINUE;
}

#define FIND(member, name) (found.member = (__typeof__(found.member))dlsym(library, name))

int main(void)
{
	void *library = dlopen("libgio-2.0.so.0", RTLD_NOW | RTLD_LOCAL);

	if (!library || !FIND(idle_add, "g_idle_add") || !FIND(timeout_add, "g_timeout_add") ||
	    !FIND(loop_new, "g_main_loop_new") || !FIND(loop_run, "g_main_loop_run") ||
	    !FIND(loop_quit, "g_main_loop_quit") || !FIND(task_new, "g_task_new") ||
	    !FIND(task_return, "g_task_return_boolean") || !FIND(unref, "g_object_unref"))
		return 77;
	loop = found.loop_new(NULL, FALSE);
	found.idle_add(idle, NULL);
	found.timeout_add(2, tick, loop);
	found.loop_run(loop);
	return 0;
}
