// SPDX-License-Identifier: Apache-2.0
/*
 * Coroutines of a library with include/unweave/coro.hpp, which is that of the example.
 *
 * Each coroutine keeps a shadow: its own code, who called it, and the line where it
 * awaits, noted by the program itself. At each check unweave_here() must say the
 * same, and in the end the chain of each SUSPEND that was recorded.
 */
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

#include "../../examples/coro_library.hpp"

#include "../unit/check.h"

using namespace std::chrono_literals;

/* A library's types have the names that they have: none is hidden by what its promise inherits. */
namespace names
{
struct at {
};
struct line {
};
struct raw {
};
struct site {
};
struct go {
};

struct task {
	struct promise_type : unweave::routine_of<promise_type> {
		at first;
		line second;
		raw third;
		site fourth;
		go fifth;

		task get_return_object()
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
		}
	};
};

static task begin_and_end(int &ends)
{
	ends++;
	co_return;
}
} // namespace names

static void a_task_of_any_name_runs()
{
	int ends = 0;

	names::begin_and_end(ends);
	CHECK_EQ(ends, 1);
}

/* What a coroutine knows of itself without unweave. */
struct shadow {
	const shadow *caller;
	const void *code = nullptr;
	std::uint32_t line = 0;
};

using chain = std::vector<std::pair<std::uint64_t, std::uint32_t>>; /* code and line */

static std::mutex lock;
static std::map<std::uint64_t, std::vector<chain>> expected, recorded;
static std::map<std::uint64_t, int> ends; /* 1 + status, by task */
static std::atomic<int> faults;

static chain chain_of(const shadow *at, bool runs)
{
	chain all;

	for (; at; at = at->caller, runs = false)
		all.emplace_back(reinterpret_cast<std::uint64_t>(at->code), runs ? 0 : at->line);
	return all;
}

static void check_here(const shadow &me)
{
	std::uint64_t task = 0, addresses[64];
	std::int32_t states[64];
	std::uint32_t count = unweave_here(&task, addresses, states, 64);
	chain seen, wanted = chain_of(&me, true);

	for (std::uint32_t i = 0; i < count && i < 64; i++)
		seen.emplace_back(addresses[i], std::uint32_t(states[i] - UNWEAVE_STATE_LINE));
	if ((!task || seen != wanted) && faults++ < 10) {
		std::lock_guard guard(lock);
		std::printf("# task %lx:", (unsigned long)task);
		for (auto &[code, line] : seen)
			std::printf(" %lx:%u", (unsigned long)code, line);
		std::printf(" instead of");
		for (auto &[code, line] : wanted)
			std::printf(" %lx:%u", (unsigned long)code, line);
		std::printf("\n");
	}
}

/* Says what a coroutine's own function is: the first word of its frame. */
struct who_am_i {
	shadow &me;

	bool await_ready() noexcept
	{
		return false;
	}

	template <class P> bool await_suspend(std::coroutine_handle<P> self) noexcept
	{
		me.code = *static_cast<void **>(self.address());
		return false;
	}

	void await_resume() noexcept
	{
	}
};

/* Notes the chain that the wait must be recorded with, and waits. */
template <class Inner> struct noted {
	Inner inner;
	const shadow &me;

	bool await_ready()
	{
		return inner.await_ready();
	}

	template <class P> void await_suspend(std::coroutine_handle<P> waiting)
	{
		/* A task gets its number when it first runs. */
		std::uint64_t task = waiting.promise().routine_task();

		{
			std::lock_guard guard(lock);
			expected[task].push_back(chain_of(&me, false));
		}
		inner.await_suspend(waiting);
	}

	void await_resume()
	{
		check_here(me);
	}
};

#define BEGIN(caller)                                                                              \
	shadow me{caller};                                                                         \
	co_await who_am_i                                                                          \
	{                                                                                          \
		me                                                                                 \
	}
/* Not by a comma: gcc 12 forgets what stands before one that a co_await follows. */
template <class Awaitable>
static Awaitable &&at_line(shadow &me, std::uint32_t line, Awaitable &&what)
{
	me.line = line;
	return static_cast<Awaitable &&>(what);
}

