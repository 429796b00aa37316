// SPDX-License-Identifier: Apache-2.0
/* What the language lets promises, awaiters and coroutines be. */
#include <cstdint>
#include <new>
#include <stdexcept>

#include "oracle.hpp"
#include "task.hpp"

static task<int> leaf(chain &c)
{
	ENTER(c);
	AWAIT(turn{});
	probe(c, "leaf");
	co_return 1;
}

/* A task whose promise is made from the coroutine's arguments. */
struct with_arguments {
	struct promise_type : task_promise_base {
		const char *name;

		promise_type(const char *name, chain &) : name(name)
		{
		}
		template <class Self> promise_type(Self &, const char *name, chain &) : name(name)
		{
		}
		with_arguments get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		void return_void()
		{
		}
	};
	std::coroutine_handle<promise_type> handle;

	void finish()
	{
		handle.resume();
		run_ready();
		std::printf("%s is %s\n", handle.promise().name,
			    handle.done() ? "done" : "not done");
		handle.destroy();
	}
};

static with_arguments named(const char *, chain &c)
{
	ENTER(c);
	AWAIT(leaf(c));
	probe(c, "named");
}

struct object {
	int value;

	with_arguments member(const char *, chain &c)
	{
		ENTER(c);
		AWAIT(leaf(c));
		probe(c, "member");
		std::printf("value %d\n", value);
	}
};

/* A promise that nothing can be derived from: its coroutines are not seen, and work. */
struct sealed {
	struct promise_type final : task_promise_base {
		sealed get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		void return_void()
		{
		}
	};
	std::coroutine_handle<promise_type> handle;
};

static sealed unseen(chain &c)
{
	co_await turn{};
	/* What a task that is not seen calls begins a chain of its own. */
	co_await leaf(c);
	probe(c, "unseen", knows::none);
}

/* Frames with the strictest of promises. A compiler may do without some. */
static int strict_frames;

struct strict {
	struct alignas(64) promise_type : task_promise_base {
		std::uintptr_t self = reinterpret_cast<std::uintptr_t>(this);

		strict get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		static void *operator new(std::size_t size)
		{
			strict_frames++;
			return ::operator new(size, std::align_val_t(64));
		}
		static void operator delete(void *frame, std::size_t)
		{
			strict_frames--;
			::operator delete(frame, std::align_val_t(64));
		}
		void return_void()
		{
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
		std::printf("aligned %d\n",
			    handle.promise().self % 64 == 0 &&
				    handle.promise().self == (std::uintptr_t)&handle.promise());
		handle.destroy();
	}
};

static strict strict_leaf(chain &c)
{
	ENTER(c);
	AWAIT(turn{});
	probe(c, "strict_leaf");
}

static strict strict_top(chain &c)
{
	ENTER(c);
	AWAIT(strict_leaf(c));
	probe(c, "strict_top");
	AWAIT(leaf(c));
}

/* No room for its frame. */
struct scarce {
	struct promise_type : task_promise_base {
		static scarce get_return_object_on_allocation_failure()
		{
			return {false};
		}
		scarce get_return_object()
		{
			return {true};
		}
		static void *operator new(std::size_t) noexcept
		{
			return nullptr;
		}
		static void operator delete(void *)
		{
		}
		void return_void()
		{
		}
	};
	bool made;
};

static scarce no_room()
{
	co_return;
}

/* Awaitables that are neither copied nor moved, and ways to get an awaiter from them. */
struct pinned {
	int left;
	pinned *self = this;

	explicit pinned(int left) : left(left)
	{
	}
	pinned(const pinned &) = delete;
	bool await_ready()
	{
		return !left;
	}
	void await_suspend(std::coroutine_handle<> by)
	{
		ready.push_back(by);
	}
	int await_resume()
	{
		return self == this ? left : -1;
	}
};

struct by_member {
	pinned operator co_await() &&
	{
		return pinned(2);
	}
};

struct by_function {
	int left;
};

static pinned operator co_await(const by_function &from)
{
	return pinned(from.left);
}

/* All that goes through a promise of this sort is transformed; by value, as libraries do. */
struct transforms {
	struct ticks {
		int count;
	};
	struct promise_type : task_promise_base {
		int ticked = 0;

