/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that run loops, and a thread that attaches sources to them and destroys
 * them again, at whatever moment that is in their life. test_storm.py records it:
 * each source must end, and end once.
 */
#include <gio/gio.h>

#define LOOPS 2
#define SOURCES 6000
#define PENDING 64 /* sources that are not destroyed yet */

static gint calls;

static gboolean called(gpointer data)
{
	gint number = g_atomic_int_add(&calls, 1);

	/* Some end by themselves, some want to go on for ever, some destroy themselves. */
	if (number % 7 == 0)
		g_source_destroy(g_main_current_source());
	return GPOINTER_TO_INT(data) % 3 != 0;
}

static gpointer run(gpointer loop)
{
	g_main_context_push_thread_default(g_main_loop_get_context(loop));
	g_main_loop_run(loop);
	g_main_context_pop_thread_default(g_main_loop_get_context(loop));
	return NULL;
}

static GSource *attach(int number, GMainContext *context)
{
	GSource *source = number % 2 ? g_idle_source_new() : g_timeout_source_new(0);

	g_source_set_can_recurse(source, number % 5 == 0);
	g_source_set_callback(source, called, GINT_TO_POINTER(number), NULL);
	g_source_attach(source, context);
	return source;
}

int main(void)
{
	GMainLoop *loops[LOOPS];
	GThread *threads[LOOPS];
	GSource *pending[PENDING] = {NULL};
	GRand *random = g_rand_new_with_seed(1);

	for (int i = 0; i < LOOPS; i++) {
		GMainContext *context = g_main_context_new();

		loops[i] = g_main_loop_new(context, FALSE);
		g_main_context_unref(context);
		threads[i] = g_thread_new("loop", run, loops[i]);
		while (!g_main_loop_is_running(loops[i]))
			g_usleep(100);
	}
	for (int i = 0; i < SOURCES + PENDING; i++) {
		GSource **place =
			&pending[i < SOURCES ? g_rand_int_range(random, 0, PENDING) : i - SOURCES];

		if (*place) {
			g_source_destroy(*place);
			g_source_unref(*place);
		}
		if (i % 32 == 0)
			g_usleep(100);
		*place = i < SOURCES ? attach(i, g_main_loop_get_context(loops[i % LOOPS])) : NULL;
	}
	for (int i = 0; i < LOOPS; i++) {
		g_main_loop_quit(loops[i]);
		g_thread_join(threads[i]);
		g_main_loop_unref(loops[i]);
	}
	g_rand_free(random);
	return 0;
}
