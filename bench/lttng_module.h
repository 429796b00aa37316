/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked up in the module that links with LTTng-UST. */
#ifndef BENCH_LTTNG_MODULE_H
#define BENCH_LTTNG_MODULE_H

#include <stdint.h>

#define LTTNG_MODULE "bench_lttng.so"

/* Whether a session records the tracepoint. */
__attribute__((visibility("default"))) int lttng_module_is_on(void);

/* Emits an event for each of the tasks. */
__attribute__((visibility("default"))) void lttng_module_emit(const uint64_t *tasks,
							      uint32_t count);

#endif /* BENCH_LTTNG_MODULE_H */
