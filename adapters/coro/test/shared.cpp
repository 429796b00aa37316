// SPDX-License-Identifier: Apache-2.0
/* One that several await, several that one awaits, and coroutines that hand over to each other. */
#include <array>
#include <deque>
#include <memory>

#include "oracle.hpp"
#include "task.hpp"

static task<int> leaf(chain &c, int turns)
{
	ENTER(c);
	for (int i = 0; i < turns; i++) {
		AWAIT(turn{});
		probe(c, "leaf");
	}
	co_return turns;
}

/* Begins with the first that awaits it; all go on when it is done. */
struct shared {
	struct awaiter;
	struct promise_type {
		awaiter *waiting = nullptr;
		bool begun = false, done = false;

		shared get_return_object()
		{
			return shared{std::coroutine_handle<promise_type>::from_promise(*this)};
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
			void await_suspend(std::coroutine_handle<promise_type> handle) noexcept;
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
	struct awaiter {
		std::coroutine_handle<promise_type> handle;
		awaiter *next = nullptr;
		std::coroutine_handle<> by;

		bool await_ready()
		{
			return handle.promise().done;
		}
		void await_suspend(std::coroutine_handle<> awaiting)
		{
			promise_type &promise = handle.promise();

			by = awaiting;
			next = promise.waiting;
			promise.waiting = this;
			if (!std::exchange(promise.begun, true))
				handle.resume();
		}
		void await_resume()
		{
		}
	};
	std::coroutine_handle<promise_type> handle;

	awaiter operator co_await() const
	{
		return {handle, nullptr, {}};
	}
};

void shared::promise_type::final_awaiter::await_suspend(
	std::coroutine_handle<promise_type> handle) noexcept
{
	awaiter *next = std::exchange(handle.promise().waiting, nullptr);

	handle.promise().done = true;
	while (next) {
		std::coroutine_handle<> by = next->by;

		next = next->next;
		by.resume();
	}
}

/* It is a task of its own: none of them is its caller. */
static shared shared_work(chain &c)
{
	ENTER(c);
	probe(c, "shared_work");
	AWAIT(turn{});
	AWAIT(leaf(c, 2));
	probe(c, "shared_work, at the end");
}

static task<> awaits_shared(chain &c, shared work, int turns)
{
	ENTER(c);
	if (turns)
		AWAIT(leaf(c, turns));
	AWAIT(work);
	probe(c, "awaits_shared");
	AWAIT(work);
	probe(c, "awaits_shared, once more");
}

static void several_await_one()
{
	chain c[4];
	shared work = shared_work(c[3]);
	task<> by[] = {awaits_shared(c[0], work, 0), awaits_shared(c[1], work, 1),
		       awaits_shared(c[2], work, 9)};

	for (task<> &task : by)
		task.handle.resume();
	run_ready();
	work.handle.destroy();
}

/* Something that is set once, and who waits for that. */
struct event {
	bool set = false;
	std::vector<std::coroutine_handle<>> waiting;

	bool await_ready() const
	{
		return set;
	}
	void await_suspend(std::coroutine_handle<> by)
	{
		waiting.push_back(by);
	}
	void await_resume()
	{
	}
	void go()
	{
		set = true;
		for (std::coroutine_handle<> by : std::exchange(waiting, {}))
			by.resume();
	}
};

/* Each waits for what the other does. */
static task<> ping(chain &c, event &mine, event &other, bool first)
{
	ENTER(c);
	if (first)
		other.go();
	AWAIT(mine);
	probe(c, "ping");
	AWAIT(leaf(c, 1));
	probe(c, "ping goes on");
	if (!first)
		other.go();
}

static void mutual()
{
	chain c[2];
	event left, right;
	task<> one = ping(c[0], left, right, false), two = ping(c[1], right, left, true);

	one.handle.resume();
	two.handle.resume();
	run_ready();
}

/* Fan-out: each child is a task of its own that counts down in its parent's awaiter. */
struct counted {
	struct promise_type {
		int *left = nullptr;
		std::coroutine_handle<> *parent = nullptr;

