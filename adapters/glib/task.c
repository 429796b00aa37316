/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GTask: a task from its creation until its callback was called, or until it is
 * freed where it has none. What it does in a thread of GIO's pool is a run as well.
 *
 * GIO makes most of them itself, where nothing can be interposed. But it registers
 * the type with libgobject: there the instances are made larger, by a tail that is
 * ours, and their initialization and end come here first. After that g_task_new()
 * stores the callback, and asks libglib for a context. By then it can be replaced.
 * Where in the object it is was learned from a task of our own; that the function for
 * the thread comes next after the callback's data is so from 2.74 to 2.89; what lies
 * there is compared with what the program handed over, or must be code of GIO.
 */
#include "hooks.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* At the end of each instance; zero at first. */
struct tail {
	_Atomic uint64_t task;        /* 0: none, or done */
	GAsyncReadyCallback callback; /* of the program, or NULL */
	GTaskThreadFunc work;         /* what its thread does */
	uint32_t named;
	uint32_t cancelled; /* it was returned with that error */
};

static struct {
	GInstanceInitFunc init;
	GClassInitFunc class_init;
	void (*finalize)(GObject *object);
	gpointer class;    /* NULL: there are none yet */
	size_t tail;       /* offset in the instance */
	size_t callback;   /* the same; 0: not known */
	GTask *probe;      /* that it is learned from */
	GThreadPool *pool; /* of all tasks */
} tasks;

static ADAPTER_TLS bool registering;

static inline struct tail *tail_of(gpointer task)
{
	return (struct tail *)((char *)task + tasks.tail);
}

static inline void *word_of(gpointer task, size_t offset)
{
	void *word;

	memcpy(&word, (char *)task + offset, sizeof(word));
	return word;
}

static inline void set_word(gpointer task, size_t offset, const void *word)
{
	memcpy((char *)task + offset, &word, sizeof(word));
}

static enum unweave_status status_of(GTask *task)
{
	if (!GIO(g_task_had_error)(task))
		return UNWEAVE_OK;
	if (tail_of(task)->cancelled ||
	    GIO(g_cancellable_is_cancelled)(GIO(g_task_get_cancellable)(task)))
		return UNWEAVE_CANCELLED;
	return UNWEAVE_ERROR;
}

static void name(struct tail *tail, const char *text)
{
	uint64_t id = atomic_load_explicit(&tail->task, memory_order_relaxed);

	if (!id || !text || tail->named || unweave_priv_is_light(id))
		return;
	tail->named = 1;
	unweave_task_name(id, text);
}

struct ready {
	GAsyncReadyCallback callback;
	GObject *source;
	GAsyncResult *result;
	gpointer data;
};

static int go_ready(struct unweave_link *none, void *context)
{
	struct ready *ready = context;

	(void)none;
	ready->callback(ready->source, ready->result, ready->data);
	return 0;
}

/* Stands in for the callback of each task. */
static void ready(GObject *source, GAsyncResult *result, gpointer data)
{
	GTask *task = (GTask *)result;
	struct tail *tail = tail_of(task);
	struct ready call = {
		.callback = tail->callback, .source = source, .result = result, .data = data};
	struct unweave_call how = {
		.go = go_ready,
		.context = &call,
		.code = (const void *)call.callback,
		.end = UNWEAVE_CALL_ENDS,
	};

	name(tail, GIO(g_task_get_name)(task));
	how.task = atomic_exchange_explicit(&tail->task, 0, memory_order_acq_rel);
	if (adapter_unlikely(!how.task)) {
		call.callback(source, result, data);
		return;
	}
	how.status = status_of(task);
	unweave_callback_call(&how);
}

struct work {
	GTaskThreadFunc work;
	GTask *task;
	gpointer source, data;
	GCancellable *cancellable;
};

static int go_work(struct unweave_link *none, void *context)
{
	struct work *work = context;

	(void)none;
	work->work(work->task, work->source, work->data, work->cancellable);
	return 0;
}

/* Stands in for what the thread of a task does. */
static void work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct tail *tail = tail_of(task);
	struct work call = {.work = tail->work,
			    .task = task,
			    .source = source,
			    .data = data,
			    .cancellable = cancellable};
	struct unweave_call how = {
		.task = atomic_load_explicit(&tail->task, memory_order_acquire),
		.go = go_work,
		.context = &call,
		.code = (const void *)call.work,
		.end = UNWEAVE_CALL_STAYS,
	};

	/* It was cancelled, and its callback called, before a thread was free for it. */
	if (adapter_unlikely(!how.task)) {
		go_work(NULL, &call);
		return;
	}
	unweave_callback_call(&how);
}

