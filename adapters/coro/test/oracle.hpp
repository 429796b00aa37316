// SPDX-License-Identifier: Apache-2.0
/*
 * Coroutines that say themselves who awaits whom. Each is given the chain that it
 * is part of and enters itself; what it says is printed, so that the same program
 * without unweave must print the same, and, where unweave is seen to record, held
 * against what unweave knows at that instruction.
 */
#ifndef ORACLE_HPP
#define ORACLE_HPP

#include <atomic>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#ifdef UNWEAVE_SHIM_COROUTINE
#include "unweave/link.h"
#endif

struct entry {
	const char *name;
	const void *code; /* its function, as the frame has it */
	unsigned line;    /* where it awaits; 0 while it runs */
};

/* Innermost last. */
struct chain {
	std::vector<entry> entries;
};

/* The function that goes on with a coroutine. */
struct function_of_this {
	const void *code = nullptr;

	bool await_ready() const noexcept
	{
		return false;
	}
	template <class Promise> bool await_suspend(std::coroutine_handle<Promise> handle) noexcept
	{
		code = *static_cast<const void *const *>(handle.address());
		return false;
	}
	const void *await_resume() const noexcept
	{
		return code;
	}
};

class entered
{
	chain &in;
	std::size_t at;

public:
	entered(chain &in, const char *name, const void *code) : in(in), at(in.entries.size())
	{
		in.entries.push_back({name, code, 0});
	}
	entered(const entered &) = delete;
	~entered()
	{
		in.entries.resize(at);
	}
	void line(unsigned line)
	{
		in.entries[at].line = line;
	}
};

/* The coroutine enters itself; for one that may not await, `code` is not known. */
#define ENTER(chain) entered here(chain, __func__, co_await function_of_this{})

/* Awaits, and says in which line. */
#define AWAIT(...) (here.line(__LINE__), came_back{here}, co_await __VA_ARGS__)

struct came_back {
	entered &here;
	~came_back()
	{
		here.line(0);
	}
};

inline std::atomic<int> failures;

/* What unweave must know of a chain; never a wrong one. */
enum class knows {
	all,
	none, /* all, or nothing */
};

inline void print_chain(const char *what, const chain &chain)
{
	std::printf("%s", what);
	for (std::size_t i = chain.entries.size(); i-- > 0;)
		std::printf(" %s:%u", chain.entries[i].name, chain.entries[i].line);
	std::printf("\n");
}

#ifdef UNWEAVE_SHIM_COROUTINE
inline void complain(const char *where, const chain &chain, const uint64_t *addresses,
		     const int32_t *states, uint32_t count)
{
	std::fprintf(stderr, "not ok: %s: the program is at", where);
	for (std::size_t i = chain.entries.size(); i-- > 0;)
		std::fprintf(stderr, " %s %p:%u", chain.entries[i].name, chain.entries[i].code,
			     chain.entries[i].line);
	std::fprintf(stderr, ", unweave says");
	for (uint32_t i = 0; i < count; i++)
		std::fprintf(stderr, " %p:%d", (void *)addresses[i], states[i] & 0xffffff);
	std::fprintf(stderr, "\n");
	failures++;
}
#endif

inline void compare(const char *where, const chain &chain, knows much)
{
#ifdef UNWEAVE_SHIM_COROUTINE
	static const bool recorded = std::getenv("UNWEAVE_TRACE");
	uint64_t task, addresses[64];
	int32_t states[64];
	std::size_t deep = chain.entries.size();
	uint32_t count;

	if (!recorded)
		return;
	count = unweave_here(&task, addresses, states, 64);
	if (much == knows::none && !count)
		return;
	bool same = task && count == deep;
	for (uint32_t i = 0; same && i < count; i++) {
		const entry &entry = chain.entries[deep - 1 - i];

		/* Of the one that runs it is the stack that says where. */
		same = addresses[i] == reinterpret_cast<uintptr_t>(entry.code) &&
		       (!i || (states[i] & 0xffffff) == static_cast<int32_t>(entry.line));
	}
	if (!same)
		complain(where, chain, addresses, states, count < 64 ? count : 64);
#else
	(void)where, (void)chain, (void)much;
#endif
}

/* Here the program is exactly there. */
inline void probe(const chain &chain, const char *where, knows much = knows::all)
{
	print_chain(where, chain);
	compare(where, chain, much);
}

/* A queue of what can go on, and the loop that goes on with it. */
inline std::vector<std::coroutine_handle<>> ready;

inline void run_ready()
{
	while (!ready.empty()) {
		std::coroutine_handle<> next = ready.front();

		ready.erase(ready.begin());
		next.resume();
	}
}

/* Waits for a turn of the loop. */
struct turn {
	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> handle) const
	{
		ready.push_back(handle);
	}
	void await_resume() const noexcept
	{
	}
};

/* The cases, by file. */
void lazy_cases();
void eager_cases();
void generator_cases();
void odd_cases();
void shared_cases();
void pool_cases();
void random_cases();

#endif // ORACLE_HPP
