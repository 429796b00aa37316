// SPDX-License-Identifier: Apache-2.0
/* Coroutines that begin at once, generators of both sorts, and continuations resumed by a call. */
#include <stdexcept>

#include "oracle.hpp"
#include "task.hpp"

/* Begins inside of whoever calls it, and is awaited later, or never. */
struct eager {
	struct promise_type {
		std::coroutine_handle<> continuation;
		int value = 0;

		eager get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}
		task_promise_base::final_awaiter final_suspend() noexcept
		{
			return {};
		}
		void return_value(int result)
		{
			value = result;
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};
	std::coroutine_handle<promise_type> handle;

	bool await_ready() const
	{
		return handle.done();
	}
	void await_suspend(std::coroutine_handle<> by) const
	{
		handle.promise().continuation = by;
	}
	int await_resume() const
	{
		int value = handle.promise().value;

		handle.destroy();
		return value;
	}
};

/* Until it first waits it is part of what its caller does, as far as that is known. */
static eager begins_at_once(chain &c, const chain &caller, int turns)
{
	probe(caller, "begins_at_once, inside of its caller", knows::none);
	ENTER(c);
	probe(caller, "begins_at_once, still there", knows::none);
	for (int i = 0; i < turns; i++) {
		AWAIT(turn{});
		probe(c, "begins_at_once, as a task");
	}
	co_return turns;
}

static task<> starts_two(chain &c)
{
	chain one, two, none;
	ENTER(c);
	eager first = begins_at_once(one, c, 2), second = begins_at_once(two, c, 1);
	probe(c, "starts_two", knows::none);
	int sum = AWAIT(second);
	probe(c, "starts_two, one is done");
	sum += AWAIT(first);
	probe(c, "starts_two, both are");
	sum += AWAIT(begins_at_once(none, c, 0));
	probe(c, "starts_two, one that did not wait", knows::none);
	std::printf("eager sum %d\n", sum);
}

/* Goes on with its own end: nobody holds it. */
struct detached {
	struct promise_type {
		detached get_return_object()
		{
			return {};
		}
		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_never final_suspend() noexcept
		{
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
};

static task<int> child(chain &c, int value)
{
	ENTER(c);
	AWAIT(turn{});
	probe(c, "child");
	co_return value;
}

static detached fire_and_forget(chain &c)
{
	ENTER(c);
	AWAIT(turn{});
	probe(c, "fire_and_forget");
	int value = AWAIT(child(c, 5));
	probe(c, "fire_and_forget goes on");
	value += AWAIT(child(c, 6));
	std::printf("forgotten %d\n", value);
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

/* As tasks were before there was symmetric transfer: resume() inside of await_suspend(). */
struct nested {
	struct promise_type {
		std::coroutine_handle<> continuation;

		nested get_return_object()
		{
			return nested{std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		struct final_awaiter {
			bool await_ready() noexcept
			{
				return false;
			}
			void await_suspend(std::coroutine_handle<promise_type> handle) noexcept
			{
				if (handle.promise().continuation)
					handle.promise().continuation.resume();
			}
			void await_resume() noexcept
			{
			}
		};
		final_awaiter final_suspend() noexcept
		{
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

	explicit nested(std::coroutine_handle<promise_type> handle) : handle(handle)
	{
	}
	nested(nested &&other) : handle(std::exchange(other.handle, {}))
	{
	}
	~nested()
	{
		if (handle)
			handle.destroy();
	}
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> by)
	{
		handle.promise().continuation = by;
		handle.resume();
	}
	void await_resume()
	{
	}
};

static nested nested_leaf(chain &c, bool waits)
{
	ENTER(c);
	probe(c, "nested_leaf");
	if (waits)
		AWAIT(turn{});
	probe(c, "nested_leaf goes on");
}

static nested nested_top(chain &c)
{
	ENTER(c);
	for (bool waits : {false, true, false}) {
		AWAIT(nested_leaf(c, waits));
		probe(c, "nested_top");
	}
	AWAIT(turn{});
	probe(c, "nested_top, at the end");
}

/* An end that puts its continuation into the queue. */
struct posting {
	struct promise_type : nested::promise_type {
		posting get_return_object()
		{
			return posting{std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		struct final_awaiter {
			bool await_ready() noexcept
			{
				return false;
			}
			void await_suspend(std::coroutine_handle<promise_type> handle) noexcept
			{
				if (handle.promise().continuation)
					ready.push_back(handle.promise().continuation);
			}
			void await_resume() noexcept
			{
			}
		};
		final_awaiter final_suspend() noexcept
		{
			return {};
		}
	};
	std::coroutine_handle<promise_type> handle;

	bool await_ready()
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> by)
	{
		handle.promise().continuation = by;
		return handle;
	}
	void await_resume()
	{
		handle.destroy();
	}
};

static posting posting_leaf(chain &c)
{
	ENTER(c);
	probe(c, "posting_leaf");
	AWAIT(turn{});
	probe(c, "posting_leaf goes on");
}

static posting posting_top(chain &c)
{
	ENTER(c);
	for (int i = 0; i < 3; i++) {
		AWAIT(posting_leaf(c));
		probe(c, "posting_top");
	}
}

void eager_cases()
{
	chain c, d;
	const void *none = nullptr;

	for (int i = 0; i < 2; i++) {
		task<> two = starts_two(c);
		two.handle.resume();
		fire_and_forget(d);
		run_ready();
	}
	for (int i = 0; i < 2; i++) {
		task<> sum = sums(c), take = takes(d);
		sum.handle.resume();
		take.handle.resume();
		run_ready();
	}
	/* Outside of any task nobody asks where it is. */
	generator plain = numbers(c, none, 0);
	std::printf("plain %d\n", plain.next());

	nested old = nested_top(c);
	posting post = posting_top(d);
	old.handle.resume();
	post.handle.resume();
	run_ready();
	post.handle.destroy();
}
