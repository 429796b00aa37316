/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server and its clients in one program, which knows libuv and nothing of
 * unweave: something to record.
 *
 *     unweave record -o run.unw -- ./libuv-example [CONNECTIONS [REQUESTS]]
 *
 * A request is one letter. Which it is decides what the server does before it answers:
 *
 *     f   reads a file: open, read, close, one callback after the other
 *     w   has the thread pool compute something
 *     t   waits for a timer
 *     s   computes in the callback itself, so that the loop stands still meanwhile
 *
 * The clients have a thread and a loop of their own. Loopback only.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define REQUESTS "ffwtffwtfs"
#define COMPUTE_NS 300000u /* in the pool */
#define SLOW_NS 2000000u   /* in the loop */
#define TIMER_MS 2
#define HOUSEKEEPING_MS 10
#define IDLE_MS 5000

static void die(const char *what, int error)
{
	fprintf(stderr, "libuv-example: %s: %s\n", what, uv_strerror(error));
	exit(1);
}

static void check(const char *what, int r)
{
	if (r < 0)
		die(what, r);
}

static void *allocate(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		die("memory", UV_ENOMEM);
	return memory;
}

/* Something that takes processor time. */
static unsigned compute(uint64_t ns)
{
	uint64_t end = uv_hrtime() + ns;
	unsigned found = 0;

	for (unsigned number = 3; uv_hrtime() < end; number += 2) {
		unsigned divisor = 3;

		while (divisor * divisor <= number && number % divisor)
			divisor += 2;
		found += divisor * divisor > number;
	}
	return found;
}

/* The server */

struct server {
	uv_loop_t loop;
	uv_tcp_t listener;
	uv_timer_t housekeeping;
	uv_async_t over; /* the clients have all they wanted */
	unsigned connections, requests, rounds;
};

struct connection {
	uv_tcp_t stream;
	uv_timer_t idle; /* closes it if nothing comes */
	struct server *server;
	char input[64];
	unsigned open_handles;
};

struct request {
	struct connection *connection;
	uv_fs_t fs;
	uv_work_t work;
	uv_timer_t timer;
	uv_write_t write;
	uv_file file;
	char bytes[512];
};

static void connection_closed(uv_handle_t *handle)
{
	struct connection *connection = handle->data;

	if (--connection->open_handles == 0)
		free(connection);
}

static void close_connection(struct connection *connection)
{
	if (uv_is_closing((uv_handle_t *)&connection->stream))
		return;
	uv_close((uv_handle_t *)&connection->stream, connection_closed);
	uv_close((uv_handle_t *)&connection->idle, connection_closed);
}

static void answered(uv_write_t *write, int status)
{
	struct request *request = write->data;

	if (status < 0)
		close_connection(request->connection);
	free(request);
}

static void answer(struct request *request)
{
	uv_buf_t buffer = uv_buf_init(request->bytes, 1);
	int r;

	request->bytes[0] = '.';
	request->write.data = request;
	r = uv_write(&request->write, (uv_stream_t *)&request->connection->stream, &buffer, 1,
		     answered);
	if (r < 0)
		answered(&request->write, r);
}

static void file_closed(uv_fs_t *fs)
{
	struct request *request = fs->data;

	uv_fs_req_cleanup(fs);
	answer(request);
}

static void file_read(uv_fs_t *fs)
{
	struct request *request = fs->data;

	uv_fs_req_cleanup(fs);
	check("close", uv_fs_close(fs->loop, fs, request->file, file_closed));
}

static void file_opened(uv_fs_t *fs)
{
	struct request *request = fs->data;
	uv_buf_t buffer = uv_buf_init(request->bytes, sizeof(request->bytes));

	request->file = (uv_file)fs->result;
	uv_fs_req_cleanup(fs);
	if (request->file < 0) {
		answer(request);
		return;
	}
	check("read", uv_fs_read(fs->loop, fs, request->file, &buffer, 1, 0, file_read));
}

static void compute_in_pool(uv_work_t *work)
{
	struct request *request = work->data;

	request->bytes[1] = (char)compute(COMPUTE_NS);
}

static void computed(uv_work_t *work, int status)
{
	(void)status;
	answer(work->data);
}

static void timer_closed(uv_handle_t *handle)
{
	answer(handle->data);
}

static void timer_rang(uv_timer_t *timer)
{
	uv_close((uv_handle_t *)timer, timer_closed);
}

static void handle_slowly(struct request *request)
{
	request->bytes[1] = (char)compute(SLOW_NS);
	answer(request);
}

static void handle_request(struct connection *connection, char letter)
{
	struct request *request = allocate(sizeof(*request));
	uv_loop_t *loop = connection->stream.loop;

	request->connection = connection;
	request->fs.data = request->work.data = request->timer.data = request;
	connection->server->requests++;
	switch (letter) {
	case 'f':
		check("open",
		      uv_fs_open(loop, &request->fs, "/etc/passwd", O_RDONLY, 0, file_opened));
		break;
	case 'w':
		check("work", uv_queue_work(loop, &request->work, compute_in_pool, computed));
		break;
	case 't':
		uv_timer_init(loop, &request->timer);
		uv_timer_start(&request->timer, timer_rang, TIMER_MS, 0);
		break;
	default:
		handle_slowly(request);
	}
}

