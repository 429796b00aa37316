/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++20 coroutines, for the author of a coroutine library: header only, on top of
 * unweave/routine.h.
 *
 * A promise derives from unweave::routine_of, and its library says what it does in
 * four places. A task<> that transfers control:
 *
 *     struct promise_type : unweave::routine_of<promise_type> { … };
 *
 *     auto await_suspend(std::coroutine_handle<P> parent)       // of task<>'s awaiter
 *     {
 *             child.promise().continuation = parent;
 *             return unweave::call(parent, child);
 *     }
 *     auto await_suspend(std::coroutine_handle<P> done)         // of its final awaiter
 *     {
 *             return unweave::complete(done, done.promise().continuation);
 *     }
 *     void await_suspend(std::coroutine_handle<P> waiting)      // of whatever waits for the world
 *     {
 *             unweave::suspend(waiting);
 *             queue.push(unweave::handle(waiting));             // only now: others may see it
 *     }
 *     unweave::resume(root);                                    // or handle.resume()
 *
 * Each takes handles of any promise, and does nothing for those that are not ours. All
 * are noexcept but resume(), which throws what the coroutine throws.
 * examples/coro_library.hpp is a whole library with a thread pool, when_all, exceptions
 * and generators; docs/integrating.md says what to call where.
 */
#ifndef UNWEAVE_CORO_HPP
#define UNWEAVE_CORO_HPP

#include <coroutine>
#include <cstdint>
#include <exception>
#include <type_traits>

#include "unweave/routine.h"

namespace unweave
{

/*
 * What a promise has of its own. It lies in the coroutine's frame, and stays there. A promise
 * inherits the names in here, which would hide those around it: a type called `task`, say.
 */
class routine
{
public:
	routine(const routine &) = delete;
	routine &operator=(const routine &) = delete;

	/* The source line of the next wait; for a promise with an await_transform of its own. */
	void routine_at(std::uint32_t line) noexcept
	{
		line_ = line;
	}

	/* What its tasks are called, if it begins one; else they are called after its function. */
	void routine_site(unweave_site *site) noexcept
	{
		self_.site = site;
	}

	/* The task that it is part of; 0: none yet. */
	std::uint64_t routine_task() const noexcept
	{
		return unweave_routine_task(&self_);
	}

	/* For what the functions below do not cover; see unweave/routine.h. */
	unweave_routine *routine_raw() noexcept
	{
		return &self_;
	}

	std::uint32_t routine_line() const noexcept
	{
		return line_;
	}

protected:
	routine(const void *frame, std::uint32_t flags) noexcept
	{
		/* The address of its resume function is the first word of every frame. */
		unweave_routine_init(&self_, routine_go, *static_cast<const void *const *>(frame),
				     flags);
	}

	~routine()
	{
		unweave_routine_drop(&self_);
	}

private:
	friend class handle;

	struct routine_going {
		std::coroutine_handle<> coroutine;
		std::exception_ptr thrown;
	};

	/* Exceptions must not pass through the library, which is C. */
	static int routine_go(unweave_link *, void *context)
	{
		routine_going *going = static_cast<routine_going *>(context);

#ifdef __cpp_exceptions
		try {
			going->coroutine.resume();
		} catch (...) {
			going->thrown = std::current_exception();
		}
#else
		going->coroutine.resume();
#endif
		return 0;
	}

	unweave_routine self_;
	std::uint32_t line_ = 0;
};

/* Promises of generators say so: they run inside of whoever resumes them. */
inline constexpr std::uint32_t generator = UNWEAVE_ROUTINE_GENERATOR;

/*
 * An awaiter that lives elsewhere, as long as the co_await. gcc 12 would copy one that
 * await_transform() returns by reference.
 */
template <class Awaiter> struct awaiter_at {
	Awaiter &at;

	bool await_ready() noexcept(noexcept(at.await_ready()))
	{
		return at.await_ready();
	}

	template <class Promise>
	decltype(auto) await_suspend(std::coroutine_handle<Promise> waiting) noexcept(
		noexcept(at.await_suspend(waiting)))
	{
		return at.await_suspend(waiting);
	}

	decltype(auto) await_resume() noexcept(noexcept(at.await_resume()))
	{
		return at.await_resume();
	}
};

/*
 * What a promise derives from. Its await_transform() notes the line of each co_await
 * and changes nothing; a promise that has one of its own calls routine_at() there, with a
 * default argument `std::uint32_t line = __builtin_LINE()`.
 */
template <class Promise, std::uint32_t Flags = 0> class routine_of : public routine
{
public:
	template <class Awaitable>
	decltype(auto) await_transform(Awaitable &&awaitable, std::uint32_t line = __builtin_LINE())
	{
		routine_at(line);
		if constexpr (requires {
				      static_cast<Awaitable &&>(awaitable).operator co_await();
			      })
			return static_cast<Awaitable &&>(awaitable).operator co_await();
		else if constexpr (requires {
					   operator co_await(static_cast<Awaitable &&>(awaitable));
				   })
			return operator co_await(static_cast<Awaitable &&>(awaitable));
		else
			return awaiter_at<std::remove_reference_t<Awaitable>>{awaitable};
	}

protected:
	routine_of() noexcept
	    : routine(std::coroutine_handle<Promise>::from_promise(static_cast<Promise &>(*this))
			      .address(),
		      Flags)
	{
	}
};

/* The routine of a coroutine; nullptr if its promise has none. */
template <class Promise> routine *routine_in(std::coroutine_handle<Promise> coroutine) noexcept
{
	if constexpr (std::is_base_of_v<routine, Promise>)
		return coroutine ? &coroutine.promise() : nullptr;
	else
		return nullptr;
}

/* A coroutine of any type that is to be resumed: for the queues of executors. */
class handle
{
public:
	handle() noexcept = default;