		transforms get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		pinned await_transform(ticks ticks)
		{
			ticked += ticks.count;
			return pinned(ticks.count);
		}
		function_of_this await_transform(function_of_this with)
		{
			return with;
		}
		task<int> &&await_transform(task<int> &&task)
		{
			return std::move(task);
		}
		void return_void()
		{
		}
	};
	std::coroutine_handle<promise_type> handle;
};

static transforms transformed(chain &c)
{
	ENTER(c);
	int sum = AWAIT(transforms::ticks{3});
	sum += AWAIT(transforms::ticks{0});
	probe(c, "transformed");
	sum += AWAIT(leaf(c));
	std::printf("transformed %d\n", sum);
}

/* Decisions that an await_suspend() can make. */
struct decides {
	enum { stays, goes, throws } how;

	bool await_ready()
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> by)
	{
		if (how == throws)
			throw std::runtime_error("will not suspend");
		if (how == stays)
			return by;
		ready.push_back(by);
		return std::noop_coroutine();
	}
	int await_resume()
	{
		return how;
	}
};

static task<> decided(chain &c)
{
	ENTER(c);
	for (auto how : {decides::stays, decides::goes, decides::throws, decides::stays}) {
		try {
			AWAIT(decides{how});
			probe(c, "decided");
		} catch (const std::exception &error) {
			std::printf("%s\n", error.what());
			probe(c, "decided, caught");
		}
	}
	pinned lvalue(1);
	int sum = AWAIT(lvalue);
	sum += AWAIT(lvalue);
	sum += AWAIT(by_member{});
	sum += AWAIT(by_function{4});
	sum += AWAIT(pinned(0));
	std::printf("awaited %d\n", sum);
	AWAIT(leaf(c));
	probe(c, "decided, at the end");
}

/* An exception that leaves the coroutine goes to who resumed it, past those that await it. */
struct leaky {
	struct promise_type : task_promise_base {
		leaky get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
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
	}
};

static leaky leaks(chain &c, bool at_once)
{
	ENTER(c);
	if (!at_once)
		AWAIT(turn{});
	probe(c, "leaks");
	throw at_once;
}

static leaky awaits_leaks(chain &c, leaky inner)
{
	ENTER(c);
	AWAIT(inner);
	std::printf("not reached\n");
}

static void leak()
{
	for (bool at_once : {true, false}) {
		chain c;
		leaky inner = leaks(c, at_once), outer = awaits_leaks(c, inner);

		try {
			outer.handle.resume();
			run_ready();
		} catch (bool caught) {
			std::printf("left: %d, done %d\n", caught, inner.handle.done());
		}
		inner.handle.destroy();
		outer.handle.destroy();
	}
}

/* Lambdas; the second's frame may go on the stack of the first. */
static void lambdas()
{
	chain c;
	int captured = 3;
	auto inner = [&captured](chain &c, int deep) -> task<int> {
		ENTER(c);
		if (deep)
			AWAIT(turn{});
		probe(c, "inner lambda");
		co_return captured + deep;
	};
	auto outer = [&inner](chain &c) -> task<> {
		ENTER(c);
		int sum = AWAIT(inner(c, 0));
		sum += AWAIT(inner(c, 1));
		probe(c, "outer lambda");
		std::printf("lambdas %d\n", sum);
	};
	task<> task = outer(c);

	task.handle.resume();
	run_ready();
	std::noop_coroutine().resume();
}

template <class Task> static void run(Task task)
{
	task.handle.resume();
	run_ready();
	std::printf("done %d\n", task.handle.done());
	task.handle.destroy();
}

void odd_cases()
{
	chain c;

	named("named", c).finish();
	object{5}.member("member", c).finish();
	run(unseen(c));
	for (int i = 0; i < 2; i++)
		run(strict_top(c));
	std::printf("strict frames left: %d\n", strict_frames);
	std::printf("no_room was made: %d\n", no_room().made);
	run(transformed(c));
	task<> task = decided(c);
	task.handle.resume();
	run_ready();
	leak();
	lambdas();
}
