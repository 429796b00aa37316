/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ functions that fit a line. */
#ifndef CLI_BRIEF_H
#define CLI_BRIEF_H

#include <stddef.h>

/*
 * The name with what may fill a page left out: template arguments are <...>, and parameters
 * (...). A name that does not fit `room` is cut.
 */
void brief_name(const char *name, char *to, size_t room);

#endif /* CLI_BRIEF_H */
