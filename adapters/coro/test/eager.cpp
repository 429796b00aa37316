// SPDX-License-Identifier: Apache-2.0
/* Coroutines that begin at once, and continuations that are resumed by a call, or posted. */
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

/* Until it first waits it is part of what its caller does. */
static eager begins_at_once(chain &c, const chain &caller, int turns)
{
	probe(caller, "begins_at_once, inside of its caller");
	ENTER(c);
	probe(caller, "begins_at_once, still there");
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
	probe(c, "starts_two");
	int sum = AWAIT(second);
	probe(c, "starts_two, one is done");
	sum += AWAIT(first);
	probe(c, "starts_two, both are");
	sum += AWAIT(begins_at_once(none, c, 0));
	probe(c, "starts_two, one that did not wait");
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

	for (int i = 0; i < 2; i++) {
		task<> two = starts_two(c);
		two.handle.resume();
		fire_and_forget(d);
		run_ready();
	}

	nested old = nested_top(c);
	posting post = posting_top(d);
	old.handle.resume();
	post.handle.resume();
	run_ready();
	post.handle.destroy();
}
