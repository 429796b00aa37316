/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines that use the processor, and keep account of it themselves: how long, by which
 * chain of calls, each with the line of its co_await. Standard output gets a line for each,
 * as the tool would fold it. usage: planted SECONDS THREADS
 */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <stdexcept>
#include <string>

#include "../../examples/coro_library.hpp"

using namespace std::chrono_literals;

/* Who called, as the program knows it. */
struct caller {
	const char *function;
	const caller *up;
	unsigned line = 0;
};

static std::mutex account_lock;
static std::map<std::string, std::uint64_t> account; /* ns, by stack */

static std::uint64_t thread_ns(void)
{
	timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return std::uint64_t(now.tv_sec) * 1000000000 + std::uint64_t(now.tv_nsec);
}

static std::string stack_of(const caller &me)
{
	std::string stack = me.function;
	char before[128];

	for (const caller *at = me.up; at; at = at->up) {
		std::snprintf(before, sizeof(before), "%s:%u;", at->function, at->line);
		stack.insert(0, before);
	}
	return stack;
}

static volatile unsigned sink;

__attribute__((noinline)) static void spin(unsigned rounds)
{
	unsigned value = sink;

	for (unsigned i = 0; i < rounds; i++)
		value = value * 1664525 + 1013904223;
	sink = value;
}

/* Uses the processor for so many µs, and books it. */
__attribute__((noinline)) static void burn(const caller &me, unsigned us)
{
	std::uint64_t start = thread_ns();

	while (thread_ns() - start < us * UINT64_C(1000))
		spin(20000);
	std::uint64_t took = thread_ns() - start;
	std::lock_guard guard(account_lock);
	account[stack_of(me)] += took;
}

template <class Awaitable> static Awaitable &&at(caller &me, unsigned line, Awaitable &&what)
{
	me.line = line;
	return static_cast<Awaitable &&>(what);
}
#define AWAIT(what) co_await at(me, __LINE__, what)

static task<int> read_row(pool &on, const caller &up)
{
	caller me{"read_row", &up};

	burn(me, 200);
	AWAIT(on.sleep(100us));
	burn(me, 400);
	co_return 1;
}

/* Calls itself; the same function is in its chain several times. */
static task<int> walk(pool &on, const caller &up, int depth)
{
	caller me{"walk", &up};
	int sum = 0;

	burn(me, 150);
	if (depth > 0)
		sum += AWAIT(walk(on, me, depth - 1));
	else
		sum += AWAIT(read_row(on, me));
	burn(me, 100);
	co_return sum;
}

static task<int> fails(pool &on, const caller &up)
{
	caller me{"fails", &up};

	AWAIT(on.schedule());
	burn(me, 150);
	throw std::runtime_error("as planned");
}

static generator<int> rows(const caller &up)
{
	/* What asks it runs, and so is in no line that is known. */
	caller me{"rows", &up};

	for (int i = 0; i < 3; i++) {
		burn(me, 100);
		co_yield i;
	}
}

static task<int> load(pool &on, const caller &up)
{
	caller me{"load", &up};
	int sum = 0;

	sum += AWAIT(read_row(on, me));
	burn(me, 300);
	sum += AWAIT(read_row(on, me));
	try {
		sum += AWAIT(fails(on, me));
	} catch (const std::runtime_error &) {
		burn(me, 100);
	}
	co_return sum;
}

static task<int> request(pool &on, const caller &up)
{
	caller me{"request", &up};
	int sum = 0;

	AWAIT(on.schedule());
	burn(me, 100);
	sum += AWAIT(load(on, me));
	me.line = 0;
	for (generator<int> all = rows(me); std::optional<int> row = all.next();)
		sum += *row;
	sum += AWAIT(walk(on, me, 2));
	burn(me, 200);
	co_return sum;
}

static std::atomic<int> under_way;
static std::atomic<bool> stopped;

static detached serve(pool &on)
{
	caller me{"serve", nullptr};

	while (!stopped)
		AWAIT(request(on, me));
	under_way--;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? std::atoi(argv[1]) : 1;
	unsigned threads = argc > 2 ? unsigned(std::atoi(argv[2])) : 2;

	under_way = 4;
	{
		pool on(threads);

		for (int i = 0; i < 4; i++)
			serve(on);
		std::this_thread::sleep_for(std::chrono::seconds(seconds));
		stopped = true;
		while (under_way)
			std::this_thread::sleep_for(1ms);
	}
	for (const auto &[stack, ns] : account)
		std::printf("%s %" PRIu64 "\n", stack.c_str(), ns);
	return 0;
}
