/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include <stdint.h>
#include <stdio.h>

/*
 * Shows a line of a source file, if the file is there. Its name comes from a
 * trace: anything but a regular file of a sensible size is left alone.
 */
void source_print(FILE *to, const char *file, uint64_t line);

#endif /* CLI_SOURCE_H */