/* Words of an instance, as found in one that was made with known ones. */
static void learn(void)
{
	static const char mark;
	size_t found = 0, count = 0;
	GTask *probe = GIO(g_task_new)(NULL, NULL, ready, (gpointer)&mark);

	for (size_t at = sizeof(GObject); at + 3 * sizeof(void *) <= tasks.tail;
	     at += sizeof(void *)) {
		if (word_of(probe, at) != (const void *)ready)
			continue;
		if (word_of(probe, at + sizeof(void *)) == &mark)
			found = at;
		count++;
	}
	tasks.probe = probe;
	GOBJECT(g_object_unref)(probe);
	if (count == 1)
		__atomic_store_n(&tasks.callback, found, __ATOMIC_RELEASE);
}

static void init(GTypeInstance *instance, gpointer class)
{
	static bool begun;

	if (tasks.init)
		tasks.init(instance, class);
	if (adapter_unlikely(!__atomic_load_n(&begun, __ATOMIC_RELAXED)) &&
	    !__atomic_exchange_n(&begun, true, __ATOMIC_ACQ_REL))
		learn();
	if (__atomic_load_n(&tasks.callback, __ATOMIC_ACQUIRE))
		glib_thread.newborn = (GTask *)instance;
}

void task_is_ready(const void *caller)
{
	struct glib_thread *thread = &glib_thread;
	GTask *task = thread->newborn;
	struct tail *tail;

	if (adapter_likely(!task) || !adapter_is_inside(&gio, caller))
		return;
	thread->newborn = NULL;
	tail = tail_of(task);
	tail->callback = (GAsyncReadyCallback)word_of(task, tasks.callback);
	if (tail->callback)
		set_word(task, tasks.callback, (const void *)ready);
	tail->task = unweave_callback_arm("task", (const void *)tail->callback, thread->place, 0);
}

/* What became of a task without a callback, and of one that was never returned. */
static void end(GTask *task, struct tail *tail)
{
	bool done = GIO(g_task_get_completed)(task);
	uint64_t id;

	name(tail, GIO(g_task_get_name)(task));
	id = atomic_exchange_explicit(&tail->task, 0, memory_order_acq_rel);
	if (id)
		unweave_callback_end(id, done ? status_of(task) : UNWEAVE_CANCELLED);
}

static void finalize(GObject *object)
{
	GTask *task = (GTask *)object;
	struct tail *tail = tail_of(task);

	if (glib_thread.newborn == task)
		glib_thread.newborn = NULL;
	if (atomic_load_explicit(&tail->task, memory_order_acquire))
		end(task, tail);
	if (adapter_likely(task != tasks.probe)) {
		tasks.finalize(object);
		return;
	}
	/* GIO has words for a task that is never returned. */
	tasks.probe = NULL;
	GLIB(g_main_context_unref)(GIO(g_task_get_context)(task));
	((GObjectClass *)GOBJECT(g_type_class_peek_parent)(tasks.class))->finalize(object);
}

static void init_class(gpointer class, gpointer data)
{
	GObjectClass *object = class;

	tasks.class_init(class, data);
	tasks.finalize = object->finalize;
	object->finalize = finalize;
	__atomic_store_n(&tasks.class, class, __ATOMIC_RELEASE);
}

ADAPTER_EXPORT GType g_type_register_static_simple(GType parent, const gchar *type,
						   guint class_size, GClassInitFunc class_init,
						   guint instance_size,
						   GInstanceInitFunc instance_init,
						   GTypeFlags flags)
{
	const size_t word = sizeof(uint64_t);

	if (adapter_likely(!type || strcmp(type, "GTask") != 0) || tasks.tail ||
	    !adapter_is_inside(&gio, ADAPTER_PLACE))
		return GOBJECT(g_type_register_static_simple)(parent, type, class_size, class_init,
							      instance_size, instance_init, flags);
	tasks.class_init = class_init;
	tasks.init = instance_init;
	tasks.tail = (instance_size + word - 1) / word * word;
	registering = true;
	return GOBJECT(g_type_register_static_simple)(parent, type, class_size, init_class,
						      (guint)(tasks.tail + sizeof(struct tail)),
						      init, flags);
}

/* The first one that is made after the type, before anybody can use it. */
ADAPTER_EXPORT GThreadPool *g_thread_pool_new(GFunc function, gpointer data, gint most,
					      gboolean exclusive, GError **error)
{
	GThreadPool *pool = GLIB(g_thread_pool_new)(function, data, most, exclusive, error);

	if (adapter_unlikely(registering)) {
		registering = false;
		__atomic_store_n(&tasks.pool, pool, __ATOMIC_RELEASE);
	}
	return pool;
}

