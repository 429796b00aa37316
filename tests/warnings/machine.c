/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State machines, of which one sleeps in a run if the first word is "blocking": a page awaits
 * settings, which are read in two steps.
 */
#include <string.h>
#include <time.h>

#include "unweave/machine.h"

/* A call of an async function: its box, and who awaits it. */
struct call {
	struct unweave_box box; /* first, so that its function finds the call */
	struct call *awaiter;
	struct call *next; /* to be run */
};

static struct call *sleeping;
static int blocks;

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

static void start(struct call *call, unweave_go go, struct unweave_site *site)
{
	*call = (struct call){0};
	unweave_box_init(&call->box, go, NULL, site);
	go(&call->box.link, NULL);
}

static int suspend(struct call *call, int state)
{
	call->box.link.state = state;
	unweave_box_suspend(&call->box);
	call->next = sleeping;
	sleeping = call;
	return 0;
}

static int finish(struct call *call)
{
	unweave_box_complete(&call->box, UNWEAVE_OK);
	if (call->awaiter)
		unweave_box_continue(&call->awaiter->box, &call->box);
	return 0;
}

static int load_settings(struct unweave_link *link, void *context)
{
	struct call *call = (struct call *)link;

	(void)context;
	if (link->state < 3)
		return suspend(call, link->state + 1);
	if (blocks)
		pause_ms(250);
	return finish(call);
}

static int render_page(struct unweave_link *link, void *context)
{
	static struct call settings;
	struct call *call = (struct call *)link;

	(void)context;
	if (link->state)
		return finish(call);
	start(&settings, load_settings, UNWEAVE_SITE("settings"));
	settings.awaiter = call;
	link->state = 1;
	unweave_box_await(&call->box, &settings.box);
	return 0;
}

static void run_all(void)
{
	while (sleeping) {
		struct call *call = sleeping;

		sleeping = call->next;
		unweave_thread_idle();
		pause_ms(1);
		unweave_task_wake(call->box.head.task, UNWEAVE_SOURCE_TIMER);
		unweave_box_run(&call->box, 0);
	}
}

int main(int argc, char **argv)
{
	static struct call page;

	blocks = argc > 1 && strcmp(argv[1], "blocking") == 0;
	for (int i = 0; i < (blocks ? 2 : 50); i++) {
		start(&page, render_page, UNWEAVE_SITE("page"));
		run_all();
	}
	return 0;
}
