// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that nobody wrote: coroutines that draw what they do, and keep their chains. Ten
 * of them, each several tasks that take turns, call each other to any depth, fail, are
 * awaited late or by several, and hand over to each other.
 */
#include <deque>
#include <memory>
#include <optional>

#include "oracle.hpp"
#include "task.hpp"

namespace
{
struct world {
	unsigned long state;
	int left; /* steps until everything comes to an end */
	std::deque<std::coroutine_handle<>> line;
	std::vector<std::coroutine_handle<>> at_gate;

	unsigned draw(unsigned below)
	{
		state = state * 6364136223846793005u + 1442695040888963407u;
		return static_cast<unsigned>(state >> 33) % below;
	}
};

/* Goes behind all others that can go on, and hands over to the first of them. */
struct hand_over {
	world &in;

	bool await_ready()
	{
		return in.line.empty();
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> by)
	{
		std::coroutine_handle<> next = in.line.front();

		in.line.pop_front();
		in.line.push_back(by);
		return next;
	}
	void await_resume()
	{
	}
};

/* Goes behind all others, and back to the loop. */
struct wait_turn {
	world &in;

	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> by)
	{
		in.line.push_back(by);
	}
	void await_resume()
	{
	}
};

/* Waits, at times not at all, until somebody opens the gate, who goes on with all inside of that.
 */
struct gate {
	world &in;

	bool await_ready()
	{
		return false;
	}
	bool await_suspend(std::coroutine_handle<> by)
	{
		if (in.draw(2))
			return false;
		in.at_gate.push_back(by);
		return true;
	}
	void await_resume()
	{
	}
};

void open_gate(world &in)
{
	for (std::coroutine_handle<> by : std::exchange(in.at_gate, {}))
		by.resume();
}

task<int> step(chain &c, world &in, int deep);

/* What is awaited need not be a task: one more object between. */
struct wrapped {
	task<int> inner;

	explicit wrapped(task<int> inner) : inner(std::move(inner))
	{
	}
	auto operator co_await() &&
	{
		return std::move(inner).operator co_await();
	}
};

task<int> call(chain &c, world &in, int deep)
{
	ENTER(c);
	probe(c, "call");
	int sum = 0;
	if (in.draw(2))
		sum += AWAIT(step(c, in, deep - 1));
	if (in.draw(3) == 0) {
		task<int> later = step(c, in, deep - 1), never = step(c, in, deep - 1);

		AWAIT(wait_turn{in});
		probe(c, "call, with two that have not begun");
		sum += AWAIT(std::move(later));
	}
	if (in.draw(3) == 0)
		sum += AWAIT(wrapped(step(c, in, deep - 1)));
	probe(c, "call, at the end");
	co_return sum + 1;
}

task<int> step(chain &c, world &in, int deep)
{
	ENTER(c);
	int sum = 0;

	for (unsigned i = in.draw(4); i && in.left > 0; i--) {
		in.left--;
		switch (in.draw(deep > 0 ? 7 : 4)) {
		case 0:
			AWAIT(wait_turn{in});
			break;
		case 1:
			AWAIT(hand_over{in});
			break;
		case 2:
			AWAIT(gate{in});
			break;
		case 3:
			open_gate(in);
			break;
		case 4:
			sum += AWAIT(step(c, in, deep - 1));
			break;
		default:
			try {
				sum += AWAIT(call(c, in, deep));
			} catch (int) {
				probe(c, "step, caught");
			}
		}
		probe(c, "step");
	}
	if (in.draw(8) == 0)
		throw deep;
	co_return sum + 1;
}

task<> root(chain &c, world &in)
{
	ENTER(c);
	while (in.left > 0) {
		try {
			int sum = AWAIT(step(c, in, 6));

			in.left -= sum;
		} catch (int) {
		}
		probe(c, "root");
		AWAIT(wait_turn{in});
	}
}

void run_world(unsigned long seed)
{
	world in{seed, 300, {}, {}};
	chain chains[5];
	std::vector<task<>> tasks;

	for (chain &c : chains) {
		tasks.push_back(root(c, in));
		in.line.push_back(tasks.back().handle);
	}
	while (!in.line.empty() || !in.at_gate.empty()) {
		if (in.line.empty()) {
			open_gate(in);
			continue;
		}
		std::coroutine_handle<> next = in.line.front();
		in.line.pop_front();
		next.resume();
	}
	std::printf("world %lu is over\n", seed);
}
} // namespace

void random_cases()
{
	for (unsigned long seed = 1; seed <= 10; seed++)
		run_world(seed);
}
