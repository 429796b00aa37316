// SPDX-License-Identifier: Apache-2.0
/*
 * handle.resume(), through unweave_routine_run(). An exception that leaves the
 * coroutine is carried around the C functions in between.
 */
#ifndef UNWEAVE_SHIM_RESUME_HPP
#define UNWEAVE_SHIM_RESUME_HPP

#include <exception>
#include <utility>

#include "unweave/shim/relate.hpp"

namespace unweave::shim
{
/* Included before the compiler's own header is, whose calls of this are made ours. */
inline void resume_frame(void *frame)
{
	__builtin_coro_resume(frame);
}

/* `context` is an exception_ptr: what left the coroutine. */
inline int go(unweave_link *link, void *context)
{
	void *frame = record_of(link)->frame();

#if defined(__cpp_exceptions)
	try {
		resume_frame(frame);
	} catch (...) {
		*static_cast<std::exception_ptr *>(context) = std::current_exception();
	}
#else
	(void)context;
	resume_frame(frame);
#endif
	return 0;
}

inline void resume(void *frame)
{
	record *self = find_record(frame);

	if (!self)
		return resume_frame(frame);
	begins(*self);
	if (unweave_routine_run_plainly(&self->routine))
		return resume_frame(frame);

	std::exception_ptr left;

	unweave_routine_run(&self->routine, &left, 0);
#if defined(__cpp_exceptions)
	if (left)
		std::rethrow_exception(std::move(left));
#endif
}
} // namespace unweave::shim

#endif // UNWEAVE_SHIM_RESUME_HPP
