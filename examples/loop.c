/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small event loop that says what its tasks do: docs/integrating.md goes
 * through it step by step.
 *
 * The loop knows two things to wait for, a descriptor and a time. On it run
 * async functions, written by hand as continuations: handle() answers requests,
 * each of which it reads with read_request() and looks up with query().
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "unweave/chain.h"

#define CLIENTS 3
#define REQUESTS 4
#define QUERY_MS 3

/* A task of this loop, and what it waits for: a descriptor, or else a time. */
struct task {
	struct unweave_chain chain;
	int fd;       /* -1: the time */
	uint64_t due; /* ms */
	struct task *next;
};

/* A suspended function with its variables. */
struct frame {
	struct unweave_link link;
	int fd;
	int requests;
	char request;
};

static struct task *waiting;

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The function that waits will go on with `go`. */
static void wait_with(struct unweave_chain *chain, struct frame *frame, unweave_go go)
{
	unweave_link_init(&frame->link, go, (const void *)(uintptr_t)go, 0);
	unweave_chain_push(chain, &frame->link);
}

/* An async function that waits for a descriptor, and reads a byte. */
static int request_is_there(struct unweave_link *link, void *context)
{
	struct frame *frame = (struct frame *)link;
	ssize_t got = read(frame->fd, &frame->request, 1);

	(void)context;
	return got == 1 ? UNWEAVE_STEP_DONE : UNWEAVE_STEP_ERROR;
}

static void read_request(struct task *task, struct frame *frame, int fd)
{
	frame->fd = fd;
	task->fd = fd;
	wait_with(&task->chain, frame, request_is_there);
}

/* An async function that takes a while, as a database would. */
static int query_is_done(struct unweave_link *link, void *context)
{
	(void)link;
	(void)context;
	return UNWEAVE_STEP_DONE;
}

static void query(struct task *task, struct frame *frame)
{
	task->fd = -1;
	task->due = now_ms() + QUERY_MS;
	wait_with(&task->chain, frame, query_is_done);
}

/* The async function that awaits the other two, over and over. */
struct handler {
	struct frame self;
	struct frame callee;
};

static int after_query(struct unweave_link *link, void *context);

static int after_request(struct unweave_link *link, void *context)
{
	struct handler *handler = (struct handler *)link;
	struct unweave_chain *chain = context;

	query((struct task *)chain, &handler->callee);
	wait_with(chain, &handler->self, after_query);
	return UNWEAVE_STEP_SUSPENDED;
}

static int after_query(struct unweave_link *link, void *context)
{
	struct handler *handler = (struct handler *)link;
	struct unweave_chain *chain = context;

	if (write(handler->self.fd, "!", 1) != 1)
		return UNWEAVE_STEP_ERROR;
	if (--handler->self.requests == 0)
		return UNWEAVE_STEP_DONE;
	read_request((struct task *)chain, &handler->callee, handler->self.fd);
	wait_with(chain, &handler->self, after_request);
	return UNWEAVE_STEP_SUSPENDED;
}

static void handle(struct task *task, struct handler *handler, int fd)
{
	handler->self.fd = fd;
	handler->self.requests = REQUESTS;
	read_request(task, &handler->callee, fd);
	wait_with(&task->chain, &handler->self, after_request);
}

/* The loop. */
static void add(struct task *task)
{
	task->next = waiting;
	waiting = task;
}

static void spawn(struct task *task, struct handler *handler, int fd)
{
	unweave_chain_init(&task->chain);
	handle(task, handler, fd);
	unweave_chain_start(&task->chain, UNWEAVE_SITE("client"), UNWEAVE_PARENT_CURRENT);
	add(task);
}

/* Whether what the task waits for has come; then the recorder is told why. */
static int is_ready(struct task *task, uint64_t now)
{
	struct pollfd poll_fd = {.fd = task->fd, .events = POLLIN};

	if (task->fd < 0 && now >= task->due) {
		unweave_task_wake(task->chain.head.task, UNWEAVE_SOURCE_TIMER);
		return 1;
	}
	if (task->fd >= 0 && poll(&poll_fd, 1, 0) == 1) {
		unweave_task_wake(task->chain.head.task, UNWEAVE_SOURCE_IO);
		return 1;
	}
	return 0;
}

static void run(struct task *task)
{
	if (unweave_chain_run(&task->chain, UNWEAVE_RUN_LEAVE) == UNWEAVE_STEP_SUSPENDED)
		add(task);
}

static void run_loop(void)
{
	struct timespec pause = {.tv_nsec = 500000};

	while (waiting) {
		struct task *task = waiting;
		uint64_t now = now_ms();

		waiting = NULL;
		while (task) {
			struct task *next = task->next;

			if (is_ready(task, now))
				run(task);
			else
				add(task);
			task = next;
		}
		unweave_thread_idle();
		nanosleep(&pause, NULL);
	}
}

int main(void)
{
	static struct task tasks[CLIENTS];
	static struct handler handlers[CLIENTS];

	for (int i = 0; i < CLIENTS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 ||
		    write(ends[1], "abcd", REQUESTS) != REQUESTS)
			return EXIT_FAILURE;
		spawn(&tasks[i], &handlers[i], ends[0]);
	}
	run_loop();
	printf("%d clients had their %d answers each\n", CLIENTS, REQUESTS);
	return EXIT_SUCCESS;
}