#define AWAIT(what) co_await at_line(me, __LINE__, what)
#define PAUSE(what) co_await at_line(me, __LINE__, noted<decltype(what)>{what, me})

static generator<int> count_to(const shadow *caller, int last)
{
	shadow me{caller};

	co_await who_am_i{me};
	for (int i = 1; i <= last; i++) {
		me.line = 0;
		check_here(me);
		co_yield i;
	}
}

static task<int> leaf(pool &on, const shadow *caller, int depth)
{
	BEGIN(caller);
	check_here(me);
	PAUSE(on.schedule());
	check_here(me);
	if (depth % 5 == 4)
		throw std::runtime_error("leaf");
	PAUSE(on.sleep(10us));
	co_return depth;
}

/* Calls itself: the same code again and again in one chain. */
static task<int> recurse(pool &on, const shadow *caller, int depth)
{
	int sum = 0;

	BEGIN(caller);
	check_here(me);
	if (depth == 0)
		co_return AWAIT(leaf(on, &me, 1));
	sum += AWAIT(recurse(on, &me, depth - 1));
	check_here(me);
	sum += AWAIT(leaf(on, &me, 2));
	check_here(me);
	co_return sum;
}

static task<int> catching(pool &on, const shadow *caller, int depth)
{
	BEGIN(caller);
	try {
		co_return AWAIT(leaf(on, &me, depth));
	} catch (const std::runtime_error &) {
		check_here(me);
	}
	/* In the midst of it, values that a generator makes on top of this chain. */
	int sum = 0;
	generator<int> numbers = count_to(&me, 3);
	/* What runs has no line that is known, wherever the generator is asked from. */
	me.line = 0;
	while (std::optional<int> number = numbers.next()) {
		sum += *number;
		check_here(me);
	}
	co_return sum;
}

/* Fan out: each of the three is a task of its own, inside of a coroutine of the library. */
static task<int> one_of_several(pool &on, int number)
{
	std::this_thread::yield();
	co_await on.schedule();
	if (number == 1)
		throw std::runtime_error("one of several");
	co_await on.sleep(20us);
	co_return number;
}

static task<int> fan_out(pool &on, const shadow *caller)
{
	BEGIN(caller);
	std::vector<task<int>> all;
	for (int i = 0; i < 3; i++)
		all.push_back(one_of_several(on, i));
	me.line = 0;
	int sum = 0;
	for (const std::optional<int> &value : co_await when_all(std::move(all)))
		sum += value.value_or(100);
	check_here(me);
	co_return sum;
}

static std::atomic<int> roots_left, wrong_results;

static detached root(pool &on, int number)
{
	shadow me{nullptr};
	int result = 0;

	co_await who_am_i{me};
	check_here(me);
	switch (number % 4) {
	case 0:
		result = AWAIT(recurse(on, &me, number % 7)) - (number % 7) * 2;
		break;
	case 1:
		result = AWAIT(catching(on, &me, 3)) - 2;
		break;
	case 2:
		result = AWAIT(catching(on, &me, 4)) - 5;
		break;
	default:
		PAUSE(on.schedule());
		result = AWAIT(fan_out(on, &me)) - 101;
		break;
	}
	check_here(me);
	wrong_results += result != 1;
	roots_left--;
}

static void listen(const unweave_event *event, void *)
{
	std::lock_guard guard(lock);

	if (event->flags & UNWEAVE_EVENT_BEFORE)
		return;
	if (event->kind == UNWEAVE_EVENT_COMPLETE)
		ends[event->task] = 1 + int(event->value);
	if (event->kind == UNWEAVE_EVENT_LOST)
		faults++;
	if (event->kind != UNWEAVE_EVENT_SUSPEND)
		return;
	chain seen;
	for (const unweave_frame *frame = event->stack; frame; frame = frame->awaiter)
		seen.emplace_back(frame->address, std::uint32_t(frame->state - UNWEAVE_STATE_LINE));
	recorded[event->task].push_back(seen);
}

