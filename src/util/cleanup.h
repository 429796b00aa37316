/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locals that their scope owns: `cleanup(x_freep)` releases one at the end of
 * the block, take() hands it on instead.
 */
#ifndef UTIL_CLEANUP_H
#define UTIL_CLEANUP_H

#include <unistd.h>

#define cleanup(function) __attribute__((cleanup(function)))

#define take(pointer)                                                                              \
	(__extension__({                                                                           \
		__typeof__(pointer) taken_ = (pointer);                                            \
		(pointer) = NULL;                                                                  \
		taken_;                                                                            \
	}))

/* Defines x_freep() for use with cleanup(), from x_free(). */
#define DEFINE_FREEP(type, free_function)                                                          \
	static inline void free_function##p(type **pointer)                                        \
	{                                                                                          \
		*pointer = free_function(*pointer);                                                \
	}

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif /* UTIL_CLEANUP_H */
