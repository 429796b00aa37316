/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that loads a server: each of some connections has one request under
 * way, always the same bytes, and wants the same answer each time.
 *
 * usage: load CONNECTIONS REQUESTS SECONDS REQUEST ANSWER tcp|udp PORT
 *        load CONNECTIONS REQUESTS SECONDS REQUEST ANSWER unix PATH
 *
 * REQUEST and ANSWER are files. Ends after so many requests, or seconds; 0 is as
 * many as it takes. Says: answers, seconds it took, datagrams that were sent again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000ull
#define AGAIN_NS (2 * NS) /* a datagram that was not answered by then is sent again */
#define BYTES_MAX 65536

struct text {
	char bytes[BYTES_MAX];
	size_t length;
};

struct peer {
	int fd;
	size_t got;    /* of the answer */
	uint64_t sent; /* when */
	int under_way;
};

static struct text request, answer;
static struct peer *peers;
static int datagrams;
static uint64_t started, answered, sent_again;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS + t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void read_text(const char *path, struct text *ret)
{
	FILE *file = fopen(path, "re");

	if (!file)
		fail(path);
	ret->length = fread(ret->bytes, 1, sizeof(ret->bytes), file);
	fclose(file);
}

static int open_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		fail(path);
	return fd;
}

static int open_loopback(const char *port, int type)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(atoi(port)),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		fail(port);
	if (type == SOCK_STREAM)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static int open_peer(const char *kind, const char *where)
{
	if (strcmp(kind, "unix") == 0)
		return open_unix(where);
	return open_loopback(where, strcmp(kind, "udp") == 0 ? SOCK_DGRAM : SOCK_STREAM);
}

static void ask(struct peer *peer)
{
	if (send(peer->fd, request.bytes, request.length, MSG_NOSIGNAL) != (ssize_t)request.length)
		fail("send");
	peer->got = 0;
	peer->sent = now();
	peer->under_way = 1;
}

/* Whether the answer is whole now. */
static int hear(struct peer *peer)
{
	char bytes[BYTES_MAX];
	ssize_t length = recv(peer->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (length <= 0)
		fail("the server hung up");
	if (!peer->under_way && datagrams)
		return 0; /* the second answer to one that was asked twice */
	if (peer->got + length > answer.length ||
	    memcmp(bytes, answer.bytes + peer->got, length) != 0) {
		errno = EBADMSG;
		fail("not the answer");
	}
	peer->got += length;
	return peer->got == answer.length;
}

static void ask_again(int count)
{
	uint64_t late = now() - AGAIN_NS;

	for (int i = 0; i < count; i++) {
		if (!peers[i].under_way || peers[i].sent > late)
			continue;
		if (!datagrams) {
			errno = ETIMEDOUT;
			fail("no answer");
		}
		sent_again++;
		ask(&peers[i]);
	}
}

static void run(int count, uint64_t requests, uint64_t nanoseconds)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t asked = 0;

	for (int i = 0; i < count; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &peers[i]};

		epoll_ctl(epoll, EPOLL_CTL_ADD, peers[i].fd, &event);
		if (!requests || asked < requests) {
			ask(&peers[i]);
			asked++;
		}
	}
	while (answered < asked) {
		struct epoll_event events[64];
		int ready = epoll_wait(epoll, events, 64, 500);

		if (ready <= 0)
			ask_again(count);
		for (int i = 0; i < ready; i++) {
			struct peer *peer = events[i].data.ptr;

			if (!hear(peer))
				continue;
			peer->under_way = 0;
			answered++;
			if ((requests && asked == requests) ||
			    (nanoseconds && now() - started > nanoseconds))
				continue;
			ask(peer);
			asked++;
		}
	}
	close(epoll);
}

int main(int argc, char **argv)
{
	int count;

	if (argc != 8)
		return 2;
	count = atoi(argv[1]);
	read_text(argv[4], &request);
	read_text(argv[5], &answer);
	datagrams = strcmp(argv[6], "udp") == 0;
	peers = calloc(count, sizeof(*peers));
	if (count < 1 || !peers)
		return 2;
	for (int i = 0; i < count; i++)
		peers[i].fd = open_peer(argv[6], argv[7]);

	started = now();
	run(count, strtoull(argv[2], NULL, 10), (uint64_t)(strtod(argv[3], NULL) * NS));
	printf("%llu %.6f %llu\n", (unsigned long long)answered,
	       (double)(now() - started) / (double)NS, (unsigned long long)sent_again);
	for (int i = 0; i < count; i++)
		close(peers[i].fd);
	free(peers);
	return 0;
}
