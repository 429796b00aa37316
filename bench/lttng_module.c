/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What needs LTTng-UST. It is loaded when it is measured, and only then: the
 * library starts threads in every process that links with it.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

#include "lttng_module.h"

int lttng_module_is_on(void)
{
	return lttng_ust_tracepoint_enabled(unweave_bench, wake) != 0;
}

void lttng_module_emit(const uint64_t *tasks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		lttng_ust_tracepoint(unweave_bench, wake, tasks[i]);
}
