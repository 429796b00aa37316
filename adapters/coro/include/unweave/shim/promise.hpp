// SPDX-License-Identifier: Apache-2.0
/*
 * The promise that the compiler is given: the program's, and our record after it.
 */
#ifndef UNWEAVE_SHIM_PROMISE_HPP
#define UNWEAVE_SHIM_PROMISE_HPP

#include "unweave/shim/await.hpp"
#include "unweave/shim/resume.hpp"

namespace unweave
{
class routine; /* of unweave/coro.hpp */
}

namespace unweave::shim
{
/* Whether a class has members of a name: if so, the name is ambiguous beside that of another. */
struct has_names {
	int await_transform, yield_value;
};

template <class Promise> struct has_twice : Promise, has_names {
};

template <class Promise>
concept has_await_transform = !requires
{
	&has_twice<Promise>::await_transform;
};

template <class Promise>
concept has_yield_value = !requires
{
	&has_twice<Promise>::yield_value;
};

/* What yield_value() takes, if there is one only: co_yield {…} has no type of its own. */
struct nothing {
};

template <class Member> struct argument_of {
	using type = nothing;
};

template <class Result, class Class, class Argument>
struct argument_of<Result (Class::*)(Argument)> {
	using type = Argument;
};

template <class Result, class Class, class Argument>
struct argument_of<Result (Class::*)(Argument) noexcept> {
	using type = Argument;
};

template <class Promise> struct yielded {
	using type = nothing;
};

template <class Promise>
requires requires
{
	&Promise::yield_value;
}
struct yielded<Promise> : argument_of<decltype(&Promise::yield_value)> {
};

/*
 * From the initial suspension on there is something to keep: the compiler has filled the frame.
 * Apart, since clang does not know of that yet where it optimizes the coroutine itself.
 */
__attribute__((noinline)) inline void open(record &self, kind &common, void *frame,
					   void *promise) noexcept
{
	address record_at = reinterpret_cast<address>(&self) - reinterpret_cast<address>(frame);

	if (!load(common.record)) {
		store(common.promise,
		      std::uint32_t(static_cast<char *>(promise) - static_cast<char *>(frame)));
		store(common.record, std::uint32_t(record_at));
	}
	self.of = &common;
	self.at = enter_live(reinterpret_cast<address>(frame));
	unweave_routine_init(&self.routine, go, *static_cast<void **>(frame), 0);
	note_destroyer(destroyer_of(frame), record_at);
}

/* The body is done. Returns who called it. */
inline unweave_routine *complete(record &self) noexcept
{
	unweave_routine *caller = caller_of(self);

	ends(self, DONE);
	unweave_routine_complete(&self.routine, self.failed ? UNWEAVE_ERROR : UNWEAVE_OK);
	return caller;
}

template <class Promise> class promise : public Promise
{
	record self;

	inline static kind common{.promise_size = sizeof(Promise),
				  .generator = has_yield_value<Promise>};

public:
	using Promise::Promise;

	auto initial_suspend()
	{
		using derived = std::coroutine_handle<promise>;

		open(self, common, derived::from_promise(*this).address(),
		     static_cast<Promise *>(this));
		return wait<Promise, point::initial>(
			self, 0, [this]() -> decltype(auto) { return Promise::initial_suspend(); });
	}

	template <class T>
	auto await_transform(T &&awaitable, std::uint32_t line = __builtin_LINE())
	{
		return wait<Promise, point::await>(self, line, [&]() -> decltype(auto) {
			if constexpr (has_await_transform<Promise>)
				return Promise::await_transform(static_cast<T &&>(awaitable));
			else
				return static_cast<T &&>(awaitable);
		});
	}

	template <class T> auto yield_value(T &&value, std::uint32_t line = __builtin_LINE())
	{
		return wait<Promise, point::yield>(self, line, [&]() -> decltype(auto) {
			return Promise::yield_value(static_cast<T &&>(value));
		});
	}

	auto yield_value(typename yielded<Promise>::type value,
			 std::uint32_t line = __builtin_LINE())
	{
		return wait<Promise, point::yield>(self, line, [&]() -> decltype(auto) {
			return Promise::yield_value(static_cast<decltype(value) &&>(value));
		});
	}

	void
	unhandled_exception() noexcept(noexcept(std::declval<Promise &>().unhandled_exception()))
	{
		self.failed = true;
#if defined(__cpp_exceptions)
		try {
			Promise::unhandled_exception();
		} catch (...) {
			/* It leaves the coroutine, which is done without a final suspension. */
			if (unweave_routine *caller = complete(self))
				unweave_routine_suspend(caller, 0);
			throw;
		}
#else
		Promise::unhandled_exception();
#endif
	}

	auto final_suspend() noexcept(noexcept(std::declval<Promise &>().final_suspend()))
	{
		unweave_routine *caller = complete(self);

		return wait<Promise, point::final>(
			self, 0, [this]() -> decltype(auto) { return Promise::final_suspend(); },
			caller);
	}
};

/* Whether a type's name has this in it. */
template <class T> constexpr bool is_named(const char *part)
{
	for (const char *at = __PRETTY_FUNCTION__; *at; at++) {
		const char *wanted = part, *found = at;

		while (*wanted && *wanted == *found)
			wanted++, found++;
		if (!*wanted)
			return true;
	}
	return false;
}

/*
 * Asio's co_spawn() runs what it is given inside of a coroutine of its own, the same for all. A
 * task is to be known by the program's. By its arguments, it is this one:
 *
 *     co_spawn_entry_point(awaitable<T, Executor> *, Executor, Function, Handler)
 */
template <class... Arguments> constexpr bool is_plumbing = false;

template <class T, class Executor, class Function, class Handler>
constexpr bool is_plumbing<T *, Executor, Function, Handler> = is_named<T>("asio::awaitable<");

/*
 * A promise that no class can be derived from stays as it is, and its coroutines unseen. Those
 * of unweave/coro.hpp say what they do themselves.
 */
template <class Promise, class... Arguments>
constexpr bool is_seen =
	std::is_class_v<Promise> && !std::is_final_v<Promise> &&
	!std::is_base_of_v<unweave::routine, Promise> && !is_plumbing<Arguments...>;

template <class Traits, class... Arguments> struct traits {
};

template <class Traits, class... Arguments>
requires requires
{
	typename Traits::promise_type;
}
struct traits<Traits, Arguments...> {
	using program = typename Traits::promise_type;
	using promise_type = typename std::conditional_t<is_seen<program, Arguments...>,
							 std::type_identity<promise<program>>,
							 std::type_identity<program>>::type;
};
} // namespace unweave::shim

#endif // UNWEAVE_SHIM_PROMISE_HPP
