/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small loop of callbacks on unweave/callback.h: files that are polled, and timers.
 *
 *     unweave record -o callbacks.unw -- build/examples/callbacks
 *     unweave report callbacks.unw activities
 *
 * A ticker writes to a pipe three times; whoever reads there sets a timer for each
 * letter, and the timer says so.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "unweave/callback.h"

#define WATCHES 8
#define TICK_NS UINT64_C(50000000)
#define PAUSE_NS UINT64_C(100000000)

/* A file that is watched, or a timer. */
struct watch {
	void (*callback)(struct watch *watch);
	int fd;          /* -1: it is a timer */
	uint64_t due;    /* of a timer, ns; 0: the watch is free */
	uint64_t repeat; /* ns; 0: it is called once */
	uint64_t task;
};

static struct watch watches[WATCHES];
static int ends[2];
static int written, said;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct watch *free_watch(void)
{
	for (int i = 0; i < WATCHES; i++)
		if (!watches[i].callback)
			return &watches[i];
	exit(1);
}

/* Not inlined: the address that it returns to is where the program armed the callback. */
static __attribute__((noinline)) struct watch *watch_file(int fd, void (*callback)(struct watch *))
{
	struct watch *watch = free_watch();

	*watch = (struct watch){.callback = callback, .fd = fd};
	watch->task = unweave_callback_arm("read", (void *)callback, __builtin_return_address(0),
					   UNWEAVE_STANDING);
	return watch;
}

static __attribute__((noinline)) struct watch *set_timer(uint64_t after, uint64_t repeat,
							 void (*callback)(struct watch *))
{
	struct watch *watch = free_watch();

	*watch = (struct watch){
		.callback = callback, .fd = -1, .due = now_ns() + after, .repeat = repeat};
	watch->task = unweave_callback_arm("timer", (void *)callback, __builtin_return_address(0),
					   repeat ? UNWEAVE_STANDING : 0);
	return watch;
}

static void stop(struct watch *watch)
{
	unweave_callback_drop(watch->task);
	watch->callback = NULL;
}

static int go(struct unweave_link *none, void *context)
{
	struct watch *watch = context;

	(void)none;
	watch->callback(watch);
	return 0;
}

static void call(struct watch *watch, uint64_t late)
{
	struct watch own = *watch;

	/* What is called once is free before its call, which may want to use it. */
	if (own.fd < 0 && !own.repeat)
		watch->callback = NULL;
	unweave_callback_call(&(struct unweave_call){
		.task = own.task,
		.go = go,
		.context = own.fd < 0 && !own.repeat ? &own : watch,
		.code = (void *)own.callback,
		.late = late,
		.end = own.fd < 0 && !own.repeat ? UNWEAVE_CALL_ENDS : UNWEAVE_CALL_FIRES,
	});
}

static void call_timers(void)
{
	for (struct watch *watch = watches; watch < watches + WATCHES; watch++) {
		uint64_t now = now_ns(), due = watch->due;

		if (!watch->callback || watch->fd >= 0 || due > now)
			continue;
		watch->due += watch->repeat;
		call(watch, now - due);
	}
}

static void call_readers(void)
{
	for (struct watch *watch = watches; watch < watches + WATCHES; watch++) {
		struct pollfd file = {.fd = watch->fd, .events = POLLIN};

		if (watch->callback && watch->fd >= 0 && poll(&file, 1, 0) > 0)
			call(watch, 0);
	}
}

static __attribute__((noinline)) void run_loop(void)
{
	struct pollfd file = {.fd = ends[0], .events = POLLIN};
	uint64_t loop;

	loop = unweave_loop_open("loop", (void *)run_loop, __builtin_return_address(0));
	while (said < 3) {
		unweave_loop_wait(loop);
		poll(&file, 1, 10);
		unweave_loop_woke(loop);
		call_timers();
		call_readers();
	}
	unweave_callback_drop(loop);
}

static void timer_rang(struct watch *watch)
{
	(void)watch;
	said++;
}

static void letters_came(struct watch *watch)
{
	char letters[8];
	ssize_t count = read(watch->fd, letters, sizeof(letters));

	while (count-- > 0)
		set_timer(PAUSE_NS, 0, timer_rang);
}

static void tick(struct watch *watch)
{
	if (write(ends[1], "x", 1) == 1 && ++written == 3)
		stop(watch);
}

int main(void)
{
	struct watch *reader;

	if (pipe(ends) < 0)
		return 1;
	reader = watch_file(ends[0], letters_came);
	set_timer(TICK_NS, TICK_NS, tick);
	run_loop();
	stop(reader);
	printf("%d letters\n", said);
	return 0;
}
