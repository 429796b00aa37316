// SPDX-License-Identifier: Apache-2.0
/*
 * One co_await: the program's awaitable and awaiter, and between them and the
 * compiler a waiter that sees what they decide.
 *
 * A suspension is told before the program's await_suspend() is called, since from
 * then on another thread may resume the coroutine, or end it. Only where control
 * is transferred to the coroutine that is called, or back to the one that called,
 * is there no suspension to be told: the task goes on. Whether that will be so is
 * known from the last time that the same code was here.
 */
#ifndef UNWEAVE_SHIM_AWAIT_HPP
#define UNWEAVE_SHIM_AWAIT_HPP

#include <type_traits>
#include <utility>

#include "unweave/shim/relate.hpp"

/* What clang inlines into a coroutine it may keep in the frame, which may be gone (llvm#56301). */
#ifdef __clang__
#define UNWEAVE_SHIM_APART __attribute__((noinline))
#else
#define UNWEAVE_SHIM_APART
#endif

namespace unweave::shim
{
template <class Promise> class promise;

/* Where in its life a coroutine suspends. */
enum class point { initial, await, yield, final };

template <class T>
concept has_member_operator = requires(T &&awaitable)
{
	static_cast<T &&>(awaitable).operator co_await();
};

template <class T>
concept has_free_operator = requires(T &&awaitable)
{
	operator co_await(static_cast<T &&>(awaitable));
};

/* What is awaited, and what it is awaited with: mostly the same object. */
template <class Awaitable> struct held {
	Awaitable awaitable;

	template <class Make> explicit held(Make &make) : awaitable(make())
	{
	}

	auto &awaiter() noexcept
	{
		return awaitable;
	}
};

template <class Awaitable>
requires has_member_operator<Awaitable> || has_free_operator<Awaitable>
struct held<Awaitable> {
	static decltype(auto) convert(Awaitable &&awaitable)
	{
		if constexpr (has_member_operator<Awaitable>)
			return static_cast<Awaitable &&>(awaitable).operator co_await();
		else
			return operator co_await(static_cast<Awaitable &&>(awaitable));
	}

	Awaitable awaitable;
	decltype(convert(std::declval<Awaitable>())) converted;

	template <class Make>
	explicit held(Make &make)
	    : awaitable(make()), converted(convert(static_cast<Awaitable &&>(awaitable)))
	{
	}

	auto &awaiter() noexcept
	{
		return converted;
	}
};

inline void learn(unsigned char &known, bool transferred) noexcept
{
	if (!transferred)
		store(known, HABIT_MIXED);
	else if (load(known) == HABIT_UNKNOWN)
		store(known, HABIT_TRANSFERS);
}

inline bool is_foreseen(const unsigned char &known) noexcept
{
	return load(known) == HABIT_TRANSFERS;
}

/* Control is transferred to a coroutine that the one before has nothing to do with. */
inline void transfer_to(void *frame) noexcept
{
	if (record *to = find_record(frame)) {
		begins(*to);
		unweave_routine_switch(&to->routine);
	}
}

/*
 * A coroutine goes away from where it is, out of its task's run, to wait: for one that
 * it calls, or for something outside. Nothing of the coroutine is touched after the
 * program's await_suspend() unless that tells that it is still there.
 */
struct departure {
	record &self;
	void *callee; /* the frame of the one that may be called, or NULL */
	bool foreseen;

	void prepare() noexcept
	{
		acts(self);
		if (!foreseen)
			unweave_routine_suspend(&self.routine, self.line);
	}

	void stays() noexcept
	{
		if (!foreseen)
			unweave_routine_resumed(&self.routine);
	}

	void transfers(void *frame, void *own, unsigned char &known) noexcept
	{
		if (frame == own)
			return stays();
		if (callee)
			learn(known, frame == callee);
		if (frame == callee)
			return calls();
		if (foreseen)
			unweave_routine_suspend(&self.routine, self.line);
		transfer_to(frame);
	}

	void calls() noexcept
	{
		record *child = find_record(callee);
		relation found = begins(*child);

		if (foreseen && found != relation::continuation)
			unweave_routine_suspend(&self.routine, self.line);
		unweave_routine_switch(&child->routine);
	}
};

/* A coroutine that is done, or has a value, goes back to the one that called it, if any. */
struct way_back {
	unweave_routine *caller; /* NULL: nobody called it */
	void *frame;             /* of the caller */
	bool foreseen;

	way_back(unweave_routine *caller, const unsigned char &known, bool may_transfer) noexcept
	    : caller(caller), frame(caller ? record_of(&caller->link)->frame() : nullptr),
	      foreseen(may_transfer && is_foreseen(known))
	{
		if (caller && !foreseen)
			unweave_routine_suspend(caller, 0);
	}

