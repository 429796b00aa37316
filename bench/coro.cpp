/* SPDX-License-Identifier: Apache-2.0 */
#include "coro.h"

#include <coroutine>
#include <exception>

#include "unweave/coro.hpp"

namespace
{

/* What a promise derives from that tells nobody. */
template <class Promise> struct untold {
};

/* A task<> with symmetric transfer; that it ends is not part of this. */
template <template <class> class Base> struct endless {
	struct promise_type : Base<promise_type> {
		endless get_return_object() noexcept
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

	template <class P>
	std::coroutine_handle<> await_suspend(std::coroutine_handle<P> parent) noexcept
	{
		return unweave::call(parent, coroutine);
	}

	void await_resume() noexcept
	{
	}
};

struct wait {
	unweave::handle &slot;

	bool await_ready() noexcept
	{
		return false;
	}

	template <class P> void await_suspend(std::coroutine_handle<P> waiting) noexcept
	{
		unweave::suspend(waiting);
		slot = waiting;
	}

	void await_resume() noexcept
	{
	}
};

template <class Promise> using told = unweave::routine_of<Promise>;

unweave::handle plain_waiting[CORO_TASKS], told_waiting[CORO_TASKS];

template <template <class> class Base> endless<Base> wait_again(unweave::handle &slot)
{
	for (;;)
		co_await wait{slot};
}

template <template <class> class Base> endless<Base> await_that(unweave::handle &slot)
{
	co_await wait_again<Base>(slot);
}

} // namespace

void coro_make(void)
{
	for (unsigned i = 0; i < CORO_TASKS; i++) {
		unweave::resume(await_that<untold>(plain_waiting[i]).coroutine);
		unweave::resume(await_that<told>(told_waiting[i]).coroutine);
	}
}

void coro_resume_plain(uint32_t number)
{
	plain_waiting[number].resume();
}

void coro_resume_told(uint32_t number)
{
	told_waiting[number].resume();
}
