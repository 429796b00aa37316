/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/fault.h"

#include <stdarg.h>
#include <stdio.h>

void faults_add(struct faults *faults, uint64_t offset, const char *format, ...)
{
	char what[256];
	va_list arguments;

	faults->count++;
	if (!faults->tell)
		return;
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	faults->tell(faults->data, &(struct reader_fault){.offset = offset, .what = what});
}
