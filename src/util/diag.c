/* SPDX-License-Identifier: Apache-2.0 */
#include "util/diag.h"

#include <stdarg.h>
#include <stdio.h>

int diag_set(struct diag *diag, int error, const char *format, ...)
{
	va_list arguments;

	if (!diag)
		return error;
	va_start(arguments, format);
	vsnprintf(diag->text, sizeof(diag->text), format, arguments);
	va_end(arguments);
	diag->hint[0] = '\0';
	return error;
}

int diag_hint(struct diag *diag, int error, const char *format, ...)
{
	va_list arguments;

	if (!diag)
		return error;
	va_start(arguments, format);
	vsnprintf(diag->hint, sizeof(diag->hint), format, arguments);
	va_end(arguments);
	return error;
}
