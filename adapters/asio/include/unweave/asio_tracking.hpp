// SPDX-License-Identifier: Apache-2.0
/*
 * Asio's handlers as tasks, by way of its own hook for handler tracking. One
 * compiler option, and no edit to the program:
 *
 *     -DBOOST_ASIO_CUSTOM_HANDLER_TRACKING='<unweave/asio_tracking.hpp>'
 *     -DASIO_CUSTOM_HANDLER_TRACKING='<unweave/asio_tracking.hpp>'      standalone Asio
 *
 * A handler is a task from the start of its operation until it was called, or
 * never will be. Its kind is the operation; posts are told by where they go: to a
 * strand, a pool or an io_context. It is ready when the descriptor was, or when it
 * was posted, from whichever thread.
 *
 * Asio marks the begin and the end of each call by two macros. Here they make a
 * function of what stands between, so that handlers run below an anchor.
 *
 * For every C++ that Asio can be used with, from C++11 on.
 */
#ifndef UNWEAVE_ASIO_TRACKING_HPP
#define UNWEAVE_ASIO_TRACKING_HPP

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <utility>

#include "unweave/callback.h"

namespace unweave
{
namespace asio_tracking
{
/* The function that a handler's type stands for, if it has only one. */
template <class... T> struct ignore {
	typedef void type;
};

template <class T, class = void> struct function {
	static const bool known = false;
};

template <class T> struct function<T, typename ignore<decltype(&T::operator())>::type> {
	static const bool known = true;

	static const void *code()
	{
		auto member = &T::operator();
		const void *code;

		/* Of a function that is not virtual, a pointer to the member begins with this. */
		std::memcpy(&code, &member, sizeof(code));
		return code;
	}
};

/* The handler that an operation has among its template arguments, or that one has in turn. */
template <class T> struct handler {
	typedef T type;
};

template <class Otherwise, class... T> struct last_known {
	typedef Otherwise type;
};

template <bool known, class Otherwise, class First, class... Rest>
struct last_known_of : last_known<Otherwise, Rest...> {
};

template <class Otherwise, class First, class... Rest>
struct last_known_of<true, Otherwise, First, Rest...> : last_known<First, Rest...> {
};

template <class Otherwise, class First, class... Rest>
struct last_known<Otherwise, First, Rest...>
    : last_known_of<function<typename handler<First>::type>::known, Otherwise,
		    typename handler<First>::type, Rest...> {
};

template <template <class...> class Operation, class... T>
struct handler<Operation<T...>> : last_known<Operation<T...>, T...> {
};

/* Otherwise it is the function of Asio that calls it, which is one for each type, too. */
template <class Operation, bool known = function<typename handler<Operation>::type>::known>
struct code_of {
	static const void *code()
	{
		return function<typename handler<Operation>::type>::code();
	}
};

template <class Operation> struct code_of<Operation, false> {
	static const void *code()
	{
		return reinterpret_cast<const void *>(&Operation::do_complete);
	}
};

/* One that goes on with a coroutine, which the shim <coroutine> shows, with its whole chain. */
template <class Operation> bool is_of_coroutine()
{
#if __has_include("unweave/shim/promise.hpp")
	static const bool is = std::strstr(__PRETTY_FUNCTION__, "::awaitable_");

	return is;
#else
	return false;
#endif
}

/* Says what was posted by where it goes. The texts are told apart by their addresses. */
inline const char *kind_of(const char *object, const char *operation)
{
	if (operation[0] == 'a') /* async_… */
		return operation;
	if (object[0] == 's' && object[1] == 't')
		return "strand";
	if (object[0] == 't')
		return "thread pool";
	if (object[0] == 's')
		return "system executor";
	return "post";
}

/* In each operation of Asio's. */
class tracked_handler
{
	friend class handlers;
	friend class completion;

	/* Of a task's number this bit is 0. */
	static const uint64_t woken = 1;

	mutable uint64_t task = 0; /* 0: none */

	void wake(enum unweave_source source) const
	{
		if (!task || task & woken)
			return;
		unweave_callback_wake(task, source);
		task |= woken;
	}

protected:
	~tracked_handler()
	{
	}
};

static_assert(UNWEAVE_TASK_SPARE & 1, "the bit is used by no task");

/* A call, and the exception that it ended with: carried around C functions. */
struct guarded_call {
	void (*call)(void *call);
	void *object;
	std::exception_ptr error;
};

/*
 * What the anchor calls, and so what a run is known by: a function for each handler type, since
 * that of the handler itself may be inlined.
 */
template <class Handler> struct call_of {
	static int go(struct unweave_link *, void *context)
	{
		guarded_call *self = static_cast<guarded_call *>(context);

#ifdef __EXCEPTIONS
		try {
			self->call(self->object);
		} catch (...) {
			self->error = std::current_exception();
		}
#else
		self->call(self->object);
#endif
		return 0;
	}
};

/* A handler that is about to be called, or to be freed without a call. */
class completion
{
	uint64_t task;
	unweave_go go;
	enum unweave_status status = UNWEAVE_OK;

	template <class Call> static void call(void *object)
	{
		(*static_cast<Call *>(object))();
	}

	void ended_with()
	{
	}

	template <class Error, class... Rest> void ended_with(const Error &error, const Rest &...)
	{
		if (error)
			status = error.value() == ECANCELED ? UNWEAVE_CANCELLED : UNWEAVE_ERROR;
	}

public:
	template <class Operation>
	explicit completion(const Operation &operation)
	    : task(static_cast<const tracked_handler &>(operation).task),
	      go(call_of<typename handler<Operation>::type>::go)
	{
	}

	completion(const completion &) = delete;

