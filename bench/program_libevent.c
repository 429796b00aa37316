/* SPDX-License-Identifier: Apache-2.0 */
/* libevent, to be measured: timers that are due at once, many in an iteration, armed by a callback.
 */
#include <event2/event.h>

#include "adapters_program.h"

#define TIMERS 64u

static const struct timeval at_once;
static struct event_base *base;
static struct event *timers[TIMERS], *armer, *idle;
static uint32_t left;

static void rang(evutil_socket_t fd, short what, void *argument)
{
	*(uint32_t *)argument = (uint32_t)fd + (uint32_t)what;
}

static void arm_timers(evutil_socket_t fd, short what, void *argument)
{
	uint32_t count = left < TIMERS ? left : TIMERS;

	(void)fd, (void)what, (void)argument;
	for (uint32_t i = 0; i < count; i++)
		event_add(timers[i], &at_once);
	left -= count;
	if (left)
		event_add(armer, &at_once);
}

static void run_pairs(uint32_t count)
{
	left = count;
	event_add(armer, &at_once);
	event_base_dispatch(base);
}

static void turn(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what, (void)argument;
	if (--left)
		event_add(idle, &at_once);
}

static void run_iterations(uint32_t count)
{
	left = count;
	event_add(idle, &at_once);
	event_base_dispatch(base);
}

int main(int argc, char **argv)
{
	static const struct adapters_program program = {run_pairs, run_iterations};
	static uint32_t used;

	base = event_base_new();
	/* All are due at the same time: what arms them is called when all of them were. */
	event_base_priority_init(base, 2);
	for (uint32_t i = 0; i < TIMERS; i++) {
		timers[i] = event_new(base, -1, 0, rang, &used);
		event_priority_set(timers[i], 0);
	}
	armer = event_new(base, -1, 0, arm_timers, NULL);
	idle = event_new(base, -1, 0, turn, NULL);
	return adapters_program_main(argc, argv, &program);
}
