/* SPDX-License-Identifier: Apache-2.0 */
/* GLib, to be measured: idle sources, many in an iteration, armed by a callback. */
#include <glib.h>

#include "adapters_program.h"

#define SOURCES 64u

static GMainLoop *loop;
static uint32_t left;

static gboolean called(gpointer data)
{
	*(uint32_t *)data += 1;
	return G_SOURCE_REMOVE;
}

static gboolean arm_sources(gpointer data)
{
	uint32_t count = left < SOURCES ? left : SOURCES;

	if (!left) {
		g_main_loop_quit(loop);
		return G_SOURCE_REMOVE;
	}
	for (uint32_t i = 0; i < count; i++)
		g_idle_add(called, data);
	left -= count;
	return G_SOURCE_CONTINUE;
}

static void run_pairs(uint32_t count)
{
	static uint32_t calls;

	left = count;
	g_idle_add(arm_sources, &calls);
	g_main_loop_run(loop);
}

static gboolean turn(gpointer data)
{
	(void)data;
	if (--left)
		return G_SOURCE_CONTINUE;
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void run_iterations(uint32_t count)
{
	left = count;
	g_idle_add(turn, NULL);
	g_main_loop_run(loop);
}

int main(int argc, char **argv)
{
	static const struct adapters_program program = {run_pairs, run_iterations};

	loop = g_main_loop_new(NULL, FALSE);
	return adapters_program_main(argc, argv, &program);
}
