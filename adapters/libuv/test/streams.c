/* SPDX-License-Identifier: Apache-2.0 */
/* A server and a client; datagrams; and streams that are closed in the middle of something. */
#include <string.h>

#include "log.h"

static char bytes[1 << 20];

static struct sockaddr_in loopback(int port)
{
	struct sockaddr_in address;

	uv_ip4_addr("127.0.0.1", port, &address);
	return address;
}

static struct sockaddr_in listen_at(uv_loop_t *loop, uv_tcp_t *listener, uv_connection_cb came)
{
	struct sockaddr_in address = loopback(0);
	int length = sizeof(address);

	uv_tcp_init(loop, listener);
	CHECK(uv_tcp_bind(listener, (struct sockaddr *)&address, 0) == 0);
	ARM(listener, "listen", came);
	CHECK(uv_listen((uv_stream_t *)listener, 16, came) == 0);
	CHECK(uv_tcp_getsockname(listener, (struct sockaddr *)&address, &length) == 0);
	return address;
}

static void give_bytes(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)handle;
	(void)suggested;
	*buffer = uv_buf_init(bytes, 64);
}

/* Echo: the server answers the first read, the client reads the answer and shuts down. */
static struct {
	uv_tcp_t listener, served, client;
	uv_connect_t connect;
	uv_write_t asks, answers;
	uv_shutdown_t shutdown;
} echo;

static void wrote(uv_write_t *write, int status)
{
	ONCE(write, status);
	ONCE_DONE;
}

static void write_to(uv_write_t *write, uv_tcp_t *to, size_t length)
{
	uv_buf_t buffer = uv_buf_init(bytes, (unsigned)length);

	memset(write, 0xa5, sizeof(*write));
	ARM(write, "write", wrote);
	CHECK(uv_write(write, (uv_stream_t *)to, &buffer, 1, wrote) == 0);
}

static void close_stream(uv_stream_t *stream)
{
	log_stop(stream->data);
	close_handle(stream);
}

static void served_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	FIRES(stream, "read", served_read, (int)count);
	CHECK(buffer);
	if (count > 0) {
		write_to(&echo.answers, &echo.served, 1);
	} else if (count < 0) {
		close_stream((uv_stream_t *)&echo.listener);
		close_stream(stream);
	}
	FIRES_DONE;
}

static void read_from(uv_tcp_t *stream, uv_read_cb cb)
{
	ARM(stream, "read", cb);
	CHECK(uv_read_start((uv_stream_t *)stream, give_bytes, cb) == 0);
}

static void came(uv_stream_t *listener, int status)
{
	FIRES(listener, "listen", came, status);
	uv_tcp_init(listener->loop, &echo.served);
	CHECK(uv_accept(listener, (uv_stream_t *)&echo.served) == 0);
	read_from(&echo.served, served_read);
	/* It reads already: that is refused, and what reads goes on. */
	log_end(log_arm("read", (void *)served_read), UV_EALREADY);
	CHECK(uv_read_start((uv_stream_t *)&echo.served, give_bytes, served_read) == UV_EALREADY);
	FIRES_DONE;
}

static void shut_down(uv_shutdown_t *shutdown, int status)
{
	ONCE(shutdown, status);
	close_handle(&echo.client);
	ONCE_DONE;
}

static void client_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	FIRES(stream, "read", client_read, (int)count);
	CHECK(buffer && count >= 0);
	if (count > 0) {
		uv_read_stop(stream);
		log_stop(stream->data);
		ARM(&echo.shutdown, "shutdown", shut_down);
		CHECK(uv_shutdown(&echo.shutdown, stream, shut_down) == 0);
	}
	FIRES_DONE;
}

static void connected(uv_connect_t *connect, int status)
{
	ONCE(connect, status);
	read_from(&echo.client, client_read);
	write_to(&echo.asks, &echo.client, 1);
	ONCE_DONE;
}

static void test_echo(struct looped *looped)
{
	struct sockaddr_in address = listen_at(&looped->loop, &echo.listener, came);

	uv_tcp_init(&looped->loop, &echo.client);
	/* It is not connected yet. */
	log_end(log_arm("read", (void *)client_read), UV_ENOTCONN);
	CHECK(uv_read_start((uv_stream_t *)&echo.client, give_bytes, client_read) == UV_ENOTCONN);
	ARM(&echo.connect, "connect", connected);
	CHECK(uv_tcp_connect(&echo.connect, &echo.client, (struct sockaddr *)&address, connected) ==
	      0);
	loop_run(looped);
}