		counted get_return_object()
		{
			return counted{std::coroutine_handle<promise_type>::from_promise(*this)};
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
			std::coroutine_handle<>
			await_suspend(std::coroutine_handle<promise_type> handle) noexcept
			{
				promise_type &promise = handle.promise();

				return --*promise.left ? std::noop_coroutine() : *promise.parent;
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
};

template <std::size_t n> struct all {
	std::array<counted, n> children;
	int left = n + 1;
	std::coroutine_handle<> parent;

	bool await_ready()
	{
		return false;
	}
	bool await_suspend(std::coroutine_handle<> by)
	{
		parent = by;
		for (counted &child : children) {
			child.handle.promise().left = &left;
			child.handle.promise().parent = &parent;
			child.handle.resume();
		}
		return --left;
	}
	void await_resume()
	{
		for (counted &child : children)
			child.handle.destroy();
	}
};

static counted part(chain &c, int turns)
{
	ENTER(c);
	probe(c, "part");
	int got = turns ? 1 : 0;
	if (got)
		got = AWAIT(leaf(c, turns));
	probe(c, "part, at the end");
}

static task<> fans_out(chain &c, int turns)
{
	chain parts[3];
	ENTER(c);
	AWAIT(all<3>{{part(parts[0], turns), part(parts[1], 2 * turns), part(parts[2], 0)}, 4, {}});
	probe(c, "fans_out");
	AWAIT(leaf(c, 1));
	probe(c, "fans_out, at the end");
}

/* An executor that hands over to the next of its coroutines, without coming back. */
static std::deque<std::coroutine_handle<>> line_up;

struct hand_over {
	bool await_ready()
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> by)
	{
		line_up.push_back(by);
		std::coroutine_handle<> next = line_up.front();
		line_up.pop_front();
		return next;
	}
	void await_resume()
	{
	}
};

/* The same, with the one that is next in the awaiter: not called, for all that. */
struct hand_over_to {
	std::coroutine_handle<> next;

	bool await_ready()
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> by)
	{
		line_up.push_back(by);
		return next;
	}
	void await_resume()
	{
	}
};

static task<> takes_turns(chain &c, int turns)
{
	ENTER(c);
	for (int i = 0; i < turns; i++) {
		AWAIT(hand_over{});
		probe(c, "takes_turns");
	}
	AWAIT(leaf(c, 1));
	probe(c, "takes_turns, at the end");
}

static task<> starts_another(chain &c, std::coroutine_handle<> other)
{
	ENTER(c);
	AWAIT(hand_over_to{other});
	probe(c, "starts_another");
}

static void round_robin()
{
	chain c[4];
	task<> one = takes_turns(c[0], 3), two = takes_turns(c[1], 2), three = takes_turns(c[2], 4);
	task<> starter = starts_another(c[3], one.handle);

	line_up = {two.handle, three.handle};
	starter.handle.resume();
	while (!line_up.empty() || !ready.empty()) {
		run_ready();
		if (line_up.empty())
			break;
		std::coroutine_handle<> next = line_up.front();
		line_up.pop_front();
		next.resume();
	}
}

/* A lock that is handed over to the one who waits longest, in a list through the awaiters. */
struct lock {
	struct awaiter {
		lock &of;
		awaiter *next = nullptr;
		std::coroutine_handle<> by;

		bool await_ready()
		{
			return false;
		}
		bool await_suspend(std::coroutine_handle<> awaiting)
		{
			awaiter **at = &of.waiting;

			by = awaiting;
			if (!std::exchange(of.held, true))
				return false;
			while (*at)
				at = &(*at)->next;
			*at = this;
			return true;
		}
		void await_resume()
		{
		}
	};
	bool held = false;
	awaiter *waiting = nullptr;

	awaiter take()
	{
		return {*this, nullptr, {}};
	}
	void release()
	{
		awaiter *next = waiting;

		held = next;
		if (!next)
			return;
		waiting = next->next;
		next->by.resume();
	}
};

static task<> with_lock(chain &c, lock &lock, int turns)
{
	ENTER(c);
	AWAIT(lock.take());
	probe(c, "with_lock");
	AWAIT(leaf(c, turns));
	probe(c, "with_lock, before it lets go");
	lock.release();
	probe(c, "with_lock, after");
}

static void locked()
{
	chain c[3];
	lock lock;
	task<> tasks[] = {with_lock(c[0], lock, 2), with_lock(c[1], lock, 1),
			  with_lock(c[2], lock, 1)};

	for (task<> &task : tasks)
		task.handle.resume();
	run_ready();
}

void shared_cases()
{
	several_await_one();
	mutual();
	for (int turns = 0; turns < 3; turns++) {
		chain c;
		task<> task = fans_out(c, turns);

		task.handle.resume();
		run_ready();
	}
	round_robin();
	locked();
}
