// SPDX-License-Identifier: Apache-2.0
/*
 * A task<> as programs write it: lazy, with symmetric transfer both ways, results
 * of any type, exceptions handed on.
 */
#ifndef TASK_HPP
#define TASK_HPP

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

template <class T> struct task;

struct task_promise_base {
	std::coroutine_handle<> continuation;
	std::exception_ptr error;

	std::suspend_always initial_suspend() noexcept
	{
		return {};
	}
	struct final_awaiter {
		bool await_ready() noexcept
		{
			return false;
		}
		template <class Promise>
		std::coroutine_handle<>
		await_suspend(std::coroutine_handle<Promise> handle) noexcept
		{
			std::coroutine_handle<> next = handle.promise().continuation;

			return next ? next : std::noop_coroutine();
		}
		void await_resume() noexcept
		{
		}
	};
	final_awaiter final_suspend() noexcept
	{
		return {};
	}
	void unhandled_exception() noexcept
	{
		error = std::current_exception();
	}
};

template <class T> struct task_promise : task_promise_base {
	std::optional<T> value;

	task<T> get_return_object();
	template <class U> void return_value(U &&result)
	{
		value.emplace(std::forward<U>(result));
	}
	T result()
	{
		if (error)
			std::rethrow_exception(error);
		return std::move(*value);
	}
};

template <class T> struct task_promise<T &> : task_promise_base {
	T *value = nullptr;

	task<T &> get_return_object();
	void return_value(T &result)
	{
		value = &result;
	}
	T &result()
	{
		if (error)
			std::rethrow_exception(error);
		return *value;
	}
};

template <> struct task_promise<void> : task_promise_base {
	task<void> get_return_object();
	void return_void()
	{
	}
	void result()
	{
		if (error)
			std::rethrow_exception(error);
	}
};

template <class T = void> struct [[nodiscard]] task {
	using promise_type = task_promise<T>;
	std::coroutine_handle<promise_type> handle;

	explicit task(std::coroutine_handle<promise_type> handle) : handle(handle)
	{
	}
	task(task &&other) noexcept : handle(std::exchange(other.handle, {}))
	{
	}
	task &operator=(task &&other) noexcept
	{
		std::swap(handle, other.handle);
		return *this;
	}
	~task()
	{
		if (handle)
			handle.destroy();
	}

	auto operator co_await() &&noexcept
	{
		struct awaiter {
			std::coroutine_handle<promise_type> handle;

			bool await_ready() noexcept
			{
				return false;
			}
			std::coroutine_handle<> await_suspend(std::coroutine_handle<> by) noexcept
			{
				handle.promise().continuation = by;
				return handle;
			}
			T await_resume()
			{
				return handle.promise().result();
			}
		};
		return awaiter{handle};
	}

	/* As main() would. */
	T finish()
	{
		return handle.promise().result();
	}
};

template <class T> task<T> task_promise<T>::get_return_object()
{
	return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}
template <class T> task<T &> task_promise<T &>::get_return_object()
{
	return task<T &>(std::coroutine_handle<task_promise>::from_promise(*this));
}
inline task<void> task_promise<void>::get_return_object()
{
	return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

#endif // TASK_HPP
