/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose tasks do not get on, as its first word says, for tools that look
 * at it from outside:
 *
 *     deadlock   two tasks wait for each other, and a third for one of them
 *     spin       a task runs and does not end
 *     nested     a task runs inside of another, as `spin` does
 *     many N     so many tasks wait
 *     crowd N R  so many requests wait, of which R a second are answered and others come
 *     callbacks  callbacks are armed, by one another, and never called
 *     crash      as `deadlock`, and then a task that runs takes a wrong address
 *
 *     becomes    as `deadlock`, and then it becomes a shell that sleeps
 *
 * With a second word it records itself, to a trace of that name. It says "ready".
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unweave/callback.h"
#include "unweave/chain.h"

struct request {
	struct unweave_chain chain;
	struct unweave_link links[3];
};

static volatile int forever = 1;
static bool answering;
static void *volatile nowhere;
static struct request requests[4];

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static int take_lock(struct unweave_link *link, void *chain)
{
	if (answering)
		return UNWEAVE_STEP_DONE;
	unweave_chain_push(chain, link);
	return UNWEAVE_STEP_SUSPENDED;
}

static int load_user(struct unweave_link *link, void *chain)
{
	(void)link;
	(void)chain;
	return UNWEAVE_STEP_DONE;
}

static int handle_request(struct unweave_link *link, void *chain)
{
	(void)link;
	(void)chain;
	return UNWEAVE_STEP_DONE;
}

static int spin(struct unweave_link *link, void *chain)
{
	(void)link;
	(void)chain;
	say_ready();
	while (forever)
		;
	return UNWEAVE_STEP_DONE;
}

static int crash(struct unweave_link *link, void *chain)
{
	(void)link;
	(void)chain;
	say_ready();
	*(volatile int *)nowhere = 1;
	return UNWEAVE_STEP_DONE;
}

static void start(struct request *request, unweave_go innermost, uint64_t parent)
{
	unweave_chain_init(&request->chain);
	unweave_link_init(&request->links[0], innermost, NULL, 0);
	unweave_link_init(&request->links[1], load_user, NULL, 7);
	unweave_link_init(&request->links[2], handle_request, NULL, 0);
	for (int i = 0; i < 3; i++)
		unweave_chain_push(&request->chain, &request->links[i]);
	unweave_chain_start(&request->chain, UNWEAVE_SITE("request"), parent);
}

static void wait_for(int who, int whom)
{
	unweave_task_waits(requests[who].chain.head.task, UNWEAVE_WAIT_TASK,
			   requests[whom].chain.head.task);
}

static void deadlock(void)
{
	for (int i = 0; i < 3; i++) {
		start(&requests[i], take_lock, i ? requests[0].chain.head.task : 0);
		unweave_chain_run(&requests[i].chain, 0);
	}
	unweave_task_name(requests[0].chain.head.task, "alice");
	unweave_task_name(requests[1].chain.head.task, "bob");
	unweave_task_name(requests[2].chain.head.task, "carol");
	wait_for(0, 1);
	wait_for(1, 0);
	wait_for(2, 1);
}

static void deadlock_and_crash(void)
{
	deadlock();
	start(&requests[3], crash, 0);
	unweave_chain_run(&requests[3].chain, 0);
}

static int run_another(struct unweave_link *link, void *chain)
{
	(void)link;
	(void)chain;
	start(&requests[1], spin, UNWEAVE_PARENT_CURRENT);
	unweave_chain_run(&requests[1].chain, 0);
	return UNWEAVE_STEP_DONE;
}

static void spin_alone(void)
{
	start(&requests[0], spin, 0);
	unweave_chain_run(&requests[0].chain, 0);
}

static void spin_nested(void)
{
	start(&requests[0], run_another, 0);
	unweave_chain_run(&requests[0].chain, 0);
}

static void become_another(void)
{
	deadlock();
	execlp("sh", "sh", "-c", "echo ready; exec sleep 100", NULL);
}

static void many(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t task =
			unweave_task_new(UNWEAVE_SITE("one of many"), UNWEAVE_MODEL_CHAIN, 0, NULL);

		unweave_task_resume(task);
		unweave_task_suspend(task);
	}
}

static void ask(struct request *request)
{
	answering = false;
	start(request, take_lock, 0);
	unweave_chain_run(&request->chain, 0);
}

static void answer(struct request *request)
{
	answering = true;
	unweave_chain_run(&request->chain, 0);
}

/* Says "ready", and returns never. */
static void crowd(size_t count, size_t a_second)
{
	struct request *all = calloc(count, sizeof(*all));
	struct timespec next;
	size_t at = 0;

	if (!all)
		exit(1);
	for (size_t i = 0; i < count; i++)
		ask(&all[i]);
	say_ready();
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (forever) {
		for (size_t i = 0; i < a_second / 1000; i++, at = (at + 1) % count) {
			answer(&all[at]);
			ask(&all[at]);
		}
		next.tv_sec += (next.tv_nsec + 1000000) / 1000000000;
		next.tv_nsec = (next.tv_nsec + 1000000) % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}

static int on_client(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	unweave_callback_arm("read", (void *)load_user, __builtin_return_address(0), 0);
	return 0;
}

/* Of which a place is the inside. */
static __attribute__((noinline)) uint64_t listen_here(void)
{
	return unweave_callback_arm("listen", (void *)on_client, __builtin_return_address(0),
				    UNWEAVE_STANDING);
}

static void callbacks(void)
{
	uint64_t listening = listen_here();

	unweave_callback_call(&(struct unweave_call){.task = listening,
						     .go = on_client,
						     .code = (void *)on_client,
						     .end = UNWEAVE_CALL_FIRES});
}

static void record(const char *path)
{
	struct unweave_options options;

	unweave_options_init(&options);
	options.path = path;
	if (unweave_start(&options) < 0)
		exit(1);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"deadlock", deadlock},   {"crash", deadlock_and_crash}, {"becomes", become_another},
	{"callbacks", callbacks}, {"spin", spin_alone},          {"nested", spin_nested},
};

/* The n-th word as a number; 0: there is none. */
static size_t number(int argc, char **argv, int n)
{
	return argc > n ? (size_t)atol(argv[n]) : 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "crowd") == 0)
		crowd(number(argc, argv, 2), number(argc, argv, 3));
	else if (strcmp(what, "many") == 0)
		many(number(argc, argv, 2));
	else if (argc > 2)
		record(argv[2]);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(what, ways[i].name) == 0)
			ways[i].run();
	say_ready();
	for (;;)
		pause();
}
