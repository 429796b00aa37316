/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small event loop that says what its tasks do: docs/integrating.md goes
 * through it. What a runtime does for unweave is in the part called "The loop".
 *
 * A listener takes clients. Each client's task reads one request after the
 * other, looks it up, and answers, until the client hangs up.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "unweave/chain.h"

#define CLIENTS 3
#define QUERY_MS 2
#define TASKS_MAX (1 + CLIENTS)

/* A task of this loop, and what it waits for: a descriptor, or else a time. */
struct task {
	struct unweave_chain chain; /* first, so that a continuation finds its task */
	int fd;                     /* -1: the time */
	uint64_t due_ms;
	struct task *next;
};

static struct task *ready, *waiting;

static void put(struct task **list, struct task *task)
{
	task->next = *list;
	*list = task;
}

static struct task *take(struct task **list)
{
	struct task *task = *list;

	*list = task->next;
	return task;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The loop */

/* A new task that begins with `go`. */
static void spawn(struct task *task, struct unweave_link *link, unweave_go go,
		  struct unweave_site *site)
{
	unweave_chain_init(&task->chain);
	unweave_link_init(link, go, NULL, 0);
	unweave_chain_push(&task->chain, link);
	unweave_chain_start(&task->chain, site, UNWEAVE_PARENT_CURRENT);
	put(&ready, task);
}

/* The function that runs will go on with `go`, after those that were pushed before it. */
static int go_on_with(struct task *task, struct unweave_link *link, unweave_go go)
{
	unweave_link_init(link, go, NULL, 0);
	unweave_chain_push(&task->chain, link);
	return UNWEAVE_STEP_SUSPENDED;
}

static void wait_readable(struct task *task, int fd)
{
	task->fd = fd;
	unweave_task_waits(task->chain.head.task, UNWEAVE_WAIT_IO, (uint64_t)fd);
}

static void wait_ms(struct task *task, uint64_t ms)
{
	task->fd = -1;
	task->due_ms = now_ms() + ms;
	unweave_task_waits(task->chain.head.task, UNWEAVE_WAIT_TIMER, task->due_ms * 1000000);
}

static void run_ready(void)
{
	while (ready) {
		struct task *task = take(&ready);

		if (unweave_chain_run(&task->chain, UNWEAVE_RUN_LEAVE) == UNWEAVE_STEP_SUSPENDED)
			put(&waiting, task);
	}
}

/* How long nothing can happen but on a descriptor; -1: for ever. */
static int time_to_next(void)
{
	uint64_t now = now_ms();
	int least = -1;

	for (struct task *task = waiting; task; task = task->next) {
		int left = task->due_ms > now ? (int)(task->due_ms - now) : 0;

		if (task->fd < 0 && (least < 0 || left < least))
			least = left;
	}
	return least;
}

static void make_ready(struct task *task, enum unweave_source source)
{
	unweave_task_wake(task->chain.head.task, source);
	put(&ready, task);
}

static void wait_for_events(void)
{
	struct pollfd fds[TASKS_MAX];
	struct task *rest = NULL;
	nfds_t count = 0;
	uint64_t now;

	/* poll() leaves out the descriptors that are -1. */
	for (struct task *task = waiting; task; task = task->next)
		fds[count++] = (struct pollfd){.fd = task->fd, .events = POLLIN};
	unweave_thread_idle();
	poll(fds, count, time_to_next());
	now = now_ms();
	for (nfds_t i = 0; i < count; i++) {
		struct task *task = take(&waiting);

		if (task->fd >= 0 && fds[i].revents)
			make_ready(task, UNWEAVE_SOURCE_IO);
		else if (task->fd < 0 && task->due_ms <= now)
			make_ready(task, UNWEAVE_SOURCE_TIMER);
		else
			put(&rest, task);
	}
	waiting = rest;
}

/* The functions that run on it */

/* A client's task, with the frames of its functions: at most two wait at a time. */
struct client {
	struct task task;
	struct unweave_link handler;
	struct unweave_link callee;
	int fd;
	char request; /* 0: there is none any more */
};

static struct client clients[CLIENTS];

static struct client *client_of(void *context)
{
	return context;
}

/* read_request(): waits for a byte. */
static int request_is_there(struct unweave_link *link, void *context)
{
	struct client *client = client_of(context);

	(void)link;
	if (read(client->fd, &client->request, 1) != 1)
		client->request = 0;
	return UNWEAVE_STEP_DONE;
}

static void read_request(struct client *client)
{
	wait_readable(&client->task, client->fd);
	go_on_with(&client->task, &client->callee, request_is_there);
}

/* query(): takes a while, and fails for what is not a letter. */
static int query_is_done(struct unweave_link *link, void *context)
{
	char request = client_of(context)->request;

	(void)link;
	return request >= 'a' && request <= 'z' ? UNWEAVE_STEP_DONE : UNWEAVE_STEP_ERROR;
}

static void query(struct client *client)
{
	wait_ms(&client->task, QUERY_MS);
	go_on_with(&client->task, &client->callee, query_is_done);
}

/* handle_client(): awaits one of those after the other. */
static int after_query(struct unweave_link *link, void *context);

static int after_request(struct unweave_link *link, void *context)
{
	struct client *client = client_of(context);

	if (!client->request) {
		close(client->fd);
		return UNWEAVE_STEP_DONE;
	}
	query(client);
	return go_on_with(&client->task, link, after_query);
}

static int handle_client(struct unweave_link *link, void *context)
{
	struct client *client = client_of(context);

	read_request(client);
	return go_on_with(&client->task, link, after_request);
}

/* Goes on after an error in query(), too. */
static int after_query(struct unweave_link *link, void *context)
{
	struct client *client = client_of(context);
	const char *answer = client->task.chain.fault ? "?" : "!";

	if (write(client->fd, answer, 1) != 1)
		return UNWEAVE_STEP_ERROR;
	return handle_client(link, context);
}

static int catches(const struct unweave_link *link, const struct unweave_chain *chain)
{
	(void)chain;
	return link->go == after_query;
}

/* The listener: a client every millisecond. There is no network here: they say all at once. */
static int open_client(struct unweave_link *link, void *context)
{
	static int opened;
	struct client *client = &clients[opened++];
	char name[20];
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || write(ends[1], "ab7d", 4) != 4 ||
	    shutdown(ends[1], SHUT_WR) < 0)
		return UNWEAVE_STEP_ERROR;
	client->fd = ends[0];
	spawn(&client->task, &client->handler, handle_client,
	      UNWEAVE_SITE_KIND("connection", "client"));
	client->task.chain.catches = catches;
	snprintf(name, sizeof(name), "client %d", opened);
	unweave_task_name(client->task.chain.head.task, name);
	if (opened == CLIENTS)
		return UNWEAVE_STEP_DONE;
	wait_ms(context, 1);
	return go_on_with(context, link, open_client);
}

int main(void)
{
	struct task listener;
	struct unweave_link link;

	spawn(&listener, &link, open_client, UNWEAVE_SITE(NULL));
	while (ready || waiting) {
		run_ready();
		if (waiting)
			wait_for_events();
	}
	printf("%d clients were served\n", CLIENTS);
	return EXIT_SUCCESS;
}