static void not_connected(uv_connect_t *connect, int status)
{
	ONCE(connect, status);
	CHECK(status < 0);
	close_handle(connect->handle);
	ONCE_DONE;
}

/* To a port that nobody listens at, and to a pipe that is not there. */
static void test_refused(struct looped *looped)
{
	struct sockaddr_in address = loopback(1);
	uv_connect_t to_port, to_pipe;
	uv_pipe_t pipe;
	uv_tcp_t tcp;

	uv_tcp_init(&looped->loop, &tcp);
	uv_pipe_init(&looped->loop, &pipe, 0);
	ARM(&to_port, "connect", not_connected);
	CHECK(uv_tcp_connect(&to_port, &tcp, (struct sockaddr *)&address, not_connected) == 0);
	ARM(&to_pipe, "connect", not_connected);
	uv_pipe_connect(&to_pipe, &pipe, "there-is-no-such-pipe", not_connected);
	loop_run(looped);
}

/* Datagrams */

static void sent(uv_udp_send_t *send, int status)
{
	ONCE(send, status);
	close_handle(send->handle);
	ONCE_DONE;
}

static void received(uv_udp_t *udp, ssize_t count, const uv_buf_t *buffer,
		     const struct sockaddr *from, unsigned flags)
{
	FIRES(udp, "udp recv", received, (int)count);
	CHECK(buffer && !flags);
	if (from) {
		uv_udp_recv_stop(udp);
		log_stop(udp->data);
		close_handle(udp);
	}
	FIRES_DONE;
}

static void test_datagrams(struct looped *looped)
{
	struct sockaddr_in address = loopback(0);
	uv_buf_t buffer = uv_buf_init(bytes, 8);
	int length = sizeof(address);
	uv_udp_t from, to;
	uv_udp_send_t send;

	uv_udp_init(&looped->loop, &from);
	uv_udp_init(&looped->loop, &to);
	CHECK(uv_udp_bind(&to, (struct sockaddr *)&address, 0) == 0);
	CHECK(uv_udp_getsockname(&to, (struct sockaddr *)&address, &length) == 0);
	ARM(&to, "udp recv", received);
	CHECK(uv_udp_recv_start(&to, give_bytes, received) == 0);
	ARM(&send, "udp send", sent);
	CHECK(uv_udp_send(&send, &from, &buffer, 1, (struct sockaddr *)&address, sent) == 0);
	loop_run(looped);
}

void test_streams(struct looped *looped)
{
	test_echo(looped);
	test_refused(looped);
	test_datagrams(looped);
}

/* Closed while much is still to be written; the reader has no room for any of it. */
static struct {
	uv_tcp_t listener, served, client;
	uv_connect_t connect;
	uv_write_t writes[8];
} cut;

static void give_nothing(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)handle;
	(void)suggested;
	*buffer = uv_buf_init(NULL, 0);
}

static void has_no_room(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	FIRES(stream, "read", has_no_room, (int)count);
	CHECK(buffer && count == UV_ENOBUFS);
	close_stream(stream);
	FIRES_DONE;
}

static void came_to_cut(uv_stream_t *listener, int status)
{
	FIRES(listener, "listen", came_to_cut, status);
	uv_tcp_init(listener->loop, &cut.served);
	CHECK(uv_accept(listener, (uv_stream_t *)&cut.served) == 0);
	ARM(&cut.served, "read", has_no_room);
	CHECK(uv_read_start((uv_stream_t *)&cut.served, give_nothing, has_no_room) == 0);
	close_stream(listener);
	FIRES_DONE;
}

static void was_reset(uv_handle_t *handle)
{
	ONCE(handle, 0);
	ONCE_DONE;
}

static void connected_to_cut(uv_connect_t *connect, int status)
{
	ONCE(connect, status);
	for (int i = 0; i < 8; i++)
		write_to(&cut.writes[i], &cut.client, sizeof(bytes));
	ARM(&cut.client, "close", was_reset);
	CHECK(uv_tcp_close_reset(&cut.client, was_reset) == 0);
	ONCE_DONE;
}

void test_closes(struct looped *looped)
{
	struct sockaddr_in address = listen_at(&looped->loop, &cut.listener, came_to_cut);

	uv_tcp_init(&looped->loop, &cut.client);
	ARM(&cut.connect, "connect", connected_to_cut);
	CHECK(uv_tcp_connect(&cut.connect, &cut.client, (struct sockaddr *)&address,
			     connected_to_cut) == 0);
	loop_run(looped);
}