static void begin(void)
{
	unweave_options options;

	expected.clear();
	recorded.clear();
	ends.clear();
	faults = 0;
	unweave_options_init(&options);
	options.listener = listen;
	CHECK_EQ(unweave_start(&options), 0);
}

/* The waits that the program noted are those that were recorded, but for the library's own. */
static void check_recorded(void)
{
	std::size_t compared = 0;

	for (const auto &[task, chains] : expected) {
		std::size_t at = 0;

		for (const chain &seen : recorded[task])
			if (at < chains.size() && seen == chains[at])
				at++;
		CHECK_EQ(at, chains.size());
		compared += at;
	}
	CHECK(compared > 0);
}

static void run_roots(unsigned threads, int roots)
{
	begin();
	roots_left = roots;
	wrong_results = 0;
	{
		pool on(threads);

		for (int i = 0; i < roots; i++)
			root(on, i);
		while (roots_left)
			std::this_thread::sleep_for(1ms);
	}
	unweave_stop();
	CHECK_EQ(wrong_results, 0);
	CHECK_EQ(faults, 0);
	check_recorded();
	CHECK(ends.size() >= std::size_t(roots));
}

static void chains_on_one_thread_are_those_of_the_program(void)
{
	run_roots(1, 200);
}

static void chains_on_many_threads_are_those_of_the_program(void)
{
	run_roots(4, 1000);
}

/* Waits until somebody resumes what is stored. */
struct stored {
	unweave::handle &in;

	bool await_ready() noexcept
	{
		return false;
	}

	template <class P> void await_suspend(std::coroutine_handle<P> waiting) noexcept
	{
		unweave::suspend(waiting);
		in = waiting;
	}

	void await_resume() noexcept
	{
	}
};

static task<int> waits_twice(unweave::handle &in)
{
	co_await stored{in};
	co_await stored{in};
	co_return 0;
}

static task<int> awaits_that(unweave::handle &in)
{
	co_return co_await waits_twice(in);
}

static void one_that_is_destroyed_while_it_waits_is_cancelled(void)
{
	unweave::handle waiting;
	std::uint64_t number;

	begin();
	{
		task<int> outer = awaits_that(waiting);

		unweave::resume(outer.coroutine());
		number = outer.coroutine().promise().routine_task();
		CHECK(number != 0);
	}
	unweave_stop();
	CHECK_EQ(ends[number], 1 + UNWEAVE_CANCELLED);
	CHECK_EQ(recorded[number].size(), 1);
	CHECK(recorded[number][0].size() == 2);
}

static generator<int> throws_at_once(void)
{
	throw std::runtime_error("generator");
	co_yield 0;
}

static void an_exception_leaves_resume_as_it_came(void)
{
	generator<int> numbers = throws_at_once();
	bool caught = false;

	begin();
	try {
		numbers.next();
	} catch (const std::runtime_error &error) {
		caught = std::string(error.what()) == "generator";
	}
	unweave_stop();
	CHECK(caught);
}

/* Begun while nobody records, by one who finds all of it there later. */
static void a_chain_from_before_the_session_is_told_at_the_next_wait(void)
{
	unweave::handle waiting;
	task<int> outer = awaits_that(waiting);
	std::uint64_t number;

	unweave::resume(outer.coroutine());
	number = outer.coroutine().promise().routine_task();
	CHECK(number != 0);
	begin();
	waiting.resume();
	waiting.resume();
	unweave_stop();
	CHECK(outer.coroutine().done());
	CHECK_EQ(ends[number], 1 + UNWEAVE_OK);
	CHECK_EQ(recorded[number].size(), 1);
	CHECK(recorded[number].size() == 1 && recorded[number][0].size() == 2);
}

int main()
{
	RUN(a_task_of_any_name_runs);
	RUN(chains_on_one_thread_are_those_of_the_program);
	RUN(chains_on_many_threads_are_those_of_the_program);
	RUN(one_that_is_destroyed_while_it_waits_is_cancelled);
	RUN(an_exception_leaves_resume_as_it_came);
	RUN(a_chain_from_before_the_session_is_told_at_the_next_wait);
	return check_done();
}
