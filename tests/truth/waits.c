/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits [--threads 1|2] [--seconds S] ACCOUNT.json
 *
 * Tasks that wait for known times: pending until they are woken, then queued until
 * they run. The program stamps each suspension, wake and resume itself, once before
 * and once after the hook, so that what happens to a thread in between can be told
 * from a wrong answer. With two threads, one runs tasks and the other wakes them.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "planted.h"

#define WAITERS 12
#define MS 1000000u
#define LOOK_NS 100000u /* how long a thread sleeps at most */

/* The hook was called between the two. */
struct moment {
	uint64_t before, after;
};

/* At least and at most. */
struct span {
	uint64_t least, most;
};

enum phase {
	RUNNING,
	PENDING,
	QUEUED,
	ENDED,
};

struct waiter {
	struct unweave_box boxes[8]; /* a chain uses their links only */
	struct unweave_chain chain;
	struct unweave_site site;
	unsigned number, depth;
	bool machine, leave;
	bool last; /* it returns when it runs next */
	enum phase phase;
	uint64_t due; /* when the phase is over */
	struct moment suspended, woken, resumed;
	struct span pending, queued; /* sums */
	unsigned waits;
	char name[8];
};

static struct waiter waiters[WAITERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t end_ns;
static uint64_t state = 7;
static struct waiter *running;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Half to one and a half of it. */
static uint64_t about(uint64_t ns)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ns / 2 + (state >> 33) % ns;
}

static void add(struct span *sum, const struct moment *from, const struct moment *to)
{
	sum->least += to->before > from->after ? to->before - from->after : 0;
	sum->most += to->after - from->before;
}

static unweave_go function_of(const struct waiter *waiter, unsigned level)
{
	return functions[(waiter->number * 17 + level) % FUNCTIONS];
}

/* Called for each function of a chain as it goes on; only the innermost one ever waits. */
int step(struct unweave_link *link, void *context)
{
	struct waiter *waiter = running;
	struct unweave_box *box = (struct unweave_box *)link;

	(void)context;
	if (box == &waiter->boxes[0])
		waiter->resumed.after = now_ns();
	if (!waiter->machine) {
		if (waiter->last)
			return UNWEAVE_STEP_DONE;
		unweave_chain_push(&waiter->chain, link);
		waiter->suspended.before = now_ns();
		return UNWEAVE_STEP_SUSPENDED;
	}
	if (!waiter->last) {
		waiter->suspended.before = now_ns();
		unweave_box_suspend(box);
		return 0;
	}
	unweave_box_complete(box, UNWEAVE_OK);
	if (box != &waiter->boxes[waiter->depth - 1])
		unweave_box_continue(box + 1, box);
	return 0;
}

/* Tasks begin by waiting: a chain in its first run, a box as it becomes a task. */
static void run_waiter(struct waiter *waiter)
{
	unsigned flags = waiter->leave ? UNWEAVE_RUN_LEAVE : 0;

	running = waiter;
	waiter->phase = RUNNING;
	waiter->resumed.before = now_ns();
	if (waiter->machine)
		unweave_box_run(&waiter->boxes[0], flags);
	else
		unweave_chain_run(&waiter->chain, flags);
	if (waiter->leave)
		unweave_thread_idle();
	waiter->suspended.after = now_ns();
	waiter->phase = waiter->last ? ENDED : PENDING;
	waiter->due = waiter->suspended.after + about((2 + waiter->number * 2) * MS);
}

static void start_box(struct waiter *waiter)
{
	for (unsigned i = 0; i < waiter->depth; i++)
		unweave_box_init(&waiter->boxes[i], function_of(waiter, i), NULL, &waiter->site);
	waiter->suspended.before = now_ns();
	unweave_box_suspend(&waiter->boxes[0]);
	waiter->suspended.after = now_ns();
	for (unsigned i = 1; i < waiter->depth; i++)
		unweave_box_await(&waiter->boxes[i], &waiter->boxes[i - 1]);
	waiter->phase = PENDING;
	waiter->due = waiter->suspended.after + about(2 * MS);
}

static void start_chain(struct waiter *waiter)
{
	unweave_chain_init(&waiter->chain);
	for (unsigned i = 0; i < waiter->depth; i++) {
		unweave_link_init(&waiter->boxes[i].link, function_of(waiter, i), NULL, 0);
		unweave_chain_push(&waiter->chain, &waiter->boxes[i].link);
	}
	waiter->woken.before = now_ns();
	unweave_chain_start(&waiter->chain, &waiter->site, 0);
	waiter->woken.after = now_ns();
	run_waiter(waiter);
	/* A new chain can run at once, so until it does it is queued. */
	add(&waiter->queued, &waiter->woken, &waiter->resumed);
	waiter->waits++;
}

