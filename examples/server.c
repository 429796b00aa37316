/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request server that says what its tasks do: what `make demo` records.
 *
 *     server [--threads N] [--load SECONDS]
 *
 * Each thread has a loop of its own (epoll and timers). A request is a task, and
 * the async functions that work on it are its chain:
 *
 *     /cheap    serve_connection <- handle_request                 answers at once
 *     /report   serve_connection <- handle_request <- render_report <- db_read
 *                                   burns CPU in hash_rows(), which keeps the loop
 *     /profile  serve_connection <- handle_request <- load_user <- db_read
 *                                   waits 20 ms for the database
 *
 * What a runtime does for unweave is in the part called "The loop"; the functions
 * below it are like those of any server. There is no database: it is a timer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server_load.h"
#include "unweave/chain.h"

#define THREADS_MAX 64
#define EVENTS_MAX 64
#define QUICK_QUERY_MS 1
#define SLOW_QUERY_MS 20
#define ROWS 24000

/*
 * A connection and its request, of which it has one at a time: the next begins
 * when there is something to read.
 */
struct request {
	struct unweave_chain chain; /* first, so that a function finds its request */
	struct unweave_link serving, reading, handling, working, querying; /* the frames */
	struct worker *worker;
	int fd;
	bool busy;            /* there is a task */
	struct request *next; /* in the list of those that are ready, or of the timers */
	uint64_t due_ms;
	unsigned query_ms; /* how long the database will take */
	const char *answer;
	size_t length;
	char head[256];
};

struct queue {
	struct request *first, **last;
};

struct worker {
	pthread_t thread;
	int epoll;
	struct queue ready;
	struct request *timers; /* the next one first */
};

static char table[1 << 16]; /* what the reports are about */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The loop */

static void put(struct queue *queue, struct request *request)
{
	request->next = NULL;
	*queue->last = request;
	queue->last = &request->next;
}

static struct request *take(struct queue *queue)
{
	struct request *request = queue->first;

	queue->first = request->next;
	if (!queue->first)
		queue->last = &queue->first;
	return request;
}

/*
 * Calls an async function, which runs up to its first wait. If it does wait, so
 * does its caller, which is to return what this returned, and is called again in
 * `state` when the callee is done. `callee` is the frame for it.
 */
static int await(struct request *request, struct unweave_link *caller, int state,
		 struct unweave_link *callee, unweave_go go)
{
	int step;

	unweave_link_init(callee, go, NULL, 0);
	step = go(callee, request);
	if (step == UNWEAVE_STEP_SUSPENDED) {
		caller->state = state;
		unweave_chain_push(&request->chain, caller);
	}
	return step;
}

/* The innermost function waits for something outside, and goes on in `state`. */
static int wait_in(struct request *request, struct unweave_link *link, int state,
		   enum unweave_wait kind, uint64_t on)
{
	link->state = state;
	unweave_chain_push(&request->chain, link);
	unweave_task_waits(request->chain.head.task, kind, on);
	return UNWEAVE_STEP_SUSPENDED;
}

static void watch(struct request *request, int operation)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT,
				    .data.ptr = request};

	epoll_ctl(request->worker->epoll, operation, request->fd, &event);
}

static int wait_readable(struct request *request, struct unweave_link *link, int state)
{
	watch(request, EPOLL_CTL_MOD);
	return wait_in(request, link, state, UNWEAVE_WAIT_IO, (uint64_t)request->fd);
}

static int wait_ms(struct request *request, struct unweave_link *link, int state, unsigned ms)
{
	struct request **at = &request->worker->timers;

	request->due_ms = now_ms() + ms;
	while (*at && (*at)->due_ms <= request->due_ms)
		at = &(*at)->next;
	request->next = *at;
	*at = request;
	return wait_in(request, link, state, UNWEAVE_WAIT_TIMER, request->due_ms * 1000000);
}

static int serve_connection(struct unweave_link *link, void *context);

/* A new task, whose chain begins with serve_connection(). */
static void begin(struct request *request)
{
	request->busy = true;
	request->length = 0;
	unweave_chain_init(&request->chain);
	unweave_link_init(&request->serving, serve_connection, NULL, 0);
	unweave_chain_push(&request->chain, &request->serving);
	unweave_chain_start(&request->chain, UNWEAVE_SITE_KIND("http", "request"), 0);
	put(&request->worker->ready, request);
}

