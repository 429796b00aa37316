/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load of examples/server.c. Each of some clients has one connection, and asks
 * for the next page of a fixed list when it has got the one before. This part
 * knows nothing of unweave.
 */
#include "server_load.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 16
#define PATHS 3

struct client {
	int fd;
	unsigned asked; /* pages so far; beginning at a place of its own in the list */
	size_t got;     /* bytes of the answer */
	bool waits;     /* for an answer */
	char answer[256];
};

static const char *const paths[PATHS] = {"/cheap", "/report", "/profile"};
/* The list: which of the paths, one after the other. */
static const unsigned char mix[] = {0, 0, 2, 0, 0, 0, 1, 0, 2, 0};

static struct client clients[CLIENTS];
static unsigned long answered[PATHS];
static pid_t child;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static _Noreturn void fail(const char *what)
{
	perror(what);
	_exit(EXIT_FAILURE);
}

static unsigned path_of(const struct client *client)
{
	return mix[client->asked % sizeof(mix)];
}

static void ask(struct client *client)
{
	char text[64];
	int length =
		snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n\r\n", paths[path_of(client)]);

	client->got = 0;
	client->waits = true;
	if (send(client->fd, text, (size_t)length, MSG_NOSIGNAL) != length)
		fail("load: send");
}

/* Answers are short, and end with their only line. */
static void receive(struct client *client)
{
	size_t room = sizeof(client->answer) - 1 - client->got;
	ssize_t count = recv(client->fd, client->answer + client->got, room, 0);
	const char *body;

	if (count <= 0)
		fail("load: recv");
	client->got += (size_t)count;
	client->answer[client->got] = 0;
	body = strstr(client->answer, "\r\n\r\n");
	if (!body || client->answer[client->got - 1] != '\n' || !body[4])
		return;
	client->waits = false;
	answered[path_of(client)]++;
	client->asked++;
}

static void connect_clients(const struct sockaddr_in *server)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i].asked = i;
		clients[i].fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(clients[i].fd, (const struct sockaddr *)server, sizeof(*server)) < 0)
			fail("load: connect");
	}
}

/* One round of poll(). Returns false when nobody waits any more. */
static bool serve_clients(bool ask_more)
{
	struct pollfd fds[CLIENTS];
	bool waits = false;

	for (unsigned i = 0; i < CLIENTS; i++) {
		if (ask_more && !clients[i].waits)
			ask(&clients[i]);
		waits |= clients[i].waits;
		fds[i] = (struct pollfd){.fd = clients[i].waits ? clients[i].fd : -1,
					 .events = POLLIN};
	}
	if (!waits)
		return false;
	if (poll(fds, CLIENTS, 10000) <= 0)
		fail("load: no answer for ten seconds");
	for (unsigned i = 0; i < CLIENTS; i++)
		if (fds[i].revents)
			receive(&clients[i]);
	return true;
}

static void load(const struct sockaddr_in *server, long seconds)
{
	double start = now(), took;
	unsigned long all = 0;

	connect_clients(server);
	while (serve_clients(now() < start + (double)seconds))
		;
	took = now() - start;
	for (unsigned i = 0; i < CLIENTS; i++)
		close(clients[i].fd);
	for (unsigned i = 0; i < PATHS; i++)
		all += answered[i];
	printf("load: %lu answers in %.1f s, %.0f a second:", all, took, (double)all / took);
	for (unsigned i = 0; i < PATHS; i++)
		printf(" %s %lu%s", paths[i], answered[i], i + 1 < PATHS ? "," : "\n");
	fflush(stdout);
}

int load_start(const struct sockaddr_in *server, long seconds)
{
	int ends[2];

	if (pipe(ends) < 0)
		fail("load: pipe");
	child = fork();
	if (child < 0)
		fail("load: fork");
	if (child == 0) {
		close(ends[0]);
		load(server, seconds);
		_exit(EXIT_SUCCESS);
	}
	close(ends[1]);
	return ends[0];
}

int load_result(void)
{
	int status = 0;

	if (child > 0 && waitpid(child, &status, 0) != child)
		return EXIT_FAILURE;
	return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
