/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of all sorts, in memory of all sorts; and what is called in each iteration. */
#include <dlfcn.h>
#include <string.h>

#include "log.h"

static void rang(uv_timer_t *timer)
{
	ONCE(timer, 0);
	ONCE_DONE;
}

static void start_once(uv_timer_t *timer, uint64_t timeout)
{
	ARM(timer, "timer", rang);
	CHECK(uv_timer_start(timer, rang, timeout, 0) == 0);
}

/* Arms itself again, in its callback, until it has run three times. */
static void rang_and_goes_on(uv_timer_t *timer)
{
	static int times;

	ONCE(timer, 0);
	if (++times < 3) {
		ARM(timer, "timer", rang_and_goes_on);
		CHECK(uv_timer_start(timer, rang_and_goes_on, 1, 0) == 0);
	} else {
		times = 0;
		close_handle(timer);
	}
	ONCE_DONE;
}

/* Stops itself in its third call. */
static void repeats(uv_timer_t *timer)
{
	static int times;

	FIRES(timer, "timer", repeats, 0);
	if (++times == 3) {
		times = 0;
		uv_timer_stop(timer);
		log_stop(timer->data);
	}
	FIRES_DONE;
}

/* Is started over by another one, before it fires the first time. */
static uv_timer_t again_timer;

static void rang_again(uv_timer_t *timer)
{
	FIRES(timer, "timer", rang_again, 0);
	uv_timer_stop(timer);
	log_stop(timer->data);
	FIRES_DONE;
}

static void starts_over(uv_timer_t *timer)
{
	ONCE(timer, 0);
	log_stop(again_timer.data);
	ARM(&again_timer, "timer", rang_again);
	CHECK(uv_timer_again(&again_timer) == 0);
	ONCE_DONE;
}

/* Was armed for once; in its call it is a repeating one, which it was made meanwhile. */
static void turned_repeating(uv_timer_t *timer)
{
	static int times;
	void *op = timer->data, *outer = log_enter(op);

	if (++times == 2) {
		times = 0;
		uv_timer_stop(timer);
		log_stop(op);
	}
	log_leave(outer);
}

/* Repeats, until it is told in a call not to: that was not the last call yet. */
static void stops_repeating(uv_timer_t *timer)
{
	static int times;
	void *standing = timer->data;

	FIRES(timer, "timer", stops_repeating, 0);
	if (++times == 1)
		uv_timer_set_repeat(timer, 0);
	FIRES_DONE;
	if (times == 2) {
		times = 0;
		log_end(standing, 0);
	}
}

/* Its memory is gone when its close callback returns. */
static void free_closed(uv_handle_t *handle)
{
	ONCE(handle, 0);
	memset(handle, 0xee, sizeof(uv_timer_t));
	free(handle);
	ONCE_DONE;
}

static void rang_and_is_freed(uv_timer_t *timer)
{
	ONCE(timer, 0);
	ARM(timer, "close", free_closed);
	uv_close((uv_handle_t *)timer, free_closed);
	/* Neither does anything any more, but to stay as they are. */
	CHECK(uv_timer_start(timer, rang, 1, 0) == UV_EINVAL);
	log_end(log_arm("timer", (void *)rang), UV_EINVAL);
	uv_timer_stop(timer);
	ONCE_DONE;
}

/* A timer of whatever bytes, once it is initialised, has nothing armed. */
static void try_memory(struct looped *looped, uv_timer_t *timer, bool unseen)
{
	int (*init)(uv_loop_t *, uv_timer_t *) = uv_timer_init;

	/* By a function of libuv's that nobody came before. */
	if (unseen) {
		void *library = dlopen("libuv.so.1", RTLD_LAZY);

		CHECK(library);
		init = (int (*)(uv_loop_t *, uv_timer_t *))dlsym(library, "uv_timer_init");
	}
	init(&looped->loop, timer);
	uv_timer_stop(timer);
	ARM(timer, "timer", rang_and_is_freed);
	CHECK(uv_timer_start(timer, rang_and_is_freed, 0, 0) == 0);
}

/* Bytes of a timer that has something armed, which goes on being so, and of one that is over. */
static void test_memory(struct looped *looped, uv_timer_t *armed, uv_timer_t *over)
{
	start_once(armed, 2);
	for (int unseen = 0; unseen < 2; unseen++) {
		try_memory(looped, rubbish(sizeof(uv_timer_t)), unseen);
		try_memory(looped, copied(sizeof(uv_timer_t), armed), unseen);
		try_memory(looped, copied(sizeof(uv_timer_t), over), unseen);
	}
	loop_run(looped);
}

static void run_inside(uv_timer_t *timer)
{
	struct looped inner;
	uv_timer_t inside;

	ONCE(timer, 0);
	loop_begin(&inner);
	uv_timer_init(&inner.loop, &inside);
	start_once(&inside, 1);
	loop_run(&inner);
	close_handle(&inside);
	loop_run(&inner);
	loop_end(&inner);
	ONCE_DONE;
}

