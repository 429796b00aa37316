/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small run loop on several threads, instrumented with the hooks: requests
 * that wait for a "database" and for each other.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unweave.h"

#define WORKERS 4
#define REQUESTS 200 /* a worker */
#define STEPS 3      /* runs of a request before it is done */

struct request {
	uint64_t task;
	int step;
};

static void handle_request(void)
{
}

static void load_user(void)
{
}

static void read_row(void)
{
}

/* The code addresses that a real runtime would know: who awaits whom, innermost first. */
static const uint64_t *chain(void)
{
	static uint64_t frames[3];

	frames[0] = (uint64_t)(uintptr_t)read_row;
	frames[1] = (uint64_t)(uintptr_t)load_user;
	frames[2] = (uint64_t)(uintptr_t)handle_request;
	return frames;
}

/* Something to do, of an amount that varies. */
static void work(unsigned amount)
{
	for (volatile unsigned i = 0; i < amount; i++)
		;
}

/* One run of a request; true if it is done. */
static int run(struct request *request, unsigned *seed)
{
	struct unweave_stack stack = {chain(), NULL, 3, 0};

	unweave_task_resume(request->task);
	work(200 + (unsigned)rand_r(seed) % 2000);
	if (++request->step == STEPS) {
		unweave_task_complete(request->task,
				      rand_r(seed) % 50 ? UNWEAVE_OK : UNWEAVE_ERROR);
		return 1;
	}
	/* The loop goes straight on to the next request: no clock is read here. */
	unweave_task_leave(request->task, &stack);
	unweave_task_wake(request->task, UNWEAVE_SOURCE_IO);
	return 0;
}

static void *worker(void *data)
{
	struct request requests[REQUESTS];
	unsigned seed = (unsigned)(uintptr_t)data;
	uint64_t acceptor = unweave_task_new(UNWEAVE_SITE("accept"), UNWEAVE_MODEL_CHAIN, 0, NULL);
	int open = REQUESTS;

	unweave_task_resume(acceptor);
	unweave_task_name(acceptor, "listener on :8080");
	for (int i = 0; i < REQUESTS; i++)
		requests[i] = (struct request){
			.task = unweave_task_new(UNWEAVE_SITE("GET /user"), UNWEAVE_MODEL_CHAIN,
						 UNWEAVE_PARENT_CURRENT, NULL)};
	unweave_task_leave(acceptor, NULL);

	while (open) {
		for (int i = 0; i < REQUESTS; i++)
			if (requests[i].step < STEPS)
				open -= run(&requests[i], &seed);
		unweave_thread_idle();
		usleep(1000);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];

	for (uintptr_t i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)(i + 1)) != 0)
			return 1;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("%d requests on %d threads; %s\n", WORKERS * REQUESTS, WORKERS, unweave_status());
	return 0;
}