/* What it waited for has happened. Said before the task is where somebody could run it. */
static void wake(struct request *request, enum unweave_source source)
{
	unweave_task_wake(request->chain.head.task, source);
	put(&request->worker->ready, request);
}

/* If all went well the connection has another task when it is readable again. */
static void end(struct request *request, enum unweave_step how)
{
	request->busy = false;
	if (how == UNWEAVE_STEP_DONE) {
		watch(request, EPOLL_CTL_MOD);
		return;
	}
	close(request->fd);
	free(request);
}

static void run_ready(struct worker *worker)
{
	while (worker->ready.first) {
		struct request *request = take(&worker->ready);
		enum unweave_step step = unweave_chain_run(&request->chain, UNWEAVE_RUN_LEAVE);

		if (step != UNWEAVE_STEP_SUSPENDED)
			end(request, step);
	}
}

/* Milliseconds; -1: there is nothing to wait for but descriptors. */
static int time_to_next(const struct worker *worker)
{
	uint64_t now = now_ms();

	if (!worker->timers)
		return -1;
	return worker->timers->due_ms > now ? (int)(worker->timers->due_ms - now) : 0;
}

static void *loop(void *data)
{
	struct worker *worker = data;
	struct epoll_event events[EVENTS_MAX];
	bool stop = false;

	while (!stop) {
		int count;

		unweave_thread_idle();
		count = epoll_wait(worker->epoll, events, EVENTS_MAX, time_to_next(worker));
		for (int i = 0; i < count; i++) {
			struct request *request = events[i].data.ptr;

			if (!request)
				stop = true;
			else if (request->busy)
				wake(request, UNWEAVE_SOURCE_IO);
			else if (events[i].events & EPOLLRDHUP)
				end(request, UNWEAVE_STEP_CANCELLED);
			else
				begin(request);
		}
		while (worker->timers && worker->timers->due_ms <= now_ms()) {
			struct request *request = worker->timers;

			worker->timers = request->next;
			wake(request, UNWEAVE_SOURCE_TIMER);
		}
		run_ready(worker);
	}
	return NULL;
}

/* The functions that run on it. Each is called with state 0 first. */

/* Waits until the whole head of the request is there. */
static int read_request(struct unweave_link *link, void *context)
{
	struct request *request = context;
	size_t room = sizeof(request->head) - 1 - request->length;
	ssize_t count = read(request->fd, request->head + request->length, room);

	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return wait_readable(request, link, 1);
	if (count <= 0)
		return UNWEAVE_STEP_CANCELLED; /* the client has gone, or says too much */
	request->length += (size_t)count;
	request->head[request->length] = 0;
	if (!strstr(request->head, "\r\n\r\n"))
		return wait_readable(request, link, 1);
	return UNWEAVE_STEP_DONE;
}

/* Asks the database, which answers after `query_ms`. */
static int db_read(struct unweave_link *link, void *context)
{
	struct request *request = context;

	return link->state == 0 ? wait_ms(request, link, 1, request->query_ms) : UNWEAVE_STEP_DONE;
}

static int load_user(struct unweave_link *link, void *context)
{
	struct request *request = context;
	int step = UNWEAVE_STEP_DONE;

	if (link->state == 0) {
		request->query_ms = SLOW_QUERY_MS;
		step = await(request, link, 1, &request->querying, db_read);
	}
	request->answer = "a user\n";
	return step;
}

/* All at once, and nobody else on this thread gets to run: the mistake that a profile shows. */
__attribute__((noinline)) static uint64_t hash_rows(unsigned rows)
{
	uint64_t hash = 14695981039346656037u;

	for (unsigned row = 0; row < rows; row++)
		for (unsigned i = 0; i < 64; i++)
			hash = (hash ^ (uint8_t)table[(row * 64 + i) % sizeof(table)]) *
			       1099511628211u;
	return hash;
}

static int render_report(struct unweave_link *link, void *context)
{
	struct request *request = context;
	int step;

	if (link->state == 0) {
		request->query_ms = QUICK_QUERY_MS;
		step = await(request, link, 1, &request->querying, db_read);
		if (step != UNWEAVE_STEP_DONE)
			return step;
	}
	request->answer = hash_rows(ROWS) ? "a report\n" : "an empty report\n";
	return UNWEAVE_STEP_DONE;
}

