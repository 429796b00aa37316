/* SPDX-License-Identifier: Apache-2.0 */
/* The names of C++ and Rust functions as their authors wrote them. */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define DEMANGLE_MOST 4096u /* bytes of a name, its 0 included; what is longer is cut */

/* Whether `symbol` looks like the name of a C++ or Rust function in a file. */
bool is_mangled(const char *symbol);

/*
 * Writes the name of `symbol`: demangled if it is mangled, else as it is, but for
 * its version. Returns its length.
 */
size_t demangle(const char *symbol, char name[DEMANGLE_MOST]);

#endif /* SYMBOL_DEMANGLE_H */