static void start(struct waiter *waiter, unsigned number)
{
	waiter->number = number;
	waiter->depth = 1 + number % 6;
	waiter->machine = number % 2;
	waiter->leave = number / 2 % 2;
	snprintf(waiter->name, sizeof(waiter->name), "W%u", number);
	waiter->site = (struct unweave_site){waiter->name, NULL, __func__, __FILE__, __LINE__, 0};
	if (waiter->machine)
		start_box(waiter);
	else
		start_chain(waiter);
}

static void wake(struct waiter *waiter)
{
	uint64_t task = waiter->machine ? waiter->boxes[0].head.task : waiter->chain.head.task;

	waiter->woken.before = now_ns();
	unweave_task_wake(task, UNWEAVE_SOURCE_TIMER);
	waiter->woken.after = now_ns();
	waiter->phase = QUEUED;
	waiter->due = waiter->woken.after + about((1 + waiter->number % 5) * MS);
}

/* A wait is over: enters it in the account after the run that began, which stamped its begin. */
static void resume(struct waiter *waiter)
{
	struct moment suspended = waiter->suspended;

	waiter->last = now_ns() > end_ns;
	run_waiter(waiter);
	add(&waiter->pending, &suspended, &waiter->woken);
	add(&waiter->queued, &waiter->woken, &waiter->resumed);
	waiter->waits++;
}

/* Does what is due. Returns when it is to be called again; 0: all tasks have ended. */
static uint64_t look(bool runs, bool wakes)
{
	uint64_t now, next = 0;

	pthread_mutex_lock(&lock);
	now = now_ns();
	for (unsigned i = 0; i < WAITERS; i++) {
		struct waiter *waiter = &waiters[i];

		if (waiter->phase == ENDED)
			continue;
		if (wakes && waiter->phase == PENDING && waiter->due <= now)
			wake(waiter);
		else if (runs && waiter->phase == QUEUED && waiter->due <= now)
			resume(waiter);
		next = now + LOOK_NS;
	}
	pthread_mutex_unlock(&lock);
	return next;
}

static void loop(bool runs, bool wakes)
{
	struct timespec nap = {.tv_nsec = LOOK_NS};

	while (look(runs, wakes)) {
		unweave_thread_idle();
		nanosleep(&nap, NULL);
	}
}

static void *wake_all(void *data)
{
	(void)data;
	loop(false, true);
	return NULL;
}

static void print_waiter(FILE *file, const struct waiter *waiter)
{
	fprintf(file,
		"{\"task\": \"%s\", \"waits\": %u, \"pending\": [%llu, %llu], \"queued\": [%llu, "
		"%llu], \"stack\": [",
		waiter->name, waiter->waits, (unsigned long long)waiter->pending.least,
		(unsigned long long)waiter->pending.most, (unsigned long long)waiter->queued.least,
		(unsigned long long)waiter->queued.most);
	for (unsigned i = 0; i < waiter->depth; i++)
		fprintf(file, "%s\"f_%02x\"", i ? ", " : "", (waiter->number * 17 + i) % FUNCTIONS);
	fprintf(file, "]}%s\n", waiter->number + 1 < WAITERS ? "," : "");
}

static bool print_account(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return false;
	fputs("{\"waiters\": [\n", file);
	for (unsigned i = 0; i < WAITERS; i++)
		print_waiter(file, &waiters[i]);
	fputs("]}\n", file);
	return fclose(file) == 0;
}

int main(int argc, char **argv)
{
	bool two = false;
	double seconds = 1;
	pthread_t waker;
	int at = 1;

	for (; at + 1 < argc - 1; at += 2) {
		if (strcmp(argv[at], "--threads") == 0)
			two = strcmp(argv[at + 1], "2") == 0;
		else if (strcmp(argv[at], "--seconds") == 0)
			seconds = strtod(argv[at + 1], NULL);
	}
	if (at + 1 != argc) {
		fputs("usage: waits [--threads 1|2] [--seconds S] ACCOUNT\n", stderr);
		return 2;
	}
	end_ns = now_ns() + (uint64_t)(seconds * 1e9);
	for (unsigned i = 0; i < WAITERS; i++)
		start(&waiters[i], i);
	if (two && pthread_create(&waker, NULL, wake_all, NULL) != 0)
		abort();
	loop(true, !two);
	if (two)
		pthread_join(waker, NULL);
	return print_account(argv[at]) ? EXIT_SUCCESS : EXIT_FAILURE;
}