	void transfers(void *to, unsigned char &known) noexcept
	{
		if (caller)
			learn(known, to == frame);
		if (caller && to == frame)
			return unweave_routine_switch(caller);
		if (caller && foreseen)
			unweave_routine_switch(nullptr);
		transfer_to(to);
	}
};

/* Who resumes a generator gets control back by a return. */
inline unweave_routine *caller_of(const record &self) noexcept
{
	if (self.routine.flags & UNWEAVE_ROUTINE_GENERATOR)
		return nullptr;
	return reinterpret_cast<unweave_routine *>(load(self.routine.link.awaiter));
}

template <class Promise, point at, class Awaitable> class waiter
{
	held<Awaitable> program;
	record &self;
	unweave_routine *caller; /* of one that is done */
	std::uint32_t line;

	using awaiter_type = std::remove_reference_t<decltype(program.awaiter())>;
	using handle = std::coroutine_handle<Promise>;
	using result = decltype(std::declval<awaiter_type &>().await_suspend(handle()));
	static constexpr bool is_transfer = std::is_convertible_v<result, std::coroutine_handle<>>;
	static constexpr bool is_quiet =
		noexcept(std::declval<awaiter_type &>().await_suspend(handle()));

	/* Words of both that may be addresses of coroutines. */
	static constexpr std::size_t words_held =
		(sizeof(awaiter_type) + sizeof(std::remove_reference_t<Awaitable>)) /
		sizeof(address);
	static constexpr std::size_t marks_most = at == point::initial || at == point::final ? 0
						  : words_held < 1                           ? 1
						  : words_held > 8                           ? 8
								   : words_held;
	marks<marks_most> awaited;

	inline static unsigned char known = HABIT_UNKNOWN;

	auto &awaiter() noexcept
	{
		return program.awaiter();
	}

	void leave_marks() noexcept
	{
		self.line = line;
		self.awaiter = object_of(awaiter());
		self.awaitable = object_of(program.awaitable);
		awaited.leave(self.awaiter);
		if (self.awaiter.bytes != self.awaitable.bytes)
			awaited.leave(self.awaitable);
	}

	result depart(handle own)
	{
		leave_marks();

		place *only = awaited.only();
		void *callee = callable(only);
		record *me = &self;
		departure departure{self, callee, is_transfer && callee && is_foreseen(known)};

		departure.prepare();
		if constexpr (is_transfer) {
			result to = call(own, departure);

			departure.transfers(to.address(), own.address(), known);
			return to;
		} else if constexpr (std::is_same_v<result, bool>) {
			bool waits = call(own, departure);

			if (!waits)
				departure.stays();
			else if (only)
				ask_awaited(only, me);
			return waits;
		} else {
			call(own, departure);
			if (only)
				ask_awaited(only, me);
		}
	}

	/* An await_suspend() that throws has not suspended. */
	result call(handle own, departure &departure)
	{
#if defined(__cpp_exceptions)
		if constexpr (!is_quiet) {
			try {
				return awaiter().await_suspend(own);
			} catch (...) {
				departure.stays();
				throw;
			}
		}
#endif
		(void)departure;
		return awaiter().await_suspend(own);
	}

	result go_back(handle own)
	{
		unsigned char &known_back = self.of->back;
		way_back back(caller, known_back, is_transfer);

		if constexpr (is_transfer) {
			result to = awaiter().await_suspend(own);

			back.transfers(to.address(), known_back);
			return to;
		} else {
			return awaiter().await_suspend(own);
		}
	}

	/* A value for whoever asked: a caller by co_await, or who resumes a generator. */
	result give(handle own)
	{
		caller = caller_of(self);
		ends(self, IDLE);
		if (caller) {
			unweave_routine_complete(&self.routine, UNWEAVE_OK);
			unweave_routine_init(&self.routine, self.routine.link.go,
					     self.routine.link.code, self.routine.flags);
		}
		return go_back(own);
	}

public:
	template <class Make>
	waiter(record &self, std::uint32_t line, Make make, unweave_routine *caller = nullptr)
	    : program(make), self(self), caller(caller), line(line), awaited(self)
	{
	}

	waiter(const waiter &) = delete;

	bool await_ready() noexcept(noexcept(static_cast<bool>(awaiter().await_ready())))
	{
		bool ready = static_cast<bool>(awaiter().await_ready());

		/* It goes without a suspension, and its caller goes on some other way. */
		if (at == point::final && ready && caller)
			unweave_routine_suspend(caller, 0);
		return ready;
	}

	UNWEAVE_SHIM_APART result
	await_suspend(std::coroutine_handle<promise<Promise>> derived) noexcept(is_quiet)
	{
		handle own = handle::from_address(derived.address());

		if constexpr (at == point::initial)
			return awaiter().await_suspend(own);
		else if constexpr (at == point::final)
			return go_back(own);
		else if constexpr (at == point::yield)
			return self.routine.root && !caller_of(self) ? depart(own) : give(own);
		else
			return depart(own);
	}

	decltype(auto) await_resume() noexcept(noexcept(awaiter().await_resume()))
	{
		if (at == point::initial)
			begins(self);
		awaited.take_off();
		return awaiter().await_resume();
	}
};

template <class Promise, point at, class Make>
auto wait(record &self, std::uint32_t line, Make make, unweave_routine *caller = nullptr)
{
	return waiter<Promise, at, decltype(make())>(self, line, make, caller);
}
} // namespace unweave::shim

#endif // UNWEAVE_SHIM_AWAIT_HPP
