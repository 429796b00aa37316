/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server and its clients in one program, which knows libevent and nothing of
 * unweave: something to record.
 *
 *     unweave record -o run.unw -- ./libevent-example [CONNECTIONS [REQUESTS]]
 *
 * A request is one letter. Which it is decides what the server does before it answers:
 *
 *     e   nothing
 *     t   waits for a timer
 *     w   has a thread compute something, which then makes an event active
 *     s   computes in the callback itself, so that the loop stands still meanwhile
 *
 * The clients have a thread and a loop of their own. Loopback only.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/thread.h>

#define REQUESTS "eetweewets"
#define COMPUTE_US 300 /* by the thread */
#define SLOW_US 2000   /* in the loop */
#define TIMER_US 2000
#define HOUSEKEEPING_US 10000

static void die(const char *what)
{
	fprintf(stderr, "libevent-example: %s\n", what);
	exit(1);
}

static void compute(long us)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < us);
}

/* The server. */

struct connection {
	struct bufferevent *buffer;
	struct event *event; /* the timer, or what the worker makes active */
};

static struct event_base *server;
static struct event *housekeeping;
static struct evconnlistener *doors;
static unsigned connections_left;

static void answer(struct connection *connection)
{
	bufferevent_write(connection->buffer, ".", 1);
}

static void answer_later(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what;
	answer(argument);
}

static void *work(void *argument)
{
	struct connection *connection = argument;

	compute(COMPUTE_US);
	event_active(connection->event, EV_READ, 1);
	return NULL;
}

static void have_computed(struct connection *connection)
{
	pthread_t worker;

	if (pthread_create(&worker, NULL, work, connection) != 0)
		die("no thread");
	pthread_detach(worker);
}

static void serve(struct connection *connection, char request)
{
	static const struct timeval delay = {0, TIMER_US};

	switch (request) {
	case 't':
		event_add(connection->event, &delay);
		break;
	case 'w':
		have_computed(connection);
		break;
	case 's':
		compute(SLOW_US);
		answer(connection);
		break;
	default:
		answer(connection);
	}
}

static void on_request(struct bufferevent *buffer, void *argument)
{
	char request;

	while (bufferevent_read(buffer, &request, 1) == 1)
		serve(argument, request);
}

static void on_gone(struct bufferevent *buffer, short what, void *argument)
{
	struct connection *connection = argument;

	(void)what;
	event_free(connection->event);
	bufferevent_free(buffer);
	free(connection);
	if (--connections_left == 0) {
		event_free(housekeeping);
		evconnlistener_free(doors);
	}
}

static void on_connection(struct evconnlistener *listener, evutil_socket_t fd,
			  struct sockaddr *address, int length, void *argument)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	(void)listener, (void)address, (void)length, (void)argument;
	if (!connection)
		die("no memory");
	connection->buffer = bufferevent_socket_new(server, fd, BEV_OPT_CLOSE_ON_FREE);
	connection->event = event_new(server, -1, 0, answer_later, connection);
	bufferevent_setcb(connection->buffer, on_request, NULL, on_gone, connection);
	bufferevent_enable(connection->buffer, EV_READ);
}

static void keep_house(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what, (void)argument;
	compute(20);
}

static void listen_to(struct sockaddr_in *address)
{
	static const struct timeval often = {0, HOUSEKEEPING_US};
	socklen_t length = sizeof(*address);

	*address = (struct sockaddr_in){.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	doors = evconnlistener_new_bind(server, on_connection, NULL, LEV_OPT_CLOSE_ON_FREE, 128,
					(struct sockaddr *)address, sizeof(*address));
	if (!doors)
		die("no port to listen at");
	getsockname(evconnlistener_get_fd(doors), (struct sockaddr *)address, &length);
	housekeeping = event_new(server, -1, EV_PERSIST, keep_house, NULL);
	event_add(housekeeping, &often);
}

/* The clients. */

struct client {
	unsigned next, last; /* requests */
};

static void ask(struct bufferevent *buffer, struct client *client)
{
	const char *requests = REQUESTS;

	if (client->next == client->last) {
		bufferevent_free(buffer);
		free(client);
		return;
	}
	bufferevent_write(buffer, &requests[client->next++ % strlen(requests)], 1);
}

static void on_answer(struct bufferevent *buffer, void *argument)
{
	evbuffer_drain(bufferevent_get_input(buffer), 1);
	ask(buffer, argument);
}

static void on_connected(struct bufferevent *buffer, short what, void *argument)
{
	if (!(what & BEV_EVENT_CONNECTED))
		die("the server is gone");
	ask(buffer, argument);
}

struct plan {
	struct sockaddr_in address;
	unsigned connections, requests;
};

static void *run_clients(void *argument)
{
	struct plan *plan = argument;
	struct event_base *base = event_base_new();

	for (unsigned i = 0; i < plan->connections; i++) {
		struct client *client = calloc(1, sizeof(*client));
		struct bufferevent *buffer =
			bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);

		if (!client || !buffer)
			die("no memory");
		client->last = plan->requests;
		bufferevent_setcb(buffer, on_answer, NULL, on_connected, client);
		bufferevent_enable(buffer, EV_READ);
		if (bufferevent_socket_connect(buffer, (struct sockaddr *)&plan->address,
					       sizeof(plan->address)) != 0)
			die("cannot connect");
	}
	event_base_dispatch(base);
	event_base_free(base);
	return NULL;
}

int main(int argc, char **argv)
{
	struct plan plan = {
		.connections = argc > 1 ? (unsigned)atoi(argv[1]) : 4,
		.requests = argc > 2 ? (unsigned)atoi(argv[2]) : 100,
	};
	pthread_t clients;

	if (plan.connections == 0)
		return 0;
	evthread_use_pthreads();
	server = event_base_new();
	connections_left = plan.connections;
	listen_to(&plan.address);
	if (pthread_create(&clients, NULL, run_clients, &plan) != 0)
		die("no thread");
	event_base_dispatch(server);
	pthread_join(clients, NULL);
	event_base_free(server);
	printf("%u requests\n", plan.connections * plan.requests);
	return 0;
}
