/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GLib program with a known tree of operations: each way in which a source can
 * begin, run and end; test_tree_tasks.c has those of GTask. test_tree.py records
 * it, and compares.
 */
#include <gio/gio.h>
#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_log.h"

void tree_of_tasks(void);

static struct op *repeating, *unwanted;

static gboolean leaf(gpointer data)
{
	struct op *op = data;

	op_leave(op, op_enter(op), false);
	return G_SOURCE_REMOVE;
}

static void once(gpointer data)
{
	leaf(data);
}

static gboolean deep(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);

	g_idle_add(leaf, OP("idle", leaf));
	op_leave(op, run, false);
	return G_SOURCE_REMOVE;
}

static gboolean deeper(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);

	g_timeout_add(1, deep, OP("timer", deep));
	op_leave(op, run, false);
	return G_SOURCE_REMOVE;
}

static gboolean four_times(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);
	bool again = op->calls < 4;

	op_leave(op, run, again);
	return again;
}

/* Arms itself three times over. */
static gboolean round_about(gpointer data)
{
	static int turns;
	struct op *op = data;
	struct run run = op_enter(op);

	if (++turns < 3)
		g_timeout_add(1, round_about, OP("timer", round_about));
	op_leave(op, run, false);
	return G_SOURCE_REMOVE;
}

static gboolean for_ever(gpointer data)
{
	struct op *op = data;

	op_leave(op, op_enter(op), true);
	return G_SOURCE_CONTINUE;
}

/* Ends a timer that repeats, when it has done so, and one that was never called. */
static gboolean removes_others(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);
	bool again = repeating->calls < 3;

	if (!again) {
		g_source_remove(repeating->source);
		op_end(repeating, "cancelled");
		g_source_remove_by_user_data(unwanted);
		op_end(unwanted, "cancelled");
	}
	op_leave(op, run, again);
	return again;
}

/* Destroys itself in its first call, and asks for more. */
static gboolean destroys_itself(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);

	g_source_destroy(g_main_current_source());
	op_leave(op, run, false);
	return G_SOURCE_CONTINUE;
}

static void plain_sources(void)
{
	g_idle_add(leaf, OP("idle", leaf));
	g_idle_add_full(G_PRIORITY_LOW, deeper, OP("idle", deeper), NULL);
	g_idle_add_once(once, OP("idle", once));
	g_timeout_add_once(1, once, OP("timer", once));
	g_timeout_add(1, four_times, OP("timer", four_times));
	g_idle_add(round_about, OP("idle", round_about));
	g_timeout_add(1, destroys_itself, OP("timer", destroys_itself));
	/* It is never called, and nobody ends it. */
	g_timeout_add_seconds(3600, leaf, OP("timer", leaf));

	repeating = OP("timer", for_ever);
	repeating->source = g_timeout_add_full(G_PRIORITY_HIGH, 2, for_ever, repeating, NULL);
	unwanted = OP("timer", leaf);
	g_timeout_add_seconds_full(G_PRIORITY_LOW, 1000, leaf, unwanted, NULL);
	g_timeout_add(10, removes_others, OP("timer", removes_others));
}

/* May recurse, and does so, once. */
static gboolean recurses(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);
	bool inner = op->calls > 1;

	if (!inner)
		g_main_context_iteration(op->data, FALSE);
	op_leave(op, run, inner);
	return inner;
}

static gboolean quit_inner(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);

	g_main_loop_quit(op->data);
	op_leave(op, run, false);
	return G_SOURCE_REMOVE;
}

/* Runs a loop inside of its callback. */
static gboolean nests(gpointer data)
{
	struct op *op = data, *quits;
	struct run run = op_enter(op);
	GMainLoop *inner = g_main_loop_new(NULL, FALSE);

	quits = OP("timer", quit_inner);
	quits->data = inner;
	g_timeout_add(2, quit_inner, quits);
	g_main_loop_run(inner);
	g_main_loop_unref(inner);
	op_leave(op, run, false);
	return G_SOURCE_REMOVE;
}

static void nested_loops(void)
{
	GMainContext *context = g_main_context_new();
	GSource *source = g_idle_source_new();
	struct op *op = OP("idle", recurses);

	op->data = context;
	g_source_set_can_recurse(source, TRUE);
	g_source_set_callback(source, recurses, op, NULL);
	g_source_attach(source, context);
	g_source_unref(source);
	g_main_context_iteration(context, FALSE);
	g_main_context_unref(context);

	g_timeout_add(3, nests, OP("timer", nests));
}

/* Three times; then it is done. */
static gboolean fd_ready(gint fd, GIOCondition condition, gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);
	bool again = op->calls < 3;
	char byte;

	(void)condition;
	if (read(fd, &byte, 1) != 1)
		abort();
	op_leave(op, run, again);
	return again;
}

/* Once; it removes itself. */
static gboolean channel_ready(GIOChannel *channel, GIOCondition condition, gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);

	(void)channel, (void)condition;
	g_source_remove(op->source);
	op_leave(op, run, true);
	op_end(op, "cancelled");
	return G_SOURCE_CONTINUE;
}

static void make_pipe(int ends[2], const char *text)
{
	if (pipe(ends) < 0 || write(ends[1], text, strlen(text)) < 0)
		abort();
}

