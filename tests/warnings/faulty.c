/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with one fault, as its first word says, among tasks that are all right, for as
 * many ms as its second word says:
 *
 *     healthy    none
 *     deadlock   two tasks wait for each other
 *     lost-wake  a task waits for another, which ends without waking it
 *     lost-timer a task waits for a moment that nobody watches
 *     blocking   a task sleeps in a run
 *     endless    a task runs and does not end
 *     starved    tasks that take turns, each for less than too long, and one that is late then
 *     restless   a task wakes itself again and again, and does a little
 *     empty      the same, and it does nothing
 *     leak       tasks are created, and never end
 *     lock       a task waits for a lock that nobody gives back
 *
 * It says "ready", and begins with the fault, and to count, when somebody records it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

static uint64_t end;

static int done(struct unweave_link *link, void *chain)
{
	(void)link;
	(void)chain;
	return UNWEAVE_STEP_DONE;
}

/* What is all right: tasks that end, tasks that wait for a while, tasks that wake others. */

static int answer(struct unweave_link *link, void *chain)
{
	struct task *task = chain;

	(void)link;
	compute(20000);
	return task->step++ < 2 ? wait_ns(task, MS) : UNWEAVE_STEP_DONE;
}

static int serve(struct unweave_link *link, void *chain)
{
	return done(link, chain);
}

static int listen_on(struct unweave_link *link, void *chain)
{
	(void)link;
	spawn(answer, serve, UNWEAVE_SITE("request"));
	return wait_ns(chain, 2 * MS);
}

/* Two that wake each other in turn, and one of them a timer. */
static int produce(struct unweave_link *link, void *chain)
{
	struct task *task = chain;

	(void)link;
	if (task->other->step == 1) {
		task->other->step = 0;
		wake(task->other);
	}
	return wait_ns(task, 3 * MS);
}

static int consume(struct unweave_link *link, void *chain)
{
	struct task *task = chain;

	(void)link;
	task->step = 1;
	return wait_for(task, UNWEAVE_WAIT_CHANNEL, 1);
}

static void start_healthy(void)
{
	struct task *producer, *consumer;

	spawn(listen_on, done, UNWEAVE_SITE("listener"));
	consumer = spawn(consume, done, UNWEAVE_SITE("consumer"));
	producer = spawn(produce, done, UNWEAVE_SITE("producer"));
	producer->other = consumer;
}

/* The faults. */

static int take_both(struct unweave_link *link, void *chain)
{
	struct task *task = chain;

	(void)link;
	return wait_for(task, UNWEAVE_WAIT_TASK, task->other->chain.head.task);
}

static void deadlock(void)
{
	struct task *alice = spawn(take_both, serve, UNWEAVE_SITE("transfer"));
	struct task *bob = spawn(take_both, serve, UNWEAVE_SITE("transfer"));

	unweave_task_name(alice->chain.head.task, "alice");
	unweave_task_name(bob->chain.head.task, "bob");
	alice->other = bob;
	bob->other = alice;
}

static int forget_to_wake(struct unweave_link *link, void *chain)
{
	struct task *task = chain;

	(void)link;
	return task->step++ == 0 ? wait_ns(task, 5 * MS) : UNWEAVE_STEP_DONE;
}

static int await_answer(struct unweave_link *link, void *chain)
{
	(void)link;
	return wait_for(chain, UNWEAVE_WAIT_TASK, ((struct task *)chain)->other->chain.head.task);
}

static void lost_wake(void)
{
	struct task *asked = spawn(forget_to_wake, done, UNWEAVE_SITE("asked"));
	struct task *asking = spawn(await_answer, serve, UNWEAVE_SITE("asking"));

	asking->other = asked;
}

static int await_timeout(struct unweave_link *link, void *chain)
{
	(void)link;
	return wait_for(chain, UNWEAVE_WAIT_TIMER, now() + MS);
}

static int await_lock(struct unweave_link *link, void *chain)
{
	(void)link;
	return wait_for(chain, UNWEAVE_WAIT_LOCK, 0x1000);
}

static __attribute__((noinline)) void read_slowly(uint64_t ns)
{
	uint64_t until = now() + ns;
	struct timespec time = {(time_t)(until / (1000 * MS)), (long)(until % (1000 * MS))};

	/* Also if samples are taken. */
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
		;
}

static int read_config(struct unweave_link *link, void *chain)
{
	struct task *task = chain;

	(void)link;
	if (task->step++ == 0)
		return wait_ns(task, 20 * MS);
	read_slowly(300 * MS);
	return wait_ns(task, 200 * MS);
}

static int count_forever(struct unweave_link *link, void *chain)
{
	struct task *task = chain;

	(void)link;
	if (task->step++ == 0)
		return wait_ns(task, 20 * MS);
	compute(end - now());
	exit(0);
}

static int hog(struct unweave_link *link, void *chain)
{
	(void)link;
	compute(60 * MS);
	return wait_ns(chain, MS / 10);
}

static int ping(struct unweave_link *link, void *chain)
{
	(void)link;
	return wait_ns(chain, 5 * MS);
}

static int stir(struct unweave_link *link, void *chain)
{
	struct task *task = chain;

	(void)link;
	compute(5000);
	if (task->step++ % 64 == 63)
		return wait_ns(task, MS);
	spawn(done, done, UNWEAVE_SITE("crumb"));
	wake(task);
	return wait_for(task, UNWEAVE_WAIT_NONE, 0);
}

static int look_again(struct unweave_link *link, void *chain)
{
	struct task *task = chain;

	(void)link;
	compute(5000);
	wake(task);
	return wait_for(task, UNWEAVE_WAIT_NONE, 0);
}

static int wait_in_vain(struct unweave_link *link, void *chain)
{
	(void)link;
	return wait_for(chain, UNWEAVE_WAIT_CHANNEL, 2);
}

static __attribute__((noinline)) void remember(void)
{
	spawn(wait_in_vain, serve, UNWEAVE_SITE("forgotten"));
}

static int forget(struct unweave_link *link, void *chain)
{
	(void)link;
	remember();
	return wait_ns(chain, 4 * MS);
}

static const struct {
	const char *name;
	void (*start)(void);
	unweave_go inner; /* if that is all */
} faults[] = {
	{"healthy", NULL, NULL},         {"deadlock", deadlock, NULL},
	{"lost-wake", lost_wake, NULL},  {"lost-timer", NULL, await_timeout},
	{"blocking", NULL, read_config}, {"endless", NULL, count_forever},
	{"starved", NULL, ping},         {"restless", NULL, stir},
	{"empty", NULL, look_again},     {"leak", NULL, forget},
	{"lock", NULL, await_lock},
};

int main(int argc, char **argv)
{
	unsigned i = 0;

	while (argc == 3 && i < sizeof(faults) / sizeof(faults[0]) &&
	       strcmp(argv[1], faults[i].name) != 0)
		i++;
	if (argc != 3 || i == sizeof(faults) / sizeof(faults[0]))
		return 2;
	start_healthy();
	puts("ready");
	fflush(stdout);
	/* What happened before, nobody has seen. */
	while (unweave_priv_silent(unweave_priv_gate()))
		run_until(now() + 5 * MS);
	end = now() + strtoull(argv[2], NULL, 10) * MS;
	if (faults[i].start)
		faults[i].start();
	if (faults[i].inner)
		spawn(faults[i].inner, serve, UNWEAVE_SITE("faulty"));
	for (int j = 0; j < 5 && faults[i].inner == ping; j++)
		spawn(hog, serve, UNWEAVE_SITE("hog"));
	run_until(end);
	return 0;
}