	template <class Promise>
	handle(std::coroutine_handle<Promise> coroutine) noexcept
	    : coroutine_(coroutine), routine_(routine_in(coroutine))
	{
	}

	explicit operator bool() const noexcept
	{
		return bool(coroutine_);
	}

	/* It can run again: said by whoever puts it into a queue. */
	void wake(enum unweave_source source = UNWEAVE_SOURCE_TASK) const noexcept
	{
		if (routine_ && routine_->routine_task())
			unweave_task_wake(routine_->routine_task(), source);
	}

	/* `flags`: UNWEAVE_RUN_LEAVE for a loop that goes straight on to the next. */
	void resume(unsigned flags = 0) const
	{
		if (!routine_ || unweave_routine_run_plainly(routine_->routine_raw()))
			return coroutine_.resume();

		routine::routine_going going{coroutine_, {}};
		unweave_routine_run(routine_->routine_raw(), &going, flags);
#ifdef __cpp_exceptions
		if (going.thrown)
			std::rethrow_exception(going.thrown);
#endif
	}

private:
	std::coroutine_handle<> coroutine_;
	routine *routine_ = nullptr;
};

template <class Promise> void resume(std::coroutine_handle<Promise> coroutine, unsigned flags = 0)
{
	handle(coroutine).resume(flags);
}

/* It is about to wait for something that is not a coroutine. */
template <class Promise> void suspend(std::coroutine_handle<Promise> waiting) noexcept
{
	if (routine *r = routine_in(waiting))
		unweave_routine_suspend(r->routine_raw(), r->routine_line());
}

/* ... that is a coroutine which runs by itself, and will let it go on. */
template <class Promise, class Other>
void suspend(std::coroutine_handle<Promise> waiting, std::coroutine_handle<Other> other) noexcept
{
	suspend(waiting);
	routine *r = routine_in(waiting), *o = routine_in(other);
	if (r && o)
		unweave_routine_await(r->routine_raw(), o->routine_raw());
}

/* It does not wait after all: its await_suspend() will return false. */
template <class Promise> void resumed(std::coroutine_handle<Promise> waiting) noexcept
{
	if (routine *r = routine_in(waiting))
		unweave_routine_resumed(r->routine_raw());
}

/* Control goes on in `to`; to be returned by await_suspend(). After suspend(). */
template <class Promise>
std::coroutine_handle<> transfer(std::coroutine_handle<Promise> to) noexcept
{
	if (routine *r = routine_in(to))
		unweave_routine_switch(r->routine_raw());
	return to;
}

/*
 * `parent` awaits `child`, which has not begun, and control goes on there; to be
 * returned by await_suspend(). Where the child is only queued here, or resumed inside of
 * this function, use awaits() and that.
 */
template <class Parent, class Child>
std::coroutine_handle<> call(std::coroutine_handle<Parent> parent,
			     std::coroutine_handle<Child> child) noexcept
{
	routine *p = routine_in(parent), *c = routine_in(child);

	if (!p || !c ||
	    !unweave_routine_call(p->routine_raw(), c->routine_raw(), p->routine_line()))
		suspend(parent, child);
	return transfer(child);
}

/* The same without the transfer: the child is resumed inside of what follows. */
template <class Parent, class Child>
void awaits(std::coroutine_handle<Parent> parent, std::coroutine_handle<Child> child) noexcept
{
	routine *p = routine_in(parent), *c = routine_in(child);

	if (!p || !c ||
	    !unweave_routine_call(p->routine_raw(), c->routine_raw(), p->routine_line()))
		suspend(parent, child);
}

/* Its body is done. Before anybody may see that. */
template <class Promise>
void complete(std::coroutine_handle<Promise> done, enum unweave_status status = UNWEAVE_OK) noexcept
{
	if (routine *r = routine_in(done))
		unweave_routine_complete(r->routine_raw(), status);
}

/*
 * The same, and control goes on in whoever awaited it, which may be nobody; to be returned by
 * the await_suspend() of the final awaiter.
 */
template <class Promise>
std::coroutine_handle<> complete(std::coroutine_handle<Promise> done,
				 std::coroutine_handle<> continuation,
				 enum unweave_status status = UNWEAVE_OK) noexcept
{
	if (routine *r = routine_in(done)) {
		unweave_link *awaiter = r->routine_raw()->link.awaiter;

		unweave_routine_complete(r->routine_raw(), status);
		unweave_routine_switch(reinterpret_cast<unweave_routine *>(awaiter));
	}
	return continuation ? continuation : std::noop_coroutine();
}

/*
 * It hands a value to whoever awaits it, as an asynchronous generator does, and control goes
 * on there; it can be called again.
 */
template <class Promise>
std::coroutine_handle<> yield(std::coroutine_handle<Promise> yielding,
			      std::coroutine_handle<> consumer) noexcept
{
	if (routine *r = routine_in(yielding)) {
		unweave_link *awaiter = r->routine_raw()->link.awaiter;

		unweave_routine_drop(r->routine_raw());
		unweave_routine_switch(reinterpret_cast<unweave_routine *>(awaiter));
	}
	return consumer;
}

/*
 * For the initial_suspend() of a coroutine that begins at once: as std::suspend_never, but
 * it is seen from its first line on. Not for a promise whose unhandled_exception() throws.
 */
struct start_at_once {
	bool await_ready() const noexcept
	{
		return false;
	}

	template <class Promise> void await_suspend(std::coroutine_handle<Promise> coroutine) const
	{
		resume(coroutine);
	}

	void await_resume() const noexcept
	{
	}
};

} /* namespace unweave */

#endif /* UNWEAVE_CORO_HPP */
