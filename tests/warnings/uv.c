/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of libuv that does not know unweave. A timer ticks, and work is given to the pool that
 * takes long, as it may there. With "blocking", one callback sleeps.
 */
#include <string.h>
#include <time.h>
#include <uv.h>

#define TICKS 60

static int blocks, ticks;
static uv_timer_t once;
static uv_work_t work;

static void pause_ms(long ms)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_nsec += ms * 1000000;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
		;
}

static void compress_all(uv_work_t *request)
{
	(void)request;
	pause_ms(200);
}

static void compressed(uv_work_t *request, int status)
{
	(void)request;
	(void)status;
}

static void load_settings(uv_timer_t *timer)
{
	if (blocks)
		pause_ms(250);
	uv_close((uv_handle_t *)timer, NULL);
}

static void tick(uv_timer_t *timer)
{
	/* Not in the loop's first iteration, which nothing tells the beginning of. */
	if (++ticks == 5)
		uv_timer_start(&once, load_settings, 1, 0);
	if (ticks == TICKS)
		uv_close((uv_handle_t *)timer, NULL);
}

int main(int argc, char **argv)
{
	uv_timer_t often;

	blocks = argc > 1 && strcmp(argv[1], "blocking") == 0;
	uv_timer_init(uv_default_loop(), &often);
	uv_timer_init(uv_default_loop(), &once);
	uv_timer_start(&often, tick, 5, 5);
	uv_queue_work(uv_default_loop(), &work, compress_all, compressed);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return uv_loop_close(uv_default_loop());
}
