// SPDX-License-Identifier: Apache-2.0
/* Generators of both sorts: resumed by a function, and awaited. */
#include <stdexcept>

#include "oracle.hpp"
#include "task.hpp"

static task<int> child(chain &c, int value)
{
	ENTER(c);
	AWAIT(turn{});
	probe(c, "child");
	co_return value;
}

/* Values for whoever resumes it, inside of whose chain it runs. */
struct item {
	int number;
};

struct generator {
	struct promise_type {
		item value;

		generator get_return_object()
		{
			return generator{std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		std::suspend_always yield_value(item next) noexcept
		{
			value = next;
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			throw;
		}
	};
	std::coroutine_handle<promise_type> handle;

	explicit generator(std::coroutine_handle<promise_type> handle) : handle(handle)
	{
	}
	generator(generator &&other) : handle(std::exchange(other.handle, {}))
	{
	}
	~generator()
	{
		if (handle)
			handle.destroy();
	}
	bool next()
	{
		handle.resume();
		return !handle.done();
	}
};

static generator numbers(chain &c, const void *&code, int count)
{
	for (int i = 0; i < count; i++) {
		{
			entered here(c, "numbers", code);
			probe(c, "numbers");
		}
		co_yield {i};
	}
}

static generator throws_at_last(int count)
{
	for (int i = 0; i < count; i++)
		co_yield item{i};
	throw std::runtime_error("no more numbers");
}

static task<> sums(chain &c)
{
	const void *code = nullptr;
	ENTER(c);
	generator from = numbers(c, code, 3);
	int sum = 0;

	code = *static_cast<const void *const *>(from.handle.address());
	while (from.next()) {
		probe(c, "sums, between");
		sum += from.handle.promise().value.number + AWAIT(child(c, 10));
	}
	std::printf("sum %d\n", sum);
	try {
		generator last = throws_at_last(2);

		while (last.next())
			sum++;
	} catch (const std::exception &error) {
		std::printf("%s after %d\n", error.what(), sum);
	}
	probe(c, "sums, at the end");
}

/* Values for one that awaits them, by transfer to and fro. */
struct async_generator {
	struct promise_type {
		std::coroutine_handle<> consumer;
		int value;

		async_generator get_return_object()
		{
			return async_generator{
				std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		struct back {
			bool await_ready() noexcept
			{
				return false;
			}
			std::coroutine_handle<>
			await_suspend(std::coroutine_handle<promise_type> handle) noexcept
			{
				return handle.promise().consumer;
			}
			void await_resume() noexcept
			{
			}
		};
		back final_suspend() noexcept
		{
			return {};
		}
		back yield_value(int next) noexcept
		{
			value = next;
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};
	std::coroutine_handle<promise_type> handle;

	explicit async_generator(std::coroutine_handle<promise_type> handle) : handle(handle)
	{
	}
	async_generator(async_generator &&other) : handle(std::exchange(other.handle, {}))
	{
	}
	~async_generator()
	{
		if (handle)
			handle.destroy();
	}

	auto next()
	{
		struct awaiter {
			std::coroutine_handle<promise_type> handle;

			bool await_ready()
			{
				return false;
			}
			std::coroutine_handle<> await_suspend(std::coroutine_handle<> by)
			{
				handle.promise().consumer = by;
				return handle;
			}
			bool await_resume()
			{
				return !handle.done();
			}
		};
		return awaiter{handle};
	}
};

static async_generator slow_numbers(chain &c, int count)
{
	const void *code = co_await function_of_this{};

	for (int i = 0; i < count; i++) {
		{
			entered here(c, "slow_numbers", code);
			probe(c, "slow_numbers");
			AWAIT(turn{});
			AWAIT(child(c, i));
			probe(c, "slow_numbers goes on");
		}
		co_yield i;
	}
}

static task<> takes(chain &c)
{
	ENTER(c);
	async_generator from = slow_numbers(c, 3);

	while (AWAIT(from.next())) {
		probe(c, "takes");
		std::printf("took %d\n", from.handle.promise().value);
		AWAIT(turn{});
	}
}

void generator_cases()
{
	chain c, d;
	const void *none = nullptr;

	for (int i = 0; i < 2; i++) {
		task<> sum = sums(c), take = takes(d);
		sum.handle.resume();
		take.handle.resume();
		run_ready();
	}
	/* Outside of any task nobody asks where it is. */
	generator plain = numbers(c, none, 0);
	std::printf("plain %d\n", plain.next());
}