static int handle_request(struct unweave_link *link, void *context)
{
	struct request *request = context;
	const char *head = request->head;

	if (link->state == 1)
		return UNWEAVE_STEP_DONE;
	if (strncmp(head, "GET /report ", 12) == 0) {
		unweave_task_name(request->chain.head.task, "GET /report");
		return await(request, link, 1, &request->working, render_report);
	}
	if (strncmp(head, "GET /profile ", 13) == 0) {
		unweave_task_name(request->chain.head.task, "GET /profile");
		return await(request, link, 1, &request->working, load_user);
	}
	unweave_task_name(request->chain.head.task, "GET /cheap");
	request->answer = "cheap\n";
	return UNWEAVE_STEP_DONE;
}

static int send_answer(struct request *request)
{
	char text[160];
	int length =
		snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
			 strlen(request->answer), request->answer);

	if (send(request->fd, text, (size_t)length, MSG_NOSIGNAL) != length)
		return UNWEAVE_STEP_ERROR;
	return UNWEAVE_STEP_DONE;
}

static int serve_connection(struct unweave_link *link, void *context)
{
	struct request *request = context;
	int step = UNWEAVE_STEP_DONE;

	switch (link->state) {
	case 0:
		step = await(request, link, 1, &request->reading, read_request);
		if (step != UNWEAVE_STEP_DONE)
			break;
		/* fall through */
	case 1:
		step = await(request, link, 2, &request->handling, handle_request);
		if (step != UNWEAVE_STEP_DONE)
			break;
		/* fall through */
	default:
		step = send_answer(request);
	}
	return step;
}

/* Setting up and stopping */

static int listen_on_loopback(struct sockaddr_in *ret)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 128) < 0 || getsockname(fd, (struct sockaddr *)ret, &length) < 0) {
		perror("server: listen");
		exit(EXIT_FAILURE);
	}
	return fd;
}

static void start_worker(struct worker *worker, long number, int stop)
{
	struct epoll_event event = {.events = EPOLLIN};
	char name[16];

	worker->ready.last = &worker->ready.first;
	worker->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (worker->epoll < 0 || epoll_ctl(worker->epoll, EPOLL_CTL_ADD, stop, &event) < 0 ||
	    pthread_create(&worker->thread, NULL, loop, worker) != 0) {
		perror("server: worker");
		exit(EXIT_FAILURE);
	}
	snprintf(name, sizeof(name), "worker %ld", number);
	pthread_setname_np(worker->thread, name);
}

static void stop_workers(struct worker *workers, long threads, int stop)
{
	uint64_t one = 1;

	if (write(stop, &one, sizeof(one)) != sizeof(one))
		perror("server: stop");
	for (long i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		close(workers[i].epoll);
	}
}

/* Gives connections to the workers in turns, until the load is over; without one, for ever. */
static void accept_connections(int listener, int load, struct worker *workers, long threads)
{
	struct pollfd fds[] = {{.fd = listener, .events = POLLIN}, {.fd = load}};

	/* A signal, such as that of a sampler, may end any wait. */
	for (long next = 0; poll(fds, 2, -1) > 0 || errno == EINTR; errno = 0) {
		struct request *request;

		if (fds[1].revents)
			return;
		request = fds[0].revents ? calloc(1, sizeof(*request)) : NULL;
		fds[0].revents = 0;
		if (!request)
			continue;
		request->worker = &workers[next++ % threads];
		request->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (request->fd >= 0)
			watch(request, EPOLL_CTL_ADD);
		else
			free(request);
	}
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	long threads = 4, seconds = 0;
	struct sockaddr_in address;
	int listener, stop, load = -1;

	for (int i = 1; i + 1 < argc; i += 2)
		*(strcmp(argv[i], "--load") == 0 ? &seconds : &threads) = atol(argv[i + 1]);
	if (argc % 2 == 0 || threads < 1 || threads > THREADS_MAX || seconds < 0) {
		fputs("usage: server [--threads N] [--load SECONDS]\n", stderr);
		return 2;
	}
	/* Of a table that is all 0 the compiler knows the hash to be none, and leaves it out. */
	for (size_t i = 0; i < sizeof(table); i++)
		table[i] = (char)rand();
	listener = listen_on_loopback(&address);
	printf("server: http://127.0.0.1:%u on %ld threads\n", ntohs(address.sin_port), threads);
	fflush(stdout);
	if (seconds)
		load = load_start(&address, seconds);
	stop = eventfd(0, EFD_CLOEXEC);
	for (long i = 0; i < threads; i++)
		start_worker(&workers[i], i + 1, stop);
	accept_connections(listener, load, workers, threads);
	stop_workers(workers, threads, stop);
	close(listener);
	return load_result();
}
