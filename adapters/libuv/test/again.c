/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One timer that is armed again and again, in the same way or another one: what its callback runs
 * as says in which way, also at detail `samples`. Exits with 0 if that is so.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <uv.h>

#define ROUNDS 3u
enum { CALLBACKS = 2, PLACES = 2 };

static uint32_t (*here)(uint64_t *task, uint64_t *addresses, int32_t *states, uint32_t most);
static uv_timer_t timer;
static uint64_t ran;    /* as which task */
static uint64_t called; /* which callback is shown as the one that runs */

static void look(void)
{
	here(&ran, &called, NULL, 1);
}

static void first(uv_timer_t *handle)
{
	(void)handle;
	look();
}

static void second(uv_timer_t *handle)
{
	handle->data = NULL;
	look();
}

static const uv_timer_cb callbacks[CALLBACKS] = {first, second};

static __attribute__((noinline)) void arm_here(uv_timer_cb callback)
{
	uv_timer_start(&timer, callback, 0, 0);
	__asm__ volatile("");
}

static __attribute__((noinline)) void arm_there(uv_timer_cb callback)
{
	uv_timer_start(&timer, callback, 0, 0);
	__asm__ volatile("" ::: "memory");
}

static uint64_t run_as(unsigned callback, unsigned place)
{
	ran = called = 0;
	(place ? arm_there : arm_here)(callbacks[callback]);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return called == (uintptr_t)callbacks[callback] ? ran : 0;
}

int main(void)
{
	uint64_t seen[CALLBACKS * PLACES] = {0};

	*(void **)&here = dlsym(RTLD_DEFAULT, "unweave_here");
	if (!here)
		return 2;
	uv_timer_init(uv_default_loop(), &timer);
	/* Until the thread has joined the session. */
	run_as(0, 0);
	/* Each way twice, and then with another callback or at another place, not both. */
	for (unsigned i = 0; i < ROUNDS * CALLBACKS * PLACES * 2; i++) {
		unsigned way = i / 2 % (CALLBACKS * PLACES);
		uint64_t task = run_as(way / PLACES, (way ^ way / PLACES) % PLACES);

		if (!task || (seen[way] && seen[way] != task))
			return 1;
		seen[way] = task;
	}
	for (unsigned i = 0; i < CALLBACKS * PLACES; i++)
		for (unsigned j = 0; j < i; j++)
			if (seen[i] == seen[j])
				return 1;
	return 0;
}