	~completion()
	{
		if (task)
			unweave_callback_drop(task & ~tracked_handler::woken);
	}

	template <class... Arguments> completion &begin(const Arguments &...arguments)
	{
		ended_with(arguments...);
		return *this;
	}

	template <class Call> void run(Call what)
	{
		guarded_call guarded = {call<Call>, &what, nullptr};
		uint64_t called = task;

		task = 0;
		if (!called)
			return what();

		struct unweave_call how = {};
		how.task = called & ~tracked_handler::woken;
		how.go = go;
		how.context = &guarded;
		how.code = reinterpret_cast<const void *>(go);
		/* Of a timer, say, nobody tells when it was ready: it is just now. */
		how.late = !(called & tracked_handler::woken);
		how.end = UNWEAVE_CALL_ENDS;
		how.status = status;
		unweave_callback_call(&how);
		if (guarded.error)
			std::rethrow_exception(std::move(guarded.error));
	}
};

class handlers
{
public:
	static void is_used(unsigned version)
	{
		static const bool told = tell(version);

		(void)told;
	}

	template <class Context, class Operation>
	static void creation(Context &, Operation &operation, const char *object, void *, uintmax_t,
			     const char *name)
	{
		const tracked_handler &of = operation;
		const char *kind = kind_of(object, name);

		if (is_of_coroutine<Operation>())
			return;

		of.task = unweave_callback_arm(kind, code_of<Operation>::code(), nullptr, 0);
		if (kind != name)
			of.wake(UNWEAVE_SOURCE_TASK);
	}

	/* Of an operation on a descriptor that was tried. */
	template <class Error, class... Rest>
	static void tried(const tracked_handler &of, const char *, const Error &error,
			  const Rest &...)
	{
		if (error.value() != EAGAIN)
			of.wake(UNWEAVE_SOURCE_IO);
	}

private:
	static bool tell(unsigned version)
	{
		static char text[16];

		number(number(number(text, version / 100000, '.'), version / 100 % 1000, '.'),
		       version % 100, '\0');
		unweave_adapter("asio", text);
		return true;
	}

	static char *number(char *to, unsigned value, char after)
	{
		if (value >= 10)
			*to++ = static_cast<char>('0' + value / 10 % 10);
		*to++ = static_cast<char>('0' + value % 10);
		*to++ = after;
		return to;
	}
};
} // namespace asio_tracking
} // namespace unweave

#define UNWEAVE_ASIO_BEGIN(args) tracked_completion.begin args.run([&]() { (void)0
#define UNWEAVE_ASIO_END                                                                           \
	})

#ifdef BOOST_ASIO_CUSTOM_HANDLER_TRACKING
#include <boost/asio/version.hpp>
#define BOOST_ASIO_INHERIT_TRACKED_HANDLER : public unweave::asio_tracking::tracked_handler
#define BOOST_ASIO_ALSO_INHERIT_TRACKED_HANDLER , public unweave::asio_tracking::tracked_handler
#define BOOST_ASIO_HANDLER_TRACKING_INIT                                                           \
	unweave::asio_tracking::handlers::is_used(BOOST_ASIO_VERSION)
#define BOOST_ASIO_HANDLER_LOCATION(args) (void)0
#define BOOST_ASIO_HANDLER_CREATION(args) unweave::asio_tracking::handlers::creation args
#define BOOST_ASIO_HANDLER_COMPLETION(args)                                                        \
	unweave::asio_tracking::completion tracked_completion args
#define BOOST_ASIO_HANDLER_INVOCATION_BEGIN(args) UNWEAVE_ASIO_BEGIN(args)
#define BOOST_ASIO_HANDLER_INVOCATION_END UNWEAVE_ASIO_END
#define BOOST_ASIO_HANDLER_OPERATION(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_REGISTRATION(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_DEREGISTRATION(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_READ_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_WRITE_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_ERROR_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_EVENTS(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_OPERATION(args) unweave::asio_tracking::handlers::tried args
#endif

#ifdef ASIO_CUSTOM_HANDLER_TRACKING
#include <asio/version.hpp>
#define ASIO_INHERIT_TRACKED_HANDLER : public unweave::asio_tracking::tracked_handler
#define ASIO_ALSO_INHERIT_TRACKED_HANDLER , public unweave::asio_tracking::tracked_handler
#define ASIO_HANDLER_TRACKING_INIT unweave::asio_tracking::handlers::is_used(ASIO_VERSION)
#define ASIO_HANDLER_LOCATION(args) (void)0
#define ASIO_HANDLER_CREATION(args) unweave::asio_tracking::handlers::creation args
#define ASIO_HANDLER_COMPLETION(args) unweave::asio_tracking::completion tracked_completion args
#define ASIO_HANDLER_INVOCATION_BEGIN(args) UNWEAVE_ASIO_BEGIN(args)
#define ASIO_HANDLER_INVOCATION_END UNWEAVE_ASIO_END
#define ASIO_HANDLER_OPERATION(args) (void)0
#define ASIO_HANDLER_REACTOR_REGISTRATION(args) (void)0
#define ASIO_HANDLER_REACTOR_DEREGISTRATION(args) (void)0
#define ASIO_HANDLER_REACTOR_READ_EVENT 0
#define ASIO_HANDLER_REACTOR_WRITE_EVENT 0
#define ASIO_HANDLER_REACTOR_ERROR_EVENT 0
#define ASIO_HANDLER_REACTOR_EVENTS(args) (void)0
#define ASIO_HANDLER_REACTOR_OPERATION(args) unweave::asio_tracking::handlers::tried args
#endif

#endif // UNWEAVE_ASIO_TRACKING_HPP
