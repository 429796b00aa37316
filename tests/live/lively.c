/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with something to watch, for `unweave top`: a ticker that runs every few
 * milliseconds and makes a request each time, workers that wait for files, one that waits for
 * a lock, a sleeper with a chain. One of them has a name that tries to take the terminal over.
 *
 * It says "ready". SIGUSR1 makes it another program.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "unweave/chain.h"

#define WORKERS 40

struct sleeper {
	struct unweave_chain chain;
	struct unweave_link links[2];
};

static volatile sig_atomic_t become_another;

static void on_signal(int signal)
{
	(void)signal;
	become_another = 1;
}

static void nap(long ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

static void spin_us(long us)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static int wait_for_morning(struct unweave_link *link, void *chain)
{
	unweave_chain_push(chain, link);
	return UNWEAVE_STEP_SUSPENDED;
}

static int count_sheep(struct unweave_link *link, void *chain)
{
	(void)link;
	(void)chain;
	return UNWEAVE_STEP_DONE;
}

static void start_sleeper(struct sleeper *sleeper)
{
	unweave_chain_init(&sleeper->chain);
	unweave_link_init(&sleeper->links[0], wait_for_morning, NULL, 0);
	unweave_link_init(&sleeper->links[1], count_sheep, NULL, 3);
	for (int i = 0; i < 2; i++)
		unweave_chain_push(&sleeper->chain, &sleeper->links[i]);
	unweave_chain_start(&sleeper->chain, UNWEAVE_SITE("sleeper"), 0);
	unweave_task_name(sleeper->chain.head.task, "sleeper");
	unweave_chain_run(&sleeper->chain, 0);
	unweave_task_waits(sleeper->chain.head.task, UNWEAVE_WAIT_TIMER, UINT64_C(1) << 60);
}

static void name_and_wait(uint64_t task, const char *name, enum unweave_wait kind, uint64_t on)
{
	unweave_task_name(task, name);
	unweave_task_resume(task);
	unweave_task_suspend(task);
	unweave_task_waits(task, kind, on);
}

static void start_workers(void)
{
	char name[32];

	for (unsigned i = 0; i < WORKERS; i++) {
		snprintf(name, sizeof(name), "worker %02u", i);
		name_and_wait(
			unweave_task_new(UNWEAVE_SITE("worker"), UNWEAVE_MODEL_CHAIN, 0, NULL),
			name, UNWEAVE_WAIT_IO, 100 + i / 10);
	}
	name_and_wait(unweave_task_new(UNWEAVE_SITE("smithy"), UNWEAVE_MODEL_CHAIN, 0, NULL),
		      "locksmith", UNWEAVE_WAIT_LOCK, 0xabcd0);
	name_and_wait(unweave_task_new(UNWEAVE_SITE("castle"), UNWEAVE_MODEL_CHAIN, 0, NULL),
		      "evil \033[2J\033]0;gone\007", UNWEAVE_WAIT_CHANNEL, 0xbeef0);
}

static void tick(uint64_t ticker)
{
	uint64_t request;

	unweave_task_wake(ticker, UNWEAVE_SOURCE_TIMER);
	unweave_task_resume(ticker);
	request = unweave_task_new(UNWEAVE_SITE("request"), UNWEAVE_MODEL_CHAIN, ticker, NULL);
	spin_us(200);
	unweave_task_suspend(ticker);
	unweave_task_resume(request);
	spin_us(20);
	unweave_task_complete(request, UNWEAVE_OK);
}

int main(void)
{
	static struct sleeper sleeper;
	uint64_t ticker = unweave_task_new(UNWEAVE_SITE("ticker"), UNWEAVE_MODEL_CHAIN, 0, NULL);

	signal(SIGUSR1, on_signal);
	unweave_task_name(ticker, "ticker");
	start_sleeper(&sleeper);
	start_workers();
	puts("ready");
	fflush(stdout);
	while (!become_another) {
		tick(ticker);
		nap(5);
	}
	execl("/bin/sleep", "sleep", "60", (char *)NULL);
	return 1;
}
