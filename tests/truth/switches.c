/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switches SECONDS
 *
 * Eight tasks of both models take turns of less than a microsecond each, in a
 * function of their own: work_3 is T3's. So what a sample has by its time, and
 * what it has by its stack, must be of the same task a million times a second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "unweave/chain.h"
#include "unweave/machine.h"

#define TASKS 8
#define SPINS 100
#define TURNS 1000 /* between two looks at the clock */

struct task {
	struct unweave_box box; /* first; a chain uses its link only */
	struct unweave_chain chain;
	struct unweave_site site;
	char name[4];
};

static struct task tasks[TASKS];

static int wait_again(struct unweave_link *link, void *context)
{
	if (context) {
		unweave_chain_push(context, link);
		return UNWEAVE_STEP_SUSPENDED;
	}
	unweave_box_suspend((struct unweave_box *)link);
	return 0;
}

#define WORK(n)                                                                                    \
	static __attribute__((noinline)) int work_##n(struct unweave_link *link, void *context)    \
	{                                                                                          \
		int result;                                                                        \
                                                                                                   \
		for (volatile int i = 0; i < SPINS; i++)                                           \
			;                                                                          \
		result = wait_again(link, context);                                                \
		/* So that it stays on the stack until here. */                                    \
		__asm__ volatile("");                                                              \
		return result;                                                                     \
	}

WORK(0)
WORK(1)
WORK(2)
WORK(3)
WORK(4)
WORK(5)
WORK(6)
WORK(7)

static const unweave_go work[TASKS] = {work_0, work_1, work_2, work_3,
				       work_4, work_5, work_6, work_7};

static void start(unsigned number)
{
	struct task *task = &tasks[number];

	snprintf(task->name, sizeof(task->name), "T%u", number);
	task->site = (struct unweave_site){task->name, NULL, __func__, __FILE__, __LINE__, 0};
	if (number % 2) {
		unweave_box_init(&task->box, work[number], NULL, &task->site);
		unweave_box_suspend(&task->box);
		return;
	}
	unweave_chain_init(&task->chain);
	unweave_link_init(&task->box.link, work[number], NULL, 0);
	unweave_chain_push(&task->chain, &task->box.link);
	unweave_chain_start(&task->chain, &task->site, UNWEAVE_PARENT_CURRENT);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? strtod(argv[1], NULL) : 1);
	unsigned next = 0;

	for (unsigned i = 0; i < TASKS; i++)
		start(i);
	while (now() < end)
		for (unsigned turn = 0; turn < TURNS; turn++) {
			struct task *task = &tasks[next];

			next = (next * 5 + 3) % TASKS; /* each once, then again */
			if ((task - tasks) % 2)
				unweave_box_run(&task->box, 0);
			else
				unweave_chain_run(&task->chain, 0);
		}
	return 0;
}
