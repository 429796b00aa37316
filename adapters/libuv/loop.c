/* SPDX-License-Identifier: Apache-2.0 */
/* Loops: uv_run() is what they are in, and libuv waits by epoll. */
#include <sys/epoll.h>

#include "libuv/libuv.h"

/* The innermost uv_run() of this thread. */
struct running {
	const uv_loop_t *loop; /* NULL: none */
	const void *place;
	uint64_t task;
	unsigned forks; /* as of when the task was found */
};

static ADAPTER_TLS struct running running;

/* Once in each process. Two threads may both say it, which does no harm. */
static void say_that_we_are_here(void)
{
	static _Atomic unsigned said; /* how many forks ago, and one */
	unsigned now = adapter_forks() + 1;

	if (adapter_likely(__atomic_load_n((unsigned *)&said, __ATOMIC_RELAXED) == now))
		return;
	__atomic_store_n((unsigned *)&said, now, __ATOMIC_RELAXED);
	adapter_took_hold(&libuv, NEXT(uv_version_string)());
}

static uint64_t task_of_loop(void)
{
	static const char kind[] = "loop";

	/* At its first use, and if a callback forked: this is the child. */
	if (adapter_unlikely(!running.task || running.forks != adapter_forks())) {
		running.forks = adapter_forks();
		running.task =
			adapter_loop(running.loop, kind, (void *)NEXT(uv_run), running.place);
	}
	return running.task;
}

ADAPTER_EXPORT int uv_run(uv_loop_t *loop, uv_run_mode mode)
{
	struct running outer = running;
	int r;

	say_that_we_are_here();
	running = (struct running){.loop = loop, .place = ADAPTER_PLACE};
	r = NEXT(uv_run)(loop, mode);
	unweave_loop_left();
	running = outer;
	return r;
}

ADAPTER_EXPORT int uv_loop_close(uv_loop_t *loop)
{
	int r = NEXT(uv_loop_close)(loop);

	if (r >= 0)
		adapter_loop_gone(loop);
	return r;
}

ADAPTER_EXPORT int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	uint64_t task;
	int r;

	if (!running.loop || !IS_INSIDE(ADAPTER_PLACE))
		return NEXT(epoll_wait)(fd, events, most, timeout);
	task = task_of_loop();
	unweave_loop_wait(task);
	r = NEXT(epoll_wait)(fd, events, most, timeout);
	unweave_loop_woke(task);
	return r;
}

ADAPTER_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int most, int timeout,
			       const sigset_t *signals)
{
	uint64_t task;
	int r;

	if (!running.loop || !IS_INSIDE(ADAPTER_PLACE))
		return NEXT(epoll_pwait)(fd, events, most, timeout, signals);
	task = task_of_loop();
	unweave_loop_wait(task);
	r = NEXT(epoll_pwait)(fd, events, most, timeout, signals);
	unweave_loop_woke(task);
	return r;
}