static void give_input(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct connection *connection = handle->data;

	(void)suggested;
	*buffer = uv_buf_init(connection->input, sizeof(connection->input));
}

static void request_came(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	struct connection *connection = stream->data;

	if (count < 0) {
		close_connection(connection);
		return;
	}
	uv_timer_again(&connection->idle);
	for (ssize_t i = 0; i < count; i++)
		handle_request(connection, buffer->base[i]);
}

static void was_idle(uv_timer_t *timer)
{
	close_connection(timer->data);
}

static void client_came(uv_stream_t *listener, int status)
{
	struct server *server = listener->data;
	struct connection *connection = allocate(sizeof(*connection));

	check("listen", status);
	connection->server = server;
	connection->open_handles = 2;
	connection->stream.data = connection->idle.data = connection;
	uv_tcp_init(listener->loop, &connection->stream);
	uv_timer_init(listener->loop, &connection->idle);
	check("accept", uv_accept(listener, (uv_stream_t *)&connection->stream));
	server->connections++;
	uv_timer_start(&connection->idle, was_idle, IDLE_MS, IDLE_MS);
	check("read", uv_read_start((uv_stream_t *)&connection->stream, give_input, request_came));
}

static void keep_house(uv_timer_t *timer)
{
	struct server *server = timer->data;

	server->rounds++;
}

static void clients_are_gone(uv_async_t *over)
{
	struct server *server = over->data;

	uv_close((uv_handle_t *)&server->listener, NULL);
	uv_close((uv_handle_t *)&server->housekeeping, NULL);
	uv_close((uv_handle_t *)&server->over, NULL);
}

static int start_server(struct server *server)
{
	struct sockaddr_storage bound;
	struct sockaddr_in address;
	int length = sizeof(bound);

	check("loop", uv_loop_init(&server->loop));
	server->listener.data = server->housekeeping.data = server->over.data = server;
	uv_ip4_addr("127.0.0.1", 0, &address);
	uv_tcp_init(&server->loop, &server->listener);
	check("bind", uv_tcp_bind(&server->listener, (struct sockaddr *)&address, 0));
	check("listen", uv_listen((uv_stream_t *)&server->listener, 128, client_came));
	check("name", uv_tcp_getsockname(&server->listener, (struct sockaddr *)&bound, &length));
	uv_timer_init(&server->loop, &server->housekeeping);
	uv_timer_start(&server->housekeeping, keep_house, HOUSEKEEPING_MS, HOUSEKEEPING_MS);
	check("async", uv_async_init(&server->loop, &server->over, clients_are_gone));
	return ntohs(((struct sockaddr_in *)&bound)->sin_port);
}

/* The clients: each sends a request when the one before is answered. */

struct clients {
	uv_thread_t thread;
	struct server *server;
	int port;
	unsigned connections, requests;
};

struct client {
	uv_tcp_t stream;
	uv_connect_t connect;
	uv_write_t write;
	unsigned sent, wanted;
	char letter, input[16];
};

static void send_request(struct client *client)
{
	uv_buf_t buffer = uv_buf_init(&client->letter, 1);

	client->letter = REQUESTS[client->sent++ % strlen(REQUESTS)];
	check("write", uv_write(&client->write, (uv_stream_t *)&client->stream, &buffer, 1, NULL));
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct client *client = handle->data;

	(void)suggested;
	*buffer = uv_buf_init(client->input, sizeof(client->input));
}

static void answer_came(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	struct client *client = stream->data;

	(void)buffer;
	if (count > 0 && client->sent < client->wanted)
		send_request(client);
	else if (count != 0)
		uv_close((uv_handle_t *)stream, NULL);
}

static void connected(uv_connect_t *connect, int status)
{
	struct client *client = connect->data;

	check("connect", status);
	check("read", uv_read_start(connect->handle, give_room, answer_came));
	send_request(client);
}

static void run_clients(void *data)
{
	struct clients *clients = data;
	struct client *each = allocate(clients->connections * sizeof(*each));
	struct sockaddr_in to;
	uv_loop_t loop;

	check("loop", uv_loop_init(&loop));
	uv_ip4_addr("127.0.0.1", clients->port, &to);
	for (unsigned i = 0; i < clients->connections; i++) {
		each[i].wanted = clients->requests;
		each[i].sent = i; /* not all the same at the same time */
		each[i].wanted += i;
		each[i].stream.data = each[i].connect.data = &each[i];
		uv_tcp_init(&loop, &each[i].stream);
		check("connect", uv_tcp_connect(&each[i].connect, &each[i].stream,
						(struct sockaddr *)&to, connected));
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	free(each);
	uv_async_send(&clients->server->over);
}

int main(int argc, char **argv)
{
	struct server server = {0};
	struct clients clients = {.server = &server,
				  .connections = argc > 1 ? (unsigned)atoi(argv[1]) : 8,
				  .requests = argc > 2 ? (unsigned)atoi(argv[2]) : 100};

	clients.port = start_server(&server);
	check("thread", uv_thread_create(&clients.thread, run_clients, &clients));
	uv_run(&server.loop, UV_RUN_DEFAULT);
	uv_thread_join(&clients.thread);
	check("close", uv_loop_close(&server.loop));
	printf("%u connections, %u requests\n", server.connections, server.requests);
	return 0;
}