static void watches(void)
{
	int full[2], empty[2], one[2];
	GIOChannel *channel;
	struct op *op;

	make_pipe(full, "abc");
	g_unix_fd_add(full[0], G_IO_IN, fd_ready, STANDING("fd", fd_ready));

	make_pipe(empty, "");
	op = STANDING("fd", fd_ready);
	op->source = g_unix_fd_add_full(0, empty[0], G_IO_IN, fd_ready, op, NULL);
	g_source_remove(op->source);
	op_end(op, "cancelled");

	make_pipe(one, "x");
	channel = g_io_channel_unix_new(one[0]);
	op = STANDING("io", channel_ready);
	op->source = g_io_add_watch(channel, G_IO_IN, channel_ready, op);
	g_io_channel_unref(channel);
}

static void child_ended(GPid pid, gint status, gpointer data)
{
	(void)pid;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		abort();
	leaf(data);
}

/* Twice: the first call sends the second signal. */
static gboolean signalled(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);
	bool again = op->calls < 2;

	if (again)
		kill(getpid(), SIGUSR1);
	op_leave(op, run, again);
	return again;
}

static void processes(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(7);
	g_child_watch_add(child, child_ended, OP("child", child_ended));
	g_unix_signal_add(SIGUSR1, signalled, STANDING("signal", signalled));
	kill(getpid(), SIGUSR1);
}

static gboolean custom_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	g_source_set_ready_time(source, -1);
	return callback(data);
}

/* Is made ready by the program; twice. */
static gboolean custom(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);
	bool again = op->calls < 2;

	if (again)
		g_source_set_ready_time(g_main_current_source(), 0);
	op_leave(op, run, again);
	return again;
}

static void custom_source(GSourceFuncs *funcs)
{
	GSource *source = g_source_new(funcs, sizeof(GSource));

	g_source_set_callback(source, custom, STANDING("source", custom), NULL);
	g_source_set_ready_time(source, 0);
	g_source_attach(source, NULL);
	g_source_unref(source);
}

static void custom_sources(void)
{
	static GSourceFuncs variable = {.dispatch = custom_dispatch};
	static const GSourceFuncs constant = {.dispatch = custom_dispatch};
	struct op *op = STANDING("source", custom);
	GSource *source = g_source_new((GSourceFuncs *)&constant, sizeof(GSource));

	custom_source(&variable);
	custom_source((GSourceFuncs *)&constant);

	g_source_set_callback(source, custom, op, NULL);
	g_source_attach(source, NULL);
	g_source_unref(source);
	if (!g_source_remove_by_funcs_user_data((GSourceFuncs *)&constant, op))
		abort();
	op_end(op, "cancelled");
}

/* A context and a loop of a thread's own. */
struct thread {
	GMainContext *context;
	GMainLoop *loop;
};

/* In the thread: calls back into the main one, and wakes it. */
static gboolean in_thread(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);

	g_main_context_invoke(NULL, leaf, OP("idle", leaf));
	g_main_context_wakeup(NULL);
	op_leave(op, run, false);
	return G_SOURCE_REMOVE;
}

static gpointer run_thread(gpointer data)
{
	struct thread *thread = data;
	GSource *left = g_timeout_source_new_seconds(1000);
	struct op *op;

	g_main_context_push_thread_default(thread->context);
	op = OP("timer", leaf);
	g_source_set_callback(left, leaf, op, NULL);
	g_source_attach(left, thread->context);
	g_source_unref(left);
	g_main_loop_run(thread->loop);
	g_main_loop_unref(thread->loop);
	g_main_context_pop_thread_default(thread->context);
	/* The last reference: the timer goes with it. */
	g_main_context_unref(thread->context);
	op_end(op, "cancelled");
	return NULL;
}

static gboolean ends_thread(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);

	g_main_loop_quit(op->data);
	op_leave(op, run, false);
	return G_SOURCE_REMOVE;
}

static gpointer bare_thread(gpointer data)
{
	(void)data;
	g_main_context_invoke(NULL, leaf, OP("idle", leaf));
	return NULL;
}

/* A thread without a context: as the main one runs its own, that has to do the work. */
static gboolean starts_thread(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);

	g_thread_join(g_thread_new("bare", bare_thread, NULL));
	op_leave(op, run, false);
	return G_SOURCE_REMOVE;
}

static GThread *threads(struct thread *thread)
{
	GThread *started;
	struct op *op;

	g_timeout_add(1, starts_thread, OP("timer", starts_thread));
	thread->context = g_main_context_new();
	thread->loop = g_main_loop_new(thread->context, FALSE);
	started = g_thread_new("looping", run_thread, thread);
	g_main_context_invoke(thread->context, in_thread, OP("idle", in_thread));
	op = OP("idle", ends_thread);
	op->data = thread->loop;
	g_main_context_invoke_full(thread->context, G_PRIORITY_LOW, ends_thread, op, NULL);
	return started;
}

/* What is left open in the end: it, a timer, and a task. */
static gboolean looks(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);
	bool again = ops_open() > 3 + (op->calls > 1);

	if (!again)
		g_main_loop_quit(op->data);
	op_leave(op, run, again);
	return again;
}

int main(int argc, char **argv)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	struct thread thread;
	GThread *started;
	struct op *op;

	test_log = argc > 1 ? fopen(argv[1], "w") : stdout;
	if (!test_log)
		return 2;
	plain_sources();
	nested_loops();
	watches();
	processes();
	custom_sources();
	tree_of_tasks();
	started = threads(&thread);
	op = OP("timer", looks);
	op->data = loop;
	g_timeout_add(20, looks, op);
	g_main_loop_run(loop);
	g_thread_join(started);
	g_main_loop_unref(loop);
	fclose(test_log);
	return 0;
}
