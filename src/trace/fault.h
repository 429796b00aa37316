/* SPDX-License-Identifier: Apache-2.0 */
/* Where the parts of the reader tell what is wrong with a file. */
#ifndef TRACE_FAULT_H
#define TRACE_FAULT_H

#include <stdint.h>

#include "trace/reader.h"

struct faults {
	reader_on_fault tell; /* or NULL */
	void *data;
	uint64_t count;
};

/* Counts a fault and tells it. */
__attribute__((format(printf, 3, 4))) void faults_add(struct faults *faults, uint64_t offset,
						      const char *format, ...);

#endif /* TRACE_FAULT_H */
