// SPDX-License-Identifier: Apache-2.0
/*
 * A program with coroutines of its own making, which knows nothing of unweave: a
 * task<> as tutorials have it, and a loop that goes on with those whose time has come.
 *
 *     c++ -std=c++20 -g -O2 $(unweave cflags --coro) example.cpp $(unweave cflags --coro --libs)
 */
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <map>
#include <thread>
#include <utility>
#include <vector>

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

struct Task {
	struct promise_type {
		std::coroutine_handle<> continuation = std::noop_coroutine();
		long value = 0;

		Task get_return_object()
		{
			return Task{std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		auto final_suspend() noexcept
		{
			struct Awaiter {
				bool await_ready() noexcept
				{
					return false;
				}
				auto
				await_suspend(std::coroutine_handle<promise_type> done) noexcept
				{
					return done.promise().continuation;
				}
				void await_resume() noexcept
				{
				}
			};
			return Awaiter{};
		}
		void return_value(long result)
		{
			value = result;
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};

	std::coroutine_handle<promise_type> handle;

	explicit Task(std::coroutine_handle<promise_type> handle) : handle(handle)
	{
	}
	Task(Task &&other) noexcept : handle(std::exchange(other.handle, {}))
	{
	}
	~Task()
	{
		if (handle)
			handle.destroy();
	}

	bool await_ready() const noexcept
	{
		return false;
	}
	auto await_suspend(std::coroutine_handle<> by) noexcept
	{
		handle.promise().continuation = by;
		return handle;
	}
	long await_resume() const noexcept
	{
		return handle.promise().value;
	}
};

static std::multimap<Clock::time_point, std::coroutine_handle<>> timers;

struct Sleep {
	Clock::duration length;

	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> by) const
	{
		timers.emplace(Clock::now() + length, by);
	}
	void await_resume() const noexcept
	{
	}
};

static void run_loop()
{
	while (!timers.empty()) {
		auto next = timers.extract(timers.begin());

		std::this_thread::sleep_until(next.key());
		next.mapped().resume();
	}
}

static long compute(long rounds)
{
	unsigned long value = 1;

	for (long i = 0; i < rounds; i++) {
		value = value * 6364136223846793005u + 1442695040888963407u;
		asm volatile("" : "+r"(value));
	}
	return static_cast<long>(value >> 60);
}

static Task query(int id)
{
	co_await Sleep{5ms};
	co_return id + compute(100'000);
}

static Task load_user(int id)
{
	long row = co_await query(id);
	long rights = co_await query(id + 1);

	co_return compute(300'000) + row + rights;
}

static Task handle_request(int id)
{
	long user = co_await load_user(id);

	co_return compute(600'000) + user;
}

int main()
{
	std::vector<Task> requests;
	long sum = 0;

	for (int id = 0; id < 200; id++)
		requests.push_back(handle_request(id));
	for (Task &request : requests)
		request.handle.resume();
	run_loop();
	for (Task &request : requests)
		sum += request.handle.promise().value;
	std::printf("%zu requests, %ld\n", requests.size(), sum);
}
