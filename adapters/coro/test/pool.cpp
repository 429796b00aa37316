// SPDX-License-Identifier: Apache-2.0
/* Many tasks on a pool of threads: each goes on on whichever is free. */
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "oracle.hpp"
#include "task.hpp"

namespace
{
class pool
{
	std::mutex mutex;
	std::condition_variable changed;
	std::deque<std::coroutine_handle<>> queue;
	bool closing = false;
	std::vector<std::thread> threads;

	void work()
	{
		for (;;) {
			std::unique_lock lock(mutex);

			changed.wait(lock, [this] { return closing || !queue.empty(); });
			if (queue.empty())
				return;
			std::coroutine_handle<> next = queue.front();
			queue.pop_front();
			lock.unlock();
			next.resume();
		}
	}

public:
	explicit pool(int size)
	{
		while (size--)
			threads.emplace_back([this] { work(); });
	}
	~pool()
	{
		{
			std::lock_guard lock(mutex);
			closing = true;
		}
		changed.notify_all();
		for (std::thread &thread : threads)
			thread.join();
	}
	void post(std::coroutine_handle<> next)
	{
		{
			std::lock_guard lock(mutex);
			queue.push_back(next);
		}
		changed.notify_one();
	}

	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> by)
	{
		post(by);
	}
	void await_resume()
	{
	}
};

std::atomic<int> right, left;

/* Without a word: threads would say it in any order. */
void check(const chain &chain, const char *where)
{
	compare(where, chain, knows::all);
	right++;
}

task<int> hop(chain &c, pool &pool, int deep)
{
	ENTER(c);
	AWAIT(pool);
	check(c, "hop");
	int sum = 1;
	if (deep) {
		sum += AWAIT(hop(c, pool, deep - 1));
		check(c, "hop, back");
		AWAIT(pool);
		check(c, "hop, elsewhere");
	}
	co_return sum;
}

/* Ends by itself, so that nobody has to wait for its frame. */
struct detached {
	struct promise_type {
		detached get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept
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
	std::coroutine_handle<promise_type> handle;
};

detached job(pool &pool, std::atomic<int> &sum, int hops)
{
	chain c;

	{
		ENTER(c);
		for (int i = 0; i < hops; i++)
			sum += AWAIT(hop(c, pool, i % 4));
		check(c, "job");
	}
	left--;
}
} // namespace

void pool_cases()
{
	constexpr int jobs = 40, hops = 25;
	std::atomic<int> sum = 0;

	left = jobs;
	{
		pool pool(4);

		for (int i = 0; i < jobs; i++)
			pool.post(job(pool, sum, hops).handle);
		while (left)
			std::this_thread::yield();
	}
	std::printf("pool: sum %d, %d chains\n", sum.load(), right.load());
}
