/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libuv program with a known tree of operations: tree LOG CHILD-LOG
 *
 * Runs in an empty directory. What it must find to be as without an adapter it
 * checks, and ends with status 1 if it is not so.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"

static void test_all(struct looped *looped)
{
	test_timers(looped);
	test_turns(looped);
	test_streams(looped);
	test_closes(looped);
	test_files(looped);
	test_pool(looped);
	test_cancels(looped);
}

/* Loops on threads of their own, all at the same time. */
static void in_thread(void *unused)
{
	struct looped looped;

	(void)unused;
	loop_begin(&looped);
	test_pool(&looped);
	loop_end(&looped);
}

static void test_threads(void)
{
	uv_thread_t threads[4];

	for (int i = 0; i < 4; i++)
		CHECK(uv_thread_create(&threads[i], in_thread, NULL) == 0);
	for (int i = 0; i < 4; i++)
		uv_thread_join(&threads[i]);
}

/* A callback forks. The child goes on with the loop it has from its parent, and with new ones. */
static const char *child_log;
static int inherited;
static bool is_child;

static void rang_in_child_too(uv_timer_t *timer)
{
	/* The child's tree is of what it armed itself. */
	if (is_child) {
		inherited++;
		uv_timer_stop(timer);
		return;
	}
	FIRES(timer, "timer", rang_in_child_too, 0);
	uv_timer_stop(timer);
	log_stop(timer->data);
	FIRES_DONE;
}

static void be_child(uv_loop_t *loop)
{
	struct looped looped;

	is_child = true;
	log_fork(child_log);
	CHECK(uv_loop_fork(loop) == 0);
	loop_begin(&looped);
	test_all(&looped);
	loop_end(&looped);
}

static void forks(uv_timer_t *timer)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		be_child(timer->loop);
		/* It is still in that loop, which is new to this process. */
		log_arm("loop", NULL);
		return;
	}
	ONCE(timer, 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	ONCE_DONE;
}

static void test_fork(struct looped *looped)
{
	uv_timer_t timer, standing;

	uv_timer_init(&looped->loop, &timer);
	uv_timer_init(&looped->loop, &standing);
	ARM(&timer, "timer", forks);
	uv_timer_start(&timer, forks, 1, 0);
	ARM(&standing, "timer", rang_in_child_too);
	uv_timer_start(&standing, rang_in_child_too, 2, 2);
	loop_run(looped);
	if (is_child) {
		CHECK(inherited == 1);
		exit(0);
	}
	close_handle(&timer);
	close_handle(&standing);
	loop_run(looped);
}

static void never(uv_timer_t *timer)
{
	CHECK(!timer);
}

/* A loop that is thrown away with all that was armed in it. Its memory is used again. */
static void test_abandoned(void)
{
	static struct looped looped;
	static uv_timer_t timer;

	loop_begin(&looped);
	uv_timer_init(&looped.loop, &timer);
	ARM(&timer, "timer", never);
	uv_timer_start(&timer, never, 3600000, 0);
	loop_begin(&looped);
	uv_timer_init(&looped.loop, &timer);
	uv_timer_stop(&timer);
	close_handle(&timer);
	loop_run(&looped);
	loop_end(&looped);
}

/* What will not be called any more when the program ends, nor was it stopped. */
static void leave_something(struct looped *looped)
{
	static uv_timer_t timer;

	uv_timer_init(&looped->loop, &timer);
	ARM(&timer, "timer", never);
	uv_timer_start(&timer, never, 3600000, 0);
	uv_unref((uv_handle_t *)&timer);
	loop_run(looped);
}

int main(int argc, char **argv)
{
	struct looped looped;

	CHECK(argc == 3);
	log_open(argv[1]);
	child_log = argv[2];
	loop_begin(&looped);
	test_all(&looped);
	test_watches(&looped);
	test_threads();
	test_fork(&looped);
	test_abandoned();
	leave_something(&looped);
	return 0;
}
