/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small GIO program, to be recorded: a server that adds up numbers, and clients
 * that have it do so. It does not know unweave.
 *
 *     unweave record -- build/adapters/glib/glib-example
 *     unweave report trace.unw
 *
 * Each client sends a line of numbers and waits for their sum. The server hands the
 * line to a thread of GIO's pool, which takes its time, and answers from its loop.
 */
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS 8
#define REQUESTS 200 /* of each */

static GMainLoop *loop;
static guint clients_left = CLIENTS;

static void fail(const char *what, GError *error)
{
	g_printerr("%s: %s\n", what, error ? error->message : "no answer");
	exit(EXIT_FAILURE);
}

/* The server. */

struct connection {
	GSocketConnection *socket;
	GDataInputStream *lines;
	char answer[32];
};

static void read_request(struct connection *connection);

static void connection_free(struct connection *connection)
{
	g_object_unref(connection->lines);
	g_object_unref(connection->socket);
	g_free(connection);
}

static void add_up(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	gint64 sum = 0, end = g_get_monotonic_time() + 50;
	gchar **numbers = g_strsplit(data, " ", -1);

	(void)source, (void)cancellable;
	for (gchar **number = numbers; *number; number++)
		sum += g_ascii_strtoll(*number, NULL, 10);
	g_strfreev(numbers);
	while (g_get_monotonic_time() < end)
		;
	g_task_return_int(task, sum);
}

static void answer_sent(GObject *stream, GAsyncResult *result, gpointer data)
{
	GError *error = NULL;

	if (!g_output_stream_write_all_finish(G_OUTPUT_STREAM(stream), result, NULL, &error))
		fail("server: write", error);
	read_request(data);
}

static void added_up(GObject *none, GAsyncResult *result, gpointer data)
{
	struct connection *connection = data;
	gssize sum = g_task_propagate_int(G_TASK(result), NULL);

	(void)none;
	g_snprintf(connection->answer, sizeof(connection->answer), "%" G_GSSIZE_FORMAT "\n", sum);
	g_output_stream_write_all_async(
		g_io_stream_get_output_stream(G_IO_STREAM(connection->socket)), connection->answer,
		strlen(connection->answer), G_PRIORITY_DEFAULT, NULL, answer_sent, connection);
}

static void got_request(GObject *stream, GAsyncResult *result, gpointer data)
{
	struct connection *connection = data;
	char *line = g_data_input_stream_read_line_finish(G_DATA_INPUT_STREAM(stream), result, NULL,
							  NULL);
	GTask *task;

	if (!line) {
		connection_free(connection);
		return;
	}
	task = g_task_new(NULL, NULL, added_up, connection);
	g_task_set_source_tag(task, added_up);
	g_task_set_task_data(task, line, g_free);
	g_task_run_in_thread(task, add_up);
	g_object_unref(task);
}

static void read_request(struct connection *connection)
{
	g_data_input_stream_read_line_async(connection->lines, G_PRIORITY_DEFAULT, NULL,
					    got_request, connection);
}

static gboolean accepted(GSocketService *service, GSocketConnection *socket, GObject *source,
			 gpointer data)
{
	struct connection *connection = g_new0(struct connection, 1);

	(void)service, (void)source, (void)data;
	connection->socket = g_object_ref(socket);
	connection->lines =
		g_data_input_stream_new(g_io_stream_get_input_stream(G_IO_STREAM(socket)));
	read_request(connection);
	return TRUE;
}

/* The clients. */

struct client {
	struct connection at;
	guint number, requests;
};

static void ask(struct client *client);

static void got_answer(GObject *stream, GAsyncResult *result, gpointer data)
{
	struct client *client = data;
	GError *error = NULL;
	char *line = g_data_input_stream_read_line_finish(G_DATA_INPUT_STREAM(stream), result, NULL,
							  &error);

	if (!line || g_ascii_strtoull(line, NULL, 10) != client->number + client->requests)
		fail("client: answer", error);
	g_free(line);
	if (++client->requests < REQUESTS) {
		ask(client);
		return;
	}
	g_io_stream_close(G_IO_STREAM(client->at.socket), NULL, NULL);
	if (--clients_left == 0)
		g_main_loop_quit(loop);
}

static void asked(GObject *stream, GAsyncResult *result, gpointer data)
{
	struct client *client = data;
	GError *error = NULL;

	if (!g_output_stream_write_all_finish(G_OUTPUT_STREAM(stream), result, NULL, &error))
		fail("client: write", error);
	g_data_input_stream_read_line_async(client->at.lines, G_PRIORITY_DEFAULT, NULL, got_answer,
					    client);
}

static void ask(struct client *client)
{
	char *line = client->at.answer;

	g_snprintf(line, sizeof(client->at.answer), "%u %u\n", client->number, client->requests);
	g_output_stream_write_all_async(
		g_io_stream_get_output_stream(G_IO_STREAM(client->at.socket)), line, strlen(line),
		G_PRIORITY_DEFAULT, NULL, asked, client);
}

static void connected(GObject *maker, GAsyncResult *result, gpointer data)
{
	struct client *client = data;
	GError *error = NULL;

	client->at.socket =
		g_socket_client_connect_to_host_finish(G_SOCKET_CLIENT(maker), result, &error);
	if (!client->at.socket)
		fail("client: connect", error);
	client->at.lines = g_data_input_stream_new(
		g_io_stream_get_input_stream(G_IO_STREAM(client->at.socket)));
	ask(client);
}

int main(void)
{
	GSocketService *service = g_socket_service_new();
	GSocketClient *maker = g_socket_client_new();
	GInetAddress *loopback = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
	GSocketAddress *any = g_inet_socket_address_new(loopback, 0), *address;
	struct client *clients = g_new0(struct client, CLIENTS);
	GError *error = NULL;

	loop = g_main_loop_new(NULL, FALSE);
	if (!g_socket_listener_add_address(G_SOCKET_LISTENER(service), any, G_SOCKET_TYPE_STREAM,
					   G_SOCKET_PROTOCOL_TCP, NULL, &address, &error))
		fail("server: listen", error);
	g_signal_connect(service, "incoming", G_CALLBACK(accepted), NULL);
	g_socket_client_set_enable_proxy(maker, FALSE);
	for (guint i = 0; i < CLIENTS; i++) {
		clients[i].number = i;
		g_socket_client_connect_to_host_async(
			maker, "127.0.0.1",
			g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(address)), NULL,
			connected, &clients[i]);
	}
	g_main_loop_run(loop);
	g_print("%u requests were answered\n", CLIENTS * REQUESTS);
	return 0;
}
