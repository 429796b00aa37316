/* SPDX-License-Identifier: Apache-2.0 */
/* One tracepoint with one 64-bit field, as LTTng-UST wants it: included more than once. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER unweave_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_provider.h"

#if !defined(BENCH_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(unweave_bench, wake, LTTNG_UST_TP_ARGS(uint64_t, task),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, task, task)))

#endif

#include <lttng/tracepoint-event.h>
