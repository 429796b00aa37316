/* SPDX-License-Identifier: Apache-2.0 */
/* libuv, to be measured: timers that are due at once, many in an iteration, armed by a callback. */
#include <uv.h>

#include "adapters_program.h"

#define TIMERS 64u

static uv_loop_t loop;
static uv_timer_t timers[TIMERS];
static uv_prepare_t prepare;
static uv_idle_t idle;
static uint32_t left;

static void rang(uv_timer_t *timer)
{
	timer->data = timer;
}

/*
 * Never as many as the last time: what a processor learns of the heap of one size, and
 * forgets as soon as there is other code in between, is nothing that an adapter takes.
 */
static uint32_t some_timers(void)
{
	static uint32_t state = 1;
	uint32_t count;

	state = state * 1664525 + 1013904223;
	count = TIMERS / 4 + state / (UINT32_MAX / (TIMERS * 3 / 4));
	return left < count ? left : count;
}

static void arm_timers(uv_prepare_t *handle)
{
	uint32_t count = some_timers();

	for (uint32_t i = 0; i < count; i++)
		uv_timer_start(&timers[i], rang, 0, 0);
	left -= count;
	if (!left)
		uv_prepare_stop(handle);
}

static void run_pairs(uint32_t count)
{
	left = count;
	uv_prepare_start(&prepare, arm_timers);
	uv_run(&loop, UV_RUN_DEFAULT);
}

static void turn(uv_idle_t *handle)
{
	if (--left == 0)
		uv_idle_stop(handle);
}

static void run_iterations(uint32_t count)
{
	left = count;
	uv_idle_start(&idle, turn);
	uv_run(&loop, UV_RUN_DEFAULT);
}

int main(int argc, char **argv)
{
	static const struct adapters_program program = {run_pairs, run_iterations};

	uv_loop_init(&loop);
	for (uint32_t i = 0; i < TIMERS; i++)
		uv_timer_init(&loop, &timers[i]);
	uv_prepare_init(&loop, &prepare);
	uv_idle_init(&loop, &idle);
	return adapters_program_main(argc, argv, &program);
}
