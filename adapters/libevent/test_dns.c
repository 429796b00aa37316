/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a name server, which is in the same program, on loopback: what was found, what is
 * not there, what is cancelled, and what needs no server. In the words of test_log.h.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdbool.h>
#include <strings.h>

#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/event.h>
#include <event2/util.h>

#include "test_log.h"

static struct event_base *base;
static int left;

/* The server knows one name, in whatever letters: libevent asks in random ones. */
static void serve(struct evdns_server_request *request, void *unused)
{
	const struct evdns_server_question *question = request->questions[0];
	const uint32_t address = htonl(INADDR_LOOPBACK);
	bool known = strcasecmp(question->name, "known.test") == 0;

	(void)unused;
	if (known)
		evdns_server_request_add_a_reply(request, question->name, 1, &address, 60);
	evdns_server_request_respond(request, known ? 0 : DNS_ERR_NOTEXIST);
}

static struct evdns_server_port *open_server(char *text, size_t size)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
	CHECK(evutil_make_socket_nonblocking(fd) == 0);
	snprintf(text, size, "127.0.0.1:%d", ntohs(address.sin_port));
	return evdns_add_server_port_with_base(base, fd, 0, serve, NULL);
}

struct request {
	int number;
	int expected;
};

static void finish(const struct request *request, int result, const char *status)
{
	CHECK(result == request->expected);
	say("run %d\nend %d %s\n", request->number, request->number, status);
	if (--left == 0)
		event_base_loopbreak(base);
}

static const char *status_of(int result, int cancel)
{
	if (result == 0)
		return "ok";
	return result == cancel ? "cancelled" : "error";
}

static void resolved(int result, char type, int count, int ttl, void *addresses, void *argument)
{
	(void)type, (void)ttl, (void)addresses;
	CHECK(result != 0 || count == 1);
	finish(argument, result, status_of(result, DNS_ERR_CANCEL));
}

static void got(int result, struct evutil_addrinfo *list, void *argument)
{
	CHECK(result != 0 || list);
	if (list)
		evutil_freeaddrinfo(list);
	finish(argument, result, status_of(result, EVUTIL_EAI_CANCEL));
}

static struct request *ask(const void *code, int expected)
{
	struct request *request = malloc(sizeof(*request));

	CHECK(request);
	*request = (struct request){node(0, "dns", code), expected};
	left++;
	return request;
}

int main(int argc, char **argv)
{
	const struct evutil_addrinfo hints = {.ai_family = AF_INET,
					      .ai_socktype = SOCK_STREAM,
					      .ai_flags = EVUTIL_AI_NUMERICHOST};
	const struct evutil_addrinfo inet = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct evdns_server_port *server;
	struct evdns_request *request;
	struct evdns_base *names;
	char address[32];

	if (argc != 2)
		return 2;
	words = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	CHECK(words >= 0);
	say("only dns\n");
	base = event_base_new();
	server = open_server(address, sizeof(address));
	names = evdns_base_new(base, 0);
	CHECK(server && names && evdns_base_nameserver_ip_add(names, address) == 0);
	evdns_base_resolve_ipv4(names, "known.test", DNS_QUERY_NO_SEARCH, resolved,
				ask((void *)resolved, 0));
	evdns_base_resolve_ipv4(names, "unknown.test", DNS_QUERY_NO_SEARCH, resolved,
				ask((void *)resolved, DNS_ERR_NOTEXIST));
	request = evdns_base_resolve_ipv6(names, "known.test", DNS_QUERY_NO_SEARCH, resolved,
					  ask((void *)resolved, DNS_ERR_CANCEL));
	evdns_cancel_request(names, request);
	evdns_getaddrinfo(names, "127.0.0.1", "80", &hints, got, ask((void *)got, 0));
	evdns_getaddrinfo(names, "known.test", "80", &inet, got, ask((void *)got, 0));
	evdns_getaddrinfo_cancel(evdns_getaddrinfo(names, "known.test", "81", &inet, got,
						   ask((void *)got, EVUTIL_EAI_CANCEL)));
	event_base_dispatch(base);
	evdns_base_free(names, 0);
	evdns_close_server_port(server);
	event_base_free(base);
	return left != 0;
}
