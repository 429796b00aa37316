// SPDX-License-Identifier: Apache-2.0
/* The coroutines of coro.cpp as a program has them that knows nothing of unweave: built with the
 * shim. */
#include "coro.h"

#include <coroutine>
#include <exception>

namespace
{

struct unaware {
	struct promise_type {
		std::coroutine_handle<> continuation;

		unaware get_return_object() noexcept
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}

		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}

		std::suspend_always final_suspend() noexcept
		{
			return {};
		}

		void return_void() noexcept
		{
		}

		void unhandled_exception() noexcept
		{
			std::terminate();
		}
	};

	std::coroutine_handle<promise_type> coroutine;

	bool await_ready() noexcept
	{
		return false;
	}

	std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) noexcept
	{
		coroutine.promise().continuation = parent;
		return coroutine;
	}

	void await_resume() noexcept
	{
	}
};

struct wait_in {
	std::coroutine_handle<> &slot;

	bool await_ready() noexcept
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> waiting) noexcept
	{
		slot = waiting;
	}

	void await_resume() noexcept
	{
	}
};

std::coroutine_handle<> waiting[CORO_TASKS];

unaware wait_again(std::coroutine_handle<> &slot)
{
	for (;;)
		co_await wait_in{slot};
}

unaware await_that(std::coroutine_handle<> &slot)
{
	co_await wait_again(slot);
}

} // namespace

void coro_make_unaware(void)
{
	for (std::coroutine_handle<> &slot : waiting)
		await_that(slot).coroutine.resume();
}

void coro_resume_unaware(uint32_t number)
{
	waiting[number].resume();
}
