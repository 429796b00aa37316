// SPDX-License-Identifier: Apache-2.0
/* Lazy tasks: calls, recursion, results, exceptions, cancellation, generators inside. */
#include <memory>
#include <stdexcept>

#include "oracle.hpp"
#include "task.hpp"

static int something = 7;

static task<int> leaf(chain &c, int value)
{
	ENTER(c);
	probe(c, "leaf begins");
	AWAIT(turn{});
	probe(c, "leaf goes on");
	co_return value + 1;
}

static task<int &> by_reference(chain &c)
{
	ENTER(c);
	AWAIT(turn{});
	probe(c, "by_reference");
	co_return something;
}

static task<std::unique_ptr<int>> move_only(chain &c)
{
	ENTER(c);
	int &value = AWAIT(by_reference(c));
	probe(c, "move_only");
	co_return std::make_unique<int>(value + AWAIT(leaf(c, 1)));
}

static task<> top(chain &c)
{
	ENTER(c);
	std::unique_ptr<int> value = AWAIT(move_only(c));
	probe(c, "top");
	for (int i = 0; i < 3; i++)
		*value += AWAIT(leaf(c, i));
	std::printf("top has %d\n", *value);
}

/* The same function many times in one chain, and twice on the way back. */
static task<int> recurse(chain &c, int deep)
{
	ENTER(c);
	if (!deep) {
		AWAIT(turn{});
		probe(c, "recurse, innermost");
		co_return 1;
	}
	int first = AWAIT(recurse(c, deep - 1));
	probe(c, "recurse, between");
	if (deep % 2)
		first += AWAIT(recurse(c, deep - 1));
	co_return first;
}

static task<int> odd(chain &c, int n);

static task<int> even(chain &c, int n)
{
	ENTER(c);
	probe(c, "even");
	if (n)
		co_return AWAIT(odd(c, n - 1));
	AWAIT(turn{});
	co_return 1;
}

static task<int> odd(chain &c, int n)
{
	ENTER(c);
	probe(c, "odd");
	if (n)
		co_return AWAIT(even(c, n - 1));
	co_return 0;
}

static task<int> fails(chain &c, bool at_once)
{
	ENTER(c);
	if (!at_once)
		AWAIT(turn{});
	probe(c, "fails");
	throw std::runtime_error("on purpose");
	co_return 0;
}

static task<int> hands_on(chain &c, bool at_once)
{
	ENTER(c);
	co_return AWAIT(fails(c, at_once));
}

static task<> catches(chain &c)
{
	ENTER(c);
	for (bool at_once : {true, false}) {
		try {
			AWAIT(hands_on(c, at_once));
		} catch (const std::exception &error) {
			std::printf("caught: %s\n", error.what());
		}
		probe(c, "after catching");
	}
	co_return void(AWAIT(leaf(c, 1)));
}

static task<> never_ends(chain &c)
{
	ENTER(c);
	AWAIT(turn{});
	probe(c, "never_ends");
	AWAIT(std::suspend_always{});
	std::printf("not reached\n");
}

static task<> waits_for_ever(chain &c)
{
	ENTER(c);
	AWAIT(never_ends(c));
}

template <class T> static void run(task<T> task)
{
	task.handle.resume();
	run_ready();
	task.finish();
}

/* What began it all ends with an exception. */
static void fail()
{
	chain c;
	task<int> task = hands_on(c, false);

	task.handle.resume();
	run_ready();
	try {
		task.finish();
	} catch (const std::exception &error) {
		std::printf("finished: %s\n", error.what());
	}
}

/* Destroyed at their waits, from the outside in; frames at the same addresses come after. */
static void cancel()
{
	for (int i = 0; i < 3; i++) {
		chain c;
		task<> task = waits_for_ever(c);

		task.handle.resume();
		run_ready();
		print_chain("cancelled", c);
	}
	/* And one that never began. */
	chain c;
	task<> task = waits_for_ever(c);
}

/* Two at a time, turn by turn. */
static void interleave()
{
	chain one, two;
	task<> first = top(one), second = catches(two);

	first.handle.resume();
	second.handle.resume();
	run_ready();
}

/* Awaited long after it was made, by another than who made it. */
static task<> awaits_what_it_is_given(chain &c, task<int> given)
{
	ENTER(c);
	AWAIT(turn{});
	int got = AWAIT(std::move(given));
	std::printf("given %d\n", got);
	probe(c, "awaits_what_it_is_given");
}

void lazy_cases()
{
	chain c;

	run(top(c));
	run(top(c));
	run(recurse(c, 5));
	run(even(c, 9));
	run(catches(c));
	fail();
	cancel();
	interleave();
	run(awaits_what_it_is_given(c, leaf(c, 3)));
}
