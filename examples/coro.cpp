/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server as coroutines, without its network: requests that look up a user, in three
 * levels of co_await, compute something in each, and fan out. To see it:
 *
 *     unweave record -F 499 -o coro.unw -- build/examples/coro 4 200
 *     unweave report coro.unw
 */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "coro_library.hpp"

using namespace std::chrono_literals;

static std::atomic<unsigned> left, failed;

/* Something to do: about `rounds` µs. */
static unsigned compute(unsigned seed, unsigned rounds)
{
	for (unsigned i = 0; i < rounds * 300; i++)
		seed = seed * 1664525 + 1013904223;
	return seed;
}

static generator<unsigned> digits(unsigned number)
{
	for (; number; number /= 10) {
		volatile unsigned digit = compute(number, 5) % 10;
		co_yield digit;
	}
}

static task<int> db_read(pool &on, int key)
{
	co_await on.sleep(1ms);
	volatile unsigned row = compute(unsigned(key), 200);
	if (key % 10 == 9)
		throw std::runtime_error("no such row");
	co_return int(row % 1000);
}

static task<int> load_user(pool &on, int id)
{
	int sum = 0;

	sum += co_await db_read(on, id);
	volatile unsigned parsed = compute(unsigned(sum), 100);
	sum += co_await db_read(on, id + 1);
	co_return sum + int(parsed % 2);
}

static task<int> load_friends(pool &on, int id)
{
	std::vector<task<int>> reads;

	for (int i = 0; i < 3; i++)
		reads.push_back(db_read(on, id + i));
	int sum = 0;
	for (const std::optional<int> &value : co_await when_all(std::move(reads)))
		sum += value.value_or(0);
	co_return sum;
}

static task<int> handle_request(pool &on, int id)
{
	int sum = 0;

	co_await on.schedule();
	try {
		sum = co_await load_user(on, id);
		sum += co_await load_friends(on, id);
	} catch (const std::runtime_error &) {
		failed++;
	}
	for (generator<unsigned> all = digits(unsigned(sum)); auto digit = all.next();)
		sum += int(*digit);
	volatile unsigned page = compute(unsigned(sum), 50);
	left--;
	co_return int(page % 2);
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? unsigned(std::atoi(argv[1])) : 2;
	unsigned requests = argc > 2 ? unsigned(std::atoi(argv[2])) : 100;

	left = requests;
	{
		pool on(threads);

		for (unsigned i = 0; i < requests; i++)
			spawn(handle_request(on, int(i)));
		while (left)
			std::this_thread::sleep_for(1ms);
	}
	std::printf("%u requests, %u of them failed\n", requests, failed.load());
	return 0;
}
