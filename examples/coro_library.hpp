/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small coroutine library that tells unweave what its coroutines do: the lines with
 * `unweave` in them are all that it takes.
 *
 *     task<T>       begins when it is awaited; control is transferred to it and back
 *     pool          threads, with schedule() and sleep()
 *     when_all()    awaits several tasks, which run at the same time
 *     generator<T>  yields values to a loop
 *     spawn()       begins a task that nobody awaits
 */
#ifndef EXAMPLES_CORO_LIBRARY_HPP
#define EXAMPLES_CORO_LIBRARY_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "unweave/coro.hpp"

template <class T> class task
{
public:
	struct promise_type : unweave::routine_of<promise_type> {
		std::optional<T> value;
		std::exception_ptr error;
		std::coroutine_handle<> continuation;

		task get_return_object() noexcept
		{
			return task(handle_type::from_promise(*this));
		}

		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}

		auto final_suspend() noexcept
		{
			struct awaiter {
				bool await_ready() noexcept
				{
					return false;
				}

				std::coroutine_handle<> await_suspend(handle_type done) noexcept
				{
					promise_type &promise = done.promise();

					return unweave::complete(done, promise.continuation,
								 promise.error ? UNWEAVE_ERROR
									       : UNWEAVE_OK);
				}

				void await_resume() noexcept
				{
				}
			};
			return awaiter{};
		}

		void return_value(T result)
		{
			value = std::move(result);
		}

		void unhandled_exception() noexcept
		{
			error = std::current_exception();
		}
	};
	using handle_type = std::coroutine_handle<promise_type>;

	task(task &&other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr))
	{
	}

	~task()
	{
		if (coroutine_)
			coroutine_.destroy();
	}

	bool await_ready() const noexcept
	{
		return false;
	}

	template <class P>
	std::coroutine_handle<> await_suspend(std::coroutine_handle<P> parent) noexcept
	{
		coroutine_.promise().continuation = parent;
		return unweave::call(parent, coroutine_);
	}

	T await_resume()
	{
		if (coroutine_.promise().error)
			std::rethrow_exception(coroutine_.promise().error);
		return std::move(*coroutine_.promise().value);
	}

	handle_type coroutine() const noexcept
	{
		return coroutine_;
	}

private:
	explicit task(handle_type coroutine) noexcept : coroutine_(coroutine)
	{
	}

	handle_type coroutine_;
};

/* A coroutine that begins at once, that nobody awaits, and that goes when it is done. */
struct detached {
	struct promise_type : unweave::routine_of<promise_type> {
		detached get_return_object() noexcept
		{
			return {};
		}

		unweave::start_at_once initial_suspend() noexcept
		{
			return {};
		}

		auto final_suspend() noexcept
		{
			struct awaiter {
				bool await_ready() noexcept
				{
					return false;
				}

				void
				await_suspend(std::coroutine_handle<promise_type> done) noexcept
				{
					unweave::complete(done);
					done.destroy();
				}

				void await_resume() noexcept
				{
				}
			};
			return awaiter{};
		}

		void return_void() noexcept
		{
		}

		void unhandled_exception() noexcept
		{
			std::terminate();
		}
	};
};

class pool
{
public:
	explicit pool(unsigned threads)
	{
		for (unsigned i = 0; i < threads; i++)
			threads_.emplace_back([this] { work(); });
	}

	~pool()
	{
		{
			std::lock_guard guard(lock_);
			stopped_ = true;
		}
		more_.notify_all();
		for (std::thread &thread : threads_)
			thread.join();
	}

	void post(unweave::handle coroutine)
	{
		{
			std::lock_guard guard(lock_);
			coroutine.wake();
			ready_.push_back(coroutine);
		}
		more_.notify_one();
	}

	struct scheduled {
		pool &owner;

		bool await_ready() noexcept
		{
			return false;
		}

		template <class P> void await_suspend(std::coroutine_handle<P> waiting)
		{
			unweave::suspend(waiting);
			owner.post(waiting);
		}

		void await_resume() noexcept
		{
		}
	};

	/* co_await pool.schedule(): goes on on one of its threads. */
	scheduled schedule()
	{
		return {*this};
	}

	struct slept {
		pool &owner;
		std::chrono::nanoseconds span;

		bool await_ready() noexcept
		{
			return span.count() <= 0;
		}

