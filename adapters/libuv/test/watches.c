/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that wait for others: threads, signals, processes, files. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

/* Woken by a thread, then by its own loop, twice at once; then by what runs in the pool. */
static struct {
	uv_async_t async;
	uv_timer_t timer;
	uv_work_t work;
	uv_thread_t thread;
	int calls;
} crossing;

static void in_thread(void *unused)
{
	(void)unused;
	log_wake(crossing.async.data, NULL);
	uv_async_send(&crossing.async);
}

static void in_pool(uv_work_t *work)
{
	void *outer = log_enter(work->data);

	log_wake(crossing.async.data, work->data);
	uv_async_send(&crossing.async);
	log_leave(outer);
	/* That the rest can go on is said by nobody that is known. */
	log_wake(work->data, NULL);
}

static void after_pool(uv_work_t *work, int status)
{
	ONCE(work, status);
	ONCE_DONE;
}

static void send_twice(uv_timer_t *timer)
{
	ONCE(timer, 0);
	log_wake(crossing.async.data, log_current());
	uv_async_send(&crossing.async);
	uv_async_send(&crossing.async);
	ONCE_DONE;
}

static void was_sent(uv_async_t *async)
{
	void *standing = async->data;

	FIRES(async, "async", was_sent, 0);
	switch (++crossing.calls) {
	case 1:
		ARM(&crossing.timer, "timer", send_twice);
		uv_timer_start(&crossing.timer, send_twice, 1, 0);
		break;
	case 2:
		ARM(&crossing.work, "work", in_pool);
		uv_queue_work(async->loop, &crossing.work, in_pool, after_pool);
		break;
	default:
		log_stop(standing);
		close_handle(async);
	}
	FIRES_DONE;
}

static void test_crossing(struct looped *looped)
{
	uv_timer_init(&looped->loop, &crossing.timer);
	ARM(&crossing.async, "async", was_sent);
	CHECK(uv_async_init(&looped->loop, &crossing.async, was_sent) == 0);
	CHECK(uv_thread_create(&crossing.thread, in_thread, NULL) == 0);
	loop_run(looped);
	uv_thread_join(&crossing.thread);
	close_handle(&crossing.timer);
	loop_run(looped);
}

static void signalled(uv_signal_t *handle, int signum)
{
	static int times;

	FIRES(handle, "signal", signalled, 0);
	if (++times == 1) {
		raise(signum);
	} else {
		uv_signal_stop(handle);
		log_stop(handle->data);
	}
	FIRES_DONE;
}

static void signalled_once(uv_signal_t *handle, int signum)
{
	ONCE(handle, 0);
	CHECK(signum == SIGUSR2);
	ONCE_DONE;
}

static void test_signals(struct looped *looped)
{
	uv_signal_t standing, once;

	uv_signal_init(&looped->loop, &standing);
	uv_signal_init(&looped->loop, &once);
	ARM(&standing, "signal", signalled);
	uv_signal_start(&standing, signalled, SIGUSR1);
	ARM(&once, "signal", signalled_once);
	uv_signal_start_oneshot(&once, signalled_once, SIGUSR2);
	raise(SIGUSR1);
	raise(SIGUSR2);
	loop_run(looped);
	close_handle(&standing);
	close_handle(&once);
	loop_run(looped);
}

static void exited(uv_process_t *process, int64_t status, int signum)
{
	ONCE(process, 0);
	CHECK(status == 0 && signum == 0);
	ONCE_DONE;
}

static void test_processes(struct looped *looped)
{
	char *arguments[] = {"true", NULL}, *unknown[] = {"/there is no such program", NULL};
	uv_process_options_t options = {.exit_cb = exited, .file = arguments[0], .args = arguments};
	uv_process_t runs, fails, unheard;

	ARM(&runs, "process", exited);
	CHECK(uv_spawn(&looped->loop, &runs, &options) == 0);
	CHECK(options.exit_cb == exited);
	options.file = unknown[0];
	options.args = unknown;
	ARM(&fails, "process", exited);
	CHECK(uv_spawn(&looped->loop, &fails, &options) == UV_ENOENT);
	log_end(fails.data, UV_ENOENT);
	/* Nobody wants to know when this one ends. */
	options.file = arguments[0];
	options.args = arguments;
	options.exit_cb = NULL;
	CHECK(uv_spawn(&looped->loop, &unheard, &options) == 0);
	loop_run(looped);
	close_handle(&runs);
	close_handle(&fails);
	close_handle(&unheard);
	loop_run(looped);
}

static void readable(uv_poll_t *poll, int status, int events)
{
	static int times;

	FIRES(poll, "poll", readable, status);
	CHECK(events & UV_READABLE);
	if (++times == 2) {
		/* To wait for nothing is to stop. */
		uv_poll_start(poll, 0, readable);
		log_stop(poll->data);
	}
	FIRES_DONE;
}

static void test_polls(struct looped *looped)
{
	uv_poll_t poll;
	int ends[2];

	CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
	uv_poll_init(&looped->loop, &poll, ends[0]);
	ARM(&poll, "poll", readable);
	CHECK(uv_poll_start(&poll, UV_READABLE, readable) == 0);
	loop_run(looped);
	close_handle(&poll);
	loop_run(looped);
	close(ends[0]);
	close(ends[1]);
}

static char watched[] = "watched-XXXXXX";

static void changed(uv_fs_event_t *handle, const char *name, int events, int status)
{
	static int times;

	FIRES(handle, "fs event", changed, status);
	CHECK(name && events);
	if (++times == 1) {
		uv_fs_event_stop(handle);
		log_stop(handle->data);
	}
	FIRES_DONE;
}

static void seen(uv_fs_poll_t *handle, int status, const uv_stat_t *before, const uv_stat_t *now)
{
	FIRES(handle, "fs poll", seen, status);
	CHECK(before && now);
	log_stop(handle->data);
	close_handle(handle);
	FIRES_DONE;
}

static void change_it(uv_timer_t *timer)
{
	FILE *file = fopen(watched, "a");

	FIRES(timer, "timer", change_it, 0);
	CHECK(file && fputs("more\n", file) > 0 && fclose(file) == 0);
	FIRES_DONE;
}

/* A file that is changed until both who watch it have seen it. */
static void test_changes(struct looped *looped)
{
	uv_fs_event_t events;
	uv_fs_poll_t poll;
	uv_timer_t timer;

	close(mkstemp(watched));
	uv_fs_event_init(&looped->loop, &events);
	uv_fs_poll_init(&looped->loop, &poll);
	uv_timer_init(&looped->loop, &timer);
	ARM(&events, "fs event", changed);
	CHECK(uv_fs_event_start(&events, changed, watched, 0) == 0);
	ARM(&poll, "fs poll", seen);
	CHECK(uv_fs_poll_start(&poll, seen, watched, 5) == 0);
	ARM(&timer, "timer", change_it);
	uv_timer_start(&timer, change_it, 20, 20);
	uv_unref((uv_handle_t *)&timer);
	loop_run(looped);
	log_stop(timer.data);
	close_handle(&timer);
	close_handle(&events);
	loop_run(looped);
	unlink(watched);
}

void test_watches(struct looped *looped)
{
	test_crossing(looped);
	test_signals(looped);
	test_processes(looped);
	test_polls(looped);
	test_changes(looped);
}
