/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the tool itself. */
#ifndef BENCH_TOOL_H
#define BENCH_TOOL_H

#include "bench.h"

#define TOOL_ARGUMENTS 7 /* at most, without the NULL that ends them */

struct tool_cost {
	double seconds; /* from start to end */
	double cpu_seconds;
	double mb;
};

/* Runs it, on any processor, with its output thrown away. Returns -errno. */
int tool_time(const struct bench *bench, const char *const *arguments, struct tool_cost *ret);

#endif /* BENCH_TOOL_H */
