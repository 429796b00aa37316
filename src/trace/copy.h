/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a trace block by block, for who adds something to it. */
#ifndef TRACE_COPY_H
#define TRACE_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/reader.h"
#include "trace/writer.h"

struct copy_plan {
	const char *path;       /* of the trace to be copied */
	uint32_t without_kinds; /* 1 << enum block_kind of those that are left out */
	/* Called behind the last block but END: what it writes comes before that one. */
	int (*add)(void *data, struct writer *to, struct diag *diag);
	void *data;
	reader_on_fault on_fault; /* what is damaged is not copied; or NULL */
	void *fault_data;
};

/* Returns what reader_open(), writer_put() and `add` return. */
int copy_trace(const struct copy_plan *plan, struct writer *to, struct diag *diag);

#endif /* TRACE_COPY_H */
