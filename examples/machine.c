/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Async functions as state machines that say what they do: docs/integrating.md
 * goes through it.
 *
 * A call runs at once, up to its first wait, and only then does the caller
 * decide whether to await it. Here three pages await the settings that they
 * share, and serve() awaits the journal when that has long been written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "unweave/machine.h"

#define PAGES 3

/* A call of an async function: its box, who awaits it, and its variables. */
struct call {
	struct unweave_box box; /* first, so that its function finds the call */
	struct call *awaiters;  /* in the order in which they came */
	struct call *next;      /* in such a list, or in that of the sleepers */
	unsigned due;           /* ms, of a sleeper */
	int done;
	int page; /* what serve() has come to */
};

static struct call *sleepers;
static unsigned now_ms;

static void insert(struct call **at, struct call *call)
{
	call->next = *at;
	*at = call;
}

/* The runtime */

/* Runs a new call up to its first wait. */
static void start(struct call *call, unweave_go go, struct unweave_site *site)
{
	unweave_box_init(&call->box, go, NULL, site);
	go(&call->box.link, NULL);
}

/* The function goes on in `state` later: it is to return now. */
static int sleep_ms(struct call *call, unsigned ms, int state)
{
	struct call **at = &sleepers;

	call->box.link.state = state;
	unweave_box_suspend(&call->box);
	call->due = now_ms + ms;
	while (*at && (*at)->due <= call->due)
		at = &(*at)->next;
	insert(at, call);
	return 0;
}

/* Returns whether the function can go on at once. If not, it is to return, and goes on in `state`.
 */
static int await(struct call *call, struct call *child, int state)
{
	struct call **at = &child->awaiters;

	call->box.link.state = state;
	if (child->done) {
		unweave_box_await_late(&call->box, &child->box);
		return 1;
	}
	unweave_box_await(&call->box, &child->box);
	while (*at)
		at = &(*at)->next;
	insert(at, call);
	return 0;
}

/* The function has returned. Those who awaited it go on in here. */
static int finish(struct call *call)
{
	struct call *awaiter = call->awaiters;

	unweave_box_complete(&call->box, UNWEAVE_OK);
	call->done = 1;
	while (awaiter) {
		struct call *next = awaiter->next;

		unweave_box_continue(&awaiter->box, &call->box);
		awaiter = next;
	}
	return 0;
}

static void run_sleepers(void)
{
	while (sleepers) {
		struct call *call = sleepers;
		struct timespec pause = {0};

		sleepers = call->next;
		if (call->due > now_ms) {
			pause.tv_nsec = (call->due - now_ms) * 1000000L;
			unweave_thread_idle();
			nanosleep(&pause, NULL);
			now_ms = call->due;
		}
		unweave_task_wake(call->box.head.task, UNWEAVE_SOURCE_TIMER);
		unweave_box_run(&call->box, UNWEAVE_RUN_LEAVE);
	}
}

/* The functions that run on it */

static struct call settings, journal, pages[PAGES], server;

static int load_settings(struct unweave_link *link, void *context)
{
	struct call *call = (struct call *)link;

	(void)context;
	return link->state == 0 ? sleep_ms(call, 3, 1) : finish(call);
}

static int write_journal(struct unweave_link *link, void *context)
{
	struct call *call = (struct call *)link;

	(void)context;
	return link->state == 0 ? sleep_ms(call, 1, 1) : finish(call);
}

static int render_page(struct unweave_link *link, void *context)
{
	struct call *call = (struct call *)link;

	(void)context;
	switch (link->state) {
	case 0:
		if (!await(call, &settings, 1))
			return 0;
		/* fall through */
	case 1:
		return sleep_ms(call, 1, 2);
	default:
		return finish(call);
	}
}

/* Has the pages rendered all at once, and awaits one after the other; at last the journal. */
static int serve(struct unweave_link *link, void *context)
{
	struct call *call = (struct call *)link;

	(void)context;
	for (int i = 0; link->state == 0 && i < PAGES; i++)
		start(&pages[i], render_page, UNWEAVE_SITE_KIND("page", NULL));
	while (call->page < PAGES)
		if (!await(call, &pages[call->page++], 1))
			return 0;
	if (!await(call, &journal, 2))
		return 0;
	return finish(call);
}

int main(void)
{
	start(&settings, load_settings, UNWEAVE_SITE("settings"));
	start(&journal, write_journal, UNWEAVE_SITE("journal"));
	start(&server, serve, UNWEAVE_SITE(NULL));
	run_sleepers();
	printf("%d pages were rendered\n", server.done ? PAGES : server.page);
	return server.done ? EXIT_SUCCESS : EXIT_FAILURE;
}
