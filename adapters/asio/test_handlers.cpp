// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers without coroutines, whose tree is known: each function is armed once by the
 * one before it, in the order of their names, or as often as the comment says.
 */
#ifdef STANDALONE
#include <asio.hpp>
namespace net = asio;
using error_code = std::error_code;
#else
#include <boost/asio.hpp>
namespace net = boost::asio;
using error_code = boost::system::error_code;
#endif

#include <chrono>
#include <stdexcept>
#include <thread>

struct program {
	net::io_context context;
	net::steady_timer timer{context}, never{context};
	net::strand<net::io_context::executor_type> strand{context.get_executor()};
	net::local::stream_protocol::socket near{context}, far{context};
	net::thread_pool pool{1};
	char byte = 'x';
	int turns = 0;

	/* Posted by main(). */
	struct first {
		program &in;

		void operator()() const
		{
			in.timer.expires_after(std::chrono::milliseconds(2));
			in.timer.async_wait(after_timer{in});
		}
	};

	struct after_timer {
		program &in;

		void operator()(const error_code &) const
		{
			net::post(in.strand, on_strand{in});
			net::async_read(in.near, net::buffer(&in.byte, 1), received{in});
			in.never.expires_after(std::chrono::hours(1));
			in.never.async_wait(cancelled{});
		}
	};

	/* Its byte makes the read ready. */
	struct on_strand {
		program &in;

		void operator()() const
		{
			net::async_write(in.far, net::buffer(&in.byte, 1), written());
		}
	};

	struct written {
		void operator()(const error_code &, std::size_t) const
		{
		}
	};

	struct received {
		program &in;

		void operator()(const error_code &, std::size_t) const
		{
			net::post(in.pool, in_pool{in});
			in.never.cancel();
			throw std::runtime_error("on purpose");
		}
	};

	struct cancelled {
		void operator()(const error_code &) const
		{
		}
	};

	/* Runs on a thread of the pool, and wakes the first one. */
	struct in_pool {
		program &in;

		void operator()() const
		{
			net::post(in.context, again{in});
		}
	};

	/* Nobody runs the context any more. */
	struct dropped {
		void operator()() const
		{
		}
	};

	/* Five times, by itself. */
	struct again {
		program &in;

		void operator()() const
		{
			if (++in.turns < 5)
				net::post(in.context, again{in});
			else
				net::post(in.context, dropped());
		}
	};
};

int main()
{
	struct program program;
	net::local::connect_pair(program.near, program.far);
	net::executor_work_guard<net::io_context::executor_type> work(
		program.context.get_executor());
	int caught = 0;

	net::post(program.context, program::first{program});
	while (program.turns < 5) {
		try {
			program.context.run_one();
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	program.pool.join();
	work.reset();
	net::post(program.context, program::dropped());
	return caught == 1 ? 0 : 1;
}