		template <class P> void await_suspend(std::coroutine_handle<P> waiting)
		{
			unweave::suspend(waiting);
			owner.add_timer(std::chrono::steady_clock::now() + span, waiting);
		}

		void await_resume() noexcept
		{
		}
	};

	/* co_await pool.sleep(10ms) */
	slept sleep(std::chrono::nanoseconds span)
	{
		return {*this, span};
	}

private:
	void add_timer(std::chrono::steady_clock::time_point due, unweave::handle coroutine)
	{
		{
			std::lock_guard guard(lock_);
			timers_.emplace(due, coroutine);
		}
		more_.notify_one();
	}

	/* Moves what is due to the queue. With the lock held. */
	void fire_timers()
	{
		auto now = std::chrono::steady_clock::now();

		while (!timers_.empty() && timers_.begin()->first <= now) {
			timers_.begin()->second.wake(UNWEAVE_SOURCE_TIMER);
			ready_.push_back(timers_.begin()->second);
			timers_.erase(timers_.begin());
		}
	}

	void wait(std::unique_lock<std::mutex> &guard)
	{
		unweave_thread_idle();
		if (timers_.empty()) {
			more_.wait(guard);
			return;
		}
		/* A copy: another thread may take the timer meanwhile. */
		auto due = timers_.begin()->first;
		more_.wait_until(guard, due);
	}

	void work()
	{
		std::unique_lock guard(lock_);

		for (;;) {
			fire_timers();
			if (ready_.empty()) {
				if (stopped_ && timers_.empty())
					return;
				wait(guard);
				continue;
			}
			unweave::handle next = ready_.front();
			ready_.pop_front();
			guard.unlock();
			next.resume();
			guard.lock();
		}
	}

	std::mutex lock_;
	std::condition_variable more_;
	std::deque<unweave::handle> ready_;
	std::multimap<std::chrono::steady_clock::time_point, unweave::handle> timers_;
	std::vector<std::thread> threads_;
	bool stopped_ = false;
};

/* Awaits all; each is a task of its own, begun by who awaits. An error of theirs is lost. */
template <class T> class when_all
{
public:
	explicit when_all(std::vector<task<T>> tasks)
	    : tasks_(std::move(tasks)), values_(tasks_.size()), left_(tasks_.size() + 1)
	{
	}

	bool await_ready() noexcept
	{
		return false;
	}

	template <class P> bool await_suspend(std::coroutine_handle<P> parent)
	{
		waiting_ = parent;
		unweave::suspend(parent);
		for (std::size_t i = 0; i < tasks_.size(); i++)
			run(*this, i);
		if (left_.fetch_sub(1) > 1)
			return true;
		unweave::resumed(parent);
		return false;
	}

	std::vector<std::optional<T>> await_resume()
	{
		return std::move(values_);
	}

private:
	static detached run(when_all &self, std::size_t index)
	{
		try {
			self.values_[index] = co_await std::move(self.tasks_[index]);
		} catch (...) {
		}
		if (self.left_.fetch_sub(1) == 1)
			self.waiting_.resume();
	}

	std::vector<task<T>> tasks_;
	std::vector<std::optional<T>> values_;
	std::atomic<std::size_t> left_;
	unweave::handle waiting_;
};

template <class T> class generator
{
public:
	struct promise_type : unweave::routine_of<promise_type, unweave::generator> {
		T value;

		generator get_return_object() noexcept
		{
			return generator(handle_type::from_promise(*this));
		}

		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}

		std::suspend_always final_suspend() noexcept
		{
			return {};
		}

		std::suspend_always yield_value(T next) noexcept
		{
			value = std::move(next);
			return {};
		}

		void return_void() noexcept
		{
		}

		void unhandled_exception()
		{
			throw;
		}
	};
	using handle_type = std::coroutine_handle<promise_type>;

	generator(generator &&other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr))
	{
	}

	~generator()
	{
		if (coroutine_)
			coroutine_.destroy();
	}

	/* The next value; nothing after the last. */
	std::optional<T> next()
	{
		unweave::resume(coroutine_);
		if (coroutine_.done())
			return {};
		return coroutine_.promise().value;
	}

private:
	explicit generator(handle_type coroutine) noexcept : coroutine_(coroutine)
	{
	}

	handle_type coroutine_;
};

/* Begins a task that nobody awaits, and forgets it. */
inline detached spawn(task<int> begun)
{
	co_await std::move(begun);
}

#endif /* EXAMPLES_CORO_LIBRARY_HPP */
