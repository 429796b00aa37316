// SPDX-License-Identifier: Apache-2.0
/*
 * example_server [--connections N] [--requests N] [--threads N]
 *
 * A server as Asio's users write them, and clients for it: each request awaits
 * three coroutines, a database that takes its time, and CPU at every level. It
 * knows nothing of unweave. At the end it says what it has used, so that a
 * profile can be held against that.
 */
#include <utility>

#ifdef STANDALONE
#include <asio.hpp>
namespace net = asio;
#else
#include <boost/asio.hpp>
namespace net = boost::asio;
#endif

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

using net::awaitable;
using net::use_awaitable;
using net::ip::tcp;
using namespace std::chrono_literals;

static std::atomic<long> decode_ns, parse_ns, render_ns;

static long cpu_ns()
{
	timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1'000'000'000L + now.tv_nsec;
}

/*
 * Works until it has used about so much CPU, and adds that up. Never the same twice, so that no
 * timer keeps step with it.
 */
__attribute__((noinline)) static void burn(std::atomic<long> &used, long ns)
{
	static thread_local unsigned random = 1;
	long start = cpu_ns(), now;

	random = random * 1664525 + 1013904223;
	ns = ns / 2 + ns * (random >> 16) / 65536;

	do
		for (int i = 0; i < 2000; i++)
			asm volatile("");
	while ((now = cpu_ns()) - start < ns);
	used += now - start;
}

__attribute__((noinline)) static std::string decode_row(int id)
{
	burn(decode_ns, 100'000);
	return "user " + std::to_string(id);
}

__attribute__((noinline)) static std::string parse_user(const std::string &row)
{
	burn(parse_ns, 200'000);
	return row.substr(5);
}

__attribute__((noinline)) static std::string render_page(const std::string &user)
{
	burn(render_ns, 300'000);
	return "hello, " + user + "\n";
}

static awaitable<std::string> db_read(int id)
{
	net::steady_timer delay(co_await net::this_coro::executor, 2ms);

	co_await delay.async_wait(use_awaitable);
	co_return decode_row(id);
}

static awaitable<std::string> load_user(int id)
{
	std::string row = co_await db_read(id);

	co_return parse_user(row);
}

static awaitable<void> handle_request(tcp::socket &socket, int id)
{
	std::string user = co_await load_user(id);
	std::string page = render_page(user);

	co_await net::async_write(socket, net::buffer(page), use_awaitable);
}

static awaitable<void> serve_connection(tcp::socket socket)
{
	try {
		for (int id;;) {
			co_await net::async_read(socket, net::buffer(&id, sizeof(id)),
						 use_awaitable);
			co_await handle_request(socket, id);
		}
	} catch (const std::exception &) {
		/* The client has hung up. */
	}
}

static awaitable<void> listen(tcp::acceptor &acceptor, int connections)
{
	while (connections--) {
		tcp::socket socket = co_await acceptor.async_accept(use_awaitable);

		net::co_spawn(acceptor.get_executor(), serve_connection(std::move(socket)),
			      net::detached);
	}
}

static void ask(tcp::endpoint server, int requests)
{
	net::io_context context;
	tcp::socket socket(context);
	char answer[64];

	socket.connect(server);
	while (requests--) {
		net::write(socket, net::buffer(&requests, sizeof(requests)));
		socket.read_some(net::buffer(answer));
	}
}

static int option(int argc, char **argv, const char *name, int otherwise)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!std::strcmp(argv[i], name))
			return std::atoi(argv[i + 1]);
	return otherwise;
}

int main(int argc, char **argv)
{
	int connections = option(argc, argv, "--connections", 8);
	int requests = option(argc, argv, "--requests", 200);
	int workers = option(argc, argv, "--threads", 1);
	net::io_context context;
	tcp::acceptor acceptor(context, {net::ip::address_v4::loopback(), 0});
	std::vector<std::thread> threads;

	net::co_spawn(context, listen(acceptor, connections), net::detached);
	for (int i = 0; i < connections; i++)
		threads.emplace_back(ask, acceptor.local_endpoint(), requests);
	for (int i = 1; i < workers; i++)
		threads.emplace_back([&context] { context.run(); });
	context.run();
	for (std::thread &thread : threads)
		thread.join();
	std::printf("decode_row %ld\nparse_user %ld\nrender_page %ld\n", decode_ns.load(),
		    parse_ns.load(), render_ns.load());
}
