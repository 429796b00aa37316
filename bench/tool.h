/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the tool itself. */
#ifndef BENCH_TOOL_H
#define BENCH_TOOL_H

#include "bench.h"

#define TOOL_ARGUMENTS 7 /* at most, without the NULL that ends them */

/* Runs it, on any processor, with its output thrown away. Returns -errno. */
int tool_time(const struct bench *bench, const char *const *arguments, double *ret_seconds,
	      double *ret_mb);

#endif /* BENCH_TOOL_H */
