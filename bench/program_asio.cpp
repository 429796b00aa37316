// SPDX-License-Identifier: Apache-2.0
/* Asio, to be measured: handlers that are posted by a handler, many in a turn. */
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "adapters_program.h"

#define HANDLERS 64u

namespace
{
boost::asio::io_context context(1);
uint32_t left;

struct posted {
	void operator()() const
	{
	}
};

struct posts {
	void operator()() const
	{
		uint32_t count = left < HANDLERS ? left : HANDLERS;

		left -= count;
		for (uint32_t i = 0; i < count; i++)
			boost::asio::post(context, posted());
		if (left)
			boost::asio::post(context, posts());
	}
};

void run(uint32_t count)
{
	left = count;
	boost::asio::post(context, posts());
	context.run();
	context.restart();
}
} // namespace

int main(int argc, char **argv)
{
	static const struct adapters_program program = {run, run};

	return adapters_program_main(argc, argv, &program);
}