static void test_repeating(struct looped *looped)
{
	uv_timer_t repeating, over, turned, ending;

	uv_timer_init(&looped->loop, &repeating);
	uv_timer_init(&looped->loop, &over);
	uv_timer_init(&looped->loop, &again_timer);
	uv_timer_init(&looped->loop, &turned);
	uv_timer_init(&looped->loop, &ending);
	ARM(&repeating, "timer", repeats);
	uv_timer_start(&repeating, repeats, 1, 1);
	ARM(&again_timer, "timer", rang_again);
	uv_timer_start(&again_timer, rang_again, 1000, 5);
	ARM(&over, "timer", starts_over);
	uv_timer_start(&over, starts_over, 1, 0);
	ARM(&turned, "timer", turned_repeating);
	uv_timer_start(&turned, turned_repeating, 1, 0);
	uv_timer_set_repeat(&turned, 2);
	ARM(&ending, "timer", stops_repeating);
	uv_timer_start(&ending, stops_repeating, 1, 1);
	loop_run(looped);
	close_handle(&repeating);
	close_handle(&over);
	close_handle(&again_timer);
	close_handle(&turned);
	close_handle(&ending);
	loop_run(looped);
}

/* While the loop is held up, two others are due. */
#define HELD_UP_MS 30u

static uv_timer_t late_once, late_repeating;

static void rang_late(uv_timer_t *timer)
{
	ONCE(timer, 0);
	log_late(op_, (HELD_UP_MS - 10) * UINT64_C(1000000));
	ONCE_DONE;
}

static void repeats_late(uv_timer_t *timer)
{
	FIRES(timer, "timer", repeats_late, 0);
	log_late(call_, (HELD_UP_MS - 10) * UINT64_C(1000000));
	uv_timer_stop(timer);
	log_stop(timer->data);
	FIRES_DONE;
}

/* They are started here, so that however slow the machine is, they are due after this began. */
static void holds_up(uv_timer_t *timer)
{
	ONCE(timer, 0);
	ARM(&late_once, "timer", rang_late);
	uv_timer_start(&late_once, rang_late, 5, 0);
	ARM(&late_repeating, "timer", repeats_late);
	uv_timer_start(&late_repeating, repeats_late, 5, 1000);
	uv_sleep(HELD_UP_MS);
	ONCE_DONE;
}

static void test_late(struct looped *looped)
{
	uv_timer_t first;

	uv_timer_init(&looped->loop, &first);
	uv_timer_init(&looped->loop, &late_once);
	uv_timer_init(&looped->loop, &late_repeating);
	ARM(&first, "timer", holds_up);
	uv_timer_start(&first, holds_up, 1, 0);
	loop_run(looped);
	close_handle(&first);
	close_handle(&late_once);
	close_handle(&late_repeating);
	loop_run(looped);
}

/* The callback that a program finds in a handle is the adapter's, and may be given back. */
static void test_own_callback(struct looped *looped)
{
	uv_timer_t timer;

	uv_timer_init(&looped->loop, &timer);
	start_once(&timer, 1000);
	log_stop(timer.data);
	ARM(&timer, "timer", rang);
	CHECK(uv_timer_start(&timer, timer.timer_cb, 0, 0) == 0);
	loop_run(looped);
	close_handle(&timer);
	loop_run(looped);
}

void test_timers(struct looped *looped)
{
	uv_timer_t once, stopped, closed, on, nested;

	uv_timer_init(&looped->loop, &once);
	uv_timer_init(&looped->loop, &stopped);
	uv_timer_init(&looped->loop, &closed);
	uv_timer_init(&looped->loop, &on);
	uv_timer_init(&looped->loop, &nested);
	start_once(&once, 1);
	start_once(&stopped, 1000);
	uv_timer_stop(&stopped);
	uv_timer_stop(&stopped);
	log_stop(stopped.data);
	start_once(&closed, 1000);
	log_stop(closed.data);
	close_handle(&closed);
	ARM(&on, "timer", rang_and_goes_on);
	uv_timer_start(&on, rang_and_goes_on, 1, 0);
	ARM(&nested, "timer", run_inside);
	uv_timer_start(&nested, run_inside, 1, 0);
	loop_run(looped);
	test_memory(looped, &once, &on);
	close_handle(&once);
	close_handle(&stopped);
	uv_close((uv_handle_t *)&nested, NULL);
	loop_run(looped);
	test_repeating(looped);
	test_late(looped);
	test_own_callback(looped);
}

static int turns; /* that came to their end */

static void turned_idle(uv_idle_t *idle)
{
	FIRES(idle, "idle", turned_idle, 0);
	if (turns == 3) {
		uv_idle_stop(idle);
		log_stop(idle->data);
	}
	FIRES_DONE;
}

static void never(uv_idle_t *idle)
{
	CHECK(!idle);
}

static void turned_check(uv_check_t *check)
{
	FIRES(check, "check", turned_check, 0);
	if (++turns == 3) {
		uv_check_stop(check);
		log_stop(check->data);
	}
	FIRES_DONE;
}

static void turned_prepare(uv_prepare_t *prepare)
{
	FIRES(prepare, "prepare", turned_prepare, 0);
	if (turns == 3) {
		uv_prepare_stop(prepare);
		log_stop(prepare->data);
	}
	FIRES_DONE;
}

void test_turns(struct looped *looped)
{
	uv_prepare_t prepare;
	uv_check_t check;
	uv_idle_t idle;

	turns = 0;
	uv_prepare_init(&looped->loop, &prepare);
	uv_check_init(&looped->loop, &check);
	uv_idle_init(&looped->loop, &idle);
	ARM(&prepare, "prepare", turned_prepare);
	uv_prepare_start(&prepare, turned_prepare);
	ARM(&check, "check", turned_check);
	uv_check_start(&check, turned_check);
	ARM(&idle, "idle", turned_idle);
	uv_idle_start(&idle, turned_idle);
	/* libuv goes on with the first. */
	CHECK(uv_idle_start(&idle, never) == 0);
	loop_run(looped);
	close_handle(&prepare);
	close_handle(&check);
	close_handle(&idle);
	loop_run(looped);
}
