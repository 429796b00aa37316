/* SPDX-License-Identifier: Apache-2.0 */
/* A callback whose last act is a jump into GLib. */
#include <glib.h>

static GMainLoop *loop;

static gboolean second(gpointer data)
{
	(void)data;
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

/* What it returns is not 0: it is called again, until the loop has ended. */
static gboolean first(gpointer data)
{
	return (gboolean)g_idle_add(second, data);
}

int main(void)
{
	loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(1, first, NULL);
	g_main_loop_run(loop);
	g_main_loop_unref(loop);
	return 0;
}
