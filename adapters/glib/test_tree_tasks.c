/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the tree test that has to do with GTask. */
#include <gio/gio.h>

#include "test_log.h"

void tree_of_tasks(void);

static const char *status_of(const GError *error)
{
	if (!error)
		return "ok";
	return g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED) ? "cancelled" : "error";
}

static void done(GObject *source, GAsyncResult *result, gpointer data)
{
	struct op *op = data;
	struct run run = op_run(op);
	GError *error = NULL;

	(void)source;
	g_task_propagate_boolean(G_TASK(result), &error);
	op_pause(run);
	op_end(op, status_of(error));
	g_clear_error(&error);
}

static GTask *new_task(struct op **ret_op, GCancellable *cancellable)
{
	*ret_op = OP("task", done);
	return g_task_new(NULL, cancellable, done, *ret_op);
}

/* What they end with, when they are returned outside of a loop. */
static void returned_at_once(void)
{
	GCancellable *cancellable = g_cancellable_new();
	struct op *op;
	GTask *task;

	task = new_task(&op, NULL);
	g_task_return_boolean(task, TRUE);
	g_object_unref(task);

	task = new_task(&op, NULL);
	g_task_set_name(task, "fails");
	g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_FAILED, "planned: %d", 1);
	g_object_unref(task);

	task = new_task(&op, NULL);
	g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_CANCELLED, "planned");
	g_object_unref(task);

	task = new_task(&op, cancellable);
	g_cancellable_cancel(cancellable);
	if (!g_task_return_error_if_cancelled(task))
		g_abort();
	g_object_unref(task);
	g_object_unref(cancellable);
}

/* Returns a task inside of its own call: the task's callback is called there. */
static gboolean returns(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);

	g_task_return_boolean(op->data, TRUE);
	g_object_unref(op->data);
	op_leave(op, run, false);
	return G_SOURCE_REMOVE;
}

static void returned_later(void)
{
	struct op *op = OP("timer", returns), *task;

	op->data = new_task(&task, NULL);
	g_timeout_add(2, returns, op);
}

static void without_callback(void)
{
	struct op *op = op_new("task", "-", NULL, false);
	GTask *task = g_task_new(NULL, NULL, NULL, NULL);

	/* Nobody returns it. */
	g_object_unref(task);
	op_end(op, "cancelled");
}

static void never_returned(void)
{
	struct op *op;

	new_task(&op, NULL);
}

static void work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct run run = op_run(data);

	(void)source, (void)cancellable;
	g_usleep(1000);
	g_task_return_boolean(task, TRUE);
	op_pause(run);
}

static void failing_work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct run run = op_run(data);

	(void)source, (void)cancellable;
	g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_FAILED, "planned");
	op_pause(run);
}

/* Is called back about while it still works. */
static void cancelled_work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct run run = op_run(data);

	(void)source;
	g_cancellable_cancel(cancellable);
	g_usleep(20000);
	g_task_return_boolean(task, TRUE);
	op_pause(run);
}

static void in_thread(GTaskThreadFunc function, GCancellable *cancellable)
{
	struct op *op;
	GTask *task = new_task(&op, cancellable);

	g_task_set_task_data(task, op, NULL);
	g_task_set_return_on_cancel(task, cancellable != NULL);
	g_task_run_in_thread(task, function);
	g_object_unref(task);
}

static void in_threads(void)
{
	GCancellable *cancellable = g_cancellable_new();
	struct op *op;
	GTask *task;

	in_thread(work, NULL);
	in_thread(failing_work, NULL);
	in_thread(cancelled_work, cancellable);
	g_object_unref(cancellable);

	/* Its callback is not called. */
	task = new_task(&op, NULL);
	g_task_set_task_data(task, op, NULL);
	g_task_run_in_thread_sync(task, work);
	if (!g_task_propagate_boolean(task, NULL))
		g_abort();
	g_object_unref(task);
	op_end(op, "ok");
}

/* Those that GIO makes: it runs them in a thread, with a function of its own. */
static void got_info(GObject *source, GAsyncResult *result, gpointer data)
{
	struct op *op = data;
	struct run run = op_run(op);
	GError *error = NULL;
	GFileInfo *info = g_file_query_info_finish(G_FILE(source), result, &error);

	op_pause(run);
	op_end(op, status_of(error));
	g_clear_object(&info);
	g_clear_error(&error);
}

static void query(const char *path, GCancellable *cancellable)
{
	GFile *file = g_file_new_for_path(path);
	struct op *op = OP("task", got_info);

	/* What it does in its thread is not ours to see. */
	op_pause(op_run(op));
	g_file_query_info_async(file, "standard::type", G_FILE_QUERY_INFO_NONE, G_PRIORITY_DEFAULT,
				cancellable, got_info, op);
	g_object_unref(file);
}

static gboolean queries(gpointer data)
{
	struct op *op = data;
	struct run run = op_enter(op);
	GCancellable *cancellable = g_cancellable_new();

	query("/", NULL);
	query("/there/is/none", NULL);
	g_cancellable_cancel(cancellable);
	query("/", cancellable);
	g_object_unref(cancellable);
	op_leave(op, run, false);
	return G_SOURCE_REMOVE;
}

void tree_of_tasks(void)
{
	returned_at_once();
	returned_later();
	without_callback();
	never_returned();
	in_threads();
	g_idle_add(queries, OP("idle", queries));
}