static bool is_task(gpointer object)
{
	gpointer class = __atomic_load_n(&tasks.class, __ATOMIC_ACQUIRE);

	return object && class && *(gpointer *)object == class;
}

/* The task waits for a thread: what that does is to come here first. */
static void prepare_work(GTask *task)
{
	size_t at = tasks.callback + 2 * sizeof(void *);
	const void *function = word_of(task, at), *expected = glib_thread.work;
	struct tail *tail = tail_of(task);

	/* What GIO runs itself is its own code; anything else was seen when it was handed over. */
	if (!tail->task || function == (const void *)work ||
	    (expected ? function != expected : !adapter_is_inside(&gio, function)))
		return;
	tail->work = (GTaskThreadFunc)function;
	set_word(task, at, (const void *)work);
	unweave_callback_wake(tail->task, UNWEAVE_SOURCE_TASK);
}

ADAPTER_EXPORT gboolean g_thread_pool_push(GThreadPool *pool, gpointer data, GError **error)
{
	if (pool && pool == __atomic_load_n(&tasks.pool, __ATOMIC_ACQUIRE) && is_task(data))
		prepare_work(data);
	return GLIB(g_thread_pool_push)(pool, data, error);
}

bool task_completes(GSourceFunc callback, gpointer data, GDestroyNotify notify, const void *caller)
{
	uint64_t id;

	/* That it is to be released like an object says that it is one. */
	if (!__atomic_load_n(&tasks.class, __ATOMIC_ACQUIRE) ||
	    notify != (GDestroyNotify)GOBJECT(g_object_unref) || !is_task(data) ||
	    !adapter_is_inside(&gio, caller) || !adapter_is_inside(&gio, (const void *)callback))
		return false;
	id = tail_of(data)->task;
	if (!id)
		return false;
	unweave_callback_wake(id, UNWEAVE_SOURCE_TASK);
	return true;
}

ADAPTER_EXPORT GTask *g_task_new(gpointer source, GCancellable *cancellable,
				 GAsyncReadyCallback callback, gpointer data)
{
	GTask *task;

	glib_thread.place = ADAPTER_PLACE;
	task = GIO(g_task_new)(source, cancellable, callback, data);
	glib_thread.place = NULL;
	return task;
}

ADAPTER_EXPORT void g_task_run_in_thread(GTask *task, GTaskThreadFunc function)
{
	glib_thread.work = (const void *)function;
	GIO(g_task_run_in_thread)(task, function);
	glib_thread.work = NULL;
}

ADAPTER_EXPORT void g_task_run_in_thread_sync(GTask *task, GTaskThreadFunc function)
{
	glib_thread.work = (const void *)function;
	GIO(g_task_run_in_thread_sync)(task, function);
	glib_thread.work = NULL;
}

ADAPTER_EXPORT void g_task_set_name(GTask *task, const gchar *text)
{
	GIO(g_task_set_name)(task, text);
	if (is_task(task))
		name(tail_of(task), text);
}

/* Since 2.76. */
ADAPTER_EXPORT void(g_task_set_static_name)(GTask *task, const gchar *text);

ADAPTER_EXPORT void(g_task_set_static_name)(GTask *task, const gchar *text)
{
	GIO(g_task_set_static_name)(task, text);
	if (is_task(task))
		name(tail_of(task), text);
}

/* Errors that say so, though nobody cancelled a GCancellable. */

static void note_error(GTask *task, GQuark domain, gint code)
{
	if (is_task(task) && code == G_IO_ERROR_CANCELLED && domain == GIO(g_io_error_quark)())
		tail_of(task)->cancelled = 1;
}

ADAPTER_EXPORT void g_task_return_error(GTask *task, GError *error)
{
	if (error)
		note_error(task, error->domain, error->code);
	GIO(g_task_return_error)(task, error);
}

ADAPTER_EXPORT void g_task_return_new_error(GTask *task, GQuark domain, gint code,
					    const char *format, ...)
{
	GError *error;
	va_list values;

	va_start(values, format);
	error = GLIB(g_error_new_valist)(domain, code, format, values);
	va_end(values);
	g_task_return_error(task, error);
}

/* Since 2.80. */
ADAPTER_EXPORT void g_task_return_new_error_literal(GTask *task, GQuark domain, gint code,
						    const char *message);

ADAPTER_EXPORT void g_task_return_new_error_literal(GTask *task, GQuark domain, gint code,
						    const char *message)
{
	note_error(task, domain, code);
	GIO(g_task_return_new_error_literal)(task, domain, code, message);
}
